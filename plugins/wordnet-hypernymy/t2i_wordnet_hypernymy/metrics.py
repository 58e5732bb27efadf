"""The metrics `isp` and `scs`: a classifier's probabilities of the classes below a prompt's synset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import ClassScores
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric import StackedMetric, TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Excluded, Row, Rows
from t2i_core.api.observation import Labels
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt
from t2i_core.api.study import Analysis, Study

from . import scores
from .leaves import Leaves, asked_node
from .options import HypernymyOptions, IspOptions, ScsOptions
from .sweeps import blocks_of_seeds, by_images, front
from .taxonomy import Taxonomy
from .taxonomy_file import read_taxonomy
from .wordnet import nouns

NEED = "classes"


def taxonomy_of(file: Path | None) -> Taxonomy:
    """A user's own taxonomy, or WordNet's nouns."""
    return nouns() if file is None else read_taxonomy(file)


def asked_class(prompt: Prompt) -> ObjectClass:
    """The class that a prompt asks for. Raises BadPrompts where it says none."""
    if prompt.scene is None or not prompt.scene.objects:
        raise BadPrompts(
            f"the prompt {prompt.id!r} does not say which synset it asks for (a scene); take --prompts "
            "wordnet-imagenet, or concepts:FILE"
        )
    return prompt.scene.objects[0].cls


class _OfClasses(StackedMetric):
    """What both metrics share: the synset of a prompt, and the judge's classes below it."""

    needs = (Need(NEED, "classify"),)
    headline: ClassVar[str]
    options: HypernymyOptions

    def __init__(self, setup: Setup[HypernymyOptions]) -> None:
        super().__init__(setup)
        self.taxonomy = taxonomy_of(setup.options.taxonomy)
        self._labels: Labels = ()
        self._leaves: Leaves | None = None

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts without a synset, and synsets that the taxonomy does not have."""
        for prompt in prompts:
            self.node(prompt)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the lowest synsets, differences of models, subtrees, and how alike synsets are ranked."""
        from .analyses import analyse

        yield from analyse(study, self.headline, self.taxonomy, self.options)

    def leaves(self, labels: Labels) -> Leaves:
        """The judge's classes in the taxonomy; a judge says the same ones with each answer."""
        if self._leaves is None or (labels is not self._labels and labels != self._labels):
            self._leaves, self._labels = Leaves.of(self.taxonomy, labels), labels
        return self._leaves

    def node(self, prompt: Prompt) -> str:
        """The prompt's synset, or its node in a taxonomy of one's own: each row carries it, for the analyses."""
        return asked_node(self.taxonomy, asked_class(prompt))

    def below(self, prompt: Prompt, leaves: Leaves) -> NDArray[np.intp]:
        """A(s) of the prompt's synset; empty where the judge knows nothing of it."""
        return leaves.below.get(self.node(prompt), np.array([], np.intp))


