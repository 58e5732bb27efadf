"""A stage of a run under way, in words."""

from __future__ import annotations

from t2i_core.api.progress_display import format_duration, format_rate
from t2i_core.results.run_progress import StageProgress


def describe_stage(stage: StageProgress) -> str:
    """Return the counts of a stage in words: `images of mini: 45 of 120 images, 1 failed, 3.1/s, 0:24 left`."""
    return f"{stage.title}: {describe_counts(stage)}"


def describe_counts(stage: StageProgress) -> str:
    """Return the counts of a stage without its title."""
    parts = [f"{stage.done} of {stage.total} {stage.unit}"]
    if stage.failed:
        parts.append(f"{stage.failed} failed")
    if rate := format_rate(stage.rate):
        parts.append(rate)
    if stage.seconds_left is not None:
        parts.append(f"{format_duration(stage.seconds_left)} left")
    elif not stage.is_open:
        parts.append(f"in {format_duration(stage.seconds)}")
    return ", ".join(parts)
