"""What t2i-arena-elo offers: ratings, rewards, and a baseline that retrieves. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, Defaults, GeneratorInfo, Loading, Measure, Metric, MetricInfo, Setup, hookimpl

from .options import EloOptions, RewardMetricOptions, WikimediaOptions

if TYPE_CHECKING:
    from t2i_core.api import Generator

TAXONOMY = (
    "Moskvoretskii et al.: Do I look like a cat.n.01 to you? A Taxonomy Image Generation Benchmark. 2025. "
    "arXiv:2503.10357"
)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Offer ratings from battles, and means of rewards."""
    return [
        MetricInfo(
            name="elo",
            summary="Which of two models' images is better? Bradley-Terry ratings of two or more models.",
            options=EloOptions,
            create=_elo,
            code=(
                "battle_files.py",
                "battles.py",
                "fit.py",
                "metric.py",
                "options.py",
                "ratings.py",
                "rows.py",
                "sampling.py",
            ),
            loading=Loading(weights=_battles),
            measures=(
                Measure("elo", "Rating: 400 points are odds of 10 to 1, the models' mean is 1000."),
                Measure("win", "What model_a got: 1, 0, or .5 where neither won.", 0, 1, higher_is_better=None),
                Measure(
                    "no-verdict", "An answer that decides nothing: a row for each.", 1, 1, higher_is_better=None
                ),
            ),
            defaults=Defaults(prompts="easy-concepts", seeds=1),
            about=About(
                citation=f"{TAXONOMY}; Bradley and Terry 1952",
                notes="Asks a judge twice about each two models' images of each prompt; elo.share draws some.",
            ),
        ),
        MetricInfo(
            name="reward",
            summary="Mean of a reward model's values, with tests between models.",
            options=RewardMetricOptions,
            about=About(citation=TAXONOMY),
            create=_reward,
            code=("reward.py",),
            measures=(Measure("reward", "Reward, on the judge's own scale; mean over images.", facets=("*",)),),
            defaults=Defaults(prompts="easy-concepts", seeds=1),
        ),
    ]


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    """Offer the baseline that retrieves."""
    return [
        GeneratorInfo(
            name="wikimedia",
            summary="No model: the picture that a search of Wikimedia Commons puts first.",
            options=WikimediaOptions,
            create=_wikimedia,
            reads_scene=True,
            code=("commons.py", "retrieval.py"),
            about=About(
                citation=TAXONOMY,
                licence="each picture's own: see `record` in samples.csv",
                notes="Asks a public server about each prompt, one after another; say whom to write to (contact).",
            ),
        )
    ]


def _battles(_: str | None, options: Any) -> Iterable[Path]:
    return [*options.battles, *([options.pilot] if options.pilot else [])]


def _elo(setup: Setup[Any]) -> Metric:
    from .metric import Elo

    return Elo(setup)


def _reward(setup: Setup[Any]) -> Metric:
    from .reward import RewardMean

    return RewardMean(setup)


def _wikimedia(setup: Setup[Any]) -> Generator:
    from .retrieval import Wikimedia

    return Wikimedia(setup)
