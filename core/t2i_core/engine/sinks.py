"""Sinks of a finished run: each gets the run, and none can harm it."""

from __future__ import annotations

from collections.abc import Sequence

from ..api.errors import T2IError
from ..api.executor import ComponentSettings
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import SinkInfo
from ..api.progress import Progress
from ..api.redaction import redact
from ..results.run import Run, SinkFailure
from .component import Component
from .lifecycle import open_component


def write_to_sinks(
    sinks: Sequence[Component[SinkInfo]], run: Run, how: ComponentSettings, progress: Progress
) -> tuple[SinkFailure, ...]:
    """Have each sink write a finished run, one after another; return the failures."""
    if not sinks:
        return ()
    failures = []
    with progress.task("writing to sinks", len(sinks), "sinks") as task:
        for sink in sinks:
            if (failure := _write_to_sink(sink, run, how, progress)) is not None:
                failures.append(failure)
            task.advance()
    return tuple(failures)


def _write_to_sink(
    sink: Component[SinkInfo], run: Run, how: ComponentSettings, progress: Progress
) -> SinkFailure | None:
    try:
        with open_component(sink, how) as instance, guard_plugin(sink, "to write the run"):
            instance.write(run, progress)
    except T2IError as error:
        named, reason = redact(describe_component(sink)), redact(str(error))
        whole = "; ".join([reason if named in reason else f"{named}: {reason}", *getattr(error, "__notes__", ())])
        return SinkFailure(redact(sink.spec), redact(whole), error.exit_code)
    return None
