from __future__ import annotations

import asyncio
import base64
import time
from typing import ClassVar

import numpy as np
import pytest
from t2i_core.api import Prompt
from t2i_core.api.errors import BadModel
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.testing import GeneratorContract
from t2i_core.testing.parts import settle
from t2i_openai.plugin import t2i_generators
from t2i_openai.server import PATIENCE

TEXTS = [f"a photo of {n} dogs" for n in range(12)]


@pytest.mark.usefixtures("on_the_test_server")
class TestContract(GeneratorContract):
    module = "t2i_openai.plugin"
    name = "openai"
    argument = "test-model"
    waived: ClassVar = {
        "another_seed_gives_another_image": "OpenAI's endpoint takes no seed, and without `send_seed` none is sent"
    }


@pytest.fixture
def model(server):
    """Make the generator with options beyond the test server's."""
    return lambda batch_size=None, offline=False, **options: component(server, **options).info.create(
        component(server, **options).setup(batch_size=batch_size, offline=offline)
    )


def component(server, **options):
    return settle(t2i_generators()[0], {**server.options, **options}, "test-model")


def requests(texts=TEXTS, seed=3):
    return [ImageRequest(Prompt(id=text, text=text), seed, seed) for text in texts]


def draw(model, texts=TEXTS):
    asked = requests(texts)
    answers = {request.prompt.text: answer for request, answer in model.generate(iter(asked))}
    return [answers[text] for text in texts]


def draw_one(model):
    return draw(model, TEXTS[:1])[0]


class TestGoodServer:
    @pytest.mark.long
    def test_every_request_gets_its_own_image(self, server, model):
        for text, answer in zip(TEXTS, draw(model()), strict=True):
            np.testing.assert_array_equal(answer.image, server.drawn(text))

    def test_contents_of_requests(self, server, model, key):
        draw_one(model(size="64x64", quality="low", extra_body={"steps": 4}))
        assert server.log[0].path == "/v1/images/generations"
        assert server.log[0].headers["authorization"] == f"Bearer {key}"
        assert server.log[0].body == {
            "model": "test-model", "prompt": TEXTS[0], "n": 1, "size": "64x64", "quality": "low", "steps": 4,
        }  # fmt: skip

    def test_seeds_are_sent_only_where_the_server_takes_them(self, server, model):
        assert draw_one(model()).record["seed_sent"] is False
        answer = draw_one(model(send_seed=True))
        assert [exchange.body.get("seed") for exchange in server.log] == [None, 3]
        assert answer.record["seed_sent"] is True
        np.testing.assert_array_equal(answer.image, server.drawn(TEXTS[0], seed=3))

    def test_images_by_address_are_fetched_without_the_key(self, server, model):
        answer = draw_one(model(response_format="url"))
        np.testing.assert_array_equal(answer.image, server.drawn(TEXTS[0]))
        asked, fetched = server.log
        assert asked.body["response_format"] == "url"
        assert fetched.path.startswith("/files/")
        assert asked.headers["authorization"]
        assert "authorization" not in fetched.headers

    def test_transparency_is_laid_on_white(self, server, model):
        clear = np.zeros((8, 8, 4), np.uint8)
        from PIL import Image

        image = Image.fromarray(clear)
        import io

        file = io.BytesIO()
        image.save(file, "PNG")
        server.script.append(server.data({"data": [{"b64_json": base64.b64encode(file.getvalue()).decode()}]}))
        assert (draw_one(model()).image == 255).all()

    def test_record_and_settings_say_what_was_used(self, server, model):
        generator = model(price_in=5, price_out=40, price_per_image=0.01)
        first = draw(generator)[0]
        # 10 tokens at 5 and 100 at 40 for a million, and the image
        cost = 10 * 5e-6 + 100 * 40e-6 + 0.01
        assert first.record == {
            "served_as": "test-model-v2", "tokens_in": 10, "tokens_out": 100, "cost": pytest.approx(cost),
            "seed_sent": False, "revised_prompt": f"{TEXTS[0]}, in detail",
        }  # fmt: skip
        assert generator.settings == {
            "model": "test-model", "served_as": ["test-model-v2"], "requests": 12, "retries": 0, "refusals": 0,
            "tokens_in": 120, "tokens_out": 1200,
        }  # fmt: skip

    def test_execution_options_are_not_in_the_fingerprint(self, server):
        plain = component(server).fingerprint
        ways = {
            "concurrency": 2, "retries": 9, "timeout": 7, "backoff": 3, "longest_wait": 9, "api_key_env": "OTHER",
            "requests_per_minute": 60, "price_per_image": 1, "price_in": 1, "price_out": 1,
            "base_url": server.url + "/",
        }  # fmt: skip
        assert component(server, **ways).fingerprint == plain
        results = {"size": "64x64", "quality": "hd", "send_seed": True, "extra_body": {"steps": 4},
                   "base_url": "http://elsewhere/v1"}  # fmt: skip
        prints = {component(server, **{name: value}).fingerprint for name, value in results.items()}
        assert len(prints | {plain}) == len(results) + 1


