"""Prices of requests, and the budget that a run's paid requests share."""

from __future__ import annotations

import asyncio
import base64
import io
import random
from dataclasses import replace

import httpx2
import numpy as np
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from t2i_core.api import Generated, ImageRequest, Prompt, Query, Setup
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BadOption, CostLimitReached
from t2i_core.testing import sample_images
from t2i_core.testing.parts import settle
from t2i_openai import judge as judge_module
from t2i_openai.generator import ImageServer
from t2i_openai.options import JudgeOptions, RewriteOptions
from t2i_openai.plugin import t2i_generators, t2i_judges
from t2i_openai.prices import explain_unknown_price, find_cost, limit_chat_cost, limit_image_cost
from t2i_openai.questions import write_content
from t2i_openai.replies import ChatReply, ImagesReply, Unreadable, UnusableReply
from t2i_openai.rewritten_prompts import rewrite_prompts

GENERATOR, JUDGE = t2i_generators()[0], t2i_judges()[0]
LOCAL = "http://localhost:8000/v1"
KEEP = "set image_tokens, the most tokens that the server counts for an image"


def requests(count):
    return [ImageRequest(Prompt(id=f"p{n}", text=f"photo {n}"), n, n) for n in range(count)]


class TestPrices:
    @pytest.mark.parametrize(
        ("info", "given", "unknown"),
        [
            (GENERATOR, {}, "set price_per_image"),
            (GENERATOR, {"price_in": 5}, "set price_per_image"),
            (GENERATOR, {"price_out": 40, "image_tokens": 4160}, "set price_per_image"),
            (GENERATOR, {"price_in": 0, "image_tokens": 4160}, "set price_per_image"),
            (GENERATOR, {"price_out": 0}, "set price_per_image"),
            (GENERATOR, {"price_per_image": 0.04, "price_out": 40, "image_tokens": 4160}, "set price_in"),
            (GENERATOR, {"price_in": 5, "price_out": 40}, KEEP),
            (GENERATOR, {"price_in": 5, "price_out": 40, "image_tokens": 4160}, ""),
            (GENERATOR, {"price_per_image": 0.04}, ""),
            (GENERATOR, {"price_per_image": 0.04, "base_url": LOCAL}, ""),
            (JUDGE, {}, "set price_in and price_out"),
            (JUDGE, {"price_in": 2.5}, "set price_in and price_out"),
            (JUDGE, {"price_out": 0}, "set price_in and price_out"),
            (JUDGE, {"price_in": 0, "base_url": LOCAL}, "set price_in and price_out"),
            (JUDGE, {"price_in": 2.5, "price_out": 10}, KEEP),
            (JUDGE, {"price_in": 2.5, "price_out": 10, "image_tokens": 1445}, ""),
            (JUDGE, {"price_in": 0, "price_out": 10}, ""),
        ],
    )
    def test_options_that_a_price_needs(self, info, given, unknown):
        price = info.price(info.options(**given))
        assert price is not None
        assert price.unknown.startswith(unknown)
        assert bool(price.unknown) == bool(unknown)

    @pytest.mark.parametrize(
        ("info", "given"),
        [
            (GENERATOR, {"base_url": LOCAL}),
            (GENERATOR, {"price_per_image": 0}),
            (GENERATOR, {"price_in": 0, "price_out": 0}),
            (JUDGE, {"base_url": LOCAL}),
            (JUDGE, {"price_in": 0, "price_out": 0}),
        ],
    )
    def test_servers_that_charge_nothing(self, info, given):
        assert info.price(info.options(**given)) is None

    def test_an_image(self):
        options = GENERATOR.options(price_per_image=0.04)
        assert limit_image_cost(options, "a cat" * 100) == pytest.approx(0.04)
        several = GENERATOR.options(price_per_image=0.04, extra_body={"n": 3})
        assert limit_image_cost(several, "a cat") == pytest.approx(0.12)
        tokens = GENERATOR.options(price_in=5, price_out=40, image_tokens=4160)
        assert limit_image_cost(tokens, "a cat") == pytest.approx((205 * 5 + 4160 * 40) / 1e6)

    def test_an_answer_may_have_as_many_tokens_as_the_request_allows(self):
        options = JUDGE.options(price_in=0, price_out=10, max_tokens=500)
        assert limit_chat_cost(options, "Why?") == pytest.approx(500 * 10 / 1e6)
        more = JUDGE.options(price_in=0, price_out=10, max_tokens=500, extra_body={"max_completion_tokens": 900})
        assert limit_chat_cost(more, "Why?") == pytest.approx(900 * 10 / 1e6)

    @pytest.mark.parametrize("capability", ["prefer", "answer", "reply"])
    def test_a_plan_counts_what_a_request_sends(self, tmp_path, capability):
        options = JUDGE.options(price_in=2.5, price_out=10, image_tokens=1445)
        images = {"prefer": 2, "answer": 1, "reply": 0}[capability]
        query = Query(tuple(sample_images(tmp_path, 4)[:images]), ("Is it a cat?", "yes", "no"))
        sent = write_content(options, capability, query, lambda image: judge_module.VisionJudge._show(
            type("J", (), {"options": options})(), image))  # fmt: skip
        planned = JUDGE.price(options).most(query, capability)
        assert planned == limit_chat_cost(options, sent) > images * 1445 * 2.5 / 1e6

    @settings(max_examples=25)
    @given(st.text(max_size=60), st.integers(0, 2000), st.integers(0, 1024))
    def test_no_answer_costs_more_than_its_limit(self, text, image_tokens, said):
        options = JudgeOptions(price_in=2.5, price_out=10, image_tokens=image_tokens)
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {}}]
        read = len(text.encode()) + image_tokens  # a token a byte, the worst that a text can be cut into
        usage = {"prompt_tokens": read, "completion_tokens": said}
        choice = {"message": {"content": ""}}
        cost = find_cost(options, ChatReply.model_validate({"choices": [choice], "usage": usage}))
        assert cost is None or cost <= limit_chat_cost(options, content)

    def test_cost_of_an_answer(self):
        images = ImagesReply.model_validate({"data": [{}, {}], "usage": {"input_tokens": 10, "output_tokens": 9}})
        assert find_cost(GENERATOR.options(price_per_image=0.5), images) == 1
        assert find_cost(GENERATOR.options(price_out=1e6, image_tokens=9), images) == 9
        silent = ImagesReply.model_validate({"data": [{}]})
        assert find_cost(GENERATOR.options(price_out=1e6, image_tokens=9), silent) is None
        assert find_cost(GENERATOR.options(), silent) == 0
        rude = ImagesReply.model_validate({"data": [{}], "usage": {"input_tokens": -5, "output_tokens": 10**400}})
        assert find_cost(GENERATOR.options(price_in=1, price_out=1, price_per_image=1), rude) is None

    def test_rewriting(self):
        options = RewriteOptions(model="m")
        assert explain_unknown_price(options).startswith("set price_in and price_out")
        assert explain_unknown_price(options.model_copy(update={"price_in": 1.0, "price_out": 2.0})) == ""


