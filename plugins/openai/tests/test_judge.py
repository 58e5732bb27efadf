from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import Preference
from t2i_core.api.errors import BadModel
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.testing import JudgeContract, sample_images
from t2i_core.testing.parts import settle
from t2i_openai.plugin import t2i_judges
from t2i_torch_support import pair_questions

PROMPT = "An image of a cat"


@pytest.mark.usefixtures("on_the_test_server")
class TestContract(JudgeContract):
    module = "t2i_openai.plugin"
    name = "openai"
    argument = "test-model"


@pytest.fixture
def images(tmp_path):
    """From dark to bright, each of another mean."""
    return sorted(sample_images(tmp_path, 4), key=lambda image: image.pixels.mean())


@pytest.fixture
def judge(server):
    return lambda **options: component(server, **options).info.create(component(server, **options).setup())


def component(server, **options):
    return settle(t2i_judges()[0], {**server.options, **options}, "test-model")


def ask(judge, *queries):
    answers = {id(query): answer for query, answer in judge.observe("prefer", iter(queries))}
    return [answers[id(query)] for query in queries]


def text_of(exchange):
    """What a request says; images as <image>."""
    parts = exchange.body["messages"][0]["content"]
    return "".join(part["text"] if part["type"] == "text" else "<image>" for part in parts)


class TestGoodServer:
    def test_each_pair_gets_its_own_preference(self, judge, images):
        pairs = [(a, b) for a in images for b in images if a is not b]
        answers = ask(judge(concurrency=5), *(Query(pair, (PROMPT,)) for pair in pairs))
        for (a, b), answer in zip(pairs, answers, strict=True):
            assert answer.verdict == ("first" if a.pixels.mean() > b.pixels.mean() else "second")
            means = f"{a.pixels.mean():.2f} and {b.pixels.mean():.2f}"
            assert answer.reasoning.startswith(f"The means are {means}.\n[[")

    def test_contents_of_requests(self, server, judge, images, seen_images):
        ask(judge(), Query((images[1], images[0]), (PROMPT,)))
        body = server.log[0].body
        assert {name: body[name] for name in body if name != "messages"} == {
            "model": "test-model", "max_tokens": 1024,
        }  # fmt: skip
        assert [message["role"] for message in body["messages"]] == ["user"]
        for image, sent in zip((images[1], images[0]), seen_images(body), strict=True):
            np.testing.assert_array_equal(sent, image.pixels)
        shown = [part["image_url"] for part in body["messages"][0]["content"] if part["type"] == "image_url"]
        assert [image["detail"] for image in shown] == ["high", "high"]
        said = text_of(server.log[0])
        assert f"Prompt: {PROMPT}\n\nImage A:\n<image>\nImage B:\n<image>\nCompare" in said
        assert "{" not in said

    def test_a_query_may_ask_the_question_of_the_taxonomy_benchmark(self, server, judge, images):
        ask(judge(), Query(tuple(images[:2]), (PROMPT,), {"question": "taxonomy"}))
        said = text_of(server.log[0])
        assert f"Prompt of the user: {PROMPT}\n\nImage of assistant A:\n<image>" in said

    def test_settings_of_the_model_are_sent(self, server, judge, images):
        options = {"temperature": 0, "seed": 7, "max_tokens": 50, "max_tokens_field": "max_completion_tokens",
                   "detail": "low", "extra_body": {"top_k": 1}}  # fmt: skip
        queries = [Query(tuple(images[:2]), (PROMPT,), params) for params in ({}, {"repeat": 2})]
        ask(judge(concurrency=1, **options), *queries)
        for exchange, seed in zip(server.log, (7, 9), strict=True):
            body = {name: value for name, value in exchange.body.items() if name != "messages"}
            assert body == {
                "model": "test-model", "temperature": 0, "seed": seed, "max_completion_tokens": 50, "top_k": 1,
            }  # fmt: skip
            assert exchange.body["messages"][0]["content"][1]["image_url"]["detail"] == "low"

    @pytest.mark.parametrize(
        ("definitions", "said"),
        [
            ("a small animal", "Prompt: An image of a cat\nDefinition: a small animal\n\nImage A:"),
            (
                {"cat": "a small animal", "image": "a picture"},
                "Prompt: An image of a cat\nDefinitions:\n- cat: a small animal\n- image: a picture\n\nImage A:",
            ),
            ("", "Prompt: An image of a cat\n\nImage A:"),
        ],
    )
    def test_definitions_are_shown_where_there_are_some(self, server, judge, images, definitions, said):
        query = Query(tuple(images[:2]), (PROMPT,), {"definitions": definitions})
        ask(judge(), query)
        ask(judge(with_definitions=False), query)
        assert said in text_of(server.log[0])
        assert "Prompt: An image of a cat\n\nImage A:" in text_of(server.log[1])

    def test_a_template_of_the_users_own(self, server, judge, images):
        template = "{first} or {second}? For {prompt}. Say [[A]], [[B]], [[C]] or [[D]], no {more}"
        # braces of the prompt are not placeholders
        ask(judge(template=template), Query(tuple(images[:2]), ("a {second} {definitions}",)))
        said = "<image> or <image>? For a {second} {definitions}. Say [[A]], [[B]], [[C]] or [[D]], no {more}"
        assert text_of(server.log[0]) == said

    def test_a_template_that_cannot_work_is_refused(self, judge):
        with pytest.raises(ValueError, match=r"template[\s\S]*once each"):
            judge(template="{prompt} [[A]] [[B]] [[C]] [[D]]")

    def test_answers_depend_on_how_is_asked(self, server, tmp_path, monkeypatch):
        before = component(server).fingerprint
        assert component(server).fingerprint == before
        (tmp_path / "other.py").write_text("VERDICTS = 'other ones'\n")
        monkeypatch.setattr(pair_questions, "SOURCE", tmp_path / "other.py")
        assert component(server).fingerprint != before

    def test_settings_say_what_was_used(self, server, judge, images):
        made = judge(price_in=0.15, price_out=0.6)
        ask(made, *(Query(tuple(images[:2]), (PROMPT,), {"repeat": n}) for n in range(3)))
        assert made.settings == {
            "model": "test-model", "served_as": ["test-model-v2"], "requests": 3, "retries": 0, "refusals": 0,
            "tokens_in": 3000, "tokens_out": 150,
        }  # fmt: skip

    def test_a_question_is_another_judge(self, server):
        options = [{}, {"temperature": 0}, {"with_definitions": False}, {"detail": "low"}, {"seed": 1}]
        assert len({component(server, **o).fingerprint for o in options}) == len(options)
        assert component(server, concurrency=1, price_in=3).fingerprint == component(server).fingerprint


