"""Every refusal before work starts: judges without a use or without an answer, and unreadable images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..api.adapter import find_sources
from ..api.errors import BadFolder, BadOption, BadPrompts, BrokenPlugin, NoJudge
from ..api.image import Image
from ..api.judge import Capability
from ..api.metric import Need
from ..api.observation import find_capability, list_capabilities
from ..api.options import resolve_number
from ..api.plugin_guard import describe_component
from ..api.plugin_info import JudgeInfo, MetricInfo
from ..api.progress import Progress
from ..api.prompt import Prompt
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .component import Component
from .job import Job, Served
from .observation import asked_once, desks


def refuse_unneeded_judges(
    words: Sequence[str],
    needs: Mapping[str, Sequence[Need]],
    find: Callable[[str], Component[JudgeInfo]],
) -> None:
    """Refuse a judge that offers nothing of what the metrics need.

    words:  judges as the user named them: `NAME` or `CAPABILITY=NAME`
    needs:  by the metric's name
    find:   the judge of a name; nothing is loaded or fetched for it

    Raises NoJudge, or what `find` raises.
    """
    by_metric = {name: dict.fromkeys(n.capability for n in own if _judged(n)) for name, own in needs.items()}
    wanted = {capability for own in by_metric.values() for capability in own}
    if words and not wanted:
        raise NoJudge(f"--judge {words[0]}: {' and '.join(by_metric)} asks no judge: leave --judge out")
    for word in words:
        capability, _, name = word.rpartition("=")
        if capability and capability not in list_capabilities():
            continue  # who chooses judges says which there are
        meant = wanted & {capability} or wanted
        offers = find(name).info.capabilities
        if not any(source in offers for each in meant for source in find_sources(each)):
            need = "; ".join(f"{metric} needs {_list(own)}" for metric, own in by_metric.items())
            raise NoJudge(f"--judge {word}: the judge you asked for offers {_list(offers)}; {need}")


def _judged(need: Need) -> bool:
    """Whether a judge answers it: neither the model itself nor a look at the pixels."""
    return need.source == "judge" and find_capability(need.capability).judged


def _list(capabilities: Mapping[Capability, object]) -> str:
    return " and ".join(capabilities) or "no judge"


def refuse_unknown_classes(served: Served, prompts: Sequence[Prompt], metric: Component[MetricInfo]) -> None:
    """Refuse a judge that cannot know a class of the prompts. Raises BadPrompts or NoJudge."""
    if not served.need.knows:
        return
    blind = next((p for p in prompts if p.scene is None), None)
    if blind is not None:
        raise BadPrompts(
            f"metric {metric.spec!r} must know what each prompt expects, but {blind.text[:60]!r} has no scene"
        )
    labels = served.labels
    if labels is None:
        return
    wanted = {c for p in prompts if p.scene for c in p.scene.classes}
    unknown = sorted(c.name for c in wanted if not any(c.same_as(label) for label in labels))
    if unknown and served.choice:
        raise NoJudge(
            f"{describe_component(served.choice.judge)} does not know {', '.join(unknown[:5])}"
            f"{' and others' if len(unknown) > 5 else ''}, which the prompts name; it knows "
            f"{', '.join(label.name for label in labels[:30])}{', ...' if len(labels) > 30 else ''}"
        )


def read_floor(judge: Component[JudgeInfo]) -> float:
    """Return the confidence below which a judge keeps nothing. Raises BrokenPlugin where it is no option of it."""
    try:
        return resolve_number(judge.info.floor, judge.options) or 0.0
    except ValueError as error:
        raise BrokenPlugin(f"{describe_component(judge)}: its floor: {error}") from error


def refuse_high_floor(need: Need, metric: Component[MetricInfo], judge: Component[JudgeInfo]) -> None:
    """Refuse a judge that does not keep all that a metric looks at: the score would silently be another one's.

    Raises BadOption, and BrokenPlugin where the judge's floor is no option of it.
    """
    said, floor = judge.info.floor, read_floor(judge)
    if floor > need.confidence:
        way_out = f"set -o {judge.name}.{said}={need.confidence:g}, or" if isinstance(said, str) else "set"
        raise BadOption(
            f"metric {metric.spec!r} looks at what is found with a confidence of {need.confidence:g} or more, and "
            f"judge {judge.spec!r} keeps nothing below {floor:g}: {way_out} the metric's to {floor:g}"
        )


def check_references(jobs: Iterable[Job], store: Store, progress: Progress) -> None:
    """Open each such image that no judge has answered for yet. Raises BadFolder for one that cannot be read."""
    to_open: dict[Path, tuple[str, Image]] = {}
    for desk in desks(jobs):
        for job, served in desk.asking:
            for item in asked_once(job, served) if served.need.per == "run" else ():
                if not store.has(item.key):
                    to_open |= {image.path: (job.metric.spec, image) for image in item.query.images}
    if not to_open:
        return
    with progress.task("checking reference images", len(to_open), "images") as task:
        for metric, image in to_open.values():
            try:
                _ = replace(image).pixels  # of a copy, which lets go of them
            except DamagedImage as error:
                raise BadFolder(f"metric {metric!r} cannot do without {error}; mend it or take it away") from error
            task.advance()
