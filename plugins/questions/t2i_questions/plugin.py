"""The plugin module of the question-based benchmarks. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, Defaults, Measure, MetricInfo, Prompt, PromptSourceInfo, Setup, hookimpl

from .explanations import (
    COMPBENCH,
    COMPBENCH_PAPER,
    DPG_BENCH,
    DPG_PAPER,
    DSG,
    DSG_PAPER,
    GENAI_PAPER,
    GENEVAL2_PAPER,
    SOFT_TIFA,
    TIFA,
    TIFA_PAPER,
    VQASCORE,
)
from .options import (
    CompBenchOptions,
    CompBenchPromptOptions,
    DpgBenchOptions,
    GenAiBenchOptions,
    TableOptions,
    TifaMetricOptions,
    TifaPromptOptions,
    VqaScoreOptions,
)

if TYPE_CHECKING:
    from t2i_core.api import Metric

_SPACY = "All categories but numeracy and non_spatial need t2i-questions[spacy] and spaCy's model."
_ASKING = ("plugin.py", "options.py", "judged_questions.py", "question_metric.py")
_ANSWERING = {"answer": "qwen3-vl-8b"}
_WIDEST = 0.5**0.5
"""The largest sample standard deviation of values in [0, 1]: that of 0 and 1."""
_BY_CATEGORY = ("category", "subcategory")


def _measure(name: str, summary: str, *facets: str) -> Measure:
    return Measure(name, summary, 0, 1, facets=facets)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptors of the metrics."""
    return [
        MetricInfo(
            name="vqascore",
            summary=(
                "Probability that a vision-language model answers yes when asked whether the image "
                "shows the prompt."
            ),
            options=VqaScoreOptions,
            create=_vqascore,
            code=("plugin.py", "options.py", "vqascore.py"),
            measures=(_measure("vqascore", "Probability of yes, mean over images.", "*"),),
            defaults=Defaults(seeds=1, judges={"answer": "clip-flant5-xxl"}),
            about=VQASCORE,
        ),
        MetricInfo(
            name="dsg",
            summary="Questions about each fact of the prompt; answers depend on those to their parents.",
            create=_dsg,
            code=(*_ASKING, "dependencies.py", "dsg.py"),
            measures=(
                _measure("dsg", "Share of valid right answers of an image, mean over images.", "*"),
                _measure("dsg-without-dependency", "Share of right answers of an image, mean over images."),
                _measure(
                    "valid-answer", "Share of questions with a right answer and right parents.", *_BY_CATEGORY
                ),
                _measure("answer", "Share of questions with a right answer.", *_BY_CATEGORY),
            ),
            defaults=Defaults(seeds=1, judges=_ANSWERING),
            about=DSG,
        ),
        MetricInfo(
            name="dpg-bench",
            summary="Questions about each fact of a long prompt, by DPG-Bench's rule of dependencies.",
            options=DpgBenchOptions,
            create=_dpg_bench,
            code=(*_ASKING, "dependencies.py", "grid.py", "dpg_bench.py"),
            measures=(
                _measure("dpg-bench", "Share of valid right answers of an image, mean over images.", "*"),
                _measure("answer", "Share of questions with a right answer, parents ignored.", *_BY_CATEGORY),
            ),
            defaults=Defaults(seeds=4, judges=_ANSWERING),
            about=DPG_BENCH,
        ),
        MetricInfo(
            name="tifa",
            summary="Questions with choices about each element of the caption.",
            options=TifaMetricOptions,
            create=_tifa,
            code=(*_ASKING, "cosine.py", "tifa.py"),
            measures=(
                _measure("tifa", "Share of right answers of a caption's image, mean over captions.", "*"),
                _measure("answer", "Share of questions with a right answer.", *_BY_CATEGORY),
                Measure("tifa-stdev", "Standard deviation over captions.", 0, _WIDEST, higher_is_better=None),
            ),
            defaults=Defaults(seeds=1, judges=_ANSWERING),
            about=TIFA,
        ),
        MetricInfo(
            name="t2i-compbench",
            summary=(
                "Attributes by questions, positions and numbers by detections, non-spatial relations by a CLIP."
            ),
            options=CompBenchOptions,
            create=_compbench,
            code=(*_ASKING, "composition.py", "composition_rules.py", "cosine.py"),
            measures=(_measure("t2i-compbench", "Score of the image by the rule of its task.", "task", "subset"),),
            defaults=Defaults(
                seeds=10, judges={"answer": "blip-vqa", "detect": "detr-resnet50", "embed": "clip-vit-b32"}
            ),
            about=COMPBENCH,
        ),
        MetricInfo(
            name="soft-tifa",
            summary="Probabilities of the right answers to the prompt's questions (GenEval 2).",
            create=_soft_tifa,
            code=(*_ASKING, "soft_tifa.py"),
            measures=(
                _measure("soft-tifa-gm", "Geometric mean over an image's questions, mean over images.", "*"),
                _measure("soft-tifa-am", "Arithmetic mean over an image's questions, mean over images.", "*"),
                _measure("probability", "Probability of the right answer, mean over questions.", *_BY_CATEGORY),
            ),
            defaults=Defaults(seeds=1, judges=_ANSWERING),
            about=SOFT_TIFA,
        ),
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the descriptors of the prompt sources."""
    return [
        PromptSourceInfo(
            name="dsg",
            summary="DSG-1k's prompts with questions, or your own in its columns.",
            argument="FILE: dsg-1k-anns.csv, or ORG/NAME of a data set on the hub with its columns",
            needs_argument=True,
            options=TableOptions,
            prompts=_read_dsg,
            about=DSG_PAPER,
        ),
        PromptSourceInfo(
            name="dpg-bench",
            summary="DPG-Bench's 1,065 long prompts with questions.",
            argument="FILE: dpg_bench.csv, or the folder with it and prompts/*.txt, or ORG/NAME on the hub",
            needs_argument=True,
            options=TableOptions,
            prompts=_read_dpg,
            about=DPG_PAPER,
        ),
        PromptSourceInfo(
            name="tifa-v1",
            summary="TIFA's captions with questions and choices.",
            argument="FILE: tifa_v1.0_text_inputs.json, tifa_v1.0_question_answers.json, or their folder",
            needs_argument=True,
            options=TifaPromptOptions,
            prompts=_read_tifa,
            about=TIFA_PAPER,
        ),
        PromptSourceInfo(
            name="t2i-compbench",
            summary="T2I-CompBench's prompts of one category.",
            argument="FILE: color_val.txt, spatial_val.txt, ... (one prompt a line)",
            needs_argument=True,
            options=CompBenchPromptOptions,
            prompts=_read_compbench,
            about=COMPBENCH_PAPER.overlay(About(notes=_SPACY)),
        ),
        PromptSourceInfo(
            name="genai-bench",
            summary="GenAI-Bench's prompts with their skills, for vqascore.",
            argument="FILE: genai_image.json or its folder, or ORG/NAME on the hub (BaiqiL/GenAI-Bench-1600)",
            needs_argument=True,
            options=GenAiBenchOptions,
            prompts=_read_genai,
            about=GENAI_PAPER,
        ),
        PromptSourceInfo(
            name="geneval2",
            summary="GenEval 2's prompts with questions, for soft-tifa.",
            argument="FILE: geneval2_data.jsonl",
            needs_argument=True,
            prompts=_read_geneval2,
            about=GENEVAL2_PAPER.overlay(About(notes="The data are CC BY-NC 4.0.")),
        ),
    ]


def _vqascore(setup: Setup[VqaScoreOptions]) -> Metric:
    from .vqascore import VqaScore

    return VqaScore(setup)


def _dsg(setup: Setup[Any]) -> Metric:
    from .dsg import Dsg

    return Dsg(setup)


def _dpg_bench(setup: Setup[DpgBenchOptions]) -> Metric:
    from .dpg_bench import DpgBench

    return DpgBench(setup)


def _tifa(setup: Setup[TifaMetricOptions]) -> Metric:
    from .tifa import Tifa

    return Tifa(setup)


def _compbench(setup: Setup[CompBenchOptions]) -> Metric:
    from .composition import CompBench

    return CompBench(setup)


def _soft_tifa(setup: Setup[Any]) -> Metric:
    from .soft_tifa import SoftTifa

    return SoftTifa(setup)


def _read_dsg(setup: Setup[TableOptions]) -> Iterator[Prompt]:
    from .sources.scene_graphs import read_dsg

    return read_dsg(setup)


def _read_dpg(setup: Setup[TableOptions]) -> Iterator[Prompt]:
    from .sources.scene_graphs import read_dpg

    return read_dpg(setup)


def _read_tifa(setup: Setup[TifaPromptOptions]) -> Iterator[Prompt]:
    from .sources.tifa_files import read_tifa

    return read_tifa(setup)


def _read_compbench(setup: Setup[CompBenchPromptOptions]) -> Iterator[Prompt]:
    from .sources.composition_files import read_compbench

    return read_compbench(setup)


def _read_genai(setup: Setup[GenAiBenchOptions]) -> Iterator[Prompt]:
    from .sources.genai_files import read_genai

    return read_genai(setup)


def _read_geneval2(setup: Setup[Any]) -> Iterator[Prompt]:
    from .sources.soft_tifa_file import read_geneval2

    return read_geneval2(setup)
