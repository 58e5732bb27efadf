"""Judges that a user named and no metric has a use for: refused before any other is looked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..capabilities import sources
from ..components import Component, JudgeInfo
from ..errors import NoJudge
from ..judging import CAPABILITIES, Capability
from ..metrics import Need


def refuse_idle(
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
        if capability and capability not in CAPABILITIES:
            continue  # who chooses judges says which there are
        meant = wanted & {capability} or wanted
        offers = find(name).info.capabilities
        if not any(source in offers for each in meant for source in sources(each)):
            need = "; ".join(f"{metric} needs {_list(own)}" for metric, own in by_metric.items())
            raise NoJudge(f"--judge {word}: the judge you asked for offers {_list(offers)}; {need}")


def _judged(need: Need) -> bool:
    """Whether a judge answers it: neither the model itself nor a look at the pixels."""
    return need.source == "judge" and need.capability != "pixels"


def _list(capabilities: Mapping[Capability, object]) -> str:
    return " and ".join(capabilities) or "no judge"
