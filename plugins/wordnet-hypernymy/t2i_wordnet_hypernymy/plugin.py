"""The plugin t2i-wordnet-hypernymy: metrics over a taxonomy, and prompts for its synsets."""

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

from .explanations import (
    CALIBRATION,
    COHYPONYM,
    HYPERNYM,
    HYPERNYMY,
    HYPONYM_COSINE,
    ISP,
    LEMMA,
    SCS,
    SPECIFICITY,
    SYNSET_IS,
    TAXONOMY,
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

ALL = ("*",)
"""Scores are broken down by all facets of the prompts: the taxonomy paper's subsets, a user's own columns."""

_CODE = (
    "taxonomy.py",
    "taxonomy_file.py",
    "wordnet.py",
    "leaves.py",
    "options.py",
    "metrics.py",
    "data/nouns.npz",
    "data/verbs.npz",
)


def _nats(name: str, summary: str) -> Measure:
    return Measure(name, summary, low=0, higher_is_better=None)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return ISP, SCS, the similarities, and the metrics that check the classifier."""
    classes: dict[str, Any] = {"code": (*_CODE, "scores.py"), "loading": Loading(weights=_find_taxonomy_file)}
    defaults = Defaults(prompts="wordnet-imagenet", seeds=32, judges={"classify": "vit-b16"})
    return [
        MetricInfo(
            name="isp",
            summary="In-Subtree Probability: does the image show what was asked for, of whichever kind?",
            options=IspOptions,
            create=_metric("metrics", "Isp"),
            measures=(
                Measure(
                    "isp",
                    "Total probability of the classes below the synset, mean over synsets.",
                    low=0,
                    high=1,
                    facets=ALL,
                ),
            ),
            defaults=defaults,
            about=ISP,
            **classes,
        ),
        MetricInfo(
            name="scs",
            summary="Subtree Coverage Score: do the images show all kinds of what was asked for?",
            options=ScsOptions,
            create=_metric("metrics", "Scs"),
            measures=(
                Measure(
                    "scs",
                    "An image's divergence, divided by the mean ln|A(s)| of the judge's synsets.",
                    low=0,
                    facets=ALL,
                ),
                Measure("divergence", "Mean KL(p_s(y|x) || mean p_s) over a synset's images, in nats.", low=0),
                _nats(
                    "marginal-entropy",
                    "Entropy of a synset's mean p_s, in nats: the paper's average entropy (Table 12), a baseline.",
                ),
                _nats("conditional-entropy", "Mean entropy of single images' p_s, in nats."),
                _nats("most", "Largest possible divergence, in nats."),
                _nats(
                    "balanced", "Divergence if that many images show the classes as evenly as possible, in nats."
                ),
                _nats("uniform", "Expected divergence if classes are drawn uniformly, in nats."),
                Measure("scs-of-images", "SCS of fewer images per synset.", low=0, facets=("images",)),
            ),
            defaults=defaults,
            about=SCS,
            **classes,
        ),
        MetricInfo(
            name="synset-is",
            summary="Inception Score of each synset's images, with the classifier of ISP and SCS: a baseline.",
            options=HypernymyOptions,
            create=_metric("metrics", "SynsetIs"),
            measures=(Measure("synset-is", "exp of the mean KL(p(y|x) || mean p) over all classes.", low=1),),
            defaults=defaults,
            about=SYNSET_IS,
            **classes,
        ),
        MetricInfo(
            name="hyponym-cosine",
            version=2,
            summary="Closeness of a synset to its hyponyms among the classes in a text encoder; uses no images.",
            options=HyponymCosineOptions,
            about=HYPONYM_COSINE,
            create=_metric("texts", "HyponymCosine"),
            code=(*_CODE, "texts.py", "templates.py", "classes.py", "data/imagenet-1k.txt", "data/mini-world.txt"),
            loading=Loading(weights=_find_files),
            measures=(
                Measure("hyponym-cosine", "Mean cosine over hyponyms.", low=-1, high=1, higher_is_better=None),
            ),
            defaults=Defaults(prompts="wordnet-imagenet", seeds=1, judges={"embed": "clip-vit-l14"}),
        ),
        MetricInfo(
            name="calibration",
            summary="Does a classifier's confidence match its accuracy? For labelled images, not generated ones.",
            about=CALIBRATION,
            create=_metric("calibration", "Calibration"),
            code=(*_CODE, "calibration.py"),
            measures=(
                Measure("ece", "Expected calibration error, 100 bins.", low=0, high=1, higher_is_better=False),
                Measure("accuracy", "Share of images whose most probable class is their label.", low=0, high=1),
                Measure("confidence", "Probability of that class.", low=0, high=1, higher_is_better=None),
            ),
            defaults=Defaults(judges={"classify": "vit-b16"}),
        ),
        _similarity("lemma-similarity", "LemmaSimilarity", "the prompt's word", LEMMA),
        _similarity("hypernym-similarity", "HypernymSimilarity", "the words directly above its synset", HYPERNYM),
        _similarity(
            "cohyponym-similarity", "CohyponymSimilarity", "the words for its synset's cohyponyms", COHYPONYM
        ),
        _similarity(
            "specificity",
            "Specificity",
            "the prompt's word, divided by that to the words for its synset's cohyponyms",
            SPECIFICITY,
            Measure(
                "hypernym-over-cohyponyms",
                "The formula as printed in the paper.",
                low="least_ratio",
                higher_is_better=None,
            ),
            low="least_ratio",
            high=None,
        ),
    ]


def _similarity(
    name: str,
    cls: str,
    to: str,
    about: About,
    *further: Measure,
    low: str = "least",
    high: str | None = "greatest",
) -> MetricInfo:
    return MetricInfo(
        name=name,
        summary=f"CLIP similarity of an image to {to}.",
        options=SimilarityOptions,
        about=about,
        create=_metric("similarities", cls),
        code=(*_CODE, "similarities.py"),
        loading=Loading(weights=_find_taxonomy_file),
        measures=(Measure(name, f"Similarity to {to}, mean over images.", low, high, facets=ALL), *further),
        defaults=Defaults(prompts="easy-concepts", seeds=1, judges={"embed": "clip-vit-b32"}),
    )


def _find_taxonomy_file(_: str | None, options: Any) -> Iterable[Path]:
    """Return the file of a user's own taxonomy, if there is one."""
    return [options.taxonomy] if options.taxonomy is not None else []


def _find_files(argument: str | None, options: HyponymCosineOptions) -> Iterable[Path]:
    """Return the files of a user's own taxonomy and classes, if there are any."""
    yield from _find_taxonomy_file(argument, options)
    if isinstance(options.classes, Path):
        yield options.classes


def _metric(module: str, cls: str) -> Callable[[Setup[Any]], Metric]:
    def create(setup: Setup[Any]) -> Metric:
        metric: Metric = getattr(import_module(f"t2i_wordnet_hypernymy.{module}"), cls)(setup)
        return metric

    return create


def _source(
    name: str,
    summary: str,
    options: type[Options],
    paper: About,
    function: str,
    labels: bool = False,
    argument: str | None = None,
) -> PromptSourceInfo:
    def prompts(setup: Setup[Any]) -> Iterable[Prompt]:
        module = import_module("t2i_wordnet_hypernymy.prompts")
        found: Iterable[Prompt] = getattr(module, function)(setup)
        return found

    return PromptSourceInfo(
        name=name,
        summary=summary,
        options=options,
        about=paper,
        prompts=prompts,
        reads_labels=labels,
        argument=argument,
        loading=Loading(weights=_find_taxonomy_file if "taxonomy" in options.model_fields else None),
    )


def _file_source(name: str, summary: str, argument: str, function: str) -> PromptSourceInfo:
    def prompts(setup: Setup[PhraseOptions]) -> Iterable[Prompt]:
        module = import_module("t2i_wordnet_hypernymy.concepts_file")
        found: Iterable[Prompt] = getattr(module, function)(setup)
        return found

    return PromptSourceInfo(
        name=name,
        summary=summary,
        argument=argument,
        needs_argument=True,
        options=PhraseOptions,
        about=TAXONOMY,
        prompts=prompts,
    )


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the papers' lists of prompts, and the source of a user's own concepts."""
    return [
        _source(
            "wordnet-imagenet",
            "Every synset above a class of the judge: 860 for ImageNet-1k.",
            LabelOptions,
            HYPERNYMY,
            "above_labels",
            labels=True,
        ),
        _source(
            "wordnet-mini",
            "Every synset that is above a class of the judge and in the mini world.",
            SynsetPromptOptions,
            HYPERNYMY,
            "of_mini_world",
            labels=True,
        ),
        _source(
            "wordnet-near-leaf",
            "Synsets at most two steps above a class of the judge, all of them or a random sample.",
            NearLeafOptions,
            HYPERNYMY,
            "near_leaf",
            labels=True,
        ),
        _source(
            "wordnet-compared",
            "The 20 synsets whose images people compared in the hypernymy paper.",
            SynsetPromptOptions,
            HYPERNYMY,
            "compared_by_people",
        ),
        _source(
            "easy-concepts",
            "22 common synsets and the synsets directly below them: 483 prompts.",
            PhraseOptions,
            TAXONOMY,
            "easy_concepts",
        ),
        _source(
            "wordnet-random",
            "Random sample of synsets by their relations: 1202 prompts, drawn anew or as published.",
            RandomOptions,
            TAXONOMY,
            "random_split",
            argument="FILE: the published list of concepts (data/main.csv), instead of a new draw",
        ),
        _source("wordnet-all", "All 82,115 noun synsets of WordNet 3.0.", PhraseOptions, TAXONOMY, "all_nouns"),
        _file_source(
            "taxonomy-predictions",
            "Concepts that a model predicted: the published ones, or those of your own list.",
            "FILE: the published list of concepts, or a CSV or TSV file with the columns synset, lemma, "
            "definition, subset",
            "read_predictions",
        ),
        _file_source(
            "concepts",
            "Your own concepts: synset, and optionally lemma and definition.",
            "FILE: a CSV or TSV file with the columns synset, lemma, definition; all others are facets",
            "read_concepts",
        ),
    ]
