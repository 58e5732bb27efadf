"""Checks that every generator must pass."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from ..api.failure import Failure
from ..api.generator import Generated, ImageRequest
from ..api.plugin_info import ExistingImagesInfo, GeneratorInfo
from ..api.prices import find_price
from ..api.prompt import Prompt
from ..engine.component import Component
from .answer_comparison import (
    CHANCES,
    ODD_TEXTS,
    assert_same_images,
    collect_answers,
    collect_answers_at_once,
    disturb_chance,
    find_fault,
    get_pixels,
    make_component,
)
from .components import ComponentContract
from .other_process import answer_in_another_process
from .parts import TEST_PROMPTS, settle
from .spending import check_spending


class GeneratorContract(ComponentContract):
    """Checks for every generator."""

    kind = "generator"
    tolerance: ClassVar[float] = 0.0
    """Largest difference of pixels (0 to 255) between batches."""

    @pytest.fixture
    def prompts(self, component: Component[GeneratorInfo]) -> Sequence[Prompt]:
        """Two prompts that the model can draw; override it if the model needs others."""
        info = component.info
        if isinstance(info, ExistingImagesInfo) and info.prompts is not None:
            return list(info.prompts(component.setup()))[:2]
        return list(TEST_PROMPTS.prompts(settle(TEST_PROMPTS, {}, None).setup()))

    @pytest.fixture
    def seeds(self) -> Sequence[int]:
        """Seeds to draw."""
        return (0, 1)

    @pytest.fixture
    def requests(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> list[ImageRequest]:
        """All prompts with all seeds."""
        return [ImageRequest(prompt, seed, seed) for prompt in prompts for seed in seeds]

    def draw(
        self,
        component: Component[GeneratorInfo],
        requests: Sequence[ImageRequest],
        batch_size: int | None = None,
        alone_where_it_fails: bool = False,
    ) -> list[Any]:
        """Answer the requests with a new model; with `alone_where_it_fails`, failed ones are tried again."""
        ask = collect_answers if alone_where_it_fails else collect_answers_at_once
        with make_component(component, batch_size) as model:
            return ask(model.generate, requests)

    def test_keeps_to_its_budget(self, component: Component[GeneratorInfo], requests: list[ImageRequest]) -> None:
        """A model with a price reserves money for its requests, and costs no more than its price."""
        price = find_price(component)
        if price is None or price.unknown:
            return
        most = sum(price.most(request, None) for request in requests)
        check_spending(component, lambda model: collect_answers(model.generate, requests), most)

    def test_one_answer_per_request(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """Each request gets an image that core can store, with a record of plain data, or a failure."""
        answers = self.draw(component, requests)
        assert all(isinstance(a, Generated | Failure) for a in answers)
        images = [a for a in answers if isinstance(a, Generated)]
        assert images, answers[0]
        assert [fault for a in images if (fault := find_fault(a)) is not None] == []
        records = [dict(a.record) for a in images]
        assert json.loads(json.dumps(records, allow_nan=False)) == records

    def test_what_it_draws_is_declared(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """The objects that the model reports have classes that it declares, and can be seen."""
        info = component.info
        labels = info.labels(component.argument, component.options) if info.labels else ()
        for answer in self.draw(component, requests[:2]):
            for instance in answer.truth.instances if isinstance(answer, Generated) and answer.truth else ():
                assert any(label.same_as(instance.cls) for label in labels), f"{instance.cls} is not in `labels`"
                assert instance.mask.area() > 0

    def test_no_requests_no_images(self, component: Component[GeneratorInfo]) -> None:
        """Without requests there are no images."""
        assert self.draw(component, []) == []

    def test_the_same_seed_gives_the_same_image(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """Randomness comes from the request's seed alone, never from a global generator or a clock."""
        disturb_chance(CHANCES[0])
        first = self.draw(component, requests)
        disturb_chance(CHANCES[1])
        assert_same_images(first, self.draw(component, requests), self.tolerance, "asked again")

    def test_another_process_draws_the_same_image(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """No image depends on `hash` or on the order of a set, which differ from process to process."""
        here = self.draw(component, requests[:2])
        there = answer_in_another_process(component, self.module, requests[:2])
        assert_same_images(here, there, self.tolerance, "asked in another process, with another PYTHONHASHSEED")

    def test_another_seed_gives_another_image(
        self, component: Component[GeneratorInfo], prompts: Sequence[Prompt], requests: list[ImageRequest]
    ) -> None:
        """Images of one prompt under two seeds differ."""
        answers = self.draw(component, requests)
        for prompt in prompts:
            drawn = [
                get_pixels(answer).tobytes()
                for request, answer in zip(requests, answers, strict=True)
                if request.prompt is prompt and isinstance(answer, Generated)
            ]
            assert len(set(drawn)) == len(drawn), f"two seeds give one image of {prompt.text!r}"

    def test_order_batch_and_company_change_nothing(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """An image depends on its own prompt and seed alone, never on the other requests."""
        together = self.draw(component, requests)
        backwards = self.draw(component, requests[::-1], batch_size=1)[::-1]
        assert_same_images(together, backwards, self.tolerance, "asked in another order and batch")
        with make_component(component) as model:
            alone = [collect_answers_at_once(model.generate, [request])[0] for request in requests[:2]]
        assert_same_images(together[:2], alone, self.tolerance, "asked in its own call")

    def test_a_bad_prompt_fails_alone(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """A prompt that cannot be drawn gives its own failure, or an image; the other images do not change."""
        odd = [ImageRequest(Prompt(f"odd {n}", text), 0, 0) for n, text in enumerate(ODD_TEXTS)]
        answers = self.draw(component, [*odd, *requests], alone_where_it_fails=True)
        assert all(isinstance(a, Generated | Failure) for a in answers[: len(odd)])
        good = self.draw(component, requests)
        assert_same_images(good, answers[len(odd) :], self.tolerance, "asked after odd prompts")

    def test_unshared_seeds_have_a_reason(self, component: Component[GeneratorInfo]) -> None:
        """If prompts do not share the seeds of existing images, the model says why in one line."""
        info = component.info
        if isinstance(info, ExistingImagesInfo) and info.unshared_seeds is not None:
            why = info.unshared_seeds(component.setup())
            assert why is None or (isinstance(why, str) and why.strip() and len(why.splitlines()) == 1), why

    def test_settings_are_plain_data(self, component: Component[GeneratorInfo]) -> None:
        """The settings that the model reports can be written into a manifest."""
        with make_component(component) as model:
            settings = dict(getattr(model, "settings", {}))
        assert json.loads(json.dumps(settings, allow_nan=False)) == settings
