"""Prompts that a chat model rewrites: asked once, kept, with the scene and the text of the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Preset, Prompt, PromptSourceInfo, Setup
from t2i_core.api.errors import BadModel, BadPrompts
from t2i_core.testing import PromptSourceContract
from t2i_openai.options import RewriteOptions, TranslateOptions
from t2i_openai.plugin import t2i_prompt_sources

INFO, PARAPHRASED, TRANSLATED = t2i_prompt_sources()
assert isinstance(INFO, PromptSourceInfo)
assert isinstance(PARAPHRASED, Preset)
assert isinstance(TRANSLATED, PromptSourceInfo)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    dog = {"prompt": "a dog", "objects": ["dog"], "kind": "pet"}
    lines = [dog, {"prompt": "a car"}, {"id": "x", "prompt": "a car"}]
    made = tmp_path / "p.jsonl"
    made.write_text("\n".join(map(json.dumps, lines)))
    return made


def echo(handler: Any, body: dict[str, Any]) -> None:
    """Answer with the last line of the request, written out over two lines."""
    text = body["messages"][0]["content"].splitlines()[-1]
    message = {"content": f"<think>hm</think>  {text},\n in the rain "}
    handler.json(200, {"choices": [{"message": message, "finish_reason": "stop"}], "model": body["model"]})


def rewrite(server: Any, file: Any, **changes: Any) -> list[Prompt]:
    setup = {key: changes.pop(key) for key in ("dry", "offline") if key in changes}
    options = RewriteOptions(**{"model": "m", **server.options, **changes})
    return list(INFO.prompts(Setup(str(file), options, **setup)))


def test_texts_are_rewritten_once_and_all_else_stays(server: Any, file: Path) -> None:
    server.default = echo
    dog, car, same = rewrite(server, file)
    assert (dog.text, dog.id, dog.facets) == ("a dog, in the rain", "a-dog", {"kind": "pet", "original": "a dog"})
    assert dog.scene is not None
    assert (car.text, same.text, same.id) == ("a car, in the rain", "a car, in the rain", "x")
    assert len(server.log) == 2
    assert rewrite(server, file, timeout=3) == [dog, car, same]
    assert len(server.log) == 2
    rewrite(server, file, template="Longer: {prompt}")
    assert len(server.log) == 4
    assert server.log[-1].body["messages"][0]["content"].startswith("Longer: ")


def test_received_prompts_are_kept_if_another_one_fails(server: Any, file: Path) -> None:
    server.default = echo
    server.script.extend([echo, server.error(400, "no")])
    with pytest.raises(BadPrompts, match=r"1 of 2 prompts"):
        rewrite(server, file, concurrency=1)
    assert [p.text for p in rewrite(server, file)] == ["a dog, in the rain", *["a car, in the rain"] * 2]
    assert len(server.log) == 3


@pytest.mark.parametrize(
    ("content", "finish", "more", "why"),
    [
        ("half of", "length", {}, "max_tokens"),
        ("", "stop", {}, "empty"),
        ("<think>only this</think>", "stop", {}, "empty"),
        (None, "stop", {"refusal": "I cannot"}, "refuses"),
        ("x", "content_filter", {}, "refuses"),
    ],
)
def test_an_incomplete_answer_is_not_a_prompt(
    server: Any, file: Path, content: str | None, finish: str, more: dict[str, Any], why: str
) -> None:
    server.default = server.say(content, finish, **more)
    with pytest.raises(BadPrompts, match=why):
        rewrite(server, file)


def test_a_dry_run_and_an_offline_run_ask_nothing(
    server: Any, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert [p.text for p in rewrite(server, file, dry=True)] == ["a dog", "a car", "a car"]
    assert "2 of 2 texts" in caplog.text
    with pytest.raises(BadModel, match="offline"):
        rewrite(server, file, offline=True, base_url="https://example.org/v1")
    assert not server.log


def test_prompts_of_another_source_are_rewritten_too(server: Any) -> None:
    server.default = echo
    prompts = rewrite(server, "tiam-5-1")
    assert len(prompts) == 5
    assert all(p.scene is not None and p.text == f"{p.facets['original']}, in the rain" for p in prompts)


def test_a_damaged_answer_is_asked_for_again(server: Any, file: Path, tmp_path: Path) -> None:
    server.default = echo
    first = rewrite(server, file)
    for kept in (tmp_path / "cache" / "rewritten").rglob("*.json"):
        kept.write_text("{")
    assert rewrite(server, file) == first
    assert len(server.log) == 4


def test_the_prompts_of_a_run_are_rewritten_in_place_of_a_file(server: Any) -> None:
    server.default = echo
    options = RewriteOptions(model="m", **server.options)
    (prompt,) = INFO.prompts(Setup(None, options, prompts=(Prompt("p", "a dog"),)))
    assert (prompt.id, prompt.text) == ("p", "a dog, in the rain")
    with pytest.raises(BadPrompts, match="name the prompts to change, rewritten:FILE"):
        list(INFO.prompts(Setup(None, options)))


def test_a_paraphrase_is_asked_for_in_other_words() -> None:
    assert INFO.changes_prompts
    assert PARAPHRASED.of == "t2i-openai/rewritten"
    assert "other words" in RewriteOptions(model="m", **PARAPHRASED.options).filled_template


def test_a_translation_names_its_language(server: Any) -> None:
    server.default = echo
    options = TranslateOptions(model="m", language="Hindi", **server.options)
    (prompt,) = TRANSLATED.prompts(Setup(None, options, prompts=(Prompt("p", 'a "{language}" sign'),)))
    assert prompt.facets["original"] == 'a "{language}" sign'
    (exchange,) = server.log
    said = exchange.body["messages"][0]["content"]
    assert "into Hindi." in said
    assert said.endswith('a "{language}" sign')
    with pytest.raises(ValueError, match="language"):
        TranslateOptions(model="m")  # type: ignore[call-arg]


def test_a_template_must_show_the_prompt() -> None:
    with pytest.raises(ValueError, match=r"\{prompt\}"):
        RewriteOptions(model="m", template="Rewrite it.")


class TestContract(PromptSourceContract):
    """The contract that every prompt source must fulfil."""

    module = "t2i_openai.plugin"
    name = "rewritten"
    argument = "tiam-5-1"

    @pytest.fixture(autouse=True)
    def _answering(self, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        server.default = echo
        monkeypatch.setattr(type(self), "options", {**server.options, "model": "m"})
