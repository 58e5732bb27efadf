"""Write docs/validation.md's part on GenEval: ``python docs/validation_geneval.py OUT``.

Each line draws prompts of one of GenEval's tasks, with the fault that this task must notice at a known rate. The
judges are the oracle and the trained detector, whose colours need no CLIP.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_geneval.mini_world import MINI
from t2i_miniworld.taxonomy import LEAVES
from validation_lines import Line, mixed, quarter
from validation_page import write_lines
from validation_runs import FEW, enough

TASKS = 6

HEAD = """
## GenEval's tasks

Prompts of `geneval-mini`, of one task in each row but the last. The fault that the task must notice has a known
rate; with an ideal judge the score is then a formula of that rate alone. The trained detector reads colours
itself; its truth follows from its own rates on images without and with the fault, as above. Of rows that are
simulated {few} times, at least {enough} intervals must contain the truth; such few images leave wide intervals.

- d: rate of lost objects, for each object after the first; an image of n objects keeps all at (1 - d)^(n - 1).
- e: rate of an extra object. w: rate of wrong colours or kinds. s: rate of exchanged colours. f: rate of
  exchanged places. K: number of kinds, n of them of the prompt's class.

    python docs/validation_geneval.py OUT

| simulated faults | score | judge | truth | mean | off | intervals that contain it | images |
|---|---|---|---|---|---|---|---|
"""


def keep_all(table: pd.DataFrame, rate: float) -> float:
    """Return the share of images of counting prompts that lose no object."""
    counts = {f"{number:05d}": record["include"][0]["count"] for number, record in enumerate(MINI.build())}
    asked = [counts[prompt] for prompt in table.loc[table["measure"] == "counting", "prompt"].astype(str).unique()]
    return float(np.mean([(1 - rate) ** (count - 1) for count in asked]))


def other_kinds(table: pd.DataFrame) -> float:
    """Return the score where every object is of another of the K kinds: how many of these are of its class too."""
    of_class = Counter(LEAVES.values())
    sorts = table.groupby("prompt", observed=True)["class"].first().map(of_class)
    return float(((sorts - 1) / (len(LEAVES) - 1)).mean())


def _line(name: str, task: str, put_in: Mapping[str, Any], expected: Any, **more: Any) -> Line:
    more = {"limit": 10, "seeds": 1, "asked": {"tasks": [task]}, **more}
    return Line(name, "geneval", task, "geneval-mini", put_in, expected, **more)


def _mean_of_tasks(rate: float, table: pd.DataFrame) -> float:
    """Return the mean of the tasks where objects are lost: one object has no other that could be."""
    return (2 + 3 * (1 - rate) + keep_all(table, rate)) / TASKS


def list_lines() -> Iterator[Line]:
    """Yield the lines."""
    trained: dict[str, Any] = {"trained": "mini-detector"}
    few: dict[str, Any] = {**trained, "trained_salts": FEW}
    yield _line("wrong kinds of one: 1 - w (K - n) / (K - 1)", "single_object", {"wrong_object": 0.3}, mixed(0.3),
                wrong=other_kinds, fault="wrong_object", **trained)  # fmt: skip
    yield _line("objects lost of two: 1 - d", "two_object", {"drop": 0.4}, mixed(0.4), fault="drop", **trained)
    yield _line("one too many: 1 - e", "counting", {"extra": 0.3}, mixed(0.3), fault="extra", **trained)
    yield _line("objects lost of two to four: mean of (1 - d)^(n - 1)", "counting", {"drop": 0.2},
                lambda _, table: keep_all(table, 0.2))  # fmt: skip
    yield _line("wrong colours of one: 1 - w", "colors", {"wrong_color": 0.3}, mixed(0.3), fault="wrong_color",
                **trained)  # fmt: skip
    yield _line("exchanged colours of two: 1 - s", "color_attr", {"swap_colors": 0.3}, mixed(0.3),
                fault="swap_colors", **few)  # fmt: skip
    yield _line("wrong colours of two: (1 - w)^2", "color_attr", {"wrong_color": 0.3}, mixed(0.3), halfway=quarter,
                fault="wrong_color", **few)  # fmt: skip
    yield _line("exchanged places of two: 1 - f", "position", {"flip_relation": 0.3}, mixed(0.3),
                fault="flip_relation", **few)  # fmt: skip
    yield _line("objects lost: mean of six tasks", "geneval", {"drop": 0.3},
                lambda _, table: _mean_of_tasks(0.3, table), limit=24, asked={})  # fmt: skip


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    write_lines(Path(__file__).name, HEAD.format(few=FEW, enough=enough(FEW)), list(list_lines()), out)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