class _MeanOverSynsets(TableMetric, _OfClasses):
    """A score that is the mean over synsets of each one's mean over its images, however many those are."""

    def prepare(self, table: pd.DataFrame) -> _Shares:
        """Count the images of each synset."""
        return _Shares.of(table)

    def aggregate(self, shares: _Shares, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the headline."""
        # no matrix product: for one vector, threads of BLAS that wait for each other cost a hundred times as much
        total = np.einsum("i,i", weights, shares.of_synset)
        mean = np.einsum("i,i,i", weights, shares.of_synset, shares.values) / total if total > 0 else float("nan")
        return {self.headline: float(mean)}


class Isp(_MeanOverSynsets):
    """In-Subtree Probability: is it what was asked for, whichever kind of it?"""

    headline = "isp"
    options: IspOptions

    def measure(self, unit: Unit) -> Iterator[Rows | Excluded]:
        """Turn each of a synset's images into a row: the probability of all classes below the synset together."""
        prompt, answers = _asked(unit)
        below = self.below(prompt, self.leaves(answers.labels))
        if len(below):
            facets = {"synset": self.node(prompt), "leaves": len(below)}
            yield Rows("isp", scores.in_subtree(answers.logits, below), facets)
        else:
            yield _unknown(prompt)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield beside those of both: the front of ISP and SCS, and ISP of fewer images per synset."""
        yield from super().analyses(study)
        yield from front(study, "isp", "scs")
        yield from by_images(blocks_of_seeds(study.table, "isp", self.options.images), "isp")


@dataclass(frozen=True)
class _Shares:
    """A table's values, float64 (rows,), and what each row is of its synset: one by the number of its images."""

    values: NDArray[np.float64]
    of_synset: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Shares:
        """Count the images."""
        prompts = table["prompt"].astype("category").cat.codes.to_numpy(np.intp)
        return cls(table["value"].to_numpy(np.float64), 1 / np.bincount(prompts)[prompts])


class Scs(_MeanOverSynsets):
    """Subtree Coverage Score: does it show all kinds of what was asked for?"""

    headline = "scs"
    aggregates = frozenset({"scs"})
    options: ScsOptions

    def measure(self, unit: Unit) -> Iterator[Row | Rows | Excluded]:
        """Turn one synset's images into rows.

        scs:                         each image's divergence from the synset's mean over the normaliser, mean
                                     ln|A(s)| of the judge's synsets. An image's weight moves the synset's score by
                                     just that (its influence), so that rows may be resampled as those of a mean:
                                     no image is ever left out of what the others diverge from
        divergence:                  the synset's mean in nats
        entropy:                     mean entropy of the single images, in nats
        most, balanced, uniform:     what the divergence is at most, with classes as even as can be, and expected
                                     of an ideal model that draws classes uniformly, in nats
        scs-of-images:               `scs` of disjoint blocks of fewer images, where the options ask for them
        """
        prompt, answers = _asked(unit)
        leaves, logits = self.leaves(answers.labels), answers.logits
        below = self.below(prompt, leaves)
        if len(below) < 2:
            yield Excluded(_one_class(prompt)) if len(below) else _unknown(prompt)
            return
        if np.isnan(leaves.normaliser):
            yield Excluded("no synset above the judge's classes has several of them: nothing to normalise by")
            return
        facets = {"synset": self.node(prompt), "leaves": len(below)}
        p = scores.shares(logits, below)
        divergences = scores.divergences(p)
        yield Rows("scs", divergences / leaves.normaliser, facets, together=True)
        yield Row("divergence", float(divergences.mean()), facets)
        yield Row("entropy", scores.entropy(p), facets)
        for name in ("most", "balanced", "uniform"):
            yield Row(name, getattr(scores, name)(len(below), len(logits)), facets)
        for size in self.options.images:
            for block in range(len(logits) // size):
                own = scores.coverage(logits[block * size : (block + 1) * size], below)
                yield Row("scs-of-images", own / leaves.normaliser, {"images": size, "block": block})

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield beside those of both: SCS of fewer images per synset."""
        yield from super().analyses(study)
        yield from by_images(study.table[study.table["measure"] == "scs-of-images"], "scs")


class SynsetIs(_OfClasses):
    """Inception Score of each synset's images: over all of the judge's classes, those below and all others."""

    headline = "synset-is"

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Turn one synset's images into a row: exp of the mean KL(p(y|x) || mean p), 1 to their number."""
        prompt, answers = _asked(unit)
        divergence = scores.coverage(answers.logits, np.arange(len(answers.labels)))
        yield Row("synset-is", float(np.exp(divergence)), {"synset": self.node(prompt)})


def _asked(unit: Unit) -> tuple[Prompt, ClassScores]:
    """The prompt, and what was said of its images: logits of shape (images, classes)."""
    assert unit.prompt is not None  # as grouped
    return unit.prompt, unit.stacked[NEED]


def _unknown(prompt: Prompt) -> Excluded:
    return Excluded(f"none of the judge's classes is a kind of {asked_class(prompt).name}")


def _one_class(prompt: Prompt) -> str:
    return f"a single one of the judge's classes is a kind of {asked_class(prompt).name}: nothing to cover"
