"""Components in this process: a bad answer fails alone, and images are read before the judge asks for them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_core.api import Failure, Generated, GeneratorInfo, ImageRequest, JudgeInfo, Prompt, Query, Reward
from t2i_core.api.executor import ComponentSettings
from t2i_core.api.image import load_image
from t2i_core.engine.component import settle_component
from t2i_core.engine.generation import GenerationTask
from t2i_core.engine.judge_answers import JudgingTask
from t2i_core.engine.local_executor import LocalWorkers
from t2i_core.files.image_file import DamagedImage
from t2i_core.storage.encoded_image import EncodedImage

REQUESTS = [ImageRequest(Prompt(f"p{n}", "a dog"), n, n) for n in range(3)]
PIXELS = np.full((16, 16, 3), 90, np.uint8)


class Drawer:
    """Give one answer of a list to each request."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Any]]:
        return zip(requests, self.answers, strict=False)


def draw(*answers: Any) -> list[Any]:
    info = GeneratorInfo(name="drawer", summary="Draws.", create=lambda setup: Drawer([]))
    task = GenerationTask(settle_component(info), ComponentSettings())
    workers = LocalWorkers(task, Drawer(list(answers)))
    return [answer.encode() for answer in workers.answer(REQUESTS[: len(answers)])]


def test_a_cut_image_of_pillow_fails_alone() -> None:
    file = io.BytesIO()
    PILImage.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(file, "PNG")
    cut = PILImage.open(io.BytesIO(file.getvalue()[:2000]))
    first, second = draw(Generated(cut), Generated(PIXELS))
    assert isinstance(first, Failure)
    assert first.reason.startswith("cannot be kept: ")
    assert isinstance(second, EncodedImage)


def test_a_number_as_record_fails_alone_and_none_is_empty() -> None:
    none, number = draw(Generated(PIXELS, None), Generated(PIXELS, 5))  # type: ignore[arg-type]
    assert isinstance(none, EncodedImage)
    assert none.record == {}
    assert isinstance(number, Failure)


def test_a_model_may_use_its_array_again() -> None:
    buffer = PIXELS.copy()
    info = GeneratorInfo(name="drawer", summary="Draws.", create=lambda setup: Drawer([]))
    task = GenerationTask(settle_component(info), ComponentSettings())
    answers = LocalWorkers(task, Drawer([Generated(buffer), Generated(buffer)])).answer(REQUESTS[:2])
    first = next(answers)
    buffer[:] = 200
    second = next(answers)
    assert first.encode().digest != second.encode().digest


class Brightness:
    """Return the mean of each image; note what was decoded when it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Reward]]:
        for query in queries:
            assert "_pixels" in query.images[0].__dict__
            self.asked.append(query.images[0].path.name)
            yield query, Reward(float(query.images[0].pixels.mean()))


@pytest.fixture
def queries(tmp_path: Path) -> list[Query]:
    found = []
    for number in range(5):
        file = tmp_path / f"{number}.png"
        PILImage.fromarray(PIXELS + number).save(file)
        found.append(Query((load_image(file),)))
    return found


def test_images_are_decoded_before_the_judge_is_asked_and_a_damaged_one_is_not_asked(queries: list[Query]) -> None:
    (queries[2].images[0].path).write_bytes(b"no image")
    queries[2] = replace(queries[2])
    judge = Brightness()
    info = JudgeInfo(name="b", summary="B.", capabilities={"reward": frozenset()}, create=lambda setup: judge)
    task = JudgingTask(settle_component(info), ComponentSettings(), "reward", None)
    found = {id(answer.item): answer.encode() for answer in LocalWorkers(task, judge).answer(queries)}
    assert judge.asked == ["0.png", "1.png", "3.png", "4.png"]
    assert [type(found[id(query)]) for query in queries] == [bytes, bytes, DamagedImage, bytes, bytes]
