"""The metrics `isp`, `scs` and `synset-is`, computed from a classifier's probabilities.

References:
    Hypernymy paper, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import ClassScores, Evidence
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
from .sweeps import blocks_of_seeds, by_images, planes, split_runs
from .taxonomy import Taxonomy
from .taxonomy_file import read_taxonomy
from .wordnet import wordnet

NEED = "classes"
Facets = dict[str, str | int | float]


def taxonomy_of(file: Path | None) -> Taxonomy:
    """Return the taxonomy in a user's file, or WordNet's nouns and verbs if None."""
    return wordnet() if file is None else read_taxonomy(file)


def asked_class(prompt: Prompt) -> ObjectClass:
    """Return the class that a prompt asks for.

    Raises:
        BadPrompts: The prompt has no scene.
    """
    if prompt.scene is None or not prompt.scene.objects:
        raise BadPrompts(
            f"the prompt {prompt.id!r} does not say which synset it asks for (it has no scene); use --prompts "
            "wordnet-imagenet or concepts:FILE"
        )
    return prompt.scene.objects[0].cls


class _SynsetMetric(StackedMetric):
    """Base of the metrics that compare a classifier's answers with the synset of a prompt."""

    needs = (Need(NEED, "classify"),)
    headline: ClassVar[str]
    options: HypernymyOptions

    def __init__(self, setup: Setup[HypernymyOptions]) -> None:
        super().__init__(setup)
        self.taxonomy = taxonomy_of(setup.options.taxonomy)
        self._labels: Labels = ()
        self._leaves: Leaves | None = None

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject prompts without a synset, and synsets that are not in the taxonomy."""
        for prompt in prompts:
            self.node(prompt)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the lowest synsets, differences between models, subtrees, and the stability of rankings."""
        from .analyses import analyse

        yield from analyse(study, self.headline, self.taxonomy, self.options)

    def leaves(self, labels: Labels) -> Leaves:
        """Return the judge's classes in the taxonomy; every answer of a judge carries the same labels."""
        if self._leaves is None or (labels is not self._labels and labels != self._labels):
            self._leaves, self._labels = Leaves.of(self.taxonomy, labels), labels
        return self._leaves

    def node(self, prompt: Prompt) -> str:
        """Return the prompt's node in the taxonomy; rows carry it as the facet `synset`, for the analyses."""
        return asked_node(self.taxonomy, asked_class(prompt))

    def below(self, prompt: Prompt, leaves: Leaves) -> NDArray[np.intp]:
        """Return A(s) of the prompt's synset, shape (n,); empty if the judge has no class there."""
        return leaves.below.get(self.node(prompt), np.array([], np.intp))


