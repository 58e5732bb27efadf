"""The metric in evaluations, with a painter whose images are known and judges that see them exactly."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Embedding,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Query,
    Relation,
    Scene,
    SceneObject,
    Segments,
)
from t2i_core.api.errors import BadPrompts, NoJudge
from t2i_core.api.mask import PackedMask
from t2i_core.api.plugin_info import Setup
from t2i_core.testing import MetricContract, PromptSourceContract, StaticResolver
from t2i_core.testing.parts import TEST_JUDGE
from t2i_geneval.plugin import t2i_metrics, t2i_prompt_sources

(GENEVAL,) = t2i_metrics()
CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")
PAINTS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
PLACES = {"car": (0, 24), "dog": (40, 64)}
"""Columns of each class."""


def prompt(name: str, *objects: SceneObject, relations: tuple[Relation, ...] = ()) -> Prompt:
    return Prompt(name, name, Scene(objects, relations))


PROMPTS = (
    prompt("car", SceneObject(CAR)),
    prompt("car and dog", SceneObject(CAR), SceneObject(DOG)),
    prompt("red car", SceneObject(CAR, "red")),
    prompt("red car and blue dog", SceneObject(CAR, "red"), SceneObject(DOG, "blue")),
    prompt("dog right of car", SceneObject(CAR), SceneObject(DOG), relations=(Relation(1, "right", 0),)),
)
SOURCE = PromptSourceInfo(name="own", summary="", prompts=lambda setup: PROMPTS)


class Painter:
    """Paints what is asked: seed 0 all right, seed 1 with exchanged colours, seed 2 without the last object."""

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            pixels = np.full((64, 64, 3), 200, np.uint8)
            objects = request.prompt.scene.objects[: -1 if request.seed == 2 else None]
            paints = [each.colour or "green" for each in objects]
            if request.seed == 1:
                paints = ["green"] if len(paints) == 1 else paints[::-1]
            for each, paint in zip(objects, paints, strict=True):
                x0, x1 = PLACES[each.cls.name]
                pixels[20:44, x0 + 4 : x1 - 4] = PAINTS[paint]
            yield request, Generated(pixels)


class Segmenter:
    """Finds each painted object; its masks have holes, which show what is outside of them."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            pixels = query.images[0].pixels
            masks, classes = [], []
            for number, (x0, x1) in enumerate(PLACES.values()):
                mask = np.zeros((64, 64), bool)
                mask[:, x0:x1] = (pixels[:, x0:x1] != 200).any(axis=2)
                mask[30:34] = False
                if mask.any():
                    masks.append(PackedMask.pack(mask))
                    classes.append(number)
            yield (
                query,
                Segments(
                    size=(64, 64),
                    boxes=np.array([mask.box for mask in masks], np.float32).reshape(-1, 4),
                    scores=np.full(len(masks), 0.95, np.float32),
                    classes=np.array(classes, np.int16),
                    labels=(CAR, DOG),
                    masks=tuple(masks),
                ),
            )


CROPS: list[np.ndarray] = []


