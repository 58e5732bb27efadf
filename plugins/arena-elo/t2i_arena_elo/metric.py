"""Metric `elo`: a judge compares two models' images of a prompt; a Bradley-Terry fit rates the models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import inf, nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import (
    Excluded,
    Need,
    Note,
    Observed,
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
from .fit import LEAST, DecidedBattles, maximise
from .options import EloOptions
from .ratings import MEAN, POINTS, ModelFit, decided_battles, find_maxima, fit_ratings, in_points
from .rows import battles_by_pair, battles_of, rows_of_unit, turn_verdict, verdict_of
from .sampling import gains

NEED = "preferred"
POSITION = "position"


class Elo(TableMetric, PairMetric):
    """Bradley-Terry ratings of two or more models. Battles of one prompt are resampled together."""

    # battles of one prompt, in both orders and with several seeds, are not independent, so prompts are resampled
    crossed = False
    raters = "rater"

    def __init__(self, setup: Setup[EloOptions]) -> None:
        super().__init__(setup)
        self._labels: tuple[str, ...] = ()
        if not self.options.battles:
            self.needs = (Need(NEED, "prefer", queries=self._queries),)

    def set_models(self, labels: Sequence[str]) -> None:
        """Keep the models, of which a protocol may draw two for each prompt."""
        self._labels = tuple(sorted(labels))

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that the files of battles have a battle of at least one of these prompts.

        Raises:
            BadPrompts: If no battle has the id of one of these prompts.
        """
        if self.options.battles and not {prompt.id for prompt in prompts} & {p for p, _ in self._of_files}:
            named = ", ".join(str(path) for path in self.options.battles)
            raise BadPrompts(
                f"{named}: no battle has the id of one of these prompts; name the prompts of the battles, or rate "
                "battles without prompts by t2i arena tally"
            )

    @cached_property
    def _of_files(self) -> dict[tuple[str, frozenset[str]], list[Battle]]:
        """Battles of the files, by prompt and pair of models, that no unit has taken yet."""
        found: dict[tuple[str, frozenset[str]], list[Battle]] = {}
        for path in self.options.battles:
            for key, battles in battles_by_pair(read_battles(path)).items():
                found.setdefault(key, []).extend(battles)
        return found

    @cached_property
    def _gains(self) -> Mapping[frozenset[str], float]:
        """Relative information gain of another battle, by pair of models; empty without a pilot."""
        return gains(read_battles(self.options.pilot)) if self.options.pilot else {}

    def _queries(self, samples: Sequence[Sample]) -> list[Query]:
        """Return queries for both orders of two images, or for a drawn order; none if the pair is not drawn."""
        a, b = samples
        if not self._is_drawn(a, b):
            return []
        definition = a.prompt.facets.get(self.options.definition, "")
        params = {"definitions": str(definition)} if definition else {}
        if self.options.protocol == "taxonomy":
            params["question"] = "taxonomy"
        images = [sample.image for sample in samples if sample.image is not None]
        orders = [images, images[::-1]]
        if not self._asks_both_orders:
            orders = [orders[self._draw(a, b)[1]]]
        return [Query(tuple(order), (a.prompt.text,), params) for order in orders]

    @property
    def _asks_both_orders(self) -> bool:
        return bool(self.options.both_orders) and self.options.protocol != "taxonomy"

    def _is_drawn(self, a: Sample, b: Sample) -> bool:
        """Return whether the judge is asked about a pair of images."""
        pair = frozenset((a.model, b.model))
        if self.options.protocol == "taxonomy":
            pairs = list(combinations(self._labels, 2))
            number = _hash_number(self.options.draw_seed, a.prompt.id, a.seed) % len(pairs)
            return pair == frozenset(pairs[number])
        # a pair of models without any pilot battle is always asked about
        gain = self._gains.get(pair, inf) if self._gains else 1.0
        share: float = self.options.share
        return self._draw(a, b)[0] < share * gain

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Yield a row for each answer about a pair: the points of its first model, or that there is no verdict."""
        battles = self._from_files(unit) if self.options.battles else self._answers(unit)
        if not battles:
            yield Excluded("no battle of this pair" if self.options.battles else "this pair was not drawn")
        yield from rows_of_unit(battles, unit.models[0])

    def _answers(self, unit: Unit) -> list[Battle]:
        observed = unit.one()
        a, b = observed.samples
        if votes := _list_votes(observed, self._is_turned(a, b)):
            return votes
        turned = self._is_turned(a, b)
        orders = [(b.model, a.model), (a.model, b.model)] if turned else [(a.model, b.model), (b.model, a.model)]
        return [
            Battle(a.prompt.id, left, right, verdict_of(answer.verdict))
            for (left, right), answer in zip(orders, observed.all(NEED), strict=False)
        ]

    def _is_turned(self, a: Sample, b: Sample) -> bool:
        """Return whether the first query about a pair shows the second model's image first."""
        return not self._asks_both_orders and self._draw(a, b)[1] == 1

    def _draw(self, a: Sample, b: Sample) -> tuple[float, int]:
        """Return two reproducible draws for a pair: a number in [0, 1), and one of two orders (0 or 1)."""
        key = [a.prompt.id, str(a.seed), *sorted((a.model, b.model))]
        if self.options.draw_seed:
            key.append(f"draw {self.options.draw_seed}")
        digest = hashlib.sha256("\n".join(key).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") / 2**64, digest[8] % 2

    def _from_files(self, unit: Unit) -> list[Battle]:
        """Return the battles of this seed. Battles without a seed go to the first unit of the pair."""
        assert unit.prompt is not None
        key = (unit.prompt.id, frozenset(unit.models))
        waiting = self._of_files.pop(key, [])
        left = [battle for battle in waiting if battle.seed not in (None, unit.seed)]
        if left:
            self._of_files[key] = left
        return [battle for battle in waiting if battle.seed in (None, unit.seed)]

    def prepare(self, table: pd.DataFrame) -> _DecidedRows | None:
        """Return the decided battles of a table; None if it has none."""
        battles = battles_of(table)
        data, rows, present = decided_battles(battles, self.options.ties)
        if not len(rows):
            return None
        models = tuple(battles.models[i] for i in present)
        return _DecidedRows(data, rows, models, fit_ratings(data, models, self.options.position))

    def aggregate(self, decided: _DecidedRows | None, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return each model's rating and, if it can be estimated, the advantage of being shown first.

        Args:
            decided: The decided battles.
            weights: Weight of each row, float (n,).

        Returns:
            Ratings by model, and the advantage in Elo points as `position`; all NaN if no maximum exists under
            these weights.
        """
        if decided is None:
            return {}
        model_fit = decided.model_fit
        names = [*decided.models, POSITION] if model_fit.order else decided.models
        own = weights[decided.rows]
        if not decided.has_maximum(own):
            return dict.fromkeys(names, nan)
        fit = maximise(decided.data.tally(own), order=model_fit.order, prior=model_fit.prior, start=model_fit.fit)
        values = [*(MEAN + POINTS * fit.theta).tolist(), in_points(fit.gamma)]
        return dict(zip(names, values, strict=False))

    def remarks(self, table: pd.DataFrame) -> Iterator[Note]:
        """Yield how the battles ended, and whether the ratings had to be regularised."""
        battles = battles_of(table)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in battles.counts().items() if count)
        if self.options.protocol == "taxonomy" and not self.options.battles:
            yield Note(f"taxonomy protocol: one drawn pair for each prompt (draw_seed {self.options.draw_seed})")
        yield Note(f"{len(table)} battles (left was shown first): {counts}")
        if battles.human.any() and not battles.human.all():
            yield Note("not all battles are people's: the intervals do not cover variation between annotators")
        decided = self.prepare(table)
        yield from map(Note, ("no battle was decided",) if decided is None else decided.model_fit.notes)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield ratings with ranks, verdicts, comparisons with other sources, and the best model by metric."""
        from .analyses import analyses

        yield from analyses(study, self.options)


@dataclass(frozen=True)
class _DecidedRows:
    """Decided battles of a table.

    Attributes:
        data: The battles as arrays.
        rows: Their row numbers in the table.
        models: The models that took part.
        model_fit: The fit to all of them, without weights.
    """

    data: DecidedBattles
    rows: NDArray[np.intp]
    models: tuple[str, ...]
    model_fit: ModelFit

    def has_maximum(self, weights: NDArray[np.float64]) -> bool:
        """Return whether the likelihood still has a maximum under weights, some of which may be almost 0."""
        part = weights > LEAST
        if part.all():
            return True
        data = self.data
        found, with_order = find_maxima(
            DecidedBattles(data.models, data.left[part], data.right[part], data.score[part])
        )
        return (len(found) == 1 or self.model_fit.regularised) and (with_order or not self.model_fit.order)


def _list_votes(observed: Observed, turned: bool) -> list[Battle]:
    """Return a battle for each person who answered, with the sides as the person saw them; none if none did.

    Both orders of a pair have the same votes, so those of the first query are all of them.
    """
    shown = [sample.model for sample in observed.samples]
    first, second = reversed(shown) if turned else shown
    return [
        Battle(
            observed.prompt.id,
            *((first, second) if vote.as_shown else (second, first)),
            verdict_of(vote.answer) if vote.as_shown else turn_verdict(verdict_of(vote.answer)),
            judge=vote.rater,
            human=True,
        )
        for answer in observed.all(NEED)[:1]
        for vote in answer.votes
    ]


def _hash_number(draw_seed: int, prompt: str, seed: int) -> int:
    """Return a large number that depends on nothing but its arguments."""
    key = f"pair {draw_seed}\n{prompt}\n{seed}"
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8], "big")
