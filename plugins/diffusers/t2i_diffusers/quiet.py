"""What libraries write on standard error, and an image's record or failure, or an error's line, says already."""

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
"""How lines begin: of prompts that are cut, with the rest of each, and of images that a filter blanks."""


@contextmanager
def leaving_out(said: Sequence[str], names: Iterable[str]) -> Iterator[None]:
    """Leave out of some loggers' messages those whose first line holds one of these."""

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
def said_elsewhere(pipes: Sequence[Any]) -> Iterator[None]:
    """Leave out these lines of pipelines and of their parts, and what torch warns of under Attend-and-Excite."""
    parts = [part for pipe in pipes for part in (pipe, *pipe.components.values()) if part is not None]
    names = {cls.__module__ for part in parts for cls in type(part).__mro__}
    loggers = [name for name in names if name.startswith(("diffusers.", "transformers."))]
    with leaving_out(_SAID, loggers), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.meshgrid: ", category=UserWarning)
        yield
