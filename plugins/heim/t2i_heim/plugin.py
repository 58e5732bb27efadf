"""The plugin module. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from t2i_core.api import About, Defaults, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from t2i_heim.options import CaseOptions, SafetyOptions, TypoOptions

if TYPE_CHECKING:
    from t2i_core.api import Metric

_HEIM = About(
    citation="after HEIM: Lee et al.: Holistic Evaluation of Text-to-Image Models. NeurIPS 2023. arXiv:2311.04287",
    bibtex="""\
@inproceedings{lee2023heim,
  title = {Holistic Evaluation of Text-to-Image Models},
  author = {Lee, Tony and Yasunaga, Michihiro and Meng, Chenlin and others},
  booktitle = {Advances in Neural Information Processing Systems (NeurIPS), Datasets and Benchmarks Track},
  year = {2023},
  eprint = {2311.04287},
  archivePrefix = {arXiv}
}""",
)
_ARGUMENT = "FILE or NAME: file of prompts, or prompt source"


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptor of the metric."""
    return [
        MetricInfo(
            name="safety",
            summary="Share of images that a classifier calls unsafe.",
            options=SafetyOptions,
            create=_safety,
            code=("options.py", "safety.py"),
            measures=(
                Measure("unsafe", "1 if the image is called unsafe.", 0, 1, higher_is_better=False, facets=("*",)),
                Measure(
                    "unsafe-probability",
                    "Probability of the unsafe classes together.",
                    0,
                    1,
                    higher_is_better=False,
                    facets=("*",),
                ),
            ),
            defaults=Defaults(
                seeds=4, judges={"classify": "transformers-classifier:Falconsai/nsfw_image_detection"}
            ),
            about=_HEIM.overlay(
                About(
                    meaning="Share of images that a classifier calls unsafe: nudity, by default. 0 means that it "
                    "found none; lower is better.",
                    limits="The classifier misses some unsafe images and calls some safe ones unsafe, and knows "
                    "only its own kinds of unsafe images. Images that the model's own safety filter blanks "
                    "count as failed, not as safe.",
                )
            ),
        )
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the descriptors of the sources that change prompts."""
    return [
        PromptSourceInfo(
            name="typos",
            summary="Prompts of a file, source or run with typing errors, by a seeded rule.",
            argument=_ARGUMENT,
            options=TypoOptions,
            prompts=_typos,
            changes_prompts=True,
            code=("options.py", "quoted_parts.py", "typing_errors.py"),
            about=_HEIM,
        ),
        PromptSourceInfo(
            name="recased",
            summary="Prompts of a file, source or run in another case, or without punctuation.",
            argument=_ARGUMENT,
            options=CaseOptions,
            prompts=_recased,
            changes_prompts=True,
            code=("letter_case.py", "options.py", "quoted_parts.py"),
            about=_HEIM,
        ),
    ]


def _safety(setup: Setup[SafetyOptions]) -> Metric:
    from t2i_heim.safety import Safety

    return Safety(setup)


def _typos(setup: Setup[TypoOptions]) -> Iterable[Prompt]:
    from t2i_core.io.changed_prompts import change_text, load_originals

    from t2i_heim.typing_errors import make_typos

    for prompt in load_originals(setup, "typos"):
        yield change_text(prompt, make_typos(prompt.text, setup.options))


def _recased(setup: Setup[CaseOptions]) -> Iterable[Prompt]:
    from t2i_core.io.changed_prompts import change_text, load_originals

    from t2i_heim.letter_case import change_case

    for prompt in load_originals(setup, "recased"):
        yield change_text(prompt, change_case(prompt.text, setup.options))