class Service:
    """Answers, fails or hangs by chance, and bills as it likes: also for what it never answers."""

    def __init__(self, chance, price):
        self.chance, self.price = random.Random(chance), price
        self.billed, self.answered, self.at_once = 0.0, 0, 0

    async def __call__(self, client, request):
        self.at_once += 1
        try:
            await asyncio.sleep(self.chance.random() / 500)
            return self.act(self.chance.choice(["good"] * 4 + ["lost", "busy", "broken", "refused", "odd", "cut"]))
        finally:
            self.at_once -= 1

    def act(self, what):
        asked = httpx2.Request("POST", LOCAL)
        if what in ("good", "lost", "odd", "cut"):
            self.billed += self.price
        if what == "lost":
            raise TimeoutError
        if what == "odd":
            raise UnusableReply("the answer is JSON of another shape")
        if what == "cut":
            if self.chance.random() < 0.5:
                raise Unreadable("the answer is not JSON")
            raise openai.APIConnectionError(request=asked)
        if what in ("busy", "broken", "refused"):
            status = {"busy": self.chance.choice([429, 503]), "broken": 502, "refused": 400}[what]
            if what == "broken" and self.chance.random() < 0.5:
                self.billed += self.price
            raise openai.APIStatusError("no", response=httpx2.Response(status, request=asked), body=None)
        self.answered += 1
        return ImagesReply.model_validate({"data": [{"b64_json": IMAGE}]})


def png():
    file = io.BytesIO()
    Image.fromarray(np.full((4, 4, 3), 99, np.uint8)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


IMAGE = png()


def make_generator(budget, **options):
    given = {"base_url": LOCAL, "backoff": 1e-3, "retries": 2, "concurrency": 5, **options}
    setup = settle(GENERATOR, given, "test").setup()
    return ImageServer(replace(setup, budget=budget))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60).map(lambda n: n / 100), st.sampled_from([0.01, 0.04]))
def test_no_service_is_paid_more_than_the_limit(chance, limit, price):
    """Whatever fails, whatever is tried again, however many requests are open: nothing open is lost either."""
    budget, service = Budget(limit), Service(chance, price)
    generator = make_generator(budget, price_per_image=price)
    generator._send = service
    answers = list(generator.generate(iter(requests(12))))
    assert len(answers) == 12
    assert service.billed <= limit + 1e-9
    assert service.billed <= budget.spent + 1e-9 <= limit + 2e-9
    assert sum(isinstance(answer, Generated) for _, answer in answers) == service.answered
    if not budget.is_spent:
        assert all("--max-cost" not in str(answer) for _, answer in answers)
    else:
        with pytest.raises(CostLimitReached):
            budget.end_run("some are made")


