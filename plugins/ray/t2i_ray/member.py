"""A worker as the driver knows it: its process, what it has said, and the items that it has."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from t2i_core.api.executor import ComponentTask, Executor
from t2i_core.api.image import Image

from .actor import create_actor
from .cluster import is_alive
from .messages import Greeting, Introduction, Opening, SentItem
from .placement import Placement
from .sent_component import SentComponent
from .shared_folder import Probe
from .supply import Suspect
from .thread_settings import make_environment


@dataclass(frozen=True)
class Launch:
    """Start of the workers of one component.

    Attributes:
        placement: Their number, and what Ray reserves for each.
        component: The component.
        local: The executor within a worker.
        cache: The cache folder.
        python: The Python executable that they run in. If None, the cluster's own.
    """

    placement: Placement
    component: SentComponent
    local: Executor
    cache: Path
    python: str | None = None


@dataclass(eq=False)
class Block:
    """Items that a worker has. `alone` is set if a single item is tried alone."""

    items: list[Any]
    alone: Suspect | None = None


@dataclass(eq=False)
class Member:
    """A worker. Methods that ask it return Ray's reference to its answer at once.

    Attributes:
        number: Its number, which the worker that takes its place gets too.
        launch: How it was started.
        actor: Ray's handle.
        probe: The file that shows whether it sees the cache folder.
        introduction: Its answer to the greeting; None until it runs.
        is_ready: Whether it has its component.
        shares_cache: Whether it sees the cache folder.
        blocks: The blocks that it has.
    """

    number: int
    launch: Launch
    actor: Any
    probe: Probe
    introduction: Introduction | None = None
    is_ready: bool = False
    shares_cache: bool = False
    blocks: list[Block] = field(default_factory=list)

    @classmethod
    def start(cls, number: int, launch: Launch) -> Member:
        """Start a worker; return at once."""
        return cls(number, launch, create_actor(launch.placement, launch.python), Probe(launch.cache))

    @property
    def is_alone(self) -> bool:
        """True if it tries a single item."""
        return any(block.alone for block in self.blocks)

    def greet(self) -> Any:
        """Have it introduce itself."""
        environment = make_environment(self.launch.placement.threads, self.launch.placement.gpus)
        dists = [self.launch.component.dist]
        greeting = Greeting(environment, os.getcwd(), self.probe.write(), dists)  # noqa: PTH109
        return self.actor.introduce.remote(greeting)

    def take_introduction(self, introduction: Introduction) -> None:
        """Note its answer to the greeting, and whether it sees the cache folder."""
        self.introduction = introduction
        self.shares_cache = self.probe.was_answered()

    def open(self, task: ComponentTask) -> Any:
        """Have it create its component, for a task without one."""
        launch = self.launch
        cache = launch.cache if self.shares_cache else None
        return self.actor.open.remote(Opening(task, launch.component, launch.local, cache, socket.gethostname()))

    def make_sent_item(self, item: Any, images: Sequence[Image]) -> SentItem:
        """Return an item with the bytes of its images, unless the worker reads their files itself.

        Raises:
            DamagedImage: If an image cannot be read.
        """
        if all(map(self._can_read, images)):
            return SentItem(item)
        return SentItem(item, tuple(image.read_file() for image in images))

    def _can_read(self, image: Image) -> bool:
        if not self.shares_cache:
            return False
        is_here = self.introduction is not None and self.introduction.host == socket.gethostname()
        return is_here or image.path.is_relative_to(self.launch.cache)

    def is_node_gone(self) -> bool:
        """Return whether its machine is known and down."""
        return self.introduction is not None and not is_alive(self.introduction.node)

    def kill(self) -> None:
        """End it at once."""
        with suppress(Exception):  # it may be dead, or Ray gone
            ray.kill(self.actor)
        self.probe.was_answered()  # its files are removed
