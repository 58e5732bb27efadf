"""Votes in the place of people's for the mini version of SelfEval's Figure 4: no person has seen these images.

    python plugins/selfeval/training/mini_votes.py

writes `mini-votes.csv`: for each right caption of `selfeval-mini`, `mini` and `mini-early` draw an image with seed
0, and `mini-clip` prefers the image with the higher cosine to the caption.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from t2i_core import Run, evaluate
from t2i_core.io.answers import LEFT, RIGHT, TIE

FILE = Path(__file__).parent.parent / "t2i_selfeval" / "paper_tables" / "mini-votes.csv"
MODELS = ("mini", "mini-early")
JUDGE = "mini-clip"
SAMPLES = 12
"""Samples of each task."""

COLUMNS = ("prompt", "model_a", "model_b", "value")
"""Columns of a battle: its value is 1 if the first model wins, and 0 if the second does."""


def judge(folder: Path) -> Run:
    """Return a run that compares the models' images of each caption."""
    return evaluate(
        "elo",
        MODELS,
        prompts="selfeval-mini",
        seeds=1,
        judge=f"prefer={JUDGE}",
        options={"prompt_source:selfeval-mini": {"limit": SAMPLES}, "metric:elo": {"both_orders": False}},
        out=folder / "run",
    )


def vote(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """Yield each prompt's id, the models whose images stand left and right, and the verdict."""
    rows = run.measurements()
    for prompt, left, right, win in zip(*(rows[name] for name in COLUMNS), strict=True):
        yield prompt, left, right, {1: LEFT, 0: RIGHT}.get(win, TIE)


def main() -> None:
    """Write the votes."""
    with TemporaryDirectory() as folder, FILE.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["prompt", "left", "right", "verdict", "judge"])
        out.writerows((*line, JUDGE) for line in vote(judge(Path(folder))))


if __name__ == "__main__":
    main()
