"""Write docs/validation.md: what the metrics say where the truth is known. ``python docs/validation.py OUT``.

The simulator puts faults at stated rates into its pictures; `validation_lines` has what a metric must then say,
`validation_ladder` that of ratings. Each is drawn with 20 salts, for one 95 % interval misses the truth one time
in twenty though all is right: at least 16 must hold it (a right program fails this .3 % of the time; see
`enough`). OUT keeps the runs, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import validation_captions
import validation_correction
import validation_geneval
import validation_questions
import validation_retrieval
import validation_sets
import validation_texts
from validation_ladder import LADDERS, climb
from validation_lines import LINES, Line
from validation_page import PAGE, page, plot
from validation_runs import SALTS, Said, say, scores_of

PLOT = Path(__file__).with_suffix(".png")
#: Captions whose images are Gaussians, and models that know them but for noise: delta in sigmas, tau, N.
GAUSSIANS = runpy.run_path(
    str(Path(__file__).parents[1] / "plugins" / "selfeval" / "benchmarks" / "gaussian_captions.py"),
    run_name="gaussians",
)
WORLDS = (GAUSSIANS["GaussianWorld"](1.0, 0.0, 1), GAUSSIANS["GaussianWorld"](2.0, 4.0, 4))


def tell_apart(world: Any, out: Path, samples: int = 200) -> Said:
    """Have `selfeval` pick the caption of images that are drawn 20 times."""
    put_in = {"delta/sigma": world.delta, "tau": world.tau, "N": world.trials}
    line = Line(
        "two captions: Φ[(δ²/2σ²) / √(δ²/σ² + τ²/N)]", "selfeval", "accuracy", "levels", put_in,
        lambda *_: world.accuracy, oracle="the model itself",
    )  # fmt: skip
    scores = [scores_of(line, world.evaluated(samples, salt, out / str(salt)))[0] for salt in range(SALTS)]
    values = tuple((one.value, *one.ci) for one in scores)
    return Said(line, line.oracle, world.accuracy, world.accuracy, values, SALTS * samples)


def _report(one: Said) -> None:
    print(
        f"{one.line.name} {dict(one.line.put_in)}, {one.judge}: expected {one.expected:.4f}, mean {one.mean:.4f}, "
        f"{one.holding} hold it"
    )


def main() -> None:
    """Read the command line, draw what is missing, write page and plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    said = []
    for line in LINES:
        for judge in filter(None, (line.oracle, line.trained)):
            one = say(line, judge, out)
            said.append(one)
            _report(one)
    for ladder in LADDERS:
        favoured = f"-first-{ladder.first}" if ladder.first else ""
        rungs = climb(ladder, out / f"ladder-{ladder.error}{favoured}")
        said += rungs
        for one in rungs:
            _report(one)
    for world in WORLDS:
        one = tell_apart(world, out / f"gaussians-{world.delta}-{world.tau}-{world.trials}")
        said.append(one)
        _report(one)
    PAGE.write_text(page(said), encoding="utf-8")
    PLOT.write_bytes(plot(said))
    validation_captions.write(out / "captions")
    validation_texts.write(out / "texts")
    validation_retrieval.write(out / "retrieval")
    validation_geneval.write(out / "geneval")
    validation_sets.write(out / "sets")
    validation_questions.write(out / "questions")
    validation_correction.write(out / "correction")


if __name__ == "__main__":
    main()
