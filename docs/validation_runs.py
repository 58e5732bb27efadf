"""Draw the lines of docs/validation.md, judge and score them, each with many salts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from t2i_core import ModelRequest, Run, evaluate, load_run
from t2i_core.results.result import Score
from validation_lines import Line, Rates

SALTS = 20
#: Salts where 20 would take too long.
FEW = 6
#: A trained judge's own rates are measured on as many pictures of another salt.
APART = 1000
#: An ideal judge reads annotations, so small pictures do; the trained ones see them as large as their users do, a
#: little noisier, because thousands are drawn.
ORACLE, TRAINED = {"size": 64, "spp": 2}, {"spp": 8}


@dataclass(frozen=True)
class Said:
    """Results of a line: a value for each salt with its interval, the truth, and what their mean should be.

    error    standard error of the mean of the values, if the page tells it
    """

    line: Line
    judge: str
    expected: float
    typical: float
    values: tuple[tuple[float, float, float], ...]
    images: int
    error: float | None = None

    @property
    def mean(self) -> float:
        """Of the values."""
        return float(np.mean([value for value, _, _ in self.values]))

    @property
    def holding(self) -> int:
        """Number of intervals that contain the expected value, to rounding."""
        return sum(lo - 1e-9 <= self.expected <= hi + 1e-9 for _, lo, hi in self.values)


def enough(salts: int) -> int:
    """Return the least number of intervals, one a salt, that must hold the truth.

    A right program has fewer at most .3 % of the time.
    """
    return int(binom.ppf(0.003, salts, 0.95))


def say(line: Line, judge: str, out: Path, salts: int = SALTS) -> Said:
    """Draw, judge and score a line with that many salts; a trained judge's rates too, on other pictures.

    Lines that share a judge's rates find them in the same folder beside.
    """
    run = _run(line, judge, line.put_in, range(salts), out / _slug(line, judge))
    table = run.measurements()
    if judge == line.oracle or not line.fault:
        rates = Rates(wrong=line.wrong(table), halfway=line.halfway(table) if line.halfway else None)
    else:
        rates = _rates(replace(line, seeds=line.seeds * salts), judge, out / "rates")
    values = tuple((one.value, *one.ci) for one in scores_of(line, run))
    expected = line.expected(rates, table)
    typical = expected if line.typical is None else line.typical(rates)
    return Said(line, judge, expected, typical, values, len(run.samples()))


def say_all(lines: Sequence[Line], out: Path, salts: int = SALTS) -> Iterator[tuple[Said, float]]:
    """Yield the results of lines by their oracle, then by trained judges, each with an ideal judge's score."""
    ideal = [say(line, line.oracle, out, salts) for line in lines]
    yield from ((said, said.expected) for said in ideal)
    for said in ideal:
        if said.line.trained:
            yield say(said.line, said.line.trained, out, said.line.trained_salts or salts), said.expected


def _slug(line: Line, judge: str) -> str:
    put_in = "-".join(f"{name}-{value}" for name, value in line.put_in.items())
    return f"{_name_prompts(line)}-{put_in}-{judge}".replace(":", "-")


def _name_prompts(line: Line) -> str:
    return "-".join([line.metric, line.prompts, *([line.measure] if line.asked else [])])


def _run(line: Line, judge: str, put_in: Mapping[str, Any], salts: Sequence[int], out: Path) -> Run:
    small = ORACLE if judge == line.oracle else TRAINED
    models = [ModelRequest("simulator", f"salt {salt}", {**small, **put_in, "salt": salt}) for salt in salts]
    return kept(
        line.metric, models, prompts=line.prompts, seeds=line.seeds, limit=line.limit, judge=judge, out=out,
        options={**({f"metric:{line.metric}": line.options} if line.options else {}),
                 **({f"prompt_source:{line.prompts}": line.asked} if line.asked else {})},
    )  # fmt: skip


def kept(metric: str, models: Sequence[ModelRequest], out: Path, **how: Any) -> Run:
    """Evaluate, unless that was done: to score 20 models again, and to compare each two, takes a minute."""
    done = (out / "run.json").exists() and load_run(out).status == "done"
    run = load_run(out) if done else evaluate(metric, models, out=out, **how)
    if run.failed is not None:
        raise SystemExit(f"{out}: {run.failed}")
    return run


def _rates(line: Line, judge: str, out: Path) -> Rates:
    """A trained judge's own rates."""
    shared = out / f"{_name_prompts(line)}-{line.fault}-{judge}"
    ends = {"right": line.ends[0], "wrong": line.ends[1], **({"halfway": 0.5} if line.halfway else {})}
    runs = {name: _run(line, judge, {line.fault: end}, [APART], shared / name) for name, end in ends.items()}
    return Rates(**{name: _rate(line, run) for name, run in runs.items()})


def _rate(line: Line, run: Run) -> float:
    """A trained judge's own rate, from a run of one model."""
    if line.rated is not None:
        return line.rated(run.measurements())
    (score,) = scores_of(line, run)
    return score.value


def scores_of(line: Line, run: Run) -> list[Score]:
    """Return the score of the line's measure, of each model of a run."""
    return [result.scores[line.measure] for result in run.results]