class Embedder:
    """Embeds what is cut out by its colour, and texts by the colour that they name."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            if query.texts:
                own = next((n for n, paint in enumerate(PAINTS) if f"a {paint}" in query.texts[0]), 3)
                yield query, Embedding(np.eye(4, dtype=np.float32)[own] + 0.1)
            elif os.environ.get("BLIND"):
                yield query, Embedding(np.zeros(4, np.float32))
            else:
                pixels = query.images[0].pixels
                CROPS.append(pixels)
                own_pixels = pixels[(pixels != 153).any(axis=2)].mean(axis=0)
                yield query, Embedding(np.float32([*own_pixels / 255, 0]))


def judge(name: str, capability: str, kind: Any, **more: Any) -> JudgeInfo:
    return JudgeInfo(
        name=name, summary="", capabilities={capability: frozenset()}, create=lambda setup: kind(), **more
    )


SEGMENTER = judge("segmenter", "segment", Segmenter, labels=lambda argument, options: (CAR, DOG))
EMBEDDER = judge("embedder", "embed", Embedder)
PAINTER = GeneratorInfo(name="painter", summary="", create=lambda setup: Painter(), reads_scene=True)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    CROPS.clear()


def run(*judges: JudgeInfo, prompts: Any = "own", **more: Any) -> Any:
    resolver = StaticResolver(*(judges or (SEGMENTER, EMBEDDER)), SOURCE)
    seeds = more.pop("seeds", (0, 1, 2))
    return evaluate(GENEVAL, PAINTER, prompts=prompts, seeds=seeds, resolver=resolver, **more)


def test_scores_of_tasks_and_their_mean() -> None:
    found = run()
    (result,) = found.results
    scores = {name: score.value for name, score in result.scores.items()}
    third = pytest.approx(1 / 3)
    assert scores == {
        "geneval": pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 / 3 + 2 / 3) / 5),
        "single_object": pytest.approx(2 / 3),
        "two_object": pytest.approx(2 / 3),
        "colors": third,
        "color_attr": third,
        "position": pytest.approx(2 / 3),
        "images": pytest.approx(8 / 15),
        "prompts": 1.0,
    }
    assert next(iter(scores)) == "geneval"
    assert result.ci is not None
    assert any("mean of 5 tasks: no prompt tests counting" in note for note in result.notes)
    assert set(result.facets["colors"]["class"]) == {"car"}


def test_a_task_without_any_image_leaves_no_mean() -> None:
    class Half(Painter):
        def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
            wanted = [each for each in requests if each.prompt.id != "car and dog"]
            yield from super().generate(wanted)

    painter = GeneratorInfo(name="half", summary="", create=lambda setup: Half(), reads_scene=True)
    resolver = StaticResolver(SEGMENTER, EMBEDDER, SOURCE)
    found = evaluate(
        GENEVAL, [painter, PAINTER], prompts="own", seeds=(0, 1, 2), resolver=resolver, max_failed=1.0
    )
    half, whole = found.results
    assert half.scores["geneval"].value is None
    assert next(iter(half.scores)) == "geneval"
    assert half.scores["single_object"].value == pytest.approx(2 / 3)
    assert "two_object" not in half.scores
    assert "geneval has no value: no image of two_object was measured" in half.notes
    assert not any("no prompt tests" in note and "two_object" in note for note in half.notes)
    assert whole.scores["geneval"].value == pytest.approx(8 / 15)
    assert not any("no image of" in note for note in whole.notes)
    assert [each.diff for each in found.comparisons] == [None]


def test_models_on_other_prompts_have_their_own_tasks() -> None:
    metric = GENEVAL.create(Setup(None, GENEVAL.options()))
    metric.check(PROMPTS)
    metric.check(PROMPTS[:2])
    table = pd.DataFrame({"prompt": ["car", "car and dog"], "measure": ["single_object", "two_object"]})
    assert [note.text for note in metric.remarks(table)] == [
        "geneval is the mean of 2 tasks: no prompt tests counting, colors, position, color_attr"
    ]


def test_every_image_says_why_it_is_wrong() -> None:
    found = run()
    table = found.measurements()
    rows = table[table["measure"] == "images"].set_index(["prompt", "seed"])["because"]
    assert rows.fillna("").to_dict() == {
        ("car", 0): "",
        ("car", 1): "",
        ("car", 2): "no car found",
        ("car and dog", 0): "",
        ("car and dog", 1): "",
        ("car and dog", 2): "no dog found",
        ("red car", 0): "",
        ("red car", 1): "car is green, asked red",
        ("red car", 2): "no car found",
        ("red car and blue dog", 0): "",
        ("red car and blue dog", 1): "car is blue, asked red; dog is red, asked blue",
        ("red car and blue dog", 2): "no dog found",
        ("dog right of car", 0): "",
        ("dog right of car", 1): "",
        ("dog right of car", 2): "no dog found",
    }
    kept = (found.path / "evidence.jsonl").read_text()
    assert '"car 0.95, blue"' in kept
    assert '"counts"' in kept


def test_the_colour_is_read_from_the_object_alone() -> None:
    run()
    assert len(CROPS) == 2 + 4  # cars and pairs, twice each; a pair without its dog is the same image as a car
    for pixels in CROPS:
        assert pixels.shape == (24, 16, 3)
        assert (pixels[10:14] == 153).all()
        assert not (pixels == 200).any()


def test_given_colours_need_no_second_judge() -> None:
    class Coloured(Segmenter):
        def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
            for query, found in super().observe(capability, queries):
                pixels = query.images[0].pixels
                names = tuple(os.environ["NAMES"].split())
                colours = np.zeros((len(found), len(names)), np.float32)
                for row, mask in enumerate(found.masks):
                    own = pixels[mask.unpack()][0]
                    colours[row] = [float(tuple(own) == PAINTS.get(name)) for name in names]
                yield query, Segments(**{**vars(found), "colours": colours, "colour_names": names})

    coloured = JudgeInfo(
        name="coloured",
        summary="",
        capabilities={"segment": frozenset({"colour"})},
        create=lambda setup: Coloured(),
        labels=lambda argument, options: (CAR, DOG),
    )
    os.environ["NAMES"] = "blue green red"
    found = run(coloured, out=Path("given"))
    assert [served["need"] for served in found.to_json()["results"][0].get("needs", [])] in ([], ["objects"])
    scores = {name: score.value for name, score in found.results[0].scores.items()}
    assert scores == {
        name: pytest.approx(score.value) for name, score in run(out=Path("read")).results[0].scores.items()
    }
    os.environ["NAMES"] = "green red"
    unknown = run(coloured, out=Path("unknown"), fresh=True, max_failed=1.0)
    assert unknown.results[0].n_failed == 3
    assert "does not know the colour 'blue'; it knows green, red" in (unknown.path / "failures.csv").read_text()
    with pytest.raises(NoJudge):
        run(SEGMENTER, out=Path("none"))


def test_an_embedding_without_direction_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLIND", "1")
    found = run(max_failed=1.0)
    (result,) = found.results
    assert (result.n_ok, result.n_failed) == (10, 5)
    assert "no cosine" in (found.path / "failures.csv").read_text()


def test_other_thresholds_ask_no_judge_and_open_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    run(out=Path("first"))
    monkeypatch.setattr("t2i_core.api.image.decode", lambda *_: pytest.fail("an image was opened"))
    found = run(out=Path("again"), options={"geneval": {"confidence": 0.5}})
    assert found.results[0].scores["images"].value == pytest.approx(8 / 15)
    none = run(out=Path("none"), options={"geneval": {"confidence": 0.96}})
    assert none.results[0].scores["images"].value == 0


@pytest.mark.parametrize("question", ["new", "prompts", "seeds"])
def test_intervals_answer_the_question(question: Any) -> None:
    (result,) = run(interval=question).results
    low, high = result.scores["geneval"].ci
    assert 0 <= low < 8 / 15 < high <= 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (prompt("p"), "has no scene with objects"),
        (prompt("p", SceneObject(CAR, "grey")), "'grey'"),
        (prompt("p", SceneObject(CAR), SceneObject(DOG), relations=(Relation(0, "near", 1),)), "'near'"),
    ],
)
def test_prompts_that_cannot_be_measured_are_refused(wrong: Prompt, said: str) -> None:
    with pytest.raises(BadPrompts, match=said):
        run(prompts=[wrong])


BLANK = JudgeInfo(
    name="test-mean",
    summary="Segments and embeds, without colours.",
    capabilities={"segment": frozenset(), "embed": frozenset()},
    create=TEST_JUDGE.create,
    labels=TEST_JUDGE.labels,
)


def _coloured_prompts(setup: Any) -> Iterator[Prompt]:
    for each in (CAR, DOG):
        for colour in (None, "red"):
            name = f"{colour} {each.name}"
            yield Prompt(name, name, Scene((SceneObject(each, colour),)))


class TestContract(MetricContract):
    module = "t2i_geneval.plugin"
    name = "geneval"
    options: ClassVar = {"confidence": 0.2}


class TestContractWithCrops(TestContract):
    judge = BLANK
    prompts = "coloured"
    resolver_parts = (PromptSourceInfo(name="coloured", summary="", prompts=_coloured_prompts),)


class TestPrompts(PromptSourceContract):
    module = "t2i_geneval.plugin"
    name = "geneval"


class TestMiniPrompts(PromptSourceContract):
    module = "t2i_geneval.plugin"
    name = "geneval-mini"


def test_defaults_name_its_own_prompts() -> None:
    assert GENEVAL.defaults.prompts in {source.name for source in t2i_prompt_sources()}
    assert GENEVAL.measures[0].name == GENEVAL.name
