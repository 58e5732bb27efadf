"""People's answers as numbers, and the images of runs that they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.io.answers import CANNOT_TELL, LEFT, PREFERENCE, RIGHT, AnswerFile, HumanAnswer, ShownImages, locate
from t2i_core.results.run import Run

from t2i_people.answer_groups import Scale, find_scale

Form = Literal["preference", "rating", "yes-no"]
Sample = tuple[str, str, int]
"""Model, prompt and seed."""

_BINARY = {"yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}
_OTHER_IMAGES = "about images that the runs do not have"


@dataclass(frozen=True)
class HumanValues:
    """The answers to one question as numbers.

    Attributes:
        question: Its name.
        form: Which numbers: of a preference 1 for the first model, -1 for the second, 0 for a tie (both bad is
            one); of a rating the number itself; of yes and no 1 and 0.
        table: One row per answer: `models` (a tuple of one or two labels, in alphabetical order), `prompt`,
            `seeds` (a tuple for each side; empty if not known), `rater` and `value`.
        scale: Ends of the scale of ratings.
    """

    question: str
    form: Form
    table: pd.DataFrame
    scale: Scale = (None, None)

    @property
    def n_people(self) -> int:
        """Number of people."""
        return int(self.table["rater"].nunique())


def list_images(runs: Iterable[Run]) -> dict[Sample, str]:
    """Return the digest of each image of the runs.

    Raises:
        BadOption: If two runs have different images of one model, prompt and seed.
    """
    found: dict[Sample, str] = {}
    for run in runs:
        samples = run.samples()
        there = samples[samples["status"] == "ok"]
        for model, prompt, seed, digest in there[["model", "prompt", "seed", "digest"]].itertuples(index=False):
            if found.setdefault((model, prompt, int(seed)), digest) != digest:
                raise BadOption(
                    f"{run.path}: another run has another image of model {model!r}, prompt {prompt!r}, seed "
                    f"{seed}; give only one of these runs, or give their models different labels"
                )
    return found


def read_human_values(
    file: AnswerFile, images: Mapping[Sample, str], questions: Sequence[str] = ()
) -> tuple[list[HumanValues], list[str]]:
    """Return the answers to each question as numbers, and notes on those that are left out.

    Args:
        file: The answers.
        images: Digests of the runs' images.
        questions: Names of the questions; all, if empty.

    Raises:
        BadOption: If no question has answers about the runs' images that are numbers, preferences, yes or no.
    """
    asked = tuple(dict.fromkeys(questions or [answer.question for answer in file.answers]))
    found, notes = [], []
    for question in asked:
        answers = file.about(question)
        form = _find_form(question, answers)
        if form is None:
            notes.append(f"{question}: left out, because its answers are neither numbers nor yes and no")
            continue
        left_out = Counter[str]()
        rows = []
        for answer in locate(_match_images(answers, images), _list_places(images)):
            reason = "cannot tell" if answer.answer == CANNOT_TELL else _find_absent(answer, images)
            if reason:
                left_out[reason] += 1
            else:
                rows.append(_make_row(answer, form))
        notes += [f"{question}: {count} answers left out ({why})" for why, count in sorted(left_out.items())]
        if rows:
            table = pd.DataFrame(rows, columns=["models", "prompt", "seeds", "rater", "value"])
            scale = find_scale(answers) if form == "rating" else (None, None)
            found.append(HumanValues(question, form, table, scale))
    if not found:
        why = f" ({', '.join(notes)})" if notes else ""
        raise BadOption(
            f"{file.path}: no answers that can be set beside a metric of these runs{why}; name the runs whose "
            "images people saw"
        )
    return found, notes


def _find_form(question: str, answers: Iterable[HumanAnswer]) -> Form | None:
    if question == PREFERENCE:
        return "preference"
    told = [answer for answer in answers if answer.answer != CANNOT_TELL]
    values = {answer.answer.lower() for answer in told}
    if not values or any(len(answer.shown) > 1 for answer in told):
        return None
    if values <= _BINARY.keys():
        return "yes-no"
    return "rating" if all(map(_is_number, values)) else None


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def _match_images(answers: Iterable[HumanAnswer], images: Mapping[Sample, str]) -> Iterable[HumanAnswer]:
    """Yield answers without the labels that do not fit their images' digests, so that these alone locate them."""
    for answer in answers:
        if all(side.digests for side in answer.shown) and not all(
            _fits(side, answer.prompt, images) for side in answer.shown
        ):
            bare = tuple(ShownImages(digests=side.digests) for side in answer.shown)
            yield replace(answer, shown=bare, prompt="")
        else:
            yield answer


def _fits(side: ShownImages, prompt: str, images: Mapping[Sample, str]) -> bool:
    return len(side.seeds) == len(side.digests) and all(
        images.get((side.model, prompt, seed)) == digest
        for seed, digest in zip(side.seeds, side.digests, strict=True)
    )


def _list_places(images: Mapping[Sample, str]) -> dict[str, Sample]:
    places: dict[str, Sample] = {}
    for sample, digest in images.items():
        places.setdefault(digest, sample)
    return places


def _find_absent(answer: HumanAnswer, images: Mapping[Sample, str]) -> str | None:
    """Return why the images of an answer are not those of the runs; None if they are."""
    if not all(side.model for side in answer.shown):
        return _OTHER_IMAGES
    known = {(model, prompt) for model, prompt, _ in images} if not all(s.seeds for s in answer.shown) else set()
    for side in answer.shown:
        if side.seeds and not all((side.model, answer.prompt, seed) in images for seed in side.seeds):
            return _OTHER_IMAGES
        if not side.seeds and (side.model, answer.prompt) not in known:
            return _OTHER_IMAGES
    return None


def _make_row(answer: HumanAnswer, form: Form) -> tuple[object, ...]:
    sides = [(side.model, tuple(sorted(side.seeds))) for side in answer.shown]
    if form == "preference":
        value = {LEFT: 1.0, RIGHT: -1.0}.get(answer.answer, 0.0)
        if sides[0] > sides[1]:
            sides, value = sides[::-1], -value
    else:
        value = _BINARY[answer.answer.lower()] if form == "yes-no" else float(answer.answer)
    models, seeds = tuple(model for model, _ in sides), tuple(own for _, own in sides)
    return models, answer.prompt, seeds, answer.rater, value
