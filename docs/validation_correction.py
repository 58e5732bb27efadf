"""Scores corrected by people where the truth is known: a part of docs/validation.md, and its plot.

``python docs/validation_correction.py OUT``. A judge errs at rates that are put in; people, who do not, label a
drawn part of the images.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
from t2i_core import ModelRequest, Run
from t2i_core.api.figure import LinePlot
from t2i_core.api.resolver import installed_resolver
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_core.results.corrected_run import correct_run
from t2i_core.results.figures import convert_to_png, draw_svg
from t2i_core.statistics import draw_labels
from t2i_tiam.questions import QUESTION
from validation_page import write_part
from validation_runs import ORACLE, SALTS, enough, kept

PLOT = Path(__file__).with_name("validation_correction.png")
ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4)
DROP, SEEDS, PROMPTS, LABELS = 0.3, 20, 10, 60


@dataclass(frozen=True)
class Three:
    """A score by the judge, by people's labels alone, and corrected, each with its interval, for each salt.

    Attributes:
        error: Rate of wrong answers of the judge.
        judge: Values and intervals, shape (salts, 3): value, low, high.
        labels: The same by the labels alone.
        corrected: The same of the corrected score.
        gain: How many labels one label with the judge is worth, on the mean.
    """

    error: float
    judge: np.ndarray
    labels: np.ndarray
    corrected: np.ndarray
    gain: float

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three."""
        return self.judge, self.labels, self.corrected


def evaluate_by(error: float, out: Path) -> Run:
    """Draw two objects of which one may be lost, 20 times, and have a judge that errs answer TIAM's questions."""
    models = [ModelRequest("simulator", f"salt {s}", {**ORACLE, "drop": DROP, "salt": s}) for s in range(SALTS)]
    return kept(
        "tiam", models, prompts="tiam-5-2", seeds=SEEDS, limit=PROMPTS, judge="answer=oracle",
        out=out / f"answers-wrong-{error}", options={"oracle": {"answer_error": error}} if error else {},
    )  # fmt: skip


def write_labels(truth: Run, file: Path) -> None:
    """Draw images of each model, and write what people who never err answer about them."""
    table = truth.measurements()
    found = table[table["measure"] == "found"]
    samples = truth.samples()
    places = samples.set_index(["model", "prompt", "seed"])["digest"]
    answers = []
    for number, (model, own) in enumerate(found.groupby("model", sort=False)):
        images = own[["prompt", "seed"]].drop_duplicates().reset_index(drop=True)
        draw = draw_labels(len(images), LABELS, rng_seed=number)
        drawn = own.merge(images.loc[draw.rows], on=["prompt", "seed"])
        for row in drawn.itertuples():
            shown = ShownImages(str(model), (int(row.seed),), (places[model, row.prompt, row.seed],))
            said = "yes" if row.value else "no"
            text = QUESTION.format(object=row.object)
            answers.append(
                HumanAnswer("people", f"objects {row.position}", said, (shown,), row.prompt, text,
                            probability=LABELS / len(images))
            )  # fmt: skip
    write_answers(file, answers)


def correct(out: Path) -> list[Three]:
    """Return the three scores for each rate of errors."""
    file = out / "labels.csv"
    write_labels(evaluate_by(0.0, out), file)
    found = []
    for error in ERRORS:
        results = correct_run(evaluate_by(error, out), f"people:{file}", installed_resolver()).results
        corrections = [result.correction for result in results if result.correction is not None]
        parts = (
            [(result.score, *(result.ci or (None, None))) for result in results],
            [(one.labels.value, *(one.labels.ci or (None, None))) for one in corrections],
            [(one.value, *(one.ci or (None, None))) for one in corrections],
        )
        gain = float(np.mean([one.gain for one in corrections if one.gain is not None]))
        found.append(Three(error, *(np.array(part, float) for part in parts), gain))
        holding = ", ".join(str(count_holding(part)) for part in found[-1].parts)
        print(f"wrong in {error}: gain {gain:.2f}; {holding} of {SALTS} hold the truth")
    return found


def count_holding(part: np.ndarray) -> int:
    """Return how many intervals hold the truth."""
    return int(((part[:, 1] <= 1 - DROP) & (part[:, 2] >= 1 - DROP)).sum())


def describe(found: Sequence[Three]) -> str:
    """Return the part of the page."""
    rows = pd.DataFrame(
        [
            (
                f"{one.error:.0%}",
                *(f"{part[:, 0].mean():.3f}" for part in one.parts),
                *(f"{(part[:, 2] - part[:, 1]).mean():.3f}" for part in one.parts[1:]),
                f"{one.gain:.2f}",
                *(f"{count_holding(part)} of {SALTS}" for part in one.parts),
            )
            for one in found
        ]
    )
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows.itertuples(index=False))
    columns = ("wrong answers", "judge", "labels", "corrected", "width: labels", "width: corrected", "gain")
    held = ("judge holds", "labels hold", "corrected hold")
    head = "".join(f"| {' | '.join(row)} |\n" for row in ((*columns, *held), ("---",) * 10))
    return f"""
## Scores corrected by people

The simulator leaves out one of two objects at a rate of {DROP}, so the share of images that show both is
{1 - DROP:.1f}. The judge answers TIAM's questions and gives a wrong answer at the rate in the first column.
People, who give none, label {LABELS} of {PROMPTS * SEEDS} images, drawn at random. Each line is drawn {SALTS}
times; at least {enough(SALTS)} of {SALTS} intervals must hold the truth. `gain` is the number of labels that one
label with the judge is worth.

    python docs/validation_correction.py OUT

{head}{lines}
![Judge, labels alone and corrected score for each rate of errors](validation_correction.png)

The judge's score moves away from the truth with its errors; the corrected score does not. The better the judge,
the narrower the corrected interval; a judge close to chance gains nothing.
"""


def plot(found: Sequence[Three]) -> bytes:
    """Return a picture (PNG) of the three scores of the first salt, and of the mean width of their intervals."""
    drawn, width = "TIAM in one of 20 draws", "mean width of 20 intervals"
    rows = []
    for place, name in enumerate(("judge", "labels alone", "corrected")):
        rows += [(drawn, name, one.error, *one.parts[place][0]) for one in found]
        if place:
            widths = [(one.parts[place][:, 2] - one.parts[place][:, 1]).mean() for one in found]
            rows += [(width, name, one.error, mean, nan, nan) for one, mean in zip(found, widths, strict=True)]
    table = pd.DataFrame(rows, columns=["shown", "score", "error", "value", "low", "high"])
    figure = LinePlot(
        x="error", y="value", colour="score", facet="shown", band="bars", reference=1 - DROP, y_range=(0, 1),
        x_title="rate of wrong answers", note="dashed: the true score; bars: 95 % intervals",
    )  # fmt: skip
    return convert_to_png(draw_svg(figure, table))


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page, and the plot."""
    found = correct(out)
    write_part(Path(__file__).name, describe(found))
    PLOT.write_bytes(plot(found))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
