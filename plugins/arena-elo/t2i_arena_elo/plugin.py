"""Components of t2i-arena-elo: the metrics `elo` and `reward`, and the retrieval baseline `wikimedia`.

This module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import (
    About,
    Defaults,
    ExistingImagesInfo,
    GeneratorInfo,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Setup,
    hookimpl,
)

from .explanations import ELO, PAPER, REWARD
from .options import EloOptions, RewardMetricOptions, WikimediaOptions

if TYPE_CHECKING:
    from t2i_core.api import Generator


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the metrics `elo` (ratings from battles) and `reward` (mean rewards)."""
    return [
        MetricInfo(
            name="elo",
            summary="Bradley-Terry ratings of two or more models, from pairwise preferences between their images.",
            options=EloOptions,
            create=_elo,
            code=(
                "battle_files.py",
                "battle_looks.py",
                "battle_rounds.py",
                "battles.py",
                "clusters.py",
                "fit.py",
                "metric.py",
                "options.py",
                "propensities.py",
                "ratings.py",
                "resampling.py",
                "rows.py",
                "sampling.py",
                "weighted_ratings.py",
            ),
            loading=Loading(weights=_battles),
            models=_models,
            measures=(
                Measure(
                    "elo",
                    "Rating on the Elo scale: a gap of 400 points means odds of 10 to 1; the mean is 1000.",
                    facets=("subset",),
                ),
                Measure(
                    "win",
                    "Points of model_a: 1 for a win, 0 for a loss, 0.5 if neither won.",
                    0,
                    1,
                    higher_is_better=None,
                ),
                Measure("no-verdict", "One row for each answer without a verdict.", 1, 1, higher_is_better=None),
            ),
            defaults=Defaults(prompts="easy-concepts", seeds=1),
            about=ELO,
        ),
        MetricInfo(
            name="reward",
            summary="Mean reward of each model's images, with significance tests between models.",
            options=RewardMetricOptions,
            about=REWARD,
            create=_reward,
            code=("reward.py",),
            measures=(Measure("reward", "Reward on the judge's own scale, averaged over images.", facets=("*",)),),
            defaults=Defaults(prompts="easy-concepts", seeds=1),
        ),
    ]


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    """Return the retrieval baseline `wikimedia`."""
    return [
        GeneratorInfo(
            name="wikimedia",
            summary="A retrieval baseline without a model: the first result of a search on Wikimedia Commons.",
            options=WikimediaOptions,
            create=_wikimedia,
            reads_scene=True,
            code=("commons.py", "retrieval.py"),
            about=About(
                citation=PAPER.citation,
                bibtex=PAPER.bibtex,
                licence="differs between pictures: see `record` in samples.csv",
                notes="Sends one request per prompt to a public server; set `contact` to your address.",
            ),
        )
    ]


def _battles(_: str | None, options: Any) -> Iterable[Path]:
    return [*options.battles, *([options.pilot] if options.pilot else [])]


def _models(options: Any) -> Mapping[str, ExistingImagesInfo]:
    from .battle_models import list_battle_models

    return list_battle_models(options.battles) if options.battles else {}


def _elo(setup: Setup[Any]) -> Metric:
    from .metric import Elo

    return Elo(setup)


def _reward(setup: Setup[Any]) -> Metric:
    from .reward import RewardMean

    return RewardMean(setup)


def _wikimedia(setup: Setup[Any]) -> Generator:
    from .retrieval import Wikimedia

    return Wikimedia(setup)