TROUBLES = {
    "busy": lambda server: server.error(429, "slow down", {"Retry-After": "0"}),
    "busy, no word of when": lambda server: server.error(429, "slow down"),
    "broken": lambda server: server.error(500, "oops"),
    "overloaded": lambda server: server.error(503, "later"),
    "slow": lambda server: server.late(5),
    "never ends": lambda server: server.trickle,
    "cut": lambda server: server.cut,
    "hangs up": lambda server: server.hang_up,
    "a page": lambda server: server.page,
    "half an answer": lambda server: server.half_json,
}


def limit(trouble):
    """Seconds for a request: few where it will take them all."""
    return 0.6 if trouble in ("slow", "never ends") else 30


class TestTroubleThatPasses:
    @pytest.mark.long
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_is_tried_again(self, server, model, trouble):
        server.script.append(TROUBLES[trouble](server))
        generator = model(timeout=limit(trouble))
        answer = draw_one(generator)
        np.testing.assert_array_equal(answer.image, server.drawn(TEXTS[0]))
        assert len(server.log) == 2
        assert (generator.settings["requests"], generator.settings["retries"]) == (2, 1)

    @pytest.mark.long
    @pytest.mark.parametrize("trouble", TROUBLES)
    def test_fails_in_the_end_and_may_be_asked_again(self, server, model, trouble):
        server.default = TROUBLES[trouble](server)
        answer = draw_one(model(timeout=limit(trouble), retries=1))
        assert isinstance(answer, Failure)
        assert not answer.final
        assert "(2 tries)" in answer.reason
        assert len(server.log) == 2

    @pytest.mark.long
    def test_reasons_name_the_cause(self, server, model):
        reasons = {}
        for name, trouble in TROUBLES.items():
            server.script.append(trouble(server))
            reasons[name] = draw_one(model(timeout=limit(name), retries=0)).reason
        assert reasons["broken"] == "the server answered 500 (1 try)"
        assert reasons["busy"] == "the server answered 429 (1 try)"
        assert reasons["slow"] == reasons["never ends"] == "no answer within 0.6 s (1 try)"
        assert reasons["a page"] == "the answer is not JSON (24 bytes) (1 try)"
        failed = f"the connection to {server.url.removesuffix('/v1')} failed (RemoteProtocolError"
        assert reasons["cut"].startswith(failed)
        assert reasons["hangs up"].startswith(failed)

    @pytest.mark.long
    def test_waits_as_long_as_the_server_asks(self, server, model):
        server.script.append(server.error(429, headers={"Retry-After": "1"}))
        assert isinstance(draw_one(model()), Generated)
        assert server.log[1].at - server.log[0].at >= 1

    def test_does_not_wait_for_ever(self, server, model):
        server.script.append(server.error(429, "come tomorrow", headers={"Retry-After": "86400"}))
        answer = draw_one(model())
        assert answer == Failure("the server answered 429; it asks to wait 86400 s (1 try)")

    def test_waits_longer_each_time_by_chance(self, server, model):
        server.default = server.error(500)
        generator = model(retries=4, backoff=0.01)
        asked = []

        class Chance:
            def uniform(self, low, high):
                asked.append((low, high))
                return 0.0

        generator.server._random = Chance()
        draw_one(generator)
        assert [low for low, _ in asked] == [0] * 5
        assert [high for _, high in asked[:4]] == pytest.approx([0.01, 0.02, 0.04, 0.08])

    def test_a_file_that_is_late_is_fetched_again_and_the_image_not_made_twice(self, server, model):
        server.script += [server.good, server.error(503), server.cut]
        answer = draw_one(model(response_format="url"))
        assert isinstance(answer, Generated)
        assert [e.path.startswith("/files/") for e in server.log] == [False, True, True, True]


