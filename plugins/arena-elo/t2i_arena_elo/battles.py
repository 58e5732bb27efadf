"""Battles: what was said of two models' images of one prompt, one by one and as columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["left", "right", "tie", "both-bad", "unparsable", "refused", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The first four decide a battle; an answer that says none, one that was refused, and one that failed do not."""

DECIDED = 4
"""So many verdicts, from the first, decide."""

NOBODY = "nobody named"
"""What a judge is called of whom battles do not say who it was."""

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Battle:
    """One verdict on two models' images of one prompt.

    prompt:   the prompt's id; empty where it is not known
    left:     the model whose image was shown on the left, or first
    right:    the other
    verdict:  `left` and `right` name the better image
    subset:   the prompt's category
    judge:    the annotator, or the model that judged
    human:    whether that is a person
    seed:     that both images were drawn with; None where it is not known, or where several were shown
    time:     seconds since 1970 (UTC); None where it is not known

    Raises ValueError for a verdict that is none and for a model against itself.
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

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"the verdict {self.verdict!r}; want one of {', '.join(VERDICTS)}")
        if self.left == self.right:
            raise ValueError(f"{self.left!r} against itself")


@dataclass(frozen=True)
class Battles:
    """Many battles as columns: a code per battle, int32 (n,), into a table of distinct texts.

    left, right: codes into `models`
    verdict:     int8 (n,), index into `VERDICTS`
    human:       bool (n,)
    seed:        int64 (n,), -1 where it is not known
    time:        float64 (n,), NaN where it is not known
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

    @classmethod
    def of(cls, battles: Iterable[Battle], models: Sequence[str] = ()) -> Self:
        """Gather battles. `models` come first, in this order, whether they fought or not."""
        tables: dict[str, dict[str, int]] = {name: {} for name in ("models", "prompts", "subsets", "judges")}
        for model in models:
            tables["models"].setdefault(model, len(tables["models"]))

        def code(table: str, text: str) -> int:
            return tables[table].setdefault(text, len(tables[table]))

        rows = [
            (
                code("models", b.left), code("models", b.right), code("prompts", b.prompt),
                code("subsets", b.subset), code("judges", b.judge), VERDICTS.index(b.verdict), b.human,
                -1 if b.seed is None else b.seed, math.nan if b.time is None else b.time,
            )
            for b in battles
        ]  # fmt: skip
        columns = list(zip(*rows, strict=True)) or [()] * 9
        types = (np.int32,) * 5 + (np.int8, np.bool_, np.int64, np.float64)
        arrays: list[Any] = [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return cls(*(tuple(table) for table in tables.values()), *arrays)

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
    ) -> Self:
        """Gather battles that are columns of codes already, into these models, prompts and, if any, people."""
        count = len(left)
        none = np.zeros(count, np.int32)
        judge = judge.astype(np.int32) if people and judge is not None else none
        return cls(
            tuple(models), tuple(prompts), ("",), tuple(people) or ("",),
            left.astype(np.int32), right.astype(np.int32), prompt.astype(np.int32), none, judge,
            verdict.astype(np.int8), np.full(count, bool(people)), np.full(count, -1), np.full(count, np.nan),
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
            )

    def take(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Return some of the battles, by mask or by index; the tables of texts stay as they are."""
        columns = ("left", "right", "prompt", "subset", "judge", "verdict", "human", "seed", "time")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Which battles have a verdict that decides."""
        return self.verdict < DECIDED

    def counts(self) -> dict[Verdict, int]:
        """How many battles ended with each verdict."""
        found = np.bincount(self.verdict, minlength=len(VERDICTS)).tolist()
        return dict(zip(VERDICTS, found, strict=True))
