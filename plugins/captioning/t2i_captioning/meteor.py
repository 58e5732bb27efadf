"""METEOR 1.5 by its jar, in one process that stays open.

The jar aligns a caption with each reference and gives the statistics of the best. The score of these statistics is
computed here, so that sums over images can be scored with any weights; it equals the jar's to rounding.

References:
    Denkowski, Lavie: Meteor Universal: Language Specific Translation Evaluation for Any Target Language. WMT 2014.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Unit
from t2i_core.api.metric_output import Note, Row

from t2i_captioning.java import find_java, find_meteor
from t2i_captioning.metrics import CaptionMetric

if TYPE_CHECKING:
    from t2i_core.api.metric import MeanOf
    from t2i_core.statistics import Estimate

# the parameters that the jar prints for English
ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
WEIGHTS = (1.0, 0.6, 0.8, 0.6)
"""Weights of exact words, stems, synonyms and paraphrases."""

_STATISTICS = 23
_PATIENCE = 10.0
"""Seconds that the process gets to end by itself."""


@dataclass(frozen=True)
class MeteorCounts:
    """Sums over captions from which their score follows; content words weigh more than function words.

    Attributes:
        caption_matches: Matched words of the caption.
        caption_words: Words of the caption.
        reference_matches: Matched words of the reference.
        reference_words: Words of the reference.
        chunks: Number of runs of matched words in the same order; 0 if the caption is the reference.
        matches: Number of matched words, mean of both sides.
    """

    caption_matches: float
    caption_words: float
    reference_matches: float
    reference_words: float
    chunks: float
    matches: float

    @classmethod
    def parse(cls, line: str) -> MeteorCounts:
        """Read a line of the jar's statistics."""
        try:
            values = [float(value) for value in line.split()]
        except ValueError:
            values = []
        if len(values) != _STATISTICS:
            raise ValueError(f"METEOR must print {_STATISTICS} statistics, got {line.strip()[:80]!r}")
        length, reference_length, function, reference_function = values[:4]
        chunks, matched, reference_matched = values[20:]
        same = chunks == 1 and matched == length and reference_matched == reference_length
        return cls(
            sum(w * _weigh(values[4 + 4 * n], values[6 + 4 * n]) for n, w in enumerate(WEIGHTS)),
            _weigh(length - function, function),
            sum(w * _weigh(values[5 + 4 * n], values[7 + 4 * n]) for n, w in enumerate(WEIGHTS)),
            _weigh(reference_length - reference_function, reference_function),
            0.0 if same else chunks,
            (matched + reference_matched) / 2,
        )

    def compute(self) -> float:
        """Return the score, from 0 to 1."""
        if not (self.caption_matches and self.reference_matches):
            return 0.0
        precision = self.caption_matches / self.caption_words
        recall = self.reference_matches / self.reference_words
        fragmentation = self.chunks / self.matches
        penalty: float = GAMMA * fragmentation**BETA
        return (1 - penalty) / ((1 - ALPHA) / precision + ALPHA / recall)


COUNTS = tuple(field.name.replace("_", "-") for field in fields(MeteorCounts))


def _weigh(content: float, function: float) -> float:
    return DELTA * content + (1 - DELTA) * function


class MeteorProcess:
    """The jar, which reads captions line by line. It ends with this object, at the latest with the program."""

    def __init__(self, java: Path, jar: Path) -> None:
        # a file, because a pipe that nobody reads would fill up
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        command = [str(java), "-Dfile.encoding=UTF-8", "-Xmx2G", "-jar", jar.name, "-", "-", "-stdio", "-l", "en"]
        self.process = subprocess.Popen(
            [*command, "-norm"],
            cwd=jar.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        self.close = weakref.finalize(self, _stop, self.process, self._errors)

    def align(self, caption: str, references: Sequence[str]) -> MeteorCounts:
        """Return the counts of a tokenised caption and the best of its tokenised references.

        Raises:
            RuntimeError: If the process ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        caption = caption.replace("|||", "").replace("  ", " ")
        try:
            self.process.stdin.write(" ||| ".join(["SCORE", *references, caption]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            raise RuntimeError(f"METEOR's Java process ended ({said[-1] if said else 'no output'})")
        return MeteorCounts.parse(line)


def _stop(process: subprocess.Popen[str], errors: IO[bytes]) -> None:
    """End the process: it ends when its input does; if it does not, it is killed."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()


class Meteor(CaptionMetric, TableMetric):
    """Words that caption and references share, also as stems, synonyms and paraphrases.

    The rows of an image hold its own score. The score of a model comes from the sums of the counts, as published.
    """

    aggregates: ClassVar[frozenset[str]] = frozenset(COUNTS)
    computes_headline = True

    @cached_property
    def _jar(self) -> MeteorProcess:
        return MeteorProcess(find_java(), find_meteor())

    def measure(self, unit: Unit) -> Iterator[Row | Note]:
        """Yield the rows of one image: its own score, then its counts."""
        pair = self.read_unit(unit)
        counts = self._jar.align(pair.caption, pair.references)
        yield from self.list_notes(unit.one().prompt)
        yield Row("meteor", counts.compute(), because=pair.caption)
        for name, value in zip(COUNTS, astuple(counts), strict=True):
            yield Row(name, value)

    def prepare(self, table: pd.DataFrame) -> NDArray[np.float64]:
        """Return the counts, one column each, shape (rows, 6)."""
        measure, value = table["measure"].astype(str).to_numpy(), table["value"].to_numpy(np.float64)
        return np.stack([np.where(measure == name, value, 0) for name in COUNTS], axis=1)

    def aggregate(self, counts: NDArray[np.float64], weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the score of summed counts; NaN if all weights are 0."""
        if not weights.any():
            return {"meteor": float("nan")}
        return {"meteor": MeteorCounts(*(float(total) for total in weights @ counts)).compute()}

    def estimates(self, table: pd.DataFrame, mean: MeanOf) -> Mapping[str, Estimate | None]:
        """Drop the means of the counts."""
        return dict.fromkeys(COUNTS)
