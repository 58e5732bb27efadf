"""What t2i-wordnet-hypernymy offers: metrics over a taxonomy and prompts of its synsets. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from t2i_core.api import (
    About,
    Defaults,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Options,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)

from .options import (
    HypernymyOptions,
    HyponymCosineOptions,
    IspOptions,
    LabelOptions,
    NearLeafOptions,
    PhraseOptions,
    RandomOptions,
    ScsOptions,
    SimilarityOptions,
    SynsetPromptOptions,
)

HYPERNYMY = (
    "Baryshnikov, Ryabinin: Hypernymy Understanding Evaluation of Text-to-Image Models via WordNet Hierarchy. "
    "2023. arXiv:2310.09247"
)
TAXONOMY = (
    "Moskvoretskii et al.: Do I look like a cat.n.01 to you? A Taxonomy Image Generation Benchmark. 2025. "
    "arXiv:2503.10357"
)
ALL = ("*",)
"""Scores stand by whatever the prompts bring: the subsets of the taxonomy paper, columns of one's own."""

_CODE = (
    "taxonomy.py",
    "taxonomy_file.py",
    "wordnet.py",
    "leaves.py",
    "options.py",
    "metrics.py",
    "data/nouns.npz",
)


def _nats(name: str, summary: str) -> Measure:
    return Measure(name, summary, low=0, higher_is_better=None)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Offer ISP, SCS, the similarities, and what says how far to trust a classifier."""
    classes: dict[str, Any] = {"code": (*_CODE, "scores.py"), "loading": Loading(weights=_file)}
    defaults = Defaults(prompts="wordnet-imagenet", seeds=32, judges={"classify": "vit-b16"})
    return [
        MetricInfo(
            name="isp",
            summary="In-Subtree Probability: is it what was asked for, whichever kind of it?",
            options=IspOptions,
            create=_metric("metrics", "Isp"),
            measures=(
                Measure(
                    "isp", "Probability of the classes below it, mean over synsets.", low=0, high=1, facets=ALL
                ),
            ),
            defaults=defaults,
            about=About(citation=HYPERNYMY),
            **classes,
        ),
        MetricInfo(
            name="scs",
            summary="Subtree Coverage Score: are all kinds of what was asked for shown?",
            options=ScsOptions,
            create=_metric("metrics", "Scs"),
            measures=(
                Measure(
                    "scs",
                    "An image's divergence over the mean ln|A(s)| of the judge's synsets.",
                    low=0,
                    facets=ALL,
                ),
                Measure("divergence", "Mean KL(p_s(y|x) || mean p_s) over a synset's images, in nats.", low=0),
                _nats("entropy", "Mean entropy of single images' p_s, in nats: a baseline."),
                _nats("most", "What the divergence is at most, in nats."),
                _nats("balanced", "The divergence of classes as even as so many images can be, in nats."),
                _nats("uniform", "The divergence expected of classes drawn uniformly, in nats."),
                Measure("scs-of-images", "The score of fewer images per synset.", low=0, facets=("images",)),
            ),
            defaults=defaults,
            about=About(
                citation=HYPERNYMY,
                notes="Grows with the number of images of a synset: compare models on the same seeds.",
            ),
            **classes,
        ),
        MetricInfo(
            name="synset-is",
            summary="Inception Score of each synset's images, by the classifier of ISP and SCS: a baseline.",
            options=HypernymyOptions,
            create=_metric("metrics", "SynsetIs"),
            measures=(Measure("synset-is", "exp of the mean KL(p(y|x) || mean p), all classes.", low=1),),
            defaults=defaults,
            about=About(citation=HYPERNYMY),
            **classes,
        ),
        MetricInfo(
            name="hyponym-cosine",
            summary="How near a text encoder puts a synset's words to those of its hyponyms; looks at no image.",
            options=HyponymCosineOptions,
            about=About(citation=HYPERNYMY),
            create=_metric("texts", "HyponymCosine"),
            code=(*_CODE, "texts.py", "prompts.py"),
            loading=Loading(weights=_file),
            measures=(Measure("hyponym-cosine", "Mean over hyponyms.", low=-1, high=1, higher_is_better=None),),
            defaults=Defaults(prompts="wordnet-imagenet", seeds=1, judges={"embed": "clip-vit-l14"}),
        ),
        MetricInfo(
            name="calibration",
            summary="Is a classifier as often right as it says? On images with labels, not on a model's.",
            about=About(citation=HYPERNYMY),
            create=_metric("calibration", "Calibration"),
            code=(*_CODE, "calibration.py"),
            measures=(
                Measure("ece", "Expected calibration error, 100 bins.", low=0, high=1, higher_is_better=False),
                Measure("accuracy", "Images whose most probable class is their label.", low=0, high=1),
                Measure("confidence", "Probability of that class.", low=0, high=1, higher_is_better=None),
            ),
            defaults=Defaults(judges={"classify": "vit-b16"}),
        ),
        _similarity("lemma-similarity", "LemmaSimilarity", "the prompt's word"),
        _similarity("hypernym-similarity", "HypernymSimilarity", "the words directly above its synset"),
        _similarity("cohyponym-similarity", "CohyponymSimilarity", "the words beside its synset"),
        _similarity(
            "specificity",
            "Specificity",
            "its word, over that of the words beside its synset",
            Measure("hypernym-over-cohyponyms", "The paper's printed formula.", higher_is_better=None),
        ),
    ]


def _similarity(name: str, cls: str, to: str, *further: Measure) -> MetricInfo:
    return MetricInfo(
        name=name,
        summary=f"Similarity of an image to {to}, by CLIP.",
        options=SimilarityOptions,
        about=About(citation=TAXONOMY),
        create=_metric("similarities", cls),
        code=(*_CODE, "similarities.py"),
        loading=Loading(weights=_file),
        measures=(Measure(name, f"Similarity to {to}, mean over images.", facets=ALL), *further),
        defaults=Defaults(prompts="easy-concepts", seeds=1, judges={"embed": "clip-vit-b32"}),
    )


def _file(_: str | None, options: Any) -> Iterable[Path]:
    """A user's own taxonomy."""
    return [options.taxonomy] if options.taxonomy is not None else []


