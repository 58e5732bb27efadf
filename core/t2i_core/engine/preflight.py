"""Checks before work starts: metrics of two kinds, judges that do not fit, and images that cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..api.adapter import find_sources
from ..api.errors import BadFolder, BadOption, BadPrompts, BrokenPlugin, NoJudge, join_clauses
from ..api.image import Image
from ..api.metric import AdaptiveMetric, Metric, PairMetric, PromptMetric, SetMetric, TableMetric
from ..api.metric_input import Need
from ..api.observation import list_capabilities
from ..api.options import resolve_number
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import JudgeInfo, MetricInfo
from ..api.progress import Progress
from ..api.prompt import ObjectClass, Prompt
from ..api.resolver import split_judge
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .component import Component
from .job import Job, Served
from .query_index import group_queries, list_shared_queries


def refuse_unneeded_judges(
    words: Sequence[str],
    needs: Mapping[str, Sequence[Need]],
    find: Callable[[str], Component[JudgeInfo]],
) -> None:
    """Refuse a judge that offers nothing that the metrics need.

    Args:
        words: Judges as the user named them: `NAME` or `CAPABILITY=NAME`.
        needs: The needs of each metric, by its name.
        find: Returns the judge of a name, without loading or downloading it.

    Raises:
        NoJudge: If a judge is not needed.
        BadOption: If a judge is named with an unknown capability.
        T2IError: If `find` raises it.
    """
    wanted = {way.capability for own in needs.values() for need in own if need.is_judged for way in need.ways}
    if words and not wanted:
        raise NoJudge(f"--judge {words[0]}: {' and '.join(needs)} asks no judge; leave --judge out")
    for word in words:
        capability, name = split_judge(word)
        if capability is not None and capability not in (known := list_capabilities()):
            raise BadOption(
                f"--judge {word!r}: {capability!r} is not a capability; choose one of {', '.join(known)}"
            )
        meant = wanted & {capability} or wanted
        info = find(name).info
        offers = info.capabilities
        if not any(source in offers for each in meant for source in find_sources(each)):
            need = "; ".join(f"{metric} needs {_describe_needs(own)}" for metric, own in needs.items())
            if info.by_people:
                raise NoJudge(f"--judge {word}: people cannot be asked this: {need}")
            raise NoJudge(
                f"--judge {word}: the judge you asked for offers {' and '.join(offers) or 'nothing'}; {need}"
            )


def _describe_needs(needs: Sequence[Need]) -> str:
    ways = dict.fromkeys(" or ".join(way.capability for way in need.ways) for need in needs if need.is_judged)
    return " and ".join(ways) or "no judge"


def refuse_unknown_classes(
    served: Served, prompts: Sequence[Prompt], metric: Component[MetricInfo], unread: Mapping[str, str]
) -> None:
    """Refuse a judge that does not know a class of the prompts, or one that the metric asks about.

    Args:
        served: A need of the metric, and who serves it.
        prompts: The prompts.
        metric: The metric.
        unread: Why the texts of prompts could not be read as scenes, by the prompts' ids.

    Raises:
        BadPrompts: If a prompt has no scene and needs one.
        NoJudge: If the judge does not know a class.
    """
    need = served.need
    if need.knows:
        _refuse_blind_prompts(served, prompts, metric, unread)
        named = {each for prompt in prompts if prompt.scene for each in prompt.scene.classes}
        _refuse_unknown(served, named, "the prompts name")
    if need.classes is not None:
        with guard_plugin(metric, "to list the classes that it asks about"):
            named = {each for prompt in prompts for each in need.classes(prompt)}
        _refuse_unknown(served, named, f"metric {metric.spec!r} asks about")


def _refuse_blind_prompts(
    served: Served, prompts: Sequence[Prompt], metric: Component[MetricInfo], unread: Mapping[str, str]
) -> None:
    blind = [prompt for prompt in prompts if prompt.scene is None]
    if not blind:
        return
    for prompt in blind:
        if prompt.id in unread:
            _log.warning("no scene: %r: %s", prompt.text, unread[prompt.id])
    others = f" ({len(blind)} of {len(prompts)} prompts)" if len(prompts) > 1 else ""
    raise BadPrompts(
        f"metric {metric.spec!r} needs prompts with scenes, but {blind[0].text[:60]!r} has none{others}; "
        f"{_explain_scenes(served, blind[0], unread)}"
    )


def _refuse_unknown(served: Served, named: Collection[ObjectClass], by: str) -> None:
    labels = served.labels
    if labels is None or served.choice is None:
        return
    unknown = sorted(each.name for each in named if not any(each.same_as(label) for label in labels))
    if unknown:
        raise NoJudge(
            f"{describe_component(served.choice.judge)} does not know {', '.join(unknown[:5])}"
            f"{' and others' if len(unknown) > 5 else ''}, which {by}; it knows "
            f"{', '.join(label.name for label in labels[:30])}{', ...' if len(labels) > 30 else ''}"
        )


def _explain_scenes(served: Served, prompt: Prompt, unread: Mapping[str, str]) -> str:
    """Return why a prompt has no scene and how to give it one."""
    in_file = 'list its objects in a JSONL or CSV file ({"prompt": ..., "objects": ["dog", "two red cars"]})'
    if prompt.id in unread:
        return join_clauses([unread[prompt.id], f"rewrite the text, leave the prompt out, or {in_file}"])
    name = served.choice.judge.name if served.choice and served.labels is not None else "coco"
    return f"have texts read as scenes (--scenes {name}), or {in_file}"


def read_floor(judge: Component[JudgeInfo]) -> float:
    """Return the confidence below which a judge keeps nothing.

    Raises:
        BrokenPlugin: If its floor is the name of no option.
    """
    try:
        return resolve_number(judge.info.floor, judge.options) or 0.0
    except ValueError as error:
        raise BrokenPlugin(f"{describe_component(judge)}: its floor: {error}") from error


def lower_floor(need: Need, judge: Component[JudgeInfo]) -> Component[JudgeInfo]:
    """Return a judge that keeps all answers that a metric uses, if its floor is an option that the user left open.

    Raises:
        BrokenPlugin: If the floor is the name of no option.
    """
    option = judge.info.floor
    if (
        not isinstance(option, str)
        or option in judge.options.model_fields_set
        or read_floor(judge) <= need.confidence
    ):
        return judge
    return replace(judge, options=judge.options.model_copy(update={option: need.confidence}))


def refuse_high_floor(need: Need, metric: Component[MetricInfo], judge: Component[JudgeInfo]) -> None:
    """Refuse a judge that drops answers that the metric uses, because the score would silently be another one.

    Raises:
        BadOption: If the judge's floor is above the metric's confidence.
        BrokenPlugin: If the floor is the name of no option.
    """
    option, floor = judge.info.floor, read_floor(judge)
    if floor > need.confidence:
        way_out = f"set -o {judge.name}.{option}={need.confidence:g}, or" if isinstance(option, str) else "set"
        raise BadOption(
            f"metric {metric.spec!r} uses objects found with a confidence of {need.confidence:g} or more, but "
            f"judge {judge.spec!r} keeps nothing below {floor:g}; {way_out} the metric's to {floor:g}"
        )


def check_references(jobs: Iterable[Job], store: Store, progress: Progress) -> None:
    """Open each reference image that no judge has answered for yet.

    Raises:
        BadFolder: If one cannot be read.
    """
    to_open: dict[Path, tuple[str, Image]] = {}
    for group in group_queries(jobs):
        for job, served in group.asking:
            for key, query in list_shared_queries(job, served) if served.need.per == "run" else ():
                if not store.has(key):
                    to_open |= {image.path: (job.metric.spec, image) for image in query.images}
    if not to_open:
        return
    with progress.task("checking reference images", len(to_open), "images") as task:
        for metric, image in to_open.values():
            try:
                _ = replace(image).pixels  # of a copy, which releases them
            except DamagedImage as error:
                raise BadFolder(f"reference image of metric {metric!r}: {error}; fix or remove it") from error
            task.advance()


def refuse_mixed_kinds(component: Component[MetricInfo], metric: Metric) -> None:
    """Refuse a metric of two kinds, or with attributes that its base class does not read.

    Raises:
        BrokenPlugin: If the metric is not of one kind.
    """
    units = [kind.__name__ for kind in (PromptMetric, SetMetric, PairMetric) if isinstance(metric, kind)]
    if len(units) > 1:
        raise BrokenPlugin(f"{describe_component(component)} is a {' and a '.join(units)}; it must have one unit")
    for kind, names in _OWN_ATTRIBUTES.items():
        unread = [name for name in names if hasattr(metric, name)] if not isinstance(metric, kind) else []
        if unread:
            raise BrokenPlugin(
                f"{describe_component(component)} has {unread[0]!r}, which only a {kind.__name__} may have"
            )


_log = logging.getLogger(__name__)

_OWN_ATTRIBUTES: Mapping[type[Metric], tuple[str, ...]] = {
    TableMetric: ("aggregates", "computes_headline", "prepare", "remarks", "ranges", "estimates"),
    PairMetric: ("crossed", "raters", "set_models"),
    AdaptiveMetric: ("adaptive", "begin_rounds", "add_round"),
}
"""Attributes that only one kind of metric has."""