class _MeanOverSynsets(TableMetric, _SynsetMetric):
    """Base of the scores that average over images within each synset, then over synsets."""

    def prepare(self, table: pd.DataFrame) -> _ImageShares:
        """Count the images of each synset."""
        return _ImageShares.of(table)

    def aggregate(self, shares: _ImageShares, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return the headline."""
        # einsum, because for single vectors the threads of a BLAS product cost about a hundred times as much
        total = np.einsum("i,i", weights, shares.of_synset)
        mean = np.einsum("i,i,i", weights, shares.of_synset, shares.values) / total if total > 0 else float("nan")
        return {self.headline: float(mean)}


class Isp(_MeanOverSynsets):
    """In-Subtree Probability: how probable it is that an image shows any kind of the requested synset."""

    headline = "isp"
    options: IspOptions

    def measure(self, unit: Unit) -> Iterator[Rows | Excluded]:
        """Yield a row for each of a synset's images: the total probability of the classes below the synset."""
        prompt, answers = _prompt_and_answers(unit)
        below = self.below(prompt, self.leaves(answers.labels))
        if len(below):
            facets: Facets = {"synset": self.node(prompt), "leaves": len(below)}
            because = _name_others(answers, below, asked_class(prompt).name)
            yield Rows("isp", scores.in_subtree(answers.logits, below), facets, because=because)
        else:
            yield _exclude_unknown(prompt)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the common analyses, the front of ISP and SCS, and ISP of fewer images per synset."""
        yield from super().analyses(study)
        yield from planes(study, "isp", "scs")
        yield from by_images(blocks_of_seeds(study.table, "isp", self.options.images), "isp")


@dataclass(frozen=True)
class _ImageShares:
    """The values of a table, and the share of each row in its synset.

    Attributes:
        values: Values, float64 of shape (rows,).
        of_synset: 1 / (number of images of the row's synset), float64 of shape (rows,).
    """

    values: NDArray[np.float64]
    of_synset: NDArray[np.float64]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _ImageShares:
        """Count the images of each synset in a table."""
        prompts = table["prompt"].astype("category").cat.codes.to_numpy(np.intp)
        return cls(table["value"].to_numpy(np.float64), 1 / np.bincount(prompts)[prompts])


class Scs(_MeanOverSynsets):
    """Subtree Coverage Score: how many kinds of the requested synset the images show, and how evenly."""

    headline = "scs"
    aggregates = frozenset({"scs"})
    options: ScsOptions

    def measure(self, unit: Unit) -> Iterator[Row | Rows | Excluded]:
        """Yield the rows of one synset's images.

        - `scs`: for each image, its divergence from the synset's mean distribution, divided by the normaliser
          (mean ln|A(s)| of the judge's synsets). The divergence is also the influence of the image's weight on
          the synset's score, so rows can be resampled like those of a mean; the mean distribution always includes
          every image.
        - `divergence`: mean divergence of the synset, in nats.
        - `marginal-entropy`: entropy of the synset's mean distribution, in nats.
        - `conditional-entropy`: mean entropy of the single images, in nats.
        - `most`, `balanced`, `uniform`: the divergence in nats at most, for classes as even as possible, and as
          expected of a model that draws classes uniformly.
        - `scs-of-images`: `scs` of up to four disjoint runs of fewer images, if the option `images` asks for them.
        """
        prompt, answers = _prompt_and_answers(unit)
        leaves, logits = self.leaves(answers.labels), answers.logits
        below = self.below(prompt, leaves)
        if len(below) < 2:
            yield _exclude_single_class(prompt) if len(below) else _exclude_unknown(prompt)
            return
        if np.isnan(leaves.normaliser):
            yield Excluded("no synset above the judge's classes has several of them, so SCS cannot be normalised")
            return
        facets: Facets = {"synset": self.node(prompt), "leaves": len(below)}
        p = scores.shares(logits, below)
        divergences = scores.divergences(p)
        because = _count_alike(
            [answers.labels[below[code]].name for code in p.argmax(axis=1).tolist()], len(below)
        )
        yield Rows("scs", divergences / leaves.normaliser, facets, together=True, because=because)
        yield Row("divergence", float(divergences.mean()), facets)
        yield Row("marginal-entropy", scores.marginal_entropy(p), facets)
        yield Row("conditional-entropy", scores.conditional_entropy(p), facets)
        for name in ("most", "balanced", "uniform"):
            yield Row(name, getattr(scores, name)(len(below), len(logits)), facets)
        for size in self.options.images:
            for block, images in enumerate(split_runs(len(logits), size)):
                own = scores.coverage(logits[images], below)
                yield Row("scs-of-images", own / leaves.normaliser, {"images": size, "block": block})

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the common analyses, and SCS of fewer images per synset."""
        yield from super().analyses(study)
        yield from by_images(study.table[study.table["measure"] == "scs-of-images"], "scs")


class SynsetIs(_SynsetMetric):
    """Inception Score of each synset's images, over all of the judge's classes."""

    headline = "synset-is"

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Yield one row: exp of the mean KL(p(y|x) || mean p), between 1 and the number of images."""
        prompt, answers = _prompt_and_answers(unit)
        divergence = scores.coverage(answers.logits, np.arange(len(answers.labels)))
        best = [answers.labels[code].name for code in answers.logits.argmax(axis=1).tolist()]
        shown = tuple(Evidence(name, seed=seed) for name, seed in zip(best, unit.seeds, strict=True))
        facets: Facets = {"synset": self.node(prompt)}
        yield Row("synset-is", float(np.exp(divergence)), facets, _name_most_frequent(best), shown)


def _prompt_and_answers(unit: Unit) -> tuple[Prompt, ClassScores]:
    """Return the prompt, and the judge's logits of its images, shape (images, classes)."""
    assert unit.prompt is not None  # the unit of a PromptMetric has a prompt
    return unit.prompt, unit.stacked[NEED]


def _name_others(answers: ClassScores, below: NDArray[np.intp], asked: str) -> tuple[str, ...]:
    """Return for each image which class is the most probable instead, if it is not a kind of the synset."""
    best = answers.logits.argmax(axis=1)
    return tuple(
        "" if right else f"{answers.labels[code].name}, not {asked}"
        for code, right in zip(best.tolist(), np.isin(best, below).tolist(), strict=True)
    )


def _count_alike(best: Sequence[str], n_kinds: int) -> tuple[str, ...]:
    """Return for each image its most probable kind, if more of the synset's images show it than an even share."""
    counts, even = Counter(best), ceil(len(best) / n_kinds)
    return tuple(
        f"{name}, as {counts[name]} of {len(best)} images" if counts[name] > even else "" for name in best
    )


def _name_most_frequent(best: Sequence[str]) -> str:
    """Return how many classes a synset's images show, and which one is the most frequent."""
    ((name, count),) = Counter(best).most_common(1)
    kinds = len(set(best))
    return f"{count} of {len(best)} images: {name}" + (f", {kinds} classes in all" if kinds > 1 else "")


def _exclude_unknown(prompt: Prompt) -> Excluded:
    return Excluded(f"none of the judge's classes is a kind of {asked_class(prompt).name}")


def _exclude_single_class(prompt: Prompt) -> Excluded:
    return Excluded(
        f"only a single one of the judge's classes is a kind of {asked_class(prompt).name}, and SCS needs two"
    )
