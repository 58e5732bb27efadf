"""Metric `elo`: a judge compares two models' images of a prompt; a Bradley-Terry fit rates the models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import (
    AdaptiveMetric,
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
from .battle_rounds import BattleRounds
from .battles import Battle, Battles
from .options import EloOptions
from .ratings import UNEQUAL
from .rows import LOOK, PROPENSITY, battles_by_pair, battles_of, rows_of_unit, turn_verdict, verdict_of
from .sampling import gains
from .weighted_ratings import WeightedRatings, weigh_ratings

NEED = "preferred"


class Elo(TableMetric, AdaptiveMetric, PairMetric):
    """Bradley-Terry ratings of two or more models. Battles of one prompt are resampled together."""

    # battles of one prompt, in both orders and with several seeds, are not independent, so prompts are resampled
    crossed = False
    raters = "rater"

    def __init__(self, setup: Setup[EloOptions]) -> None:
        super().__init__(setup)
        self._labels: tuple[str, ...] = ()
        self.adaptive = self.options.in_rounds
        self._rounds = BattleRounds((), self.options)
        if not self.options.battles:
            self.needs = (Need(NEED, "prefer", queries=self._queries),)

    def set_models(self, labels: Sequence[str]) -> None:
        """Keep the models, of which a protocol may draw two for each prompt."""
        self._labels = tuple(sorted(labels))
        self._rounds = BattleRounds(self._labels, self.options)

    def begin_rounds(self, prompts: Sequence[Prompt]) -> None:
        """Begin the first round, in which all pairs are drawn alike."""
        self._rounds.begin([prompt.cluster_id for prompt in prompts])

    def add_round(self, observed: Iterable[Observed]) -> bool:
        """Look at the answers so far, and begin the next round; return False if the battles end."""
        each = (replace(b, prompt=o.prompt.cluster_id) for o in observed for b in self._list_battles(o))
        return self._rounds.add(Battles.of(each, self._labels))

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
        if self._rounds.begun:
            drawn = self._rounds.find(a.prompt.cluster_id)
            return drawn is not None and self._draw(a, b)[0] < drawn.propensities[pair]
        # a pair of models without any pilot battle is always asked about
        gain = self._gains.get(pair, inf) if self._gains else 1.0
        share: float = self.options.share
        return self._draw(a, b)[0] < share * gain

    def measure(self, unit: Unit) -> Iterator[Row | Note | Excluded]:
        """Yield a row for each answer about a pair: the points of its first model, or that there is no verdict."""
        battles = self._from_files(unit) if self.options.battles else self._list_battles(unit.one())
        drawn = self._rounds.find(unit.one().prompt.cluster_id) if self._rounds.begun else None
        if self._rounds.verdict:
            yield Note(self._rounds.verdict)
        if not battles:
            yield Excluded(self._explain_no_battle(ended=self._rounds.begun and drawn is None))
        known = {LOOK: drawn.look, PROPENSITY: drawn.propensities[frozenset(unit.models)]} if drawn else {}
        judge = unit.judges[NEED].name if NEED in unit.judges else ""
        for row in rows_of_unit(battles, unit.models[0], judge):
            yield replace(row, facets={**row.facets, **known})

    def _explain_no_battle(self, ended: bool) -> str:
        if ended:
            return "the battles had ended before this prompt's round"
        return "no battle of this pair" if self.options.battles else "this pair was not drawn"

    def _list_battles(self, observed: Observed) -> list[Battle]:
        """Return the battles of a pair of images: one for each order, or one for each person who answered."""
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

    def prepare(self, table: pd.DataFrame) -> WeightedRatings | None:
        """Return the decided battles of a table; None if it has none."""
        return weigh_ratings(table, self.options)

    def aggregate(self, decided: WeightedRatings | None, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return each model's rating and, if it can be estimated, the advantage of being shown first.

        Args:
            decided: The decided battles.
            weights: Weight of each row, float (n,).
        """
        return {} if decided is None else decided.rate(weights)

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
        if decided is not None and decided.data.weight is not None:
            yield Note(UNEQUAL)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield ratings with ranks, verdicts, comparisons with other sources, and the best model by metric."""
        from .analyses import analyses

        yield from analyses(study, self.options)


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