NONSENSE = {
    "another shape": ({"images": []}, "the answer is JSON of another shape: data: Field required"),
    "a list": ([1, 2], "the answer is JSON of another shape"),
    "no image": ({"data": []}, "the answer is JSON of another shape: data"),
    "an empty image": ({"data": [{}]}, "the answer holds neither an image nor the address of an image"),
    "no base64": ({"data": [{"b64_json": "&&&"}]}, "the server's image is not base64"),
    "not an image": (
        {"data": [{"b64_json": "aGVsbG8="}]},
        "the server's image: not an image",
    ),
    "half an image": (
        {"data": [{"b64_json": base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()}]},
        "the server's image: no",
    ),
    "a file of ours": (
        {"data": [{"url": "file:///etc/passwd"}]},
        "the address of the image is not a web address",
    ),
    "an address that is none": (
        {"data": [{"url": "http://[::1/a.png"}]},
        "the address of the image is not a web address",
    ),
    "an address without a server": (
        {"data": [{"url": "http:///a.png"}]},
        "the address of the image is not a web address",
    ),
    "an address with a strange port": (
        {"data": [{"url": "http://h:x/a.png"}]},
        "the address of the image is not a web address",
    ),
    "an error with status 200": (
        {"error": {"message": "no GPU left on node7.lab.internal", "type": "server_error"}},
        "the answer holds an error instead of the requested content (server_error)",
    ),
}


