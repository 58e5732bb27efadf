"""A component within a worker, without Ray."""

from __future__ import annotations

import pickle
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from PIL import Image
from t2i_core.api import Failure, ImageRequest, Prompt, Query
from t2i_core.api.executor import ComponentSettings
from t2i_core.api.image import load_image
from t2i_core.api.mask import PackedMask
from t2i_core.api.observation_codec import decode
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.generation import GenerationTask
from t2i_core.engine.judge_answers import JudgingTask
from t2i_core.engine.local_executor import LocalExecutor
from t2i_core.storage.encoded_image import EncodedImage
from t2i_ray import hosted_component
from t2i_ray.hosted_component import HostedComponent
from t2i_ray.messages import Opening, SentItem
from t2i_ray.sent_component import send_component


def test_the_images_of_the_next_block_are_decoded_while_the_judge_works(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [
        [make_query(tmp_path / f"{block}-{i}.png", 1 + 60 * block + i) for i in range(3)] for block in range(2)
    ]
    component: Any = installed_resolver().component("judge", "toy-judge", {})
    decoded: set[str] = set()

    def decode_and_note(image: Any) -> None:
        decode_image(image)
        decoded.add(image.digest)

    decode_image = hosted_component._decode
    monkeypatch.setattr(hosted_component, "_decode", decode_and_note)
    is_asked, gate = Event(), Event()
    monkeypatch.setattr("toy_world.time.sleep", lambda seconds: (is_asked.set(), gate.wait(60)))
    task = JudgingTask(component, ComponentSettings(), "reward", None).with_component(None)
    hosted = HostedComponent(Opening(task, send_component(component), LocalExecutor(), None, "here"))
    with ThreadPoolExecutor() as calls:
        first = calls.submit(hosted.answer, [SentItem(query) for query in blocks[0]])
        assert is_asked.wait(60)
        second = calls.submit(hosted.answer, [SentItem(query) for query in blocks[1]])
        try:
            wait_for(lambda: decoded >= {query.images[0].digest for query in blocks[1]})
        finally:
            gate.set()
        answers = [each for call in (first, second) for each in sorted(call.result().answers)]
    hosted.close()
    assert [decode(each.encoded, "reward", None).value for each in answers] == [1, 2, 3, 61, 62, 63]


def make_query(file: Path, grey: int) -> Query:
    Image.fromarray(np.full((8, 8, 3), grey, np.uint8)).save(file)
    return Query((load_image(file),), ("a picture",))


def wait_for(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < give_up
        Event().wait(0.01)


@dataclass(frozen=True)
class CountingExecutor(LocalExecutor):
    """Counts the images of a block that are decoded at a time."""

    counts: list[int] = field(default_factory=list)

    @contextmanager
    def open(self, task: Any) -> Iterator[Any]:
        with super().open(task) as workers:
            yield CountingWorkers(workers, self.counts)


@dataclass(frozen=True)
class CountingWorkers:
    workers: Any
    counts: list[int]

    def answer(self, items: Iterable[Query]) -> Iterator[Any]:
        taken: list[weakref.ref[Any]] = []

        def feed() -> Iterator[Query]:
            for item in items:
                taken.append(weakref.ref(item.images[0]))
                yield item

        for answer in self.workers.answer(feed()):
            held = (image for reference in taken if (image := reference()) is not None)
            self.counts.append(sum("_pixels" in image.__dict__ for image in held))
            yield answer


def test_few_images_of_a_block_are_decoded_at_a_time(toy: Path, tmp_path: Path) -> None:
    queries = [make_query(tmp_path / f"{i}.png", i) for i in range(150)]
    component: Any = installed_resolver().component("judge", "toy-judge", {})
    task = JudgingTask(component, ComponentSettings(), "reward", None).with_component(None)
    executor = CountingExecutor()
    hosted = HostedComponent(Opening(task, send_component(component), executor, None, "here"))
    answers = sorted(hosted.answer([SentItem(query) for query in queries]).answers)
    hosted.close()
    assert [decode(each.encoded, "reward", None).value for each in answers] == list(range(150))
    assert 0 < max(executor.counts) < 75


@pytest.mark.parametrize("spooled", [False, True])
def test_parts_of_an_image_are_cut_out_by_the_worker(toy: Path, tmp_path: Path, spooled: bool) -> None:
    pixels = np.repeat(np.array([[5, 9]], np.uint8), 4, axis=1)[..., None].repeat(3, axis=2).repeat(8, axis=0)
    Image.fromarray(pixels).save(tmp_path / "halves.png")
    image = load_image(tmp_path / "halves.png")
    mask = PackedMask.pack(np.zeros((8, 8), bool))
    parts = [image.crop((0, 0, 4, 8)), image.crop((4, 0, 8, 8)), image.crop((0, 0, 8, 8), mask, (7, 7, 7))]
    files = [(part.read_file(),) if spooled else None for part in parts]
    sent = pickle.dumps(
        [SentItem(Query((part,), ("a picture",)), own) for part, own in zip(parts, files, strict=True)]
    )
    if spooled:
        image.path.unlink()
    component: Any = installed_resolver().component("judge", "toy-judge", {})
    task = JudgingTask(component, ComponentSettings(), "reward", None).with_component(None)
    hosted = HostedComponent(Opening(task, send_component(component), LocalExecutor(), None, "here"))
    answers = sorted(hosted.answer(pickle.loads(sent)).answers)
    hosted.close()
    assert [decode(each.encoded, "reward", None).value for each in answers] == [5, 9, 7]


@pytest.mark.parametrize(
    ("place", "host", "is_kept"),
    [("images", "here", True), ("images", "elsewhere", False), ("cache", "elsewhere", True)],
)
def test_a_file_that_the_driver_cannot_read_fails_alone(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, host: str, is_kept: bool
) -> None:
    file = tmp_path / place / "picture.png"
    file.parent.mkdir()
    Image.fromarray(np.full((8, 8, 3), 9, np.uint8)).save(file)
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    component: Any = installed_resolver().component("generator", "toy", {})
    task = GenerationTask(component, ComponentSettings()).with_component(None)
    sent = send_component(component)
    hosted = HostedComponent(Opening(task, sent, LocalExecutor(), tmp_path / "cache", host))
    items = [ImageRequest(Prompt("1", f"file {file}"), 0, 0), ImageRequest(Prompt("2", "a picture"), 0, 0)]
    found = sorted(hosted.answer([SentItem(item) for item in items]).answers)
    hosted.close()
    assert isinstance(found[1].encoded, EncodedImage)
    if is_kept:
        assert found[0].encoded.path == str(file)
    else:
        assert found[0].encoded == Failure(f"its image is a file of another machine ({file})")
