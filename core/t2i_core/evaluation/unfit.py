"""Judges that cannot say what a metric asks of them: refused before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..components import Component, JudgeInfo, MetricInfo
from ..errors import BadOption, BadPrompts, BrokenPlugin, NoJudge
from ..metrics import Need
from ..options import number_of
from ..prompts import Prompt
from .jobs import Served
from .making import described


def refuse_ignorant(served: Served, prompts: Sequence[Prompt], metric: Component[MetricInfo]) -> None:
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
            f"{described(served.choice.judge)} does not know {', '.join(unknown[:5])}"
            f"{' and others' if len(unknown) > 5 else ''}, which the prompts name; it knows "
            f"{', '.join(label.name for label in labels[:30])}{', ...' if len(labels) > 30 else ''}"
        )


def floor_of(judge: Component[JudgeInfo]) -> float:
    """Return the confidence below which a judge keeps nothing. Raises BrokenPlugin where it is no option of it."""
    try:
        return number_of(judge.info.floor, judge.options) or 0.0
    except ValueError as error:
        raise BrokenPlugin(f"{described(judge)}: its floor: {error}") from error


def refuse_forgetful(need: Need, metric: Component[MetricInfo], judge: Component[JudgeInfo]) -> None:
    """Refuse a judge that does not keep all that a metric looks at: the score would silently be another one's.

    Raises BadOption, and BrokenPlugin where the judge's floor is no option of it.
    """
    said, floor = judge.info.floor, floor_of(judge)
    if floor > need.confidence:
        way_out = f"set -o {judge.name}.{said}={need.confidence:g}, or" if isinstance(said, str) else "set"
        raise BadOption(
            f"metric {metric.spec!r} looks at what is found with a confidence of {need.confidence:g} or more, and "
            f"judge {judge.spec!r} keeps nothing below {floor:g}: {way_out} the metric's to {floor:g}"
        )
