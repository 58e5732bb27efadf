"""Models of several runs beside each other, and their differences."""

from __future__ import annotations

import html
import json
import re
import shutil
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from .conftest import change_manifest
from .test_run_page import wait_for


def read_compared(client: TestClient, path: str) -> str:
    """Return the page once all differences are there."""
    for _ in range(100):
        text = client.get(path).text
        if "is being compared" not in text:
            assert "data-every" not in text
            return text
        assert 'data-every="2"' in text
        time.sleep(0.1)
    raise AssertionError("the models were not compared")


def test_models_of_one_run_have_the_runs_own_comparisons(client: TestClient) -> None:
    text = client.get("/compare?run=first").text
    assert "2 models beside each other" in text
    assert "(Holm)" in text
    other = client.get("/compare?run=first&base=first:light").text
    assert "Differences from light" in other
    first, second = (re.findall(r'<td class="n">(-?)[0-9.]+</td>', each)[0] for each in (text, other))
    assert {first, second} == {"", "-"}


def test_models_of_three_runs(client: TestClient, runs: Path) -> None:
    shutil.copytree(runs / "first", runs / "third")
    text = read_compared(client, "/compare?run=first&run=second&run=third")
    assert "6 models beside each other" in text
    assert "dark (third)" in text
    assert text.count("0.250") >= 4  # differences between runs are those of t2i compare
    links = [html.unescape(each) for each in re.findall(r'href="(/compare/page[^"]+)"', text)]
    assert len(links) == 5
    page = wait_for(client, links[-1], 200)
    assert f"compare {runs / 'third'} {runs / 'first'} --a=light --b=dark" in page


def test_a_comparison_that_fails_says_why(client: TestClient, runs: Path) -> None:
    (runs / "second").rename(runs / "broken")
    text = read_compared(client, "/compare?run=first&run=broken")
    assert "the run is &lt;b&gt;broken&lt;/b&gt;" in text


def test_scores_of_several_protocols_are_marked(client: TestClient, runs: Path) -> None:
    assert "protocols" not in read_compared(client, "/compare?run=first&run=second")
    results = json.loads((runs / "second" / "run.json").read_text())["results"]
    change_manifest(
        runs / "second", results=[{**each, "signature": "metric:bright|version:2"} for each in results]
    )
    text = read_compared(client, "/compare?run=first&run=second")
    assert "2 protocols" in text
    assert "are not comparable as they stand" in text


@pytest.mark.parametrize("path", ["/compare", "/compare?run=missing", "/compare?run=first&run=first&base=x"])
def test_nothing_to_compare(client: TestClient, path: str, runs: Path) -> None:
    if "first" in path:
        models = json.loads((runs / "first" / "run.json").read_text())["models"]
        change_manifest(runs / "first", models={"dark": models["dark"]}, results=[], comparisons=[])
    assert client.get(path).status_code == 400


def test_unknown_models_have_no_page(client: TestClient) -> None:
    assert client.get("/compare/page?a=first:dark&b=first:missing").status_code == 404
    assert client.get("/compare/page").status_code == 404
