"""Simulated people for PaintSkills' components: no person has seen these images.

    python plugins/paintskills/training/simulated_components.py

writes `mini-skills.csv`, the answers of three simulated people about three simulators with errors, for the mini
version of DALL-Eval's Table 5. They see what is really drawn, and err about one image of ten.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api.image import Instance, Truth
from t2i_core.io.answers import HumanAnswer, ShownImages
from t2i_core.io.component_answers import COLOUR, NUMBER, OBJECT, OBJECT_A, OBJECT_B, RELATION
from t2i_paintskills.decisions import relation_between
from t2i_paintskills.skills import COLOURS, COUNTS, NAMES, RELATIONS

FILE = Path(__file__).parent.parent / "t2i_paintskills" / "paper_tables" / "mini-skills.csv"
MODELS = {
    "simulator that mistakes objects": {"wrong_object": 0.4},
    "simulator that forgets": {"drop": 0.3},
    "simulator that confuses colours": {"wrong_color": 0.4},
}
OBJECTS = ["dog", "chair"]
PEOPLE = ("ann", "bob", "cid")
ERROR = 0.1
NONE = "none"
CHOICES = {
    OBJECT: tuple(NAMES), NUMBER: tuple(map(str, COUNTS)), COLOUR: COLOURS,
    OBJECT_A: tuple(NAMES), OBJECT_B: tuple(NAMES), RELATION: RELATIONS,
}  # fmt: skip
"""Choices of the form `components`, without `none`."""
ASKED = {
    "object": (OBJECT,),
    "count": (OBJECT, NUMBER),
    "color": (OBJECT, COLOUR),
    "spatial": (OBJECT_A, OBJECT_B, RELATION),
}
"""The questions that matter for each skill."""


def describe(truth: Truth) -> dict[str, str]:
    """Return the components of what is really drawn: the largest object first."""
    seen = sorted(truth.instances, key=lambda each: -_area(each))
    found = dict.fromkeys(CHOICES, NONE)
    if not seen:
        return found
    first = seen[0]
    same = [each for each in seen if each.cls.same_as(first.cls)]
    found |= {OBJECT: first.cls.name, NUMBER: str(len(same)), COLOUR: str(first.colour), OBJECT_A: first.cls.name}
    others = [each for each in seen if each not in same] or same[1:]
    if others:
        found[OBJECT_B] = others[0].cls.name
        found[RELATION] = relation_between(_centre(others[0]), _centre(first))
    return {name: answer if answer in CHOICES[name] else NONE for name, answer in found.items()}


def err(answers: dict[str, str], rng: np.random.Generator, rate: float = ERROR) -> dict[str, str]:
    """Return the answers, or with probability `rate` the same with another answer to each question."""
    if rng.random() >= rate:
        return answers
    return {
        name: str(rng.choice([each for each in (*CHOICES[name], NONE) if each != answer]))
        for name, answer in answers.items()
    }


def vote(run: Run) -> Iterator[HumanAnswer]:
    """Yield each person's answers about each image of a run of the metric `paintskills`."""
    rng = np.random.default_rng(5)
    samples = run.samples()
    for row, truth in zip(samples.itertuples(), run.truths(samples["digest"]), strict=True):
        assert truth is not None  # the simulator keeps it
        shown = (ShownImages(row.model, (int(row.seed),)),)
        for person in PEOPLE:
            answers = err(describe(truth), rng)
            for question in ASKED[row.prompt.partition("-")[0]]:
                yield HumanAnswer(person, question, answers[question], shown, row.prompt)


def _area(each: Instance) -> float:
    x0, y0, x1, y1 = each.box
    return float((x1 - x0) * (y1 - y0))


def _centre(each: Instance) -> tuple[float, float]:
    x0, y0, x1, y1 = each.box
    return (x0 + x1) / 2, (y0 + y1) / 2


def main() -> None:
    """Write the answers."""
    with TemporaryDirectory() as folder:
        run = evaluate(
            ["paintskills"],
            [ModelRequest("simulator", label, {"size": 64, **faults}) for label, faults in MODELS.items()],
            prompts="paintskills",
            seeds=2,
            judge="detect=oracle",
            options={"prompt_source:paintskills": {"objects": OBJECTS}, "metric:paintskills": {"upper": None}},
            out=Path(folder) / "run",
        )
        with FILE.open("w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["rater", "question", "answer", "prompt", "left", "left_seeds"])
            for answer in vote(run):
                (shown,) = answer.shown
                out.writerow(
                    [answer.rater, answer.question, answer.answer, answer.prompt, shown.model, *shown.seeds]
                )


if __name__ == "__main__":
    main()
