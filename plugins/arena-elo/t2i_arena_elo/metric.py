"""Metric `elo`: each two models' images of a prompt fight, and Bradley-Terry rates the models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import (
    Excluded,
    Need,
    Note,
    PairMetric,
    Query,
    Row,
    Sample,
    Setup,
    TableMetric,
    Unit,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import Prompt
from t2i_core.api.study import Analysis, Study

from .battle_files import read_battles
from .battles import Battle
from .fit import LEAST, Fought, maximise
from .options import EloOptions
from .ratings import MEAN, POINTS, Settled, existing, fought, in_points, settle
from .rows import battles_of, numbered, of_pair, verdict_of
from .sampling import gains

NEED = "preferred"
POSITION = "position"


class Elo(TableMetric, PairMetric):
    """Ratings of two or more models; battles of one prompt are resampled together."""

    # battles of one prompt in both orders and under several seeds are not independent: prompts are what is sampled
    crossed = False

    def __init__(self, setup: Setup[EloOptions]) -> None:
        super().__init__(setup)
        if not self.options.battles:
            self.needs = (Need(NEED, "prefer", queries=self._queries),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse files of battles that have nothing of these prompts."""
        if self.options.battles and not {prompt.id for prompt in prompts} & {p for p, _ in self._of_files}:
            named = ", ".join(str(path) for path in self.options.battles)
            raise BadPrompts(f"{named}: no battle has an id of these prompts")

    @cached_property
    def _of_files(self) -> dict[tuple[str, frozenset[str]], list[Battle]]:
        """Battles of the files that no unit has taken yet."""
        found: dict[tuple[str, frozenset[str]], list[Battle]] = {}
        for path in self.options.battles:
            for key, battles in of_pair(read_battles(path)).items():
                found.setdefault(key, []).extend(battles)
        return found

    @cached_property
    def _gains(self) -> Mapping[frozenset[str], float]:
        """How much another battle of each two models would tell, beside the others; empty without a pilot."""
        return gains(read_battles(self.options.pilot)) if self.options.pilot else {}

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        """Both orders of two images, or one that is drawn; nothing for a pair that is left out."""
        a, b = samples
        chance, side = _drawn(a, b)
        # a pair that nobody knows anything about is one to ask about
        told = self._gains.get(frozenset((a.model, b.model)), inf) if self._gains else 1.0
        if chance >= self.options.share * told:
            return []
        meaning = a.prompt.facets.get(self.options.definition, "")
        params = {"definitions": str(meaning)} if meaning else {}
        images = [sample.image for sample in samples if sample.image is not None]
        orders = [images, images[::-1]]
        if not self.options.both_orders:
            orders = [orders[side]]
        return [Query(tuple(order), (a.prompt.text,), params) for order in orders]

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Turn one pair's answers into a row for each: what its first model got, or that there was no verdict."""
        battles = self._from_files(unit) if self.options.battles else self._answers(unit)
        if not battles:
            yield Excluded("no battle of this pair" if self.options.battles else "this pair was not drawn")
        yield from numbered(battles, unit.models[0])

    def _answers(self, unit: Unit) -> list[Battle]:
        observed = unit.one()
        a, b = observed.samples
        turned = not self.options.both_orders and _drawn(a, b)[1] == 1
        orders = [(b.model, a.model), (a.model, b.model)] if turned else [(a.model, b.model), (b.model, a.model)]
        return [
            Battle(a.prompt.id, left, right, verdict_of(answer.verdict))
            for (left, right), answer in zip(orders, observed.all(NEED), strict=False)
        ]

    def _from_files(self, unit: Unit) -> list[Battle]:
        """The battles of this seed, and those of no known seed with the first of the pair's units."""
        assert unit.prompt is not None
        key = (unit.prompt.id, frozenset(unit.models))
        waiting = self._of_files.pop(key, [])
        left = [battle for battle in waiting if battle.seed not in (None, unit.seed)]
        if left:
            self._of_files[key] = left
        return [battle for battle in waiting if battle.seed in (None, unit.seed)]

    def prepare(self, table: pd.DataFrame) -> _Read | None:
        """Read the decided battles; None if there are none."""
        battles = battles_of(table)
        data, rows, present = fought(battles, self.options.ties)
        if not len(rows):
            return None
        models = tuple(battles.models[i] for i in present)
        return _Read(data, rows, models, settle(data, models, self.options.position))

    def aggregate(self, read: _Read | None, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return each model's rating and, where it can be told, what it is worth to be shown first, in points."""
        if read is None:
            return {}
        names = [*read.models, POSITION] if read.settled.order else read.models
        own = weights[read.rows]
        if not read.has_maximum(own):
            return dict.fromkeys(names, nan)
        fit = maximise(
            read.data.tally(own), order=read.settled.order, prior=read.settled.prior, start=read.settled.fit
        )
        values = [*(MEAN + POINTS * fit.theta).tolist(), in_points(fit.gamma)]
        return dict(zip(names, values, strict=False))

    def remarks(self, table: pd.DataFrame) -> Iterator[Note]:
        """Say how the battles ended, and what the ratings are where there is no greatest likelihood."""
        battles = battles_of(table)
        said = ", ".join(f"{count} {verdict}" for verdict, count in battles.counts().items() if count)
        yield Note(f"{len(table)} battles (left was shown first): {said}")
        if battles.human.any():
            yield Note(
                "people voted: what others would have said is in the intervals of t2i analyze, not in these"
            )
        read = self.prepare(table)
        yield from map(Note, ("no battle was decided",) if read is None else read.settled.notes)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield ratings with ranks, verdicts, what sources beside say, and a summary of the run's metrics."""
        from .analyses import analyses

        yield from analyses(study, self.options)


@dataclass(frozen=True)
class _Read:
    """A table's decided battles: which rows they are, between which models, and how these can be rated."""

    data: Fought
    rows: NDArray[np.intp]
    models: tuple[str, ...]
    settled: Settled

    def has_maximum(self, weights: NDArray[np.float64]) -> bool:
        """Whether what there is a maximum of without weights has one with them: some battles may hardly count."""
        part = weights > LEAST
        if part.all():
            return True
        data = self.data
        found, with_order = existing(Fought(data.models, data.left[part], data.right[part], data.score[part]))
        return (len(found) == 1 or self.settled.regularised) and (with_order or not self.settled.order)


def _drawn(a: Sample, b: Sample) -> tuple[float, int]:
    """Two draws for a pair of images, the same in every run: a number from 0 to 1, and one of two orders."""
    key = "\n".join([a.prompt.id, str(a.seed), *sorted((a.model, b.model))])
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64, digest[8] % 2
