"""Predictions of synsets by a language model: questions, replies, kept answers, and the file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Failure, JudgeInfo, PromptSourceInfo, TextReply
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BadFolder, BadPrompts, BrokenPlugin, CostLimitReached, FailedRun, NoJudge
from t2i_core.api.language_model import find_language_model
from t2i_core.api.progress import Silent
from t2i_core.io.kept_replies import KeptReplies
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_wordnet_hypernymy.plugin import t2i_prompt_sources
from t2i_wordnet_hypernymy.predictions.command import taxonomy_predictions
from t2i_wordnet_hypernymy.predictions.concepts import read_targets
from t2i_wordnet_hypernymy.predictions.prediction import describe_cost, predict, write_predictions
from t2i_wordnet_hypernymy.predictions.questions import ask_for_synset, read_definition, read_lemma
from t2i_wordnet_hypernymy.wordnet import nouns


class Speaker:
    """Replies with a word to questions, and with a sentence to requests for a definition. Each reply costs $1."""

    asked: list[str]
    stop_after: int | None = None
    budget = Budget()

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            (text,) = query.texts
            if self.stop_after is not None and len(self.asked) >= self.stop_after:
                yield query, Failure("the server is gone")
                continue
            charge = self.budget.reserve(1)
            if charge is None:
                yield query, Failure("not sent")
                continue
            charge.settle(1)
            self.asked.append(text)
            yield query, TextReply("a kind of thing." if text.startswith("The word") else "1. Hunting_dog, hound")


@pytest.fixture
def speaker() -> Speaker:
    found = Speaker()
    found.asked = []
    return found


@pytest.fixture
def resolver(speaker: Speaker) -> StaticResolver:
    def create(setup: Any) -> Speaker:
        speaker.budget = setup.budget
        return speaker

    info = JudgeInfo(name="speaker", summary="Speaks.", capabilities={"reply": frozenset()}, create=create)
    sources = [info for info in t2i_prompt_sources() if isinstance(info, PromptSourceInfo)]
    return StaticResolver(info, TEST_JUDGE, *sources)


@pytest.fixture
def concepts(tmp_path: Path) -> Path:
    path = tmp_path / "concepts.csv"
    path.write_text(
        "synset,lemma,subset\ncorgi.n.01,corgi,hypernymy\ndog.n.01,dog,hyponymy\ndog.n.01,canine,mixing\n"
    )
    return path


def test_the_message_shows_neighbours_and_not_the_synset() -> None:
    shown = {
        task: ask_for_synset(nouns(), "dog.n.01", "", task) or "" for task in ("hypernym", "hyponym", "insertion")
    }
    assert "“basenji”" in shown["hypernym"]
    assert "“domestic animal”" in shown["hyponym"] or "“canine”" in shown["hyponym"]
    assert all(f"“{word}”" in shown["insertion"] for word in ("canine", "domestic animal"))
    assert not any("“dog”" in message for message in shown.values())


@pytest.mark.parametrize(
    ("synset", "subset", "task"),
    [
        ("corgi.n.01", "hypernymy", "hyponym"),
        ("dog.n.01", "hyponymy", "hypernym"),
        ("dog.n.01", "mixing", "insertion"),
        ("coin.n.01", "easy", "hyponym"),
        ("entity.n.01", "easy", "hypernym"),  # nothing is above it
    ],
)
def test_the_subset_settles_the_task(synset: str, subset: str, task: Any) -> None:
    asked = ask_for_synset(nouns(), synset, subset, "auto")
    assert asked is not None
    assert asked == ask_for_synset(nouns(), synset, "", task)


def test_the_siblings_of_a_list_have_different_questions() -> None:
    names = nouns().hyponyms("coin.n.01")
    asked = {ask_for_synset(nouns(), name, "easy", "auto") for name in names}
    assert len(asked) == len(names) > 20
    for message in asked:
        assert message is not None
        listed = message.partition("\n")[0].partition("Do not name any of these: ")[2]
        assert listed.count(",") == 19


def test_a_synset_without_the_neighbours_has_no_question() -> None:
    assert ask_for_synset(nouns(), "corgi.n.01", "", "hypernym") is None or nouns().hyponyms("corgi.n.01")
    assert ask_for_synset(nouns(), "entity.n.01", "", "insertion") is None


@pytest.mark.parametrize(
    ("reply", "lemma"),
    [
        ("dog", "dog"),
        (" “Hunting dog”.\n", "Hunting dog"),
        ("1. hunting_dog, hound", "hunting dog"),
        ("- **pug**", "pug"),
        ("\n\n", None),
        (
            "I think that this is best described by a rather long sentence about dogs and other animals",
            None,
        ),
    ],
)
def test_lemmas_are_read_from_replies(reply: str, lemma: str | None) -> None:
    assert read_lemma(reply) == lemma


def test_definitions_are_one_line() -> None:
    assert read_definition("a dog\nused in hunting.\n") == "a dog used in hunting"
    assert read_definition(" \n") is None


def test_each_message_is_asked_once_and_answers_are_kept(
    resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path
) -> None:
    targets = read_targets([str(concepts)], resolver, {}, "auto")
    model = find_language_model("speaker", resolver, {}, "predictions")
    out = tmp_path / "predictions.csv"
    assert "3 for predictions and at most 3 for definitions" in describe_cost(
        targets, True, KeptReplies.beside(out, model), "speaker"
    )
    predictions = predict(targets, True, model, KeptReplies.beside(out, model), Silent(), Budget())
    assert len(speaker.asked) == len(set(speaker.asked)) == 6
    write_predictions(predictions, out)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["subset"] for row in rows] == ["p-hypernymy", "p-hyponymy", "p-mixing"]
    assert {(row["lemma"], row["definition"]) for row in rows} == {("Hunting dog", "a kind of thing")}
    assert predict(targets, True, model, KeptReplies.beside(out, model), Silent(), Budget()) == predictions
    assert len(speaker.asked) == 6


def test_a_run_that_breaks_off_resumes(
    resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path
) -> None:
    targets = read_targets([str(concepts)], resolver, {}, "auto")
    model = find_language_model("speaker", resolver, {}, "predictions")
    out = tmp_path / "predictions.csv"
    speaker.stop_after = 2
    with pytest.raises(FailedRun):
        predict(targets, True, model, KeptReplies.beside(out, model), Silent(), Budget())
    assert not out.exists()
    path = tmp_path / "predictions.csv.answers.jsonl"
    path.write_bytes(path.read_bytes()[:-20])  # as a kill leaves it in the middle of a line
    speaker.stop_after = None
    predict(targets, True, model, KeptReplies.beside(out, model), Silent(), Budget())
    assert len(speaker.asked) == 7  # the damaged answer is asked again, the other is not
    predict(targets, True, model, KeptReplies.beside(out, model), Silent(), Budget())
    assert len(speaker.asked) == 7


def test_predictions_stop_at_the_limit_of_costs_and_resume(
    resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path
) -> None:
    targets = read_targets([str(concepts)], resolver, {}, "auto")
    model = find_language_model("speaker", resolver, {}, "predictions")
    answers = KeptReplies.beside(tmp_path / "predictions.csv", model)
    with pytest.raises(CostLimitReached) as caught:
        predict(targets, True, model, answers, Silent(), Budget(4.5))
    assert (caught.value.spent, caught.value.done) == (4, "1 of 3 definitions by speaker are made")
    assert len(predict(targets, True, model, answers, Silent(), Budget(2))) == 3
    assert len(speaker.asked) == 6


@pytest.mark.parametrize("answered", [None, 2])
def test_the_command_says_what_it_spent(
    answered: int | None, resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("t2i_core.api.resolver.installed_resolver", lambda: resolver)
    speaker.stop_after = answered
    with pytest.raises(FailedRun) if answered else nullcontext():
        taxonomy_predictions("speaker", [str(concepts)], tmp_path / "predictions.csv")
    assert f"spent ${answered or 6}.00 by judge speaker\n" in capsys.readouterr().err


@pytest.mark.parametrize(("answered", "kept"), [(0, False), (1, True)])
def test_an_error_names_the_kept_answers_only_if_there_are_some(
    answered: int, kept: bool, resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path
) -> None:
    model = find_language_model("speaker", resolver, {}, "predictions")
    speaker.stop_after = answered
    answers = KeptReplies.beside(tmp_path / "predictions.csv", model)
    with pytest.raises(FailedRun) as caught:
        predict(read_targets([str(concepts)], resolver, {}, "auto"), True, model, answers, Silent(), Budget())
    assert (str(answers.path) in str(caught.value)) == answers.path.exists() == kept


def test_a_judge_without_replies_is_refused(resolver: StaticResolver) -> None:
    info = JudgeInfo(name="eye", summary="Sees.", capabilities={"reward": frozenset()}, create=lambda setup: None)
    with pytest.raises(NoJudge):
        find_language_model("eye", StaticResolver(info), {}, "predictions")


def test_another_answer_is_the_plugins_fault(
    resolver: StaticResolver, speaker: Speaker, concepts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Speaker, "observe", lambda self, capability, queries: ((q, "dog") for q in queries))
    model = find_language_model("speaker", resolver, {}, "predictions")
    targets = read_targets([str(concepts)], resolver, {}, "auto")
    with pytest.raises(BrokenPlugin):
        predict(targets, True, model, KeptReplies.beside(tmp_path / "p.csv", model), Silent(), Budget())


def test_bad_input_is_refused_before_anything_is_asked(
    resolver: StaticResolver, speaker: Speaker, tmp_path: Path
) -> None:
    model = find_language_model("speaker", resolver, {}, "predictions")
    with pytest.raises(BadFolder):
        KeptReplies.beside(tmp_path / "no folder" / "p.csv", model)
    with pytest.raises(BadFolder):
        KeptReplies.beside(tmp_path, model)
    (tmp_path / "bad.csv").write_text("synset,lemma\nno_such_word.n.01,x\n")
    with pytest.raises(BadPrompts):
        read_targets([str(tmp_path / "bad.csv")], resolver, {}, "auto")
    with pytest.raises(BadPrompts):
        read_targets([str(tmp_path / "missing.csv")], resolver, {}, "auto")
    (tmp_path / "top.csv").write_text("synset,lemma\nentity.n.01,entity\n")
    with pytest.raises(BadPrompts):
        read_targets([str(tmp_path / "top.csv")], resolver, {}, "insertion")
    assert not speaker.asked
