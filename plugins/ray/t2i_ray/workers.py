"""The driver's side: items go to workers in blocks, and what a dead worker had is asked again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import ObjectLostError, RayError, RayTaskError
from t2i_core.api.errors import BrokenPlugin, MissingDependency, T2IError
from t2i_core.api.executor import ComponentTask, WorkerAnswer, make_constant
from t2i_core.api.failure import Failure
from t2i_core.api.plugin_guard import describe_component
from t2i_core.api.progress import Progress
from t2i_core.api.text import describe_error
from t2i_core.files.image_file import DamagedImage

from .block_size import BlockSize
from .death import DEATHS, explain_death, failed_to_start, is_death_of_node
from .death_limits import DeathCounts
from .member import Block, Launch, Member
from .messages import BlockAnswer, Introduction, SentItem
from .room_watch import RoomWatch
from .supply import LAST_DEATH, Supply
from .versions import OWN_DISTS, find_difference, list_versions

BLOCKS = 2
"""Blocks that a worker has at a time, so that it never waits for the next one."""


class RayWorkers:
    """The workers of one component.

    Args:
        task: The work that they are asked to do.
        launch: How they start.
        progress: Gets a note when the workers change.
    """

    def __init__(self, task: ComponentTask, launch: Launch, progress: Progress) -> None:
        self._task, self._launch, self._progress = task, launch, progress
        self._sent_task = task.with_component(None)
        self._who = describe_component(task.component)
        self._versions = list_versions([task.component.dist])
        if launch.python is not None:  # another environment may have other versions of anything else
            self._versions = {name: self._versions[name] for name in OWN_DISTS if name in self._versions}
        self._members: dict[int, Member] = {}
        self._pending: dict[Any, Callable[[Any], None]] = {}  # by Ray's reference, what to do with its result
        self._owners: dict[Any, tuple[Member, Block | None]] = {}
        self._block_size = BlockSize(task.settings.batch_size)
        self._supply = Supply(())
        self._done: deque[WorkerAnswer[Any]] = deque()
        self._error: T2IError | None = None
        self._busy_seconds = 0.0
        self._deaths = DeathCounts()
        self._room = RoomWatch(launch.placement, progress)

    @property
    def note(self) -> str:
        """The number of workers."""
        count = self._launch.placement.workers
        return f"{count} workers" if count > 1 else "1 worker"

    @property
    def busy_seconds(self) -> float:
        """Seconds that all workers together have worked on items."""
        return self._busy_seconds

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the component reports, by the first worker that can tell them."""
        while True:
            for member in sorted(self._ready, key=lambda each: each.number):
                try:
                    found: Mapping[str, Any] | T2IError = ray.get(member.actor.get_settings.remote())
                except DEATHS as error:
                    self._replace_dead_worker(member, error)
                    if (deaths := self._deaths.add_of_settings()) is not None:
                        self._fail(f"{deaths}: {explain_death(error)}")
                    self._raise_error()
                except RayError as error:
                    raise BrokenPlugin(
                        f"{self._who} failed to say its settings as plain data: {describe_error(error)}"
                    ) from error
                else:
                    if isinstance(found, T2IError):
                        raise found
                    return found
            self._step()
            self._raise_error()

    def start(self) -> None:
        """Start the workers, and wait for the first one. Raises the errors of `RayExecutor.open`."""
        for number in range(self._launch.placement.workers):
            self._start_member(number)
        while not self._ready:
            self._step()
            self._raise_error()

    def answer(self, items: Iterable[Any]) -> Iterator[WorkerAnswer[Any]]:
        """Yield each item with its answer, as they are ready."""
        self._supply = Supply(items)
        while True:
            self._fill()
            while self._done:
                yield self._done.popleft()
            self._raise_error()
            if self._supply.is_empty and not any(member.blocks for member in self._members.values()):
                break
            self._step()
        if self._supply.error is not None:
            raise self._supply.error

    def close(self) -> None:
        """Release the component and end the workers. Raises the component's error."""
        try:
            closing = [member.actor.close.remote() for member in self._ready]
            for each in closing:
                with suppress(RayError):
                    if (error := ray.get(each, timeout=60)) is not None:
                        raise error
        finally:
            self.kill()

    def kill(self) -> None:
        """End the workers at once."""
        for member in self._members.values():
            member.kill()
        self._members.clear()
        self._pending.clear()
        self._owners.clear()

    @property
    def _ready(self) -> list[Member]:
        return [member for member in self._members.values() if member.is_ready]

    def _fail(self, reason: str) -> None:
        self._error = self._error or BrokenPlugin(f"{self._who}: {reason}")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    # Workers that come

    def _start_member(self, number: int) -> None:
        member = self._members[number] = Member.start(number, self._launch)
        self._expect(member.greet(), member, lambda introduction: self._open(member, introduction))

    def _open(self, member: Member, introduction: Introduction) -> None:
        member.take_introduction(introduction)
        needed = [*OWN_DISTS, self._launch.component.dist]
        difference = find_difference(self._versions, introduction.versions, needed)
        if difference is not None:
            self._error = MissingDependency(
                f"the worker on {introduction.host} {difference}; install the same versions on all machines"
            )
            return
        self._expect(member.open(self._sent_task), member, lambda error: self._set_ready(member, error))

    def _set_ready(self, member: Member, error: T2IError | None) -> None:
        self._error = self._error or error
        member.is_ready = error is None
        if member.is_ready:
            self._deaths.note_opening(member.number)

    # Items that go

    def _fill(self) -> None:
        """Give each worker what it can take."""
        if self._error is not None:
            return
        count = len(self._ready)
        for load in range(BLOCKS):
            reserved = self._reserve()
            for member in self._ready:
                if len(member.blocks) != load or member.is_alone:
                    continue
                if member in reserved:
                    if load == 0:
                        suspect = self._supply.suspects.popleft()
                        self._send(member, Block([suspect.item], suspect))
                    continue
                size = self._block_size.size
                left = self._supply.look_ahead(size * count * BLOCKS)
                if items := self._supply.take(self._block_size.limit(left, count)):
                    self._send(member, Block(items))

    def _reserve(self) -> list[Member]:
        """Return the workers that get no blocks, because they try single items when they have nothing else."""
        ready = sorted(self._ready, key=lambda each: len(each.blocks))
        busy = sum(member.is_alone for member in ready)
        count = min(max(1, len(ready) // 2) - busy, len(self._supply.suspects))
        return [member for member in ready if not member.is_alone][: max(0, count)]

    def _send(self, member: Member, block: Block) -> None:
        sent: list[SentItem] = []
        for item in block.items:
            try:
                sent.append(member.make_sent_item(item, self._task.list_images(item)))
            except DamagedImage as error:
                self._done.append(WorkerAnswer(item, make_constant(error)))
        if not sent:
            return
        block.items = [each.item for each in sent]
        member.blocks.append(block)
        reference = member.actor.answer.remote(sent)
        self._expect(reference, member, lambda answer: self._take_answer(member, block, answer), block)

    # Answers that come back

    def _expect(
        self, reference: Any, member: Member, then: Callable[[Any], None], block: Block | None = None
    ) -> None:
        self._pending[reference] = then
        self._owners[reference] = (member, block)

    def _step(self) -> None:
        """Wait for the next answer of a worker, and take it."""
        ready: list[Any] = []
        if self._pending:
            ready, _ = ray.wait(list(self._pending), num_returns=1, timeout=5)
        for reference in ready:
            then, (member, block) = self._pending.pop(reference), self._owners.pop(reference)
            try:
                value = ray.get(reference)
            except DEATHS as error:
                self._replace_dead_worker(member, error)
            except ObjectLostError:  # the answer was on a machine that is gone
                self._ask_again(member, block)
            except RayTaskError as error:
                self._fail(f"its worker failed: {describe_error(error.cause or error)}")
            except RayError as error:
                self._fail(f"its worker cannot start: {describe_error(error)}")
            else:
                then(value)
        is_any_running = any(member.introduction is not None for member in self._members.values())
        self._error = self._room.check(is_any_running) or self._error

    def _take_answer(self, member: Member, block: Block, answer: BlockAnswer) -> None:
        member.blocks.remove(block)
        self._block_size.note(len(block.items), answer.seconds)
        self._busy_seconds += answer.seconds
        self._error = self._error or answer.error
        self._deaths.note_answer()
        for place, encoded, raised in answer.answers:
            self._done.append(WorkerAnswer(block.items[place], make_constant(encoded), raised))

    def _ask_again(self, member: Member, block: Block | None) -> None:
        if block is None:
            self._fail("Ray lost the answer of a worker")
            return
        member.blocks.remove(block)
        self._return_block(block, is_suspect=False)

    # Workers that die

    def _replace_dead_worker(self, member: Member, error: RayError) -> None:
        """Have another worker take the place of a dead one, and ask again what it had."""
        if failed_to_start(error):
            self._error = MissingDependency(
                f"a worker cannot import t2i-ray; install the same t2i on all machines ({explain_death(error)})"
            )
            return
        for reference in [each for each, (owner, _) in self._owners.items() if owner is member]:
            del self._pending[reference], self._owners[reference]
        member.kill()
        is_node_gone = is_death_of_node(error) or member.is_node_gone()
        reason = explain_death(error)
        for block in member.blocks:
            self._return_block(block, not is_node_gone, reason)
        if is_node_gone:
            self._progress.note("a machine of the cluster is gone; its work is done by the others")
        elif member.is_ready:
            if (deaths := self._deaths.add()) is not None:
                self._fail(f"{deaths}: {reason}")
        elif (deaths := self._deaths.add_opening(member.number)) is not None:
            del self._members[member.number]
            if self._members:
                self._progress.note(f"{self._who}: {deaths}: {reason}; {len(self._members)} workers go on")
            else:
                self._fail(f"{deaths}: {reason}")
            return
        self._start_member(member.number)

    def _return_block(self, block: Block, is_suspect: bool, reason: str = "") -> None:
        """Have the items of a block asked again.

        Args:
            block: The block.
            is_suspect: Whether one of its items may have ended the worker. It has failed if that is certain.
            reason: Why the worker died.
        """
        if block.alone is None:
            (self._supply.suspect if is_suspect else self._supply.put_back)(block.items)
            return
        block.alone.deaths += is_suspect
        if block.alone.deaths < LAST_DEATH:
            self._supply.suspects.append(block.alone)
        else:
            failure = Failure(f"its worker died {LAST_DEATH} times: {reason}")
            self._done.append(WorkerAnswer(block.alone.item, make_constant(failure), raised=True))
