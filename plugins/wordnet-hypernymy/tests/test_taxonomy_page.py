"""The page of `t2i taxonomy`: its content, hostile texts, images of other people's runs, and use in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_core import ModelRequest, evaluate
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Row,
    Scene,
    SceneObject,
)
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_wordnet_hypernymy.taxonomy_page.command import app
from t2i_wordnet_hypernymy.taxonomy_page.content import collect_content
from t2i_wordnet_hypernymy.taxonomy_page.page import write_taxonomy
from t2i_wordnet_hypernymy.wordnet import nouns
from typer.testing import CliRunner

HOSTILE = "</script><img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>"
PROMPTS = (
    ("dog", "a dog", "dog.n.01"),
    ("dog again", f"a dog {HOSTILE} @@data@@ \x07", "dog.n.01"),
    ("corgi.n.01", "no scene, but the id is a synset", None),
    ("cat", "a cat", "cat.n.01"),
    ("style", "a painting in no taxonomy", None),
)


class Painter:
    """Paints grey squares, brighter with each seed."""

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(np.full((24, 24, 3), 60 + 40 * request.seed, np.uint8))


class Grey(Metric):
    """How bright an image is, and its square."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        value = unit.one().one("reward").value
        yield Row("bright", value)
        yield Row("square", value**2)


def list_prompts(setup: Any) -> Iterator[Prompt]:
    for name, text, synset in PROMPTS:
        scene = Scene((SceneObject(ObjectClass(name, synset)),)) if synset else None
        yield Prompt(id=name, text=text, scene=scene)


MEASURES = (Measure("bright", "Brightness."), Measure("square", "Its square."))
RESOLVER = StaticResolver(
    GeneratorInfo(name="painter", summary="Squares.", create=lambda setup: Painter()),
    MetricInfo(name="grey", summary="Grey?", create=Grey, measures=MEASURES),
    PromptSourceInfo(name="listed", summary="Listed.", prompts=list_prompts),
    TEST_JUDGE,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("taxonomy")
    models = [ModelRequest("painter", label, {}) for label in ("one", f"two {HOSTILE[:40]}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        evaluate("grey", models, prompts="listed", seeds=3, out=folder / "run", resolver=RESOLVER)
    return load_finished_run(folder / "run")


@pytest.fixture(scope="module")
def page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "taxonomy.html"
    done = CliRunner().invoke(app, [str(run.folder), "--out", str(out), "--images", "2"])
    assert done.exit_code == 0, done.output
    assert "1 prompts name no synset" in done.stderr
    return out


def test_nodes_are_the_synsets_of_prompts_and_all_above(run: Run) -> None:
    content = collect_content(run, nouns(), 2)
    by_name = {node.name: node for node in content.nodes}
    asked = {"dog.n.01", "corgi.n.01", "cat.n.01"}
    assert by_name.keys() == asked.union(*(nouns().closure(name) for name in asked))
    assert {name for name, node in by_name.items() if node.prompts} == asked
    dog = by_name["dog.n.01"]
    assert {content.nodes[place].name for place in dog.parents} == {"canine.n.02", "domestic_animal.n.01"}
    assert dog.n_hyponyms == 18
    assert len(dog.prompts) == 2
    assert content.n_left_out == 1


def test_scores_are_means_over_the_seeds_of_a_prompt(run: Run) -> None:
    content = collect_content(run, nouns(), 2)
    assert list(content.scores) == ["grey: bright", "grey: square"]
    (cat,) = next(node for node in content.nodes if node.name == "cat.n.01").prompts
    table = run.measurements().query("prompt == 'cat' and model == 'one'")
    for row, measure in zip(cat.scores, ("bright", "square"), strict=True):
        expected = table[table["measure"] == measure]["value"].astype(float).mean()
        assert row[0] == pytest.approx(expected)
    assert [len(places) for places in cat.pictures] == [2, 2]
    shown = [content.pictures[place].pixels[0, 0, 0] for place in cat.pictures[0]]
    assert shown == [60, 100]  # the first seeds


def test_no_text_becomes_markup(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert "onerror" in html
    assert "<img" not in html
    data = re.search(r'id="data">(.*?)</script>', html)
    assert data is not None
    nodes = {node["name"]: node for node in json.loads(data[1])["nodes"]}
    texts = [prompt["text"] for prompt in nodes["dog.n.01"]["prompts"]]
    assert texts == ["a dog", f"a dog {HOSTILE} @@data@@ \\x07"]
    assert html.count('id="data"') == 1
    assert "default-src &#x27;none&#x27;" in html


def test_a_run_without_synsets_is_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "own.tsv").write_text("poodle\tdog\n")
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, [str(run.folder), "--out", str(out), "--taxonomy", str(tmp_path / "own.tsv")])
    assert done.exit_code == 0  # the prompt `dog` is a node of this taxonomy
    (tmp_path / "own.tsv").write_text("oak\ttree\n")
    done = CliRunner().invoke(app, [str(run.folder), "--out", str(out), "--taxonomy", str(tmp_path / "own.tsv")])
    assert type(done.exception).__name__ == "BadFolder"


@pytest.mark.parametrize("out", ["no folder/page.html", "."])
def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path, run: Run, out: str) -> None:
    done = CliRunner().invoke(app, [str(run.folder), "--out", str(tmp_path / out)])
    assert type(done.exception).__name__ == "BadFolder"


def test_images_outside_of_a_run_need_leave(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run from elsewhere may name any file: only --images-from shows it."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "other-cache"))
    given = tmp_path / "given"
    given.mkdir()
    PILImage.new("RGB", (8, 8), "red").save(given / "a.png")
    lines = {"file": "a.png", "prompt": "a cat", "id": "cat.n.01"}
    (given / "prompts.jsonl").write_text(json.dumps(lines))
    evaluate("grey", f"folder:{given}", judge="test-mean", out=tmp_path / "run", resolver=_with_folder())
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "empty-cache"))
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, [str(tmp_path / "run"), "--out", str(out)])
    assert "--images-from" in done.stderr
    assert 'id="pictures-0"></script>' in out.read_text()
    done = CliRunner().invoke(app, [str(tmp_path / "run"), "--out", str(out), "--images-from", str(given)])
    assert not done.stderr.startswith("warning")
    assert 'id="pictures-0"></script>' not in out.read_text()