class TestAnswers:
    @pytest.fixture
    def answer(self, server, judge, images):
        def answer(content, finish="stop", **message):
            server.script.append(server.say(content, finish, **message))
            return ask(judge(), Query(tuple(images[:2]), (PROMPT,)))[0]

        return answer

    @pytest.mark.parametrize(
        ("said", "verdict"),
        [
            ("A is better.\n[[A]]", "first"),
            ("Both fine: [[C]]", "tie"),
            ("I am sorry, I cannot help with that.", "unparsable"),
            ("", "unparsable"),
            ("<think>[[A]]? No.</think>[[B]]", "second"),
            ("Maybe [[B]].</think>\nI cannot decide.", "unparsable"),
        ],
    )
    def test_verdicts(self, answer, said, verdict):
        assert answer(said) == Preference(verdict, reasoning=said)

    def test_reasoning_that_servers_keep_apart(self, answer):
        for name in ("reasoning_content", "reasoning"):
            found = answer("[[A]]", **{name: "I weighed [[B]] too."})
            assert found == Preference("first", reasoning="I weighed [[B]] too.\n\n[[A]]")

    def test_content_in_parts(self, answer):
        assert answer([{"type": "text", "text": "So:\n"}, {"type": "text", "text": "[[B]]"}]).verdict == "second"

    @pytest.mark.long
    @pytest.mark.parametrize("finish", ["length", "model_length", "max_tokens"])
    @pytest.mark.parametrize(
        "said",
        [
            "The first image shows",
            "at first sight [[B]] seems right, but looking at the lawn",
            "Is it [[A]]? The lawn of the second",  # in thoughts that the template opened
            "All told:\n[[B]]",
        ],
    )
    def test_a_truncated_answer_is_not_a_verdict(self, answer, finish, said):
        assert answer(said, finish) == Preference("unparsable", reasoning=said)

    @pytest.mark.parametrize("finish", ["stop", "eos_token", None])
    def test_an_answer_that_the_model_ended(self, answer, finish):
        assert answer("[[B]]", finish).verdict == "second"

    def test_an_answer_that_broke_off_is_asked_for_again(self, server, answer):
        found = answer("[[B]] seems", "error")
        assert found == Failure("the answer is incomplete: the server reports an error of its model")

    @pytest.mark.parametrize(
        ("content", "finish", "message", "words"),
        [
            (None, "stop", {"refusal": "I will not."}, "I will not."),
            ("The first", "content_filter", {}, "The first"),
        ],
    )
    def test_refusals(self, server, judge, images, content, finish, message, words):
        server.script.append(server.say(content, finish, **message))
        made = judge()
        assert ask(made, Query(tuple(images[:2]), (PROMPT,))) == [Preference("refused", reasoning=words)]
        assert made.settings["refusals"] == 1

    def test_refusals_by_status(self, server, judge, images):
        server.script.append(server.error(400, "rejected", code="content_policy_violation"))
        made = judge()
        assert ask(made, Query(tuple(images[:2]), (PROMPT,))) == [
            Preference("refused", reasoning="content_policy_violation")
        ]
        assert made.settings["refusals"] == 1
        assert len(server.log) == 1


class TestTrouble:
    def test_is_tried_again(self, server, judge, images):
        server.script += [server.error(429, headers={"Retry-After": "0"}), server.page, server.cut]
        answers = ask(judge(concurrency=1, retries=3), Query(tuple(images[:2]), (PROMPT,)))
        assert [answer.verdict for answer in answers] == ["second"]
        assert len(server.log) == 4

    def test_an_answer_of_another_shape_fails_at_once(self, server, judge, images):
        for data in ({"choices": []}, {"choices": [{}]}, {"choices": [{"message": "no"}]}, "hello"):
            server.script.append(server.data(data))
            (answer,) = ask(judge(), Query(tuple(images[:2]), (PROMPT,)))
            assert isinstance(answer, Failure)
            assert answer.reason.startswith("the answer is JSON of another shape")
        assert len(server.log) == 4

    def test_a_wrong_key_ends_the_work(self, server, judge, images):
        server.default = server.error(401, "Incorrect API key provided: sk-t*******mnop")
        with pytest.raises(BadModel, match="OPENAI_API_KEY") as caught:
            ask(judge(concurrency=1), *(Query(tuple(images[:2]), (PROMPT,), {"repeat": n}) for n in range(5)))
        assert "mnop" not in str(caught.value)
        assert len(server.log) == 1

    def test_definitions_that_are_none(self, judge, images):
        with pytest.raises(TypeError, match="definitions must be"):
            ask(judge(), Query(tuple(images[:2]), (PROMPT,), {"definitions": [1, 2]}))
