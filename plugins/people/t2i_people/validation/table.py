"""The table of all metrics of runs beside people's answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption
from t2i_core.api.resolver import Resolver

from .agreement import (
    Level,
    Statistic,
    make_units,
    measure_agreement,
    measure_model_agreement,
    measure_prompt_agreement,
)
from .human_values import HumanValues
from .metric_values import MetricValues
from .model_means import get_goodness, list_means
from .model_pairs import (
    HumanPreference,
    MetricDifference,
    list_pairs,
    measure_difference,
    summarize_preference,
)
from .result import PERSON, Agreement, Difference, Mean, Validation, name_predictor
from .sources import read_sources


def validate(
    runs: Sequence[str | Path],
    answers: str | Path,
    *,
    metrics: Iterable[str] = (),
    questions: Sequence[str] = (),
    by: str | None = None,
    resolver: Resolver[Any] | None = None,
) -> Validation:
    """Set each metric of runs beside people's answers about the same images.

    Args:
        runs: Folders of finished runs.
        answers: File of people's answers (a database of the voting page, or CSV).
        metrics: Names of metrics; all, if empty.
        questions: Names of questions; all, if empty.
        by: Column of measurements.csv, such as `skill`: each of its levels gets its own lines.
        resolver: Finds the metrics, for the direction of their measures; the installed one, if None.

    Raises:
        BadFolder: If a folder holds no finished run.
        BadOption: If the answers cannot be read, are about other images, or have no value beside them.
        UnknownName: If the runs have no metric of a name.
    """
    sources = read_sources(runs, answers, metrics, questions, by, resolver)
    clusters, notes = sources.clusters, [*sources.notes]
    lines: list[Agreement] = []
    preferences: list[HumanPreference] = []
    differences: list[Difference] = []
    means: list[Mean] = []
    for human in sources.people:
        pairs = list_pairs(human) if human.form == "preference" else []
        shares = [summarize_preference(human, a, b, clusters) for a, b in pairs]
        preferences += shares
        for each in [*sources.metrics, None]:
            if each is not None and each.scope == "pair" and human.form != "preference":
                continue
            found = list(_measure(human, each, pairs, clusters))
            name = PERSON if each is None else name_predictor(each)
            lines += [
                Agreement(human.question, level, a, b, name, one, human.n_people) for level, a, b, one in found
            ]
            if each is None:
                continue
            if human.form == "preference":
                gaps = [measure_difference(each, a, b) for a, b in pairs]
                kept = [(share, gap) for share, gap in zip(shares, gaps, strict=True) if gap.value is not None]
                differences += [Difference(share, name, gap) for share, gap in kept]
                over_models = list(_measure_pairs(kept))
                beside = bool(kept)
            else:
                own = list(list_means(human, each, clusters))
                means += [Mean(human.question, name, mean) for mean in own]
                people = [mean.people for mean in own]
                over_models = list(measure_model_agreement(get_goodness(own, each), people, paired=False))
                beside = bool(own)
            lines += [Agreement(human.question, "model", "", "", name, one, human.n_people) for one in over_models]
            if not found and not beside:
                label = " ".join(part for part in (each.title, each.measure, each.facet) if part)
                notes.append(f"{human.question}: {label} has no value beside it, or the same value everywhere")
    if not any(line.predictor.metric for line in lines) and not differences and not means:
        raise BadOption(f"{answers}: no metric of these runs has values of the images that people saw")
    return Validation(
        tuple(sources.people), tuple(lines), tuple(preferences), tuple(differences), tuple(means), tuple(notes)
    )


def _measure(
    human: HumanValues,
    values: MetricValues | None,
    pairs: Sequence[tuple[str, str]],
    clusters: Mapping[str, str],
) -> Iterator[tuple[Level, str, str, Statistic]]:
    """Yield level, pair of models and statistic of a metric, or of single people, on images and prompts."""
    scope = "image" if values is None else values.scope
    levels: dict[str, tuple[Level, ...]] = {"model": (), "prompt": ("prompt",)}
    for level in levels.get(scope, ("image", "prompt")):
        units = make_units(human, level, values, clusters)
        if len(set(units.predictor)) < 2:
            continue
        yield from ((level, "", "", one) for one in measure_agreement(units, human.form))
        if level == "prompt":
            for a, b in pairs:
                own = units.of_models((a, b))
                found = (one for one in measure_prompt_agreement(own) if one.value is not None)
                yield from ((level, a, b, one) for one in found)


def _measure_pairs(kept: Sequence[tuple[HumanPreference, MetricDifference]]) -> Iterator[Statistic]:
    """Yield the statistics over pairs of models."""
    both = [
        (gap.value, share.share * 2 - 1)
        for share, gap in kept
        if share.share is not None and gap.value is not None
    ]
    yield from measure_model_agreement([gap for gap, _ in both], [share for _, share in both], paired=True)
