"""Checks that every judge must pass."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image as PILImage

from ..api.failure import Failure
from ..api.image import Image, load_image
from ..api.judge import Capability, Query
from ..api.observation import Labels, find_capability
from ..api.observation_codec import decode, encode
from ..api.plugin_info import JudgeInfo
from ..api.prices import find_price
from ..engine.component import Component
from .answer_comparison import (
    CHANCES,
    ODD_TEXTS,
    assert_close,
    collect_answers,
    collect_answers_at_once,
    disturb_chance,
    make_component,
)
from .components import ComponentContract, list_entry_points
from .other_process import answer_in_another_process
from .parts import CLASSES, sample_images
from .spending import check_spending


class JudgeContract(ComponentContract):
    """Checks for every judge."""

    kind = "judge"
    tolerance: ClassVar[float] = 1e-4
    """Largest difference of numbers between batches, relative to the largest number."""

    @pytest.fixture
    def images(self, tmp_path: Path) -> Sequence[Image]:
        """Images to judge; override it if a judge needs others (with their truth, for example)."""
        return sample_images(tmp_path)

    @pytest.fixture
    def text(self) -> str:
        """A text by which images are judged."""
        return f"a photo of a {CLASSES[0].name}"

    def queries(self, capability: str, images: Sequence[Image], text: str) -> list[Query]:
        """Return queries of the capability about the images and the text."""
        return find_capability(capability).sample_queries(images, text)

    @pytest.fixture
    def labels(self, component: Component[JudgeInfo]) -> Labels | None:
        """The classes that the judge declares."""
        declared = component.info.labels
        return declared(component.argument, component.options) if declared else None

    @pytest.fixture
    def judge(self, component: Component[JudgeInfo]) -> Iterator[Any]:
        """The judge, created once per test."""
        with make_component(component) as judge:
            yield judge

    def test_is_entered_for_each_capability(self, info: JudgeInfo) -> None:
        """A judge can be found by capability without importing it."""
        for capability in info.capabilities:
            entered = list_entry_points(f"t2i.judges.{capability}").select(name=self.name)
            targets = [entry.value for entry in entered]
            assert targets == [self.module], capability

    def test_keeps_to_its_budget(
        self, info: JudgeInfo, component: Component[JudgeInfo], images: Sequence[Image], text: str
    ) -> None:
        """A judge with a price reserves money for its requests, and costs no more than its price."""
        price = find_price(component)
        if price is None or price.unknown:
            return
        for capability in info.capabilities:
            queries = self.queries(capability, images, text)
            most = sum(price.most(query, capability) for query in queries)
            check_spending(component, partial(_ask, capability=capability, queries=queries), most)

    def test_one_answer_per_query(self, info: JudgeInfo, judge: Any, images: Sequence[Image], text: str) -> None:
        """Each query gets an observation of the capability asked for, or a failure."""
        for capability in info.capabilities:
            answers = _ask(judge, capability, self.queries(capability, images, text))
            assert all(isinstance(a, find_capability(capability) | Failure) for a in answers)
            assert any(isinstance(a, find_capability(capability)) for a in answers), answers[0]
            assert _ask(judge, capability, []) == []

    def test_asked_again_it_answers_the_same(
        self, info: JudgeInfo, component: Component[JudgeInfo], images: Sequence[Image], text: str
    ) -> None:
        """No answer depends on a global random number generator or on a clock."""
        answers = []
        for chance in CHANCES[:2]:
            disturb_chance(chance)
            with make_component(component) as judge:
                queries = {c: self.queries(c, images, text) for c in info.capabilities}
                answers.append([answer for c, asked in queries.items() for answer in _ask(judge, c, asked)])
        for a, b in zip(*answers, strict=True):
            assert_close(a, b, self.tolerance, "asked again")

    def test_another_process_has_the_same_labels(
        self, component: Component[JudgeInfo], labels: Labels | None
    ) -> None:
        """The classes have one order, not that of a set, which differs from process to process."""
        if labels is not None:
            there = answer_in_another_process(component, self.module, None)
            assert there == labels, "asked in another process, with another PYTHONHASHSEED, the labels differ"

    def test_batch_and_order_change_nothing(
        self, info: JudgeInfo, component: Component[JudgeInfo], images: Sequence[Image], text: str
    ) -> None:
        """An observation depends on its own query alone, never on the other queries."""
        with make_component(component, 1) as one_by_one, make_component(component, len(images)) as together:
            for capability in info.capabilities:
                queries = self.queries(capability, images, text)
                first = _ask(together, capability, queries)
                second = _ask(one_by_one, capability, queries[::-1])[::-1]
                for a, b in zip(first, second, strict=True):
                    assert_close(a, b, self.tolerance, "asked in another order and batch")
                alone = [_ask(together, capability, [query])[0] for query in queries]
                for a, b in zip(first, alone, strict=True):
                    assert_close(a, b, self.tolerance, "asked in its own call")

    def test_a_bad_image_or_text_fails_alone(
        self,
        info: JudgeInfo,
        judge: Any,
        labels: Labels | None,
        images: Sequence[Image],
        text: str,
        tmp_path: Path,
    ) -> None:
        """A query that cannot be answered, or is about a file that is not an image, fails alone."""
        odd = _odd_images(tmp_path)
        for capability in info.capabilities:
            good = self.queries(capability, images, text)
            bad = self.queries(capability, odd, text)
            if any(shape.texts[0] for shape in find_capability(capability).queries):
                bad += [query for each in ODD_TEXTS for query in self.queries(capability, images[:2], each)]
            answers = collect_answers(partial(judge.observe, capability), [*bad, *good])
            for query, answer in zip(bad, answers[: len(bad)], strict=True):
                if odd[-1] in query.images:
                    assert isinstance(answer, Failure), (
                        f"{capability}: an answer about a file that is not an image"
                    )
                if not isinstance(answer, Failure):
                    encode(answer, capability, labels, query)
            for a, b in zip(_ask(judge, capability, good), answers[len(bad) :], strict=True):
                assert_close(a, b, self.tolerance, "asked after odd images and texts")

    def test_parts_of_an_image_are_judged_apart(
        self, info: JudgeInfo, judge: Any, images: Sequence[Image], text: str, tmp_path: Path
    ) -> None:
        """Parts of one image are judged like images with their pixels, not like the whole, or like each other."""
        if info.reads_truth or info.by_people:
            return  # the truth and people's answers are about whole images
        width, height = images[0].pil().size
        halves = [(0, 0, width // 2, height), (width // 2, 0, width, height)]
        parts = [images[0].crop(half) for half in halves]
        files = [_save(part, tmp_path / f"part-{number}.png") for number, part in enumerate(parts)]
        for capability in info.capabilities:
            of_parts = _ask(judge, capability, self.queries(capability, parts, text))
            of_files = _ask(judge, capability, self.queries(capability, files, text))
            for a, b in zip(of_parts, of_files, strict=True):
                assert_close(a, b, self.tolerance, "asked about a part of an image, and about a file of the part")

    def test_observations_survive_storage(
        self, info: JudgeInfo, judge: Any, labels: Labels | None, images: Sequence[Image], text: str
    ) -> None:
        """Every observation is valid, and reads back from its stored form unchanged."""
        for capability in info.capabilities:
            queries = self.queries(capability, images, text)
            for query, answer in zip(queries, _ask(judge, capability, queries), strict=True):
                if not isinstance(answer, Failure):
                    stored = encode(answer, capability, labels, query)
                    assert_close(answer, decode(stored, capability, labels), 0, "kept and read back")

    def test_settings_are_plain_data(self, judge: Any) -> None:
        """The settings that the judge reports can be written into a manifest."""
        json.dumps(dict(getattr(judge, "settings", {})), allow_nan=False)


def _ask(judge: Any, capability: Capability, queries: Sequence[Query]) -> list[Any]:
    """Return a judge's answers in the order of the queries."""
    return collect_answers_at_once(partial(judge.observe, capability), queries)


def _save(image: Image, file: Path) -> Image:
    image.pil().save(file)
    return load_image(file)


def _odd_images(folder: Path) -> list[Image]:
    """Return images that a judge rarely meets; the last is not an image."""
    shapes = {"dot": (1, 1, 3), "line": (3, 200, 3), "black": (32, 32, 3)}
    for name, shape in shapes.items():
        PILImage.fromarray(np.zeros(shape, np.uint8)).save(folder / f"odd-{name}.png")
    none = folder / "odd-none.png"
    none.write_bytes(b"no image")
    kept = [load_image(folder / f"odd-{name}.png") for name in shapes]
    return [*kept, Image(hashlib.sha256(none.read_bytes()).hexdigest(), none)]
