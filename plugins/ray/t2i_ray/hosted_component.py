"""A component within a worker: one thread asks it, others read its images and encode its answers."""

from __future__ import annotations

import json
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from t2i_core.api.errors import T2IError
from t2i_core.api.failure import Failure
from t2i_core.api.image import Image
from t2i_core.api.plugin_guard import guard_plugin
from t2i_core.api.redaction import redact_data
from t2i_core.files.image_file import DamagedImage

from .carried_error import carry_error
from .messages import Answered, BlockAnswer, Opening, SentItem

_ENCODERS = _READERS = 2
"""Threads that encode answers, and threads that decode images."""

_AHEAD = 24
"""Number of images of the next block that are decoded before its turn; the executor decodes the others later."""


class HostedComponent:
    """A component that is created, asked and released in one thread, as libraries of models expect.

    While it works on one block, the answers to the block before are encoded and written, and the images of the
    next block are read and decoded. Items are released as they are answered, so that only a few images are decoded
    at a time however large a block is.

    Args:
        opening: The component and what it is asked to do.

    Raises:
        T2IError: If it cannot be created.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._held = ExitStack()
        self._counting = Lock()
        self._finished = 0.0
        self._model = ThreadPoolExecutor(1, thread_name_prefix="t2i-model")
        self._encoders = ThreadPoolExecutor(_ENCODERS, thread_name_prefix="t2i-encode")
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="t2i-read")
        self._model.submit(self._open).result()

    def _open(self) -> None:
        opening = self._opening
        component = opening.component.resolve(socket.gethostname())
        self._task = opening.task.with_component(component)
        self._workers = self._held.enter_context(opening.local.open(self._task))

    def answer(self, block: Sequence[SentItem]) -> BlockAnswer:
        """Answer a block of items. Several threads may call it; blocks are worked on one after another."""
        with TemporaryDirectory(prefix="t2i-ray-") if any(sent.files for sent in block) else ExitStack() as folder:
            items = deque(_unpack(sent, self._task.list_images(sent.item), folder) for sent in block)
            images = chain.from_iterable(map(self._task.list_images, items))
            reads = [self._readers.submit(_decode, image) for image in islice(images, _AHEAD)]
            return self._finish(*self._model.submit(self._ask, items, reads).result())

    def _ask(
        self, items: deque[Any], reads: Sequence[Future[None]]
    ) -> tuple[float, list[tuple[int, Future[Any], bool]], T2IError | None]:
        """Ask the component about items, which are taken from the queue."""
        started = time.monotonic()
        wait([read for read in reads if not read.cancel()])  # the executor reads those that have not begun
        places = {id(item): place for place, item in enumerate(items)}
        coming: list[tuple[int, Future[Any], bool]] = []
        try:
            for answer in self._workers.answer(items.popleft() for _ in range(len(items))):
                encoded = self._encoders.submit(self._encode, answer.encode)
                coming.append((places[id(answer.item)], encoded, answer.raised))
        except T2IError as error:
            return started, coming, carry_error(error)
        return started, coming, None

    def _encode(self, encode: Callable[[], Any]) -> Any:
        encoded, cache = encode(), self._opening.cache
        path = getattr(encoded, "path", None)
        if path is not None and not self._can_driver_read(Path(path)):
            return Failure(f"its image is a file of another machine ({path})")
        if cache is None:
            return encoded
        try:
            return self._task.write(encoded, cache)
        except OSError:  # the driver writes it, or says why it cannot
            return encoded

    def _can_driver_read(self, file: Path) -> bool:
        cache = self._opening.cache
        return cache is not None and (self._opening.host == socket.gethostname() or file.is_relative_to(cache))

    def _finish(
        self, started: float, coming: Sequence[tuple[int, Future[Any], bool]], error: T2IError | None
    ) -> BlockAnswer:
        answers: list[Answered] = []
        for place, encoded, raised in coming:
            try:
                answers.append(Answered(place, encoded.result(), raised))
            except T2IError as fault:
                error = error or carry_error(fault)
        return BlockAnswer(answers, self._count_seconds(started), error)

    def _count_seconds(self, started: float) -> float:
        """Return the seconds of work on a block that ends now, without those that counted for the block before."""
        with self._counting:
            before, self._finished = self._finished, time.monotonic()
            return self._finished - max(started, before)

    def get_settings(self) -> Mapping[str, Any]:
        """Return the settings that the component reports, as plain data.

        Raises:
            BrokenPlugin: If they are anything else.
        """
        return self._model.submit(self._read_settings).result()

    def _read_settings(self) -> Mapping[str, Any]:
        with guard_plugin(self._task.component, "to say its settings as plain data"):
            settings: Mapping[str, Any] = json.loads(json.dumps(redact_data(dict(self._workers.settings))))
            return settings

    def close(self) -> None:
        """Release the component."""
        self._model.submit(self._held.close).result()


def _decode(image: Image) -> None:
    """Decode an image's pixels, which the image then holds."""
    with suppress(DamagedImage):  # the executor finds the damage, too
        _ = image.pixels


def _unpack(sent: SentItem, images: Sequence[Image], folder: str | ExitStack) -> Any:
    """Return a copy of an item whose images lie in files of this machine: the block holds no decoded pixels."""
    if not images:
        return sent.item
    if not sent.files:
        return replace(sent.item, images=tuple(map(replace, images)))
    spooled = []
    for image, data in zip(images, sent.files, strict=True):
        file = Path(str(folder), image.digest)
        if not file.exists():
            file.write_bytes(data)
        spooled.append(replace(image, path=file, within=None, refused=None))
    return replace(sent.item, images=tuple(spooled))
