"""Battles: verdicts on two models' images of one prompt, as objects and as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.facet_levels import split_levels

Verdict = Literal["left", "right", "tie", "both-bad", "unparsable", "refused", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All verdicts. The first four decide a battle. `unparsable` is an answer without a verdict."""

DECIDED = 4
"""Number of verdicts that decide a battle; they are the first of `VERDICTS`."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Battle:
    """One verdict on two models' images of one prompt.

    Attributes:
        prompt: Id of the prompt; empty if unknown.
        left: Model whose image was shown on the left, or first.
        right: The other model.
        verdict: `left` and `right` name the better image.
        subset: Category of the prompt.
        judge: The annotator, or the judge model.
        human: Whether the judge is a person.
        seed: Seed of both images; None if unknown, or if several images were shown on each side.
        time: Seconds since 1970 (UTC); None if unknown.
        propensity: Probability with which these images were drawn to be compared; battles weigh inversely to it.

    Raises:
        ValueError: If the verdict is not one of `VERDICTS`, or both models are the same.
    """

    prompt: str
    left: str
    right: str
    verdict: Verdict
    subset: str = ""
    judge: str = ""
    human: bool = False
    seed: int | None = None
    time: float | None = None
    propensity: float = 1.0

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"'verdict' must be one of {', '.join(VERDICTS)} (got {self.verdict!r})")
        if self.left == self.right:
            raise ValueError(f"'left' and 'right' must be two models (got {self.left!r} twice)")
        if not 0 < self.propensity <= 1:
            raise ValueError(f"'propensity' must be above 0 and at most 1 (got {self.propensity!r})")


@dataclass(frozen=True)
class Battles:
    """Many battles as columns of n values. Texts are stored once and referred to by integer codes.

    Attributes:
        models: Distinct models.
        prompts: Distinct prompt ids.
        subsets: Distinct categories.
        judges: Distinct judges.
        left: int32 (n,), index into `models`.
        right: int32 (n,), index into `models`.
        prompt: int32 (n,), index into `prompts`.
        subset: int32 (n,), index into `subsets`.
        judge: int32 (n,), index into `judges`.
        verdict: int8 (n,), index into `VERDICTS`.
        human: bool (n,).
        seed: int64 (n,); -1 if unknown.
        time: float64 (n,), seconds since 1970 (UTC); NaN if unknown.
        propensity: float64 (n,), probability with which the images were drawn to be compared, in (0, 1].
    """

    models: tuple[str, ...]
    prompts: tuple[str, ...]
    subsets: tuple[str, ...]
    judges: tuple[str, ...]
    left: Codes
    right: Codes
    prompt: Codes
    subset: Codes
    judge: Codes
    verdict: NDArray[np.int8]
    human: NDArray[np.bool_]
    seed: NDArray[np.int64]
    time: NDArray[np.float64]
    propensity: NDArray[np.float64]

    @classmethod
    def of(cls, battles: Iterable[Battle], models: Sequence[str] = ()) -> Self:
        """Return battles as columns. `models` come first, in this order, even without battles."""
        tables: dict[str, dict[str, int]] = {name: {} for name in ("models", "prompts", "subsets", "judges")}
        for model in models:
            tables["models"].setdefault(model, len(tables["models"]))

        def code(table: str, text: str) -> int:
            return tables[table].setdefault(text, len(tables[table]))

        rows = [
            (
                code("models", b.left), code("models", b.right), code("prompts", b.prompt),
                code("subsets", b.subset), code("judges", b.judge), VERDICTS.index(b.verdict), b.human,
                -1 if b.seed is None else b.seed, math.nan if b.time is None else b.time, b.propensity,
            )
            for b in battles
        ]  # fmt: skip
        columns = list(zip(*rows, strict=True)) or [()] * 10
        types = (np.int32,) * 5 + (np.int8, np.bool_, np.int64, np.float64, np.float64)
        arrays: list[Any] = [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        texts = {name: tuple(table) for name, table in tables.items()}
        return cls(texts["models"], texts["prompts"], texts["subsets"], texts["judges"], *arrays)

    @classmethod
    def coded(
        cls,
        models: Sequence[str],
        prompts: Sequence[str],
        *,
        left: NDArray[Any],
        right: NDArray[Any],
        prompt: NDArray[Any],
        verdict: NDArray[Any],
        people: Sequence[str] = (),
        judge: NDArray[Any] | None = None,
        propensity: NDArray[np.float64] | None = None,
    ) -> Self:
        """Return battles from columns of codes into `models`, `prompts` and, if given, `people`."""
        count = len(left)
        none = np.zeros(count, np.int32)
        judge = judge.astype(np.int32) if people and judge is not None else none
        return cls(
            tuple(models), tuple(prompts), ("",), tuple(people) or ("",),
            left.astype(np.int32), right.astype(np.int32), prompt.astype(np.int32), none, judge,
            verdict.astype(np.int8), np.full(count, bool(people)), np.full(count, -1), np.full(count, np.nan),
            np.ones(count) if propensity is None else propensity,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.left)

    def __iter__(self) -> Iterator[Battle]:
        for i in range(len(self)):
            yield Battle(
                prompt=self.prompts[self.prompt[i]],
                left=self.models[self.left[i]],
                right=self.models[self.right[i]],
                verdict=VERDICTS[self.verdict[i]],
                subset=self.subsets[self.subset[i]],
                judge=self.judges[self.judge[i]],
                human=bool(self.human[i]),
                seed=None if self.seed[i] < 0 else int(self.seed[i]),
                time=None if math.isnan(self.time[i]) else float(self.time[i]),
                propensity=float(self.propensity[i]),
            )

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return the selected battles, by mask or by index. The tables of texts stay unchanged."""
        columns = ("left", "right", "prompt", "subset", "judge", "verdict", "human", "seed", "time", "propensity")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Mask of the battles with a verdict that decides, bool (n,)."""
        return self.verdict < DECIDED

    def counts(self) -> dict[Verdict, int]:
        """Return the number of battles by verdict."""
        found = np.bincount(self.verdict, minlength=len(VERDICTS)).tolist()
        return dict(zip(VERDICTS, found, strict=True))


def split_subsets(battles: Battles) -> dict[str, Battles]:
    """Return the battles of each subset, in order of appearance; a battle may be in several subsets."""
    levels: dict[str, list[int]] = {}
    for code, subset in enumerate(battles.subsets):
        for level in split_levels(subset) if subset else ():
            levels.setdefault(str(level), []).append(code)
    found = {level: battles.take(np.isin(battles.subset, codes)) for level, codes in levels.items()}
    return {level: own for level, own in found.items() if len(own)}
