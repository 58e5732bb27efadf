"""Filters for library messages that repeat what an image's record, a failure or an error already says."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_SAID = (
    "Token indices sequence length is longer than",
    "The following part of your input was truncated",
    "Potential NSFW content was detected",
    "Potential watermarked content was detected",
)
"""Starts of messages about truncated prompts and about images that a safety filter blanks."""


@contextmanager
def hide_messages(said: Sequence[str], names: Iterable[str]) -> Iterator[None]:
    """Drop messages of some loggers whose first line contains one of these texts."""

    def new(record: logging.LogRecord) -> bool:
        first = record.getMessage().partition("\n")[0]
        return not any(beginning in first for beginning in said)

    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addFilter(new)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(new)


@contextmanager
def hide_known_messages(pipes: Sequence[Any]) -> Iterator[None]:
    """Drop these messages of pipelines and their parts, and torch's warning under Attend-and-Excite."""
    parts = [part for pipe in pipes for part in (pipe, *pipe.components.values()) if part is not None]
    names = {cls.__module__ for part in parts for cls in type(part).__mro__}
    loggers = [name for name in names if name.startswith(("diffusers.", "transformers."))]
    with hide_messages(_SAID, loggers), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.meshgrid: ", category=UserWarning)
        yield