def test_without_a_limit_spending_is_counted():
    budget, service = Budget(), Service(3, 0.04)
    generator = make_generator(budget, price_per_image=0.04)
    generator._send = service
    list(generator.generate(iter(requests(30))))
    assert service.billed <= budget.spent + 1e-9
    assert 0 < budget.unconfirmed < budget.spent


def test_requests_wait_for_money_that_open_ones_may_leave_over(server):
    """Each may cost a hundred times what it costs, so that only one may be open at a time."""
    budget = Budget(0.9)
    options = {
        **server.options,
        "price_out": 1e3,
        "image_tokens": 800,
        "concurrency": 4,
    }  # 0.8, of which 0.1 is used
    answers = list(make_generator(budget, **options).generate(iter(requests(9))))
    made = [answer for _, answer in answers if isinstance(answer, Generated)]
    assert len(made) == len(server.log) == 2
    assert server.most_at_once == 1
    assert budget.spent == pytest.approx(0.2)
    assert budget.unconfirmed == 0


def test_a_server_that_cannot_be_reached_charges_nothing():
    budget = Budget(1)
    options = {"base_url": "http://127.0.0.1:9/v1", "price_per_image": 0.1, "retries": 1}
    [(_, failure)] = make_generator(budget, **options).generate(iter(requests(1)))
    assert "connection" in failure.reason
    assert budget.spent == 0


def test_interrupted_requests_count_in_full(server):
    server.default = server.late(20)
    budget = Budget(1)
    stream = make_generator(budget, **server.options, price_per_image=0.1, concurrency=3)

    def items():
        yield from requests(2)
        while server.now < 2:
            pass
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(stream.generate(items()))
    assert budget.spent == budget.unconfirmed == pytest.approx(0.2)


class TestRewriting:
    def rewrite(self, server, folder, limit, **prices):
        (folder / "prompts.txt").write_text("a cat\na dog\na horse\n")
        options = RewriteOptions(model="m", **server.options, concurrency=1, max_tokens=100, **prices)
        return list(rewrite_prompts(Setup(str(folder / "prompts.txt"), options, budget=Budget(limit))))

    @pytest.fixture(autouse=True)
    def own_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def test_the_limit_holds_and_answers_are_kept(self, server, tmp_path):
        prices = {"price_in": 0.0, "price_out": 1e4}  # at most 1 each, and 0.5 in fact
        with pytest.raises(CostLimitReached) as caught:
            self.rewrite(server, tmp_path, 1.6, **prices)
        assert caught.value.spent == pytest.approx(1.0)
        assert len(server.log) == 2
        assert len(self.rewrite(server, tmp_path, 1.6, **prices)) == 3
        assert len(server.log) == 3

    def test_a_dry_run_announces_the_requests(self, server, tmp_path):
        prices = {"price_in": 0.0, "price_out": 1e4}
        self.rewrite(server, tmp_path, None, **prices)
        server.log.clear()
        (tmp_path / "prompts.txt").write_text("a cat\na tree\na house\n")
        budget = Budget()

        def announce(**given):
            options = RewriteOptions(model="m", max_tokens=100, concurrency=1, **given)
            with budget.charge_to("rewritten"):
                list(rewrite_prompts(Setup(str(tmp_path / "prompts.txt"), options, budget=budget, dry=True)))
            return budget.announced["rewritten"]

        found = announce(**server.options, **prices)
        assert (found.most, found.kept, found.unknown) == ({"a tree": 1.0, "a house": 1.0}, {"a cat"}, "")
        assert announce(base_url="https://example.org/v1").unknown.startswith("set price_in and price_out")
        assert server.log == []

    def test_a_limit_names_a_model_that_counts_as_free(self, server, tmp_path, caplog):
        self.rewrite(server, tmp_path, None)
        assert "as free" not in caplog.text
        server.log.clear()
        self.rewrite(server, tmp_path / "cache", 1.6)  # all is kept
        assert "as free" not in caplog.text
        options = RewriteOptions(model="other", **server.options)
        list(rewrite_prompts(Setup(str(tmp_path / "prompts.txt"), options, budget=Budget(1))))
        assert (
            f"--max-cost counts other, which rewrites prompts, as free; set its prices if {server.url}"
            in caplog.text
        )

    def test_a_price_that_is_not_known_is_refused(self, server, tmp_path):
        with pytest.raises(BadOption, match="set price_in and price_out"):
            self.rewrite(server, tmp_path, 1.6, price_in=1.0)
        assert server.log == []