def _metric(module: str, cls: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        made: Metric = getattr(import_module(f"t2i_wordnet_hypernymy.{module}"), cls)(setup)
        return made

    return create


def _source(
    name: str, summary: str, options: type[Options], citation: str, function: str, labels: bool = False
) -> PromptSourceInfo:
    def prompts(setup: Setup[Any]) -> Iterable[Prompt]:
        from . import prompts

        found: Iterable[Prompt] = getattr(prompts, function)(setup)
        return found

    return PromptSourceInfo(
        name=name,
        summary=summary,
        options=options,
        about=About(citation=citation),
        prompts=prompts,
        reads_labels=labels,
        loading=Loading(weights=_file if "taxonomy" in options.model_fields else None),
    )


def _concepts(setup: Setup[PhraseOptions]) -> Iterable[Prompt]:
    from .concepts_file import read_concepts

    return read_concepts(setup)


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Offer the papers' lists and those of one's own concepts."""
    return [
        _source(
            "wordnet-imagenet",
            "Every synset above a class of the judge: 860 above those of ImageNet-1k.",
            LabelOptions,
            HYPERNYMY,
            "above_labels",
            labels=True,
        ),
        _source(
            "wordnet-mini",
            "Every synset above the mini world's things that is above a class of the judge.",
            SynsetPromptOptions,
            HYPERNYMY,
            "of_mini_world",
            labels=True,
        ),
        _source(
            "wordnet-near-leaf",
            "Synsets at most two steps above a class of the judge, all or a seeded draw.",
            NearLeafOptions,
            HYPERNYMY,
            "near_leaf",
            labels=True,
        ),
        _source(
            "easy-concepts",
            "22 common synsets and what is directly below each: 483 prompts.",
            PhraseOptions,
            TAXONOMY,
            "easy_concepts",
        ),
        _source(
            "wordnet-random",
            "A seeded draw of synsets by their relations: 1202 prompts.",
            RandomOptions,
            TAXONOMY,
            "random_split",
        ),
        _source("wordnet-all", "All 82,115 noun synsets of WordNet 3.0.", PhraseOptions, TAXONOMY, "all_nouns"),
        PromptSourceInfo(
            name="concepts",
            summary="Concepts of your own: lemma, synset and, if wished, definition.",
            argument="FILE: a CSV or TSV file with the columns lemma, synset, definition; others are facets",
            needs_argument=True,
            options=PhraseOptions,
            about=About(citation=TAXONOMY),
            prompts=_concepts,
        ),
    ]
