"""Pairs of two models' images that a metric compares: each reason with its number of pairs and with pictures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from t2i_core.results.result import make_title
from t2i_core.results.run import Run

from ..names import key_prompts, model_names
from .gallery import Gallery
from .mistakes import MOST_GROUPS, MOST_SHOWN, Mistake, MistakeExample


@dataclass(frozen=True)
class _PairRow:
    """A row about two models' images; `because` may be empty."""

    title: str
    a: str
    b: str
    prompt: str
    seed: int
    measure: str
    value: float
    because: str

    @property
    def pair(self) -> tuple[str, str, str]:
        """The measure and the models."""
        return self.measure, self.a, self.b


def find_pair_mistakes(runs: Sequence[Run], shown: Gallery) -> Iterator[Mistake]:
    """Yield the most frequent reasons of metrics that compare two images, by metric and pair of models.

    Args:
        runs: The runs.
        shown: Their images.
    """
    rows = list(_list_rows(runs, shown))
    totals = Counter((row.title, row.pair) for row in rows)
    groups: dict[tuple[str, str], list[_PairRow]] = defaultdict(list)
    for row in rows:
        if row.because:
            groups[row.title, row.because].append(row)
    kept: Counter[str] = Counter()
    for (title, because), found in sorted(groups.items(), key=lambda group: -len(group[1])):
        kept[title] += 1
        if kept[title] > MOST_GROUPS:
            continue
        for measure, a, b in dict.fromkeys(row.pair for row in found):
            own = [row for row in found if row.pair == (measure, a, b)]
            examples = list(_make_examples(own, shown))[:MOST_SHOWN]
            n = totals[title, (measure, a, b)]
            yield Mistake(title, measure, f"{a} and {b}", because, len(own), n, examples=examples)


def _list_rows(runs: Sequence[Run], shown: Gallery) -> Iterator[_PairRow]:
    """Yield the rows of all runs; those about two images that an earlier run has too are left out."""
    columns = ["metric", "model_a", "model_b", "prompt", "seed", "measure", "value"]
    seen: set[tuple[str, str, str, str, int]] = set()
    for run, names, titles in zip(runs, model_names(runs), shown.titles, strict=True):
        if "measurements.csv" not in run.manifest.files:
            continue
        table = run.measurements()
        if not {*columns, "because"} <= set(table.columns):
            continue
        table = table.dropna(subset=columns)
        keys, by = key_prompts(run), table["by"] if "by" in table else [None] * len(table)
        because = table["because"].fillna("")
        own = []
        cells = table[columns].itertuples(index=False, name=None)
        for (metric, a, b, prompt, seed, measure, value), judges, why in zip(cells, by, because, strict=True):
            title = make_title(metric, None if pd.isna(judges) else judges)
            key = keys.get(prompt, f"{prompt}\0")
            own.append(_PairRow(titles.get(title, title), names[a], names[b], key, int(seed), measure, value, why))
        places = [(row.title, row.a, row.b, row.prompt, row.seed) for row in own]
        yield from (row for row, place in zip(own, places, strict=True) if place not in seen)
        seen.update(places)


def _make_examples(rows: Sequence[_PairRow], shown: Gallery) -> Iterator[MistakeExample]:
    """Yield the pictures of pairs side by side, the loser first; of each prompt one before others of the same."""
    found: dict[tuple[str, int], MistakeExample] = {}
    for row in rows:
        models = (row.b, row.a) if row.value > 0.5 else (row.a, row.b)
        places = [place for model in models for place in shown.find_all(model, row.prompt, row.seed)]
        if len(places) == 2:
            first, second = (MistakeExample(at, shown.images[at], row.because, None) for at in places)
            found.setdefault((row.prompt, row.seed), replace(first, right=second))
    number: Counter[str] = Counter()
    ranked = []
    for (prompt, _), example in found.items():
        ranked.append((number[prompt], example))
        number[prompt] += 1
    yield from (example for _, example in sorted(ranked, key=lambda each: each[0]))
