"""Messages between the driver and its workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from t2i_core.api.errors import T2IError
    from t2i_core.api.executor import ComponentTask, Executor

    from .sent_component import SentComponent


@dataclass(frozen=True)
class Greeting:
    """The first message to a worker, before it imports a library that reads the environment.

    Attributes:
        environment: Environment variables to set.
        folder: The driver's working folder, to which relative paths refer.
        probe: The file that shows whether the cache folder is shared.
        dists: Distributions beyond t2i's own whose versions count.
    """

    environment: Mapping[str, str]
    folder: str
    probe: Path | None
    dists: Sequence[str]


@dataclass(frozen=True)
class Introduction:
    """A worker's answer to the greeting.

    Attributes:
        host: Name of its machine.
        node: Ray's id of the machine.
        versions: Versions of its distributions.
    """

    host: str
    node: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Opening:
    """The component that a worker creates.

    Attributes:
        task: What it is asked to do, without its component.
        component: The component.
        local: The executor within the worker.
        cache: The cache folder, if the worker sees it.
        host: Name of the driver's machine.
    """

    task: ComponentTask
    component: SentComponent
    local: Executor
    cache: Path | None
    host: str


class SentItem(NamedTuple):
    """An item.

    Attributes:
        item: The item.
        files: The bytes of its images' files; None if the worker reads them itself.
    """

    item: Any
    files: tuple[bytes, ...] | None = None


class Answered(NamedTuple):
    """One answer: the item's place in the block, what is to be stored, and whether the component raised."""

    place: int
    encoded: Any
    raised: bool


class BlockAnswer(NamedTuple):
    """The answers to a block.

    Attributes:
        answers: The answers, in any order.
        seconds: How long the worker worked on them; a time in which it worked on two blocks counts once.
        error: The error that ended the work, if any.
    """

    answers: Sequence[Answered]
    seconds: float
    error: T2IError | None = None