class TestTroubleThatStays:
    @pytest.mark.long
    @pytest.mark.parametrize("name", NONSENSE)
    def test_fails_at_once(self, server, model, name):
        data, reason = NONSENSE[name]
        server.script.append(server.data(data))
        answer = draw_one(model())
        assert isinstance(answer, Failure)
        assert answer.reason.startswith(reason)
        assert not answer.final
        assert len(server.log) == 1

    def test_a_bad_request_fails_alone(self, server, model):
        server.script.append(server.error(400, "Unknown parameter", code="unknown_parameter", param="moderation"))
        answers = draw(model(concurrency=1))
        assert answers[0] == Failure("the server answered 400 (unknown_parameter, parameter moderation)")
        assert all(isinstance(answer, Generated) for answer in answers[1:])
        assert len(server.log) == 12

    def test_a_file_that_is_gone(self, server, model):
        server.script += [server.good, server.error(404, "expired")]
        answer = draw_one(model(response_format="url"))
        assert answer == Failure("the image cannot be downloaded: the server answered 404")

    @pytest.mark.parametrize(
        ("status", "error", "reason"),
        [
            (400, {"code": "content_policy_violation", "message": "rejected"}, "content_policy_violation"),
            (400, {"code": "moderation_blocked", "message": "rejected"}, "moderation_blocked"),
            (400, {"message": "Your request was rejected by our safety system."}, "content policy"),
            (
                400,
                {"code": "x", "message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
                "x, ResponsibleAIPolicyViolation",
            ),
            (403, {"message": "Your input was flagged", "code": 403}, "content policy"),
            (200, {"code": "content_filter", "message": "no"}, "content_filter"),
        ],
    )
    def test_refusals_are_final(self, server, model, status, error, reason):
        server.script.append(lambda handler, body: handler.json(status, {"error": error}))
        generator = model()
        answer = draw_one(generator)
        assert isinstance(answer, Failure)
        assert answer.final
        assert answer.reason == f"refused by the server: {reason}"
        assert len(server.log) == 1
        assert generator.settings["refusals"] == 1


class TestWhatNoRequestGetsPast:
    @pytest.mark.parametrize(
        ("status", "code", "said"),
        [
            (401, "invalid_api_key", "does not accept the key in the environment variable OPENAI_API_KEY"),
            (403, "unsupported_country_region_territory", "does not offer model 'test-model' to this key"),
            (404, "model_not_found", "does not offer model 'test-model' to this key (404: model_not_found)"),
            (429, "insufficient_quota", "the account has no credit (insufficient_quota)"),
            (402, None, "the account has no credit;"),
        ],
    )
    def test_ends_the_work_at_once(self, server, model, status, code, said):
        server.default = server.error(status, "why", code=code)
        with pytest.raises(BadModel) as caught:
            draw(model(concurrency=1))
        assert said in str(caught.value)
        assert server.url in str(caught.value)
        assert len(server.log) == 1

    def test_nobody_answers(self, server, model):
        server.default = server.error(500, "oops")
        with pytest.raises(
            BadModel, match=f"{PATIENCE} requests in a row were not answered, the last one: .* 500"
        ):
            draw(model(retries=1, concurrency=2), [f"prompt {n}" for n in range(100)])
        assert len(server.log) <= 2 * (PATIENCE + 1)

    def test_one_answer_now_and_then_keeps_it_going(self, server, model):
        server.default = server.error(500)
        for _ in range(3):
            server.script += [server.error(500)] * (PATIENCE - 1) + [server.good]
        texts = [f"prompt {n}" for n in range(3 * PATIENCE)]
        answers = draw(model(retries=0, concurrency=1), texts)
        assert sum(isinstance(answer, Generated) for answer in answers) == 3

    def test_nobody_is_there(self, server, model):
        server.end()
        answer = draw_one(model(retries=0))
        assert isinstance(answer, Failure)
        assert answer.reason.startswith(f"the connection to {server.url.removesuffix('/v1')} failed (")
        assert "connection attempts failed" in answer.reason or "refused" in answer.reason

    def test_offline(self, server, model):
        assert isinstance(draw_one(model(offline=True)), Generated)  # this machine may be asked
        with pytest.raises(BadModel, match=r"which --offline forbids"):
            model(offline=True, base_url="https://example.com/v1")

    @pytest.mark.long
    @pytest.mark.parametrize("host", ["cdn.example.com", "127.0.0.1.example.com", "127.example.com", "10.0.0.1"])
    def test_offline_an_image_is_fetched_from_this_machine_alone(self, server, model, host):
        assert isinstance(draw_one(model(offline=True, response_format="url")), Generated)
        server.log.clear()
        server.script.append(server.data({"data": [{"url": f"https://{host}/a.png?token=secret"}]}))
        answer = draw_one(model(offline=True, retries=0))
        assert isinstance(answer, Failure)
        assert answer.reason.startswith(f"the image lies on {host}, which cannot be asked offline")
        assert "secret" not in answer.reason
        assert not answer.final

    def test_offline_nobody_is_sent_on_to_elsewhere(self, server, model):
        server.script += [server.good, server.redirect("http://cdn.example.com/a.png")]
        with pytest.raises(BadModel, match=r"http://cdn\.example\.com"):
            draw_one(model(offline=True, response_format="url", image_hosts=["cdn.example.com"]))
        assert len(server.log) == 2


class TestManyAtATime:
    @pytest.mark.long
    def test_as_many_as_allowed_and_no_more(self, server, model):
        server.default = server.late(0.3)
        taken = 0

        def feed():
            nonlocal taken
            for request in requests():
                taken += 1
                yield request

        ahead = []
        for answered, _ in enumerate(model(concurrency=4).generate(feed()), 1):
            ahead.append(taken - answered)
        assert server.most_at_once == 4
        assert max(ahead) <= 3

    @pytest.mark.long
    def test_batch_size_stands_in_place_of_concurrency(self, server, model):
        server.default = server.late(0.2)
        draw(model(batch_size=2, concurrency=4))
        assert server.most_at_once == 2

    @pytest.mark.long
    def test_whoever_is_ready_comes_first(self, server, model):
        server.default = lambda handler, body: server.late(0.6 if body["prompt"] == TEXTS[0] else 0.01)(
            handler, body
        )
        answers = list(model(concurrency=4).generate(iter(requests())))
        assert answers[-1][0].prompt.text == TEXTS[0]
        for request, answer in answers:
            np.testing.assert_array_equal(answer.image, server.drawn(request.prompt.text))

    def test_the_rate_holds_for_all_and_for_second_tries(self, server, model):
        server.script += [server.error(500), server.good, server.error(500)]
        begun = time.monotonic()
        draw(model(requests_per_minute=1200, concurrency=4), TEXTS[:8])
        assert len(server.log) == 10
        for number, exchange in enumerate(server.log):
            assert exchange.at - begun >= number * 0.05

    def test_the_rate_holds_from_one_call_to_the_next(self, server, model):
        generator = model(requests_per_minute=200)
        begun = time.monotonic()
        draw_one(generator)
        draw_one(generator)
        assert server.log[1].at - begun >= 0.3

    def test_the_rate_is_waited_for_and_not_left_to_slowness(self, server, model, monkeypatch):
        """However long the machine takes over each: by the clock alone a busy one keeps any rate."""
        waits, sleep = [], asyncio.sleep

        async def recorded(delay, *rest):
            if delay > 10:
                waits.append(delay)
                delay = 0
            return await sleep(delay, *rest)

        monkeypatch.setattr("asyncio.sleep", recorded)
        generator = model(requests_per_minute=1)
        for _ in range(3):
            draw_one(generator)
        second, third = waits
        assert 30 < second <= 60
        assert 90 < third <= 120

    def test_stopping_early_waits_for_nothing(self, server, model):
        server.script.append(server.good)
        server.default = server.late(60)
        answers = model(timeout=60, concurrency=4).generate(iter(requests()))
        next(answers)
        begun = time.monotonic()
        answers.close()
        assert time.monotonic() - begun < 20
