"""Measure `mini-vqa` on unseen pictures: ``python .../training/evaluate_vqa.py SCENES OUT/model``.

SCENES are those of `evaluate_detector`. Each picture is asked about the kinds that it shows and about others: is
there one, how many, in which colour, and where? About half of the questions with yes and no are true. The oracle
knows the answers. Prints, by kind of question, how often the judge's answer is right, and for questions with yes
and no, how well its probabilities are calibrated (Brier score, and expected calibration error in ten bins).

References:
    Guo et al.: On Calibration of Modern Neural Networks. ICML 2017 (temperatures, expected calibration error).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from evaluate_detector import answers
from evaluate_segmenter import share
from numpy.typing import NDArray
from t2i_core.api import Detections, Failure, Truth, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.io.vocabulary import Vocabulary, pluralize
from t2i_miniworld import question_answers
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LABELS, SYNSETS
from t2i_transformers.detection_answers import answer_by_detections
from t2i_transformers.scene_questions import read_question
from training_data import load

NUMBERS = tuple("012345")
SIDES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}
BINS = 10
_VOCABULARY = Vocabulary("the mini world", LABELS)


@dataclass(frozen=True)
class AskedPicture:
    """A question about a picture, of one kind."""

    kind: str
    question: VisualQuestion


def list_questions(truth: Truth, rng: np.random.Generator) -> Iterator[AskedPicture]:
    """Yield questions about a picture: of yes and no, one about it and one about something else of each kind."""
    shown = Counter(each.cls.name for each in truth.instances)
    kind = str(rng.choice(list(shown)))
    other = str(rng.choice([name for name in SYNSETS if name not in shown]))
    yield _ask("object", f"Is there {_name(kind)}?")
    yield _ask("object", f"Is there {_name(other)}?")
    number = shown[kind]
    for asked in (number, number + int(rng.choice([-1, 1]))):
        if asked > 1:
            yield _ask("number", f"Are there exactly {asked} {pluralize(kind)}?")
    yield AskedPicture("how many", VisualQuestion(f"How many {pluralize(kind)} are there?", NUMBERS))
    painted = [each for each in truth.instances if each.colour and shown[each.cls.name] == 1]
    if painted:
        one = painted[int(rng.integers(len(painted)))]
        another = str(rng.choice([paint for paint in PAINTS if paint != one.colour]))
        for paint in (one.colour, another):
            yield _ask("colour", f"Is the {one.cls.name} {paint}?")
        yield AskedPicture("what colour", VisualQuestion(f"What colour is the {one.cls.name}?", tuple(PAINTS)))
    if len(shown) == len(truth.instances) == 2:
        first, second = shown
        for side in rng.choice(list(SIDES), 2, replace=False):
            yield _ask("place", f"Is the {first} {SIDES[side]} the {second}?")
    names = " and ".join(_name(each) for each in (kind, str(rng.choice([*shown, other]))))
    if len(set(names.split(" and "))) == 2:
        yield _ask("scene", f'Does this figure show "a photo of {names}"?')


def judge(seen: Detections, question: VisualQuestion) -> tuple[int | None, NDArray[np.float64]]:
    """Return the index of the chosen answer, and the probability of each."""
    found = answer_by_detections(question, read_question(question, _VOCABULARY), seen)
    assert found.probs is not None
    return found.chosen, found.probs


def measure(pictures: Sequence[tuple[Detections, Truth]]) -> dict[str, Any]:
    """Return the shares of right answers by kind, with Wilson's intervals, and the calibration of yes and no."""
    right: dict[str, Counter[bool]] = defaultdict(Counter)
    shares: list[float] = []
    truths: list[bool] = []
    for number, (seen, truth) in enumerate(pictures):
        for asked in list_questions(truth, np.random.default_rng(number)):
            known = question_answers.answer(asked.question, truth)
            if isinstance(known, Failure) or known.chosen is None:
                continue
            chosen, probs = judge(seen, asked.question)
            right[asked.kind][chosen == known.chosen] += 1
            if asked.question.choices == YES_NO:
                right["yes and no"][chosen == known.chosen] += 1
                shares.append(float(probs[0]))
                truths.append(known.choice == "yes")
    right["yes and no"] = sum(
        (right[kind] for kind in ("object", "number", "colour", "place", "scene")), Counter()
    )
    figures: dict[str, Any] = {kind: share(count) for kind, count in right.items()}
    return figures | calibration(np.array(shares), np.array(truths))


def calibration(probability: NDArray[np.float64], true: NDArray[np.bool_]) -> dict[str, float]:
    """Return the Brier score and the expected calibration error of probabilities of yes."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = [
        (bins == each).mean() * abs(probability[bins == each].mean() - true[bins == each].mean())
        for each in np.unique(bins)
    ]
    return {
        "share of yes": round(float(true.mean()), 4),
        "Brier score": round(float(((probability - true) ** 2).mean()), 4),
        "calibration error": round(float(sum(gaps)), 4),
    }


def _ask(kind: str, text: str) -> AskedPicture:
    return AskedPicture(kind, VisualQuestion(text, YES_NO))


def _name(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def main() -> None:
    """Read the command line, measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("model", type=Path, help="OUT/model of train_detector")
    parser.add_argument("--split", default="heldout")
    given = parser.parse_args()
    print(json.dumps(measure(list(answers(given.model, list(load(given.scenes, given.split)), "cpu"))), indent=2))


if __name__ == "__main__":
    main()