def _with_folder() -> StaticResolver:
    from t2i_folder.plugin import t2i_generators

    metric = MetricInfo(name="grey", summary="Grey?", create=Grey, measures=MEASURES)
    return StaticResolver(*t2i_generators(), metric, TEST_JUDGE)


@pytest.mark.long
@pytest.mark.parametrize(("most", "missing"), [(0, 0), (1, 4)])
def test_images_are_reported_missing_only_if_wanted(
    browser: Any, tmp_path: Path, run: Run, most: int, missing: int
) -> None:
    content = collect_content(run, nouns(), most)
    bare = [replace(node, prompts=[replace(p, pictures=[[], []]) for p in node.prompts]) for node in content.nodes]
    write_taxonomy(replace(content, nodes=bare), tmp_path / "page.html", 24, print)
    tab = browser.new_page()
    tab.goto((tmp_path / "page.html").as_uri() + "#dog.n.01")
    assert tab.locator(".model").count() == 2 * 2  # prompts, models
    assert tab.get_by_text("No image.").count() == missing
    tab.close()


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_the_page_is_used_with_the_keyboard(browser: Any, page: Path, width: int, scheme: Any) -> None:
    from playwright.sync_api import expect

    corgi = re.compile("^corgi")
    tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.as_uri())
    assert tab.locator("h2").inner_text().startswith("cat")  # the first synset of the run, by name
    tab.fill("#search", "DOG.N")
    tab.press("#search", "Enter")
    tab.locator("#detail").get_by_text("dog.n.01", exact=True).wait_for()
    assert tab.locator(".model img").count() == 2 * 2 * 2  # prompts, models, images
    tab.wait_for_function("[...document.querySelectorAll('.model img')].every((i) => i.naturalWidth === 24)")
    assert HOSTILE in tab.locator("h3").nth(1).inner_text()
    tab.press("#search", "Escape")
    tab.locator('#tree [tabindex="0"]').focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        tab.keyboard.press(key)
    expect(tab.locator("h2")).to_have_text(corgi)
    tab.locator("dl").get_by_role("link", name="dog", exact=True).click()
    tab.locator("#detail").get_by_text("dog.n.01", exact=True).wait_for()
    tab.go_back()
    expect(tab.locator("h2")).to_have_text(corgi)
    tab.keyboard.press("Home")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    assert tab.title() == "t2i taxonomy: run"
    assert not said
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    tab.close()
