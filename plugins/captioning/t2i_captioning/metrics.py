"""The metrics `bleu`, `rouge-l` and `cider`, and the base of all metrics of captions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.metric import Metric, TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from t2i_captioning.bleu import compute_bleu, count_guesses, count_matches
from t2i_captioning.cider import compute_cider
from t2i_captioning.ngrams import MAX_N
from t2i_captioning.options import CaptionOptions
from t2i_captioning.ptb import tokenize
from t2i_captioning.references import InverseFrequencies, list_references, tokenize_reference
from t2i_captioning.rouge import compute_rouge_l

if TYPE_CHECKING:
    from t2i_core.api.metric import MeanOf
    from t2i_core.statistics import Estimate

NEED = "captions"
TOKENIZER = "captions are split by t2i's port of COCO's tokenizer (PTBTokenizer of Stanford CoreNLP 3.4.1)"
TEXT_ONLY_NOTE = (
    "compared with the prompt's text alone, because the prompt has no other references; published scores have "
    "about five"
)
OPTION_NOTE = (
    "compared with the prompt's text alone, as the option references says; published scores have about five"
)

BLEU = tuple(f"bleu-{n}" for n in (4, 1, 2, 3))
MATCHES = tuple(f"matches-{n}" for n in range(1, MAX_N + 1))
LENGTH, REFERENCE_LENGTH = "caption-length", "reference-length"


@dataclass(frozen=True)
class CaptionPair:
    """The tokenised caption of an image and its tokenised references."""

    caption: str
    references: tuple[str, ...]


class CaptionMetric(Metric):
    """Base of metrics that compare the caption of an image with the references of its prompt."""

    options: CaptionOptions
    needs = (Need(NEED, "caption"),)

    def list_references(self, prompt: Prompt) -> tuple[str, ...]:
        """Return what the caption of a prompt's image is compared with."""
        return list_references(prompt, self.options.references)

    def read_unit(self, unit: Unit) -> CaptionPair:
        """Return the caption of a unit's image, with its references."""
        observed = unit.one()
        references = self.list_references(observed.prompt)
        return CaptionPair(tokenize(observed.one(NEED).text), tuple(map(tokenize_reference, references)))

    def list_notes(self, prompt: Prompt) -> Iterator[Note]:
        """Yield the notes on tokens and references of one image."""
        yield Note(TOKENIZER)
        if self.options.references == "prompt":
            yield Note(OPTION_NOTE)
        elif self.list_references(prompt) == (prompt.text,):
            yield Note(TEXT_ONLY_NOTE, counted=True)


class RougeL(CaptionMetric):
    """The longest common subsequence of caption and references, mean over images."""

    def measure(self, unit: Unit) -> Iterator[Row | Note]:
        """Yield one row for one image."""
        pair = self.read_unit(unit)
        yield from self.list_notes(unit.one().prompt)
        yield Row("rouge-l", compute_rouge_l(pair.caption, pair.references), because=pair.caption)


class Cider(CaptionMetric):
    """The weighted n-grams that caption and references share, mean over images."""

    rows_depend_on_prompts = True

    def __init__(self, setup: Setup[CaptionOptions]) -> None:
        super().__init__(setup)
        self._idf: InverseFrequencies | None = None

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Count the n-grams of all references; refuse an empty list, and references of a single image."""
        if not prompts:
            raise BadPrompts("cider: there are no prompts, so n-grams have no weights; give at least two prompts")
        idf = InverseFrequencies(self.list_references(prompt) for prompt in prompts)
        if idf.images < 2:
            raise BadPrompts(
                "cider: all prompts have the same references, and with a single image every n-gram has the weight "
                "0; give prompts with different texts or references"
            )
        self._idf = idf

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for one image."""
        if self._idf is None:
            raise RuntimeError("call `check` with the prompts before `measure`")
        pair = self.read_unit(unit)
        yield from self.list_notes(unit.one().prompt)
        yield Note(
            f"n-grams are weighted by the references of the {self._idf.images} different images of this run"
        )
        yield Row("cider", compute_cider(pair.caption, pair.references, self._idf), because=pair.caption)


class Bleu(CaptionMetric, TableMetric):
    """The n-grams of all captions that their references have too.

    The rows of an image hold its own scores. The scores of a model come from the sums of the counts, as published.
    """

    aggregates: ClassVar[frozenset[str]] = frozenset({*MATCHES, LENGTH, REFERENCE_LENGTH})
    computes_headline = True

    def measure(self, unit: Unit) -> Iterator[Row | Note]:
        """Yield the rows of one image: its own scores, then its counts."""
        pair = self.read_unit(unit)
        counts = count_matches(pair.caption, pair.references)
        yield from self.list_notes(unit.one().prompt)
        own = compute_bleu(
            np.array(counts.matches, np.float64),
            np.array(counts.guesses, np.float64),
            counts.length,
            counts.reference_length,
        )
        for name in BLEU:
            yield Row(name, float(own[int(name[-1]) - 1]), because=pair.caption)
        for name, matches in zip(MATCHES, counts.matches, strict=True):
            yield Row(name, float(matches))
        yield Row(LENGTH, float(counts.length))
        yield Row(REFERENCE_LENGTH, float(counts.reference_length))

    def prepare(self, table: pd.DataFrame) -> _BleuRows:
        """Find the counts of each order."""
        return _BleuRows.of(table)

    def aggregate(self, rows: _BleuRows, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the four scores of summed counts."""
        return rows.compute(weights)

    def estimates(self, table: pd.DataFrame, mean: MeanOf) -> Mapping[str, Estimate | None]:
        """Drop the mean numbers of matches."""
        return dict.fromkeys(MATCHES)


@dataclass(frozen=True)
class _BleuRows:
    """The counts in a table.

    Attributes:
        amounts: One column for the matches of each order, the guesses of each order, and the two lengths, float64
            of shape (rows, 10).
    """

    amounts: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _BleuRows:
        measure, value = table["measure"].astype(str).to_numpy(), table["value"].to_numpy(np.float64)
        amounts = np.zeros((len(table), 2 * MAX_N + 2))
        for place, name in enumerate(MATCHES):
            amounts[:, place] = np.where(measure == name, value, 0)
        lengths = np.where(measure == LENGTH, value, 0)
        amounts[:, MAX_N : 2 * MAX_N] = np.array([count_guesses(int(length)) for length in lengths])
        amounts[:, -2] = lengths
        amounts[:, -1] = np.where(measure == REFERENCE_LENGTH, value, 0)
        return cls(amounts)

    def compute(self, weights: NDArray[np.float64]) -> dict[str, float]:
        """Return the scores by name; NaN if all weights are 0."""
        if not weights.any():
            return dict.fromkeys(BLEU, float("nan"))
        totals = weights @ self.amounts
        scores = compute_bleu(totals[:MAX_N], totals[MAX_N : 2 * MAX_N], totals[-2], totals[-1])
        return {name: float(scores[int(name[-1]) - 1]) for name in BLEU}
