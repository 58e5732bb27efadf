"""Rules of dependencies and T2I-CompBench's scores, on cases computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Detections,
    Embedding,
    JudgeInfo,
    ObjectClass,
    Prompt,
    PromptQuestion,
    PromptSourceInfo,
    Query,
    QuestionAnswer,
    Scene,
    SceneObject,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.evaluation import evaluate
from t2i_core.testing import TEST_MODEL, StaticResolver
from t2i_questions.composition_rules import find_distinct, find_iou, find_relation
from t2i_questions.dependencies import (
    UnknownParent,
    find_valid,
    find_valid_in_order,
    find_valid_with_ancestors,
)
from t2i_questions.plugin import t2i_metrics

NAMES = ("dog", "cat", "person", "boat")
LABELS = tuple(map(ObjectClass, NAMES))
COLOURS = ("red", "blue")
Thing = tuple[str, float, Sequence[float], str]


def see(*things: Thing) -> Detections:
    """Return detections: names, confidences, boxes and colours."""
    return Detections(
        size=(32, 32),
        boxes=np.array([box for _, _, box, _ in things], np.float32).reshape(-1, 4),
        scores=np.array([score for _, score, _, _ in things], np.float32),
        classes=np.array([NAMES.index(name) for name, _, _, _ in things], np.int16),
        labels=LABELS,
        colours=np.array([[colour == each for each in COLOURS] for _, _, _, colour in things], np.float32),
        colour_names=COLOURS,
    )


def test_descendants_are_lost_whatever_the_order() -> None:
    right = {"1": True, "2": True, "3": False, "4": True}
    parents = {"1": ("2",), "2": ("3",), "3": (), "4": ()}
    assert find_valid_with_ancestors(right, parents) == {"1": False, "2": False, "3": True, "4": True}
    assert find_valid_in_order(right, parents) == {"1": True, "2": False, "3": True, "4": True}
    assert find_valid(right, parents) == {"1": True, "2": False, "3": True, "4": True}


def test_circles_end() -> None:
    circle = {"1": ("2",), "2": ("1",)}
    assert find_valid_with_ancestors({"1": True, "2": True}, circle) == {"1": True, "2": True}
    assert find_valid_with_ancestors({"1": True, "2": False}, circle) == {"1": False, "2": False}


def test_parents_that_do_not_exist() -> None:
    assert find_valid({"2": True}, {"2": ("1",)}) == {"2": False}
    assert find_valid_with_ancestors({"2": True}, {"2": ("1",)}) == {"2": False}
    with pytest.raises(UnknownParent, match="question 2 depends on question 1"):
        find_valid_in_order({"2": True}, {"2": ("1",)})


def test_no_parent_after_a_lost_one_is_looked_up() -> None:
    right = {"1": False, "2": True}
    assert find_valid_in_order(right, {"2": ("1", "9")}) == {"1": True, "2": False}
    with pytest.raises(UnknownParent, match="question 2 depends on question 9"):
        find_valid_in_order(right, {"2": ("9", "1")})


LEFT, RIGHT = (0, 0, 8, 8), (16, 4, 24, 12)


def test_a_detection_that_repeats_an_object_counts_once() -> None:
    boxes = [(0, 0, 10, 10), (0, 0, 10, 9.5), (2, 2, 4, 4), (20, 0, 30, 10)]
    assert find_distinct(boxes) == [0, 3]
    assert find_iou((0, 0, 0, 0), (0, 0, 0, 0)) == 0


def test_relations_are_found_in_their_order() -> None:
    assert find_relation("a cat next to a dog on the left of a mug") == "next to"
    assert find_relation("a cat on top of a dog") == "on top of"
    assert find_relation("a cat and a dog") is None


VECTORS = {"a dog": [1.0, 0.0], "a cat": [-1.0, 0.0], "nothing": [0.0, 0.0]}


class SeeingJudge:
    """Sees two dogs, one of them twice, a person and a boat, and is half sure of everything."""

    SEEN = see(
        ("dog", 0.9, LEFT, "red"),
        ("dog", 0.8, (0, 0, 8, 7.9), "red"),
        ("dog", 0.7, RIGHT, "blue"),
        ("person", 0.6, (0, 20, 8, 28), "blue"),
        ("cat", 0.4, RIGHT, "red"),
    )

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            if capability == "detect":
                yield query, self.SEEN
            elif capability == "embed":
                yield (
                    query,
                    Embedding(np.array([3.0, 4.0] if query.images else VECTORS[query.texts[0]], np.float32)),
                )
            else:
                share = 0.6 if query.texts[0].startswith("a red") else 0.2
                yield query, QuestionAnswer(query.texts[1:], 0, np.array([share, 0.8 - share]))


JUDGE = JudgeInfo(
    name="seeing",
    summary="Sees the same in every image.",
    capabilities={"detect": frozenset({"colour"}), "embed": frozenset(), "answer": frozenset({"probs"})},
    labels=lambda argument, options: LABELS,
    create=lambda setup: SeeingJudge(),
)
METRIC = next(info for info in t2i_metrics() if info.name == "t2i-compbench")
ASKED = (
    PromptQuestion("1", "a red dog?", category="attribute"),
    PromptQuestion("2", "a cat?", category="attribute"),
)
DOG, CAT, BOY, GIRL = map(ObjectClass, ("dog", "cat", "boy", "girl"))


def task(name: str, text: str = "x", scene: Scene | None = None, **fields: Any) -> Prompt:
    facets = {"task": name, **fields.pop("facets", {})}
    return Prompt(f"{name}-{text}", text, scene=scene, facets=facets, **fields)


def pair(first: ObjectClass, second: ObjectClass) -> Scene:
    return Scene((SceneObject(first), SceneObject(second)))


PROMPTS = (
    task("attribute", questions=ASKED),  # .75 and .25
    task("spatial", "a dog on the left of a boy", pair(DOG, BOY)),  # straight above it: 1.5 / 4
    task("spatial", "a dog on the top of a girl", pair(DOG, GIRL)),
    task("spatial", "a dog near a cat", pair(DOG, CAT)),  # no cat
    task("numeracy", "two dogs and a cat", Scene((SceneObject(DOG, count=2), SceneObject(CAT)))),
    task("numeracy", "three dogs", Scene((SceneObject(DOG, count=3),))),
    task("non-spatial", "a dog"),
    task("non-spatial", "a cat"),  # a cosine below 0
    task("complex", "a dog on the top of a boy", pair(DOG, BOY), questions=ASKED, references=("a dog",)),
    task("complex", "a thing", questions=ASKED, references=("a dog",), facets={"listed_as": "action"}),
)
EXPECTED = (0.1875, 0.0, 0.875, 0.0, 0.5, 0.5, 0.6, 0.0, (0.1875 + 0.875 + 0.6) / 3, (0.1875 + 0.6) / 2)


def measure(prompts: Iterable[Prompt], out: Path, **options: Any) -> Any:
    source = PromptSourceInfo(name="tasks", summary="Tasks.", prompts=lambda setup: iter(prompts))
    return evaluate(
        METRIC, TEST_MODEL, prompts="tasks", seeds=1, judge="seeing", out=out,
        options={"t2i-compbench": options}, resolver=StaticResolver(JUDGE, source),
    )  # fmt: skip


def test_each_task_has_its_rule(tmp_path: Path) -> None:
    run = measure(PROMPTS, tmp_path / "run")
    table = run.measurements().set_index("prompt")
    assert table["value"].to_dict() == pytest.approx(
        {prompt.id: value for prompt, value in zip(PROMPTS, EXPECTED, strict=True)}, abs=1e-6
    )
    reasons = table["because"].to_dict()
    assert reasons["attribute-x"] == "no to: a cat?"
    assert reasons["spatial-a dog near a cat"] == "cat not found"
    assert reasons["spatial-a dog on the left of a boy"] == "dog is not on the left of boy"
    assert reasons["numeracy-three dogs"] == "counted 2 dog, asked 3"
    assert "person" in (run.folder / "evidence.jsonl").read_text()
    assert any("do not compare" in note for note in run.results[0].notes)


def test_only_the_judges_of_the_tasks_are_asked(tmp_path: Path) -> None:
    run = measure(PROMPTS[6:8], tmp_path / "run", tasks=["non-spatial"])
    assert [judge.need for judge in run.results[0].judges] == ["similarity"]
    assert run.measurements()["value"].tolist() == pytest.approx([0.6, 0.0], abs=1e-6)


@pytest.mark.parametrize("prompt", [task("non-spatial", "nothing"), task("complex", "nothing", questions=ASKED)])
def test_an_embedding_of_0_is_a_failure(prompt: Prompt, tmp_path: Path) -> None:
    run = measure([prompt], tmp_path / "run")
    assert (run.results[0].n_ok, run.results[0].n_failed) == (0, 1)
    assert "an embedding is 0, so it has no cosine" in (run.folder / "failures.csv").read_text()


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Prompt("a", "a"), "must be one of attribute"),
        (task("attribute"), "has no questions of the category `attribute`"),
        (task("spatial", "a dog and a cat", pair(DOG, CAT)), "needs two objects and a relation"),
        (task("numeracy"), "needs objects with their numbers"),
    ],
)
def test_prompts_that_lack_what_their_task_needs_are_refused(prompt: Prompt, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadPrompts, match=message):
        measure([prompt], tmp_path / "run")


def test_a_task_that_is_left_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPrompts, match="which the option `tasks` leaves out"):
        measure(PROMPTS[:1], tmp_path / "run", tasks=["numeracy"])
