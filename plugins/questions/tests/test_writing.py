"""Questions written by a language model: messages, replies, attempts, kept replies and the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Failure, JudgeInfo, Prompt, PromptSourceInfo, TextReply
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BadFolder, CostLimitReached, FailedRun
from t2i_core.api.language_model import find_language_model
from t2i_core.api.progress import Silent
from t2i_core.io.kept_replies import KeptReplies
from t2i_core.io.prompt_file import read_prompts
from t2i_core.testing import StaticResolver
from t2i_questions.writing.command import questions
from t2i_questions.writing.messages import UnusableQuestions, read_questions, write_message
from t2i_questions.writing.question_writer import list_open_texts, write_file, write_questions

GOOD = """Here are the questions:
```
1 | entity | 0 | Is there a mug?
2 | Attribute | 1 | Is the mug teal?
03 | relation | 1, 2 | Is the mug on a shelf?
```"""
PROMPTS = [
    Prompt("a", "a teal mug", facets={"kind": "mug"}),
    Prompt("b", "a dog {0}"),
    Prompt("c", "a teal mug", cluster="mugs"),
]


class Writer:
    """Replies with the next of some texts; each reply costs $1."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.replies: list[str | Failure] = []
        self.budget = Budget()

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            charge = self.budget.reserve(1)
            if charge is None:
                yield query, Failure("not sent")
                continue
            charge.settle(1)
            self.asked.append(query.texts[0])
            reply = self.replies.pop(0) if self.replies else GOOD
            yield query, reply if isinstance(reply, Failure) else TextReply(reply)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def resolver(writer: Writer) -> StaticResolver:
    def create(setup: Any) -> Writer:
        writer.budget = setup.budget
        return writer

    info = JudgeInfo(name="writer", summary="Writes.", capabilities={"reply": frozenset()}, create=create)
    source = PromptSourceInfo(name="mine", summary="Mine.", prompts=lambda setup: iter(PROMPTS))
    return StaticResolver(info, source)


@pytest.fixture
def model(resolver: StaticResolver) -> Any:
    return find_language_model("writer", resolver, {}, "questions")


def write(model: Any, out: Path, budget: Budget | None = None, attempts: int = 2) -> list[Prompt]:
    kept = KeptReplies.beside(out, model)
    return write_questions(PROMPTS, model, kept, attempts, Silent(), budget or Budget())


def test_a_reply_is_read_without_the_words_around_it() -> None:
    found = read_questions(GOOD)
    assert [(q.id, q.category, q.parents, q.text) for q in found] == [
        ("1", "entity", (), "Is there a mug?"),
        ("2", "attribute", ("1",), "Is the mug teal?"),
        ("3", "relation", ("1", "2"), "Is the mug on a shelf?"),
    ]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I cannot help with that.", "no line of the form"),
        ("1 | entity | 0 | A mug", "does not end with one short question"),
        ("1 | thing | 0 | Is there a mug?", "category 'thing'"),
        ("1 | entity | 2 | A?\n2 | entity | 0 | B?", "parent '2'"),
        ("1 | entity | mug | A?", "parent 'mug'"),
        ("1 | entity | 0 | A?\n1 | entity | 0 | B?", "1 appears twice"),
        ("\n".join(f"{n} | entity | 0 | A?" for n in range(1, 70)), "69 questions"),
    ],
)
def test_unusable_replies_are_told(reply: str, problem: str) -> None:
    with pytest.raises(UnusableQuestions, match=problem):
        read_questions(reply)


def test_each_text_is_asked_about_once(model: Any, writer: Writer, tmp_path: Path) -> None:
    out = tmp_path / "asked.jsonl"
    found = write(model, out)
    assert sorted(writer.asked) == sorted([write_message("a teal mug"), write_message("a dog {0}")])
    assert [len(prompt.questions) for prompt in found] == [3, 3, 3]
    write_file(found, out)
    assert read_prompts(out) == found
    assert found[2].cluster == "mugs"
    assert write(model, out) == found
    assert len(writer.asked) == 2


def test_an_unusable_reply_is_answered_with_what_was_wrong(model: Any, writer: Writer, tmp_path: Path) -> None:
    writer.replies = ["nothing", GOOD, GOOD]
    write(model, tmp_path / "asked.jsonl")
    assert len(writer.asked) == 3
    assert "could not be used: it has no line of the form" in writer.asked[2]
    assert "'nothing'" in writer.asked[2]


def test_after_all_attempts_the_prompt_is_named(model: Any, writer: Writer, tmp_path: Path) -> None:
    out = tmp_path / "asked.jsonl"
    writer.replies = ["nothing", GOOD, "nothing"]
    with pytest.raises(
        FailedRun, match=r"1 of 3 prompts have no questions .first: 'b'.*its 2 replies are not usable"
    ):
        write(model, out)
    assert len(writer.asked) == 3
    with pytest.raises(
        FailedRun, match=r"replies are kept in .*; for unusable replies raise --attempts$"
    ):  # kept replies are not asked for again
        write(model, out)
    assert len(writer.asked) == 3
    assert write(model, out, attempts=3)
    assert len(writer.asked) == 4


def test_failures_are_asked_again(model: Any, writer: Writer, tmp_path: Path) -> None:
    out = tmp_path / "asked.jsonl"
    writer.replies = [Failure("the server is gone"), Failure("the server is gone")]
    with pytest.raises(FailedRun, match=r"the server is gone\); the same command asks again$"):
        write(model, out)
    assert not KeptReplies.beside(out, model).path.exists()
    assert len(writer.asked) == 2
    assert list_open_texts(PROMPTS, KeptReplies.beside(out, model), 2) == ["a teal mug", "a dog {0}"]
    assert len(write(model, out)) == 3


def test_the_cost_limit_ends_the_command_and_keeps_replies(model: Any, writer: Writer, tmp_path: Path) -> None:
    out = tmp_path / "asked.jsonl"
    budget = Budget(1)
    with pytest.raises(CostLimitReached), budget.charge_to("judge writer"):
        write(model, out, budget)
    assert len(writer.asked) == 1
    lines = (tmp_path / "asked.jsonl.answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["answer"] for line in lines] == [GOOD]
    assert write(model, out)
    assert len(writer.asked) == 2


def test_the_command_writes_a_file_of_prompts(
    resolver: StaticResolver,
    writer: Writer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("t2i_core.api.resolver.installed_resolver", lambda: resolver)
    (tmp_path / "more.txt").write_text("a bowl\n", encoding="utf-8")
    names, out = ["mine", str(tmp_path / "more.txt")], tmp_path / "asked.jsonl"
    questions(names, judge="writer", out=out, dry_run=True)
    assert "requests to writer: 3" in capsys.readouterr().err
    assert (writer.asked, out.exists()) == ([], False)
    questions(names, judge="writer", out=out, limit=3)
    assert [prompt.id for prompt in read_prompts(out)] == ["a", "b", "c"]
    questions(names, judge="writer", out=out)
    assert [len(prompt.questions) for prompt in read_prompts(out)] == [3] * 4
    assert len(writer.asked) == 3
    assert "questions written to" in capsys.readouterr().err
    with pytest.raises(BadFolder, match=r"must end in \.jsonl"):
        questions(names, judge="writer", out=tmp_path / "asked.csv")
