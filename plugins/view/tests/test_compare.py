"""Models of several runs beside each other, and their differences."""

from __future__ import annotations

import html
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from t2i_core.results.number_format import format_interval, format_p_value
from t2i_core.results.run import load_run
from t2i_core.results.verdict import describe_verdicts
from t2i_view import app, made_pages

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


def list_differences(text: str) -> list[list[str]]:
    """Return the texts of the rows of differences."""
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", text.partition('id="differences"')[2])
    return [[re.sub("<[^>]*>", " ", cell).strip() for cell in re.split("</t[hd]>", row)[:-1]] for row in rows]


def change_comparison(run: Path, **fields: Any) -> None:
    """Change the only comparison of a run."""
    (own,) = json.loads((run / "run.json").read_text())["comparisons"]
    change_manifest(run, comparisons=[{**own, **fields}])


STOPPED = {"look": 1, "prompts": 4, "seeds": 2, "decision": "close", "margin": 0.05, "plain_diff": -0.031}


@pytest.mark.parametrize(
    ("fields", "words", "sentence"),
    [
        (
            {"diff": -0.5, "ci": [-0.7, -0.3], "p_adjusted": 0.01},
            "better",
            "light is better than dark on bright by",
        ),
        ({"diff": 0.5, "ci": [0.3, 0.7], "p_adjusted": 0.01}, "worse", "dark is better than light on bright by"),
        (
            {"diff": -0.5, "ci": [-0.7, 0.1], "p_adjusted": 0.06, "p_unadjusted": 0.02},
            "no significant difference",
            "no significant difference between dark and light on bright",
        ),
        (
            {"diff": -0.02, "ci": [-0.04, 0.01], "p_adjusted": 0.01, "stopped": STOPPED},
            "differs by less than 0.05",
            "dark and light differ by less than 0.05 on bright",
        ),
    ],
)
def test_models_of_one_run_have_the_runs_own_verdict(
    client: TestClient, runs: Path, fields: dict[str, Any], words: str, sentence: str
) -> None:
    change_comparison(runs / "first", **fields)
    text = client.get("/compare?run=first").text
    ((model, metric, verdict, diff, interval, p, _, _),) = list_differences(text)
    assert (model, metric, verdict.partition("  ")[0]) == ("light", "bright", words)
    assert float(diff) == -fields["diff"]  # light minus dark
    assert interval == format_interval([-end for end in reversed(fields["ci"])])
    assert p == f"{format_p_value(fields['p_adjusted'])} (Holm)"
    assert "adjusted for all comparisons of the run" in text
    assert "p (unadjusted)" not in text
    run = load_run(runs / "first")
    assert describe_verdicts(run.results, run.comparisons)[0].startswith(sentence)
    assert ("exaggerates, is 0.031" in verdict) == ("stopped" in fields)


def test_another_base_turns_the_differences(client: TestClient, runs: Path) -> None:
    change_comparison(runs / "first", diff=-0.5, ci=[-0.7, -0.3], p_adjusted=0.01)
    text = client.get("/compare?run=first&base=first:light").text
    assert "Differences from light" in text
    assert [row[:5] for row in list_differences(text)] == [
        ["dark", "bright", "worse", "-0.500", "[-0.700, -0.300]"]
    ]


def test_a_metric_that_the_run_does_not_compare_is_told(client: TestClient, runs: Path) -> None:
    change_manifest(runs / "first", comparisons=[])
    ((_, _, verdict, *_),) = list_differences(client.get("/compare?run=first").text)
    assert verdict == "not compared  the run does not compare them"


def test_models_of_three_runs(client: TestClient, runs: Path) -> None:
    shutil.copytree(runs / "first", runs / "third")
    text = read_compared(client, "/compare?run=first&run=second&run=third")
    assert "6 models beside each other" in text
    assert "dark (third)" in text
    found = [row for row in list_differences(text) if "0.010 (unadjusted)" in row]
    assert len(found) == 4  # differences between runs are those of t2i compare, with its remarks
    assert found[0] == [
        "dark (second)", "bright",
        "better  p is unadjusted, one of 4 comparisons  4 &lt;b&gt;prompts&lt;/b&gt;", "0.250", "[0.100, 0.400]",
        "0.010 (unadjusted)", "8", "pictures and prompts",
    ]  # fmt: skip
    assert text.count("only one of the runs has it") == 4
    assert "The p-value is of this comparison alone" in text
    links = [html.unescape(each) for each in re.findall(r'href="(/compare/page[^"]+)"', text)]
    assert len(links) == 5
    page = wait_for(client, links[-1], 200)
    assert f"compare {runs / 'third'} {runs / 'first'} --a=light --b=dark" in page


def test_a_metric_of_several_judges_in_one_of_the_runs_keeps_its_direction(client: TestClient, runs: Path) -> None:
    results = json.loads((runs / "second" / "run.json").read_text())["results"]
    change_manifest(runs / "second", results=[{**result, "by": "other"} for result in results])
    found = list_differences(read_compared(client, "/compare?run=first&run=second"))
    assert {row[2].partition("  ")[0] for row in found if row[0] == "dark (second)" and row[1] == "bright"} == {
        "better"
    }


def test_a_comparison_that_fails_says_why(client: TestClient, runs: Path) -> None:
    (runs / "second").rename(runs / "broken")
    text = read_compared(client, "/compare?run=first&run=broken")
    assert "the run is &lt;b&gt;broken&lt;/b&gt;" in text


def test_why_a_pair_is_not_compared_stays_known_until_a_run_changes(
    client: TestClient, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "second").rename(runs / "unlike")
    path = "/compare?run=first&run=unlike"
    assert "the runs have nothing to compare" in read_compared(client, path)
    monkeypatch.setattr(made_pages, "TRIED_AGAIN", 0.0)  # as if a minute had passed
    monkeypatch.setattr(app, "PATIENCE", 0.0)
    assert "the runs have nothing to compare" in client.get(path).text
    change_manifest(runs / "unlike", started="2026-01-01T00:00:00+00:00")
    assert "is being compared" in client.get(path).text
    assert "the runs have nothing to compare" in read_compared(client, path)


def test_scores_of_several_protocols_are_marked(client: TestClient, runs: Path) -> None:
    assert "2 protocols" not in read_compared(client, "/compare?run=first&run=second")
    results = json.loads((runs / "second" / "run.json").read_text())["results"]
    change_manifest(
        runs / "second",
        results=[
            {**each, "signature": each["signature"].replace("|seeds:0-3|", "|seeds:0-1|")} for each in results
        ],
    )
    text = read_compared(client, "/compare?run=first&run=second")
    assert "2 protocols" in text
    assert "are not comparable as they stand" in text
    assert "dark (second), light (second): seeds 0-1, not 0-3" in text


@pytest.mark.parametrize("path", ["/compare", "/compare?run=missing", "/compare?run=first&run=first&base=x"])
def test_nothing_to_compare(client: TestClient, path: str, runs: Path) -> None:
    if "first" in path:
        models = json.loads((runs / "first" / "run.json").read_text())["models"]
        change_manifest(runs / "first", models={"dark": models["dark"]}, results=[], comparisons=[])
    assert client.get(path).status_code == 400


def test_unknown_models_have_no_page(client: TestClient) -> None:
    assert client.get("/compare/page?a=first:dark&b=first:missing").status_code == 404
    assert client.get("/compare/page").status_code == 404
