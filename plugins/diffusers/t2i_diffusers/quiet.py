"""What libraries write on standard error while images are drawn, and an image's record or failure says already."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_SAID = (
    "Token indices sequence length is longer than",
    "The following part of your input was truncated",
    "Potential NSFW content was detected",
    "Potential watermarked content was detected",
)
"""How lines begin: of prompts that are cut, with the rest of each, and of images that a filter blanks."""


def _new(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_SAID)


@contextmanager
def said_elsewhere(pipes: Sequence[Any]) -> Iterator[None]:
    """Leave out these lines of pipelines and of their parts, and what torch warns of under Attend-and-Excite."""
    parts = [part for pipe in pipes for part in (pipe, *pipe.components.values()) if part is not None]
    names = {cls.__module__ for part in parts for cls in type(part).__mro__}
    loggers = [logging.getLogger(name) for name in names if name.startswith(("diffusers.", "transformers."))]
    for logger in loggers:
        logger.addFilter(_new)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="torch.meshgrid: ", category=UserWarning)
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(_new)
