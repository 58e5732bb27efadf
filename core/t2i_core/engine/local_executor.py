"""The executor `local`: components run in this process, with threads beside them that read and encode."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..api.budget import Budget
from ..api.executor import ComponentTask, WorkerAnswer, Workers, make_constant
from ..api.image import Image
from ..api.plugin_guard import describe_component, guard_plugin
from ..files.image_file import DamagedImage
from .answer_stream import iterate_answers
from .background import read_ahead
from .lifecycle import open_component

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class LocalExecutor:
    """Runs components in the thread that calls it.

    Attributes:
        budget: What they may spend. If None, that is not limited.
    """

    budget: Budget | None = None

    @contextmanager
    def open(self, task: ComponentTask) -> Iterator[Workers]:
        """Create a component, and release it afterwards."""
        with open_component(task.component, task.settings, self.budget) as instance:
            yield LocalWorkers(task, instance)


@dataclass(frozen=True)
class LocalWorkers:
    """A component in this process.

    Attributes:
        task: What it is asked to do.
        instance: The generator or judge.
        note: Empty, because there is nothing to say.
        busy_seconds: None, because it works in this process.
    """

    task: ComponentTask
    instance: Any
    note: str = ""
    busy_seconds: float | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the component reports."""
        with guard_plugin(self.task.component, "to say its settings as plain data"):
            return getattr(self.instance, "settings", None) or {}

    def answer(self, items: Iterable[ItemT]) -> Iterator[WorkerAnswer[ItemT]]:
        """Yield each item with its answer. Images are read and decoded ahead of the component.

        An item whose images cannot be read is not asked: its answer is the DamagedImage.
        """
        task = self.task
        damaged: deque[WorkerAnswer[ItemT]] = deque()

        def feed() -> Iterator[ItemT]:
            for item, futures in read_ahead(items, task.list_images, _decode):
                faults = [fault for future in futures if isinstance(fault := future.result(), DamagedImage)]
                if faults:
                    damaged.append(WorkerAnswer(item, make_constant(faults[0])))
                else:
                    yield item

        for answer in iterate_answers(
            partial(task.work, self.instance), feed(), describe_component(task.component)
        ):
            while damaged:
                yield damaged.popleft()
            yield WorkerAnswer(answer.item, task.take(answer.item, answer.value), answer.raised)
        yield from damaged


def _decode(image: Image) -> DamagedImage | None:
    """Decode an image's pixels, which the image then holds; return the fault if that fails."""
    try:
        _ = image.pixels
    except DamagedImage as error:
        return error
    return None
