"""The judge `people`: which answers it finds, how people vote, and what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import Failure, Preference, Query, QuestionAnswer, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.errors import BadOption
from t2i_core.api.image import Image, ImagePlace
from t2i_core.api.plugin_info import JudgeInfo
from t2i_core.api.rater_answer import RaterAnswer
from t2i_core.engine.component import Component
from t2i_core.io.answers import AnswerFile, HumanAnswer, ShownImages, write_answers
from t2i_core.testing import JudgeContract
from t2i_core.testing.parts import sample_images, settle
from t2i_people.judge import PeopleJudge
from t2i_people.plugin import t2i_judges

MEANS_DOG = {"yes": [{"object": "dog"}, {"object A": "dog"}], "no": []}
DOG = VisualQuestion("Is there a dog?", YES_NO, meant_by=MEANS_DOG)


class Shown(Image):
    """An image whose pixels nobody needs."""

    pixels = None  # type: ignore[assignment]


def image(name: str, place: ImagePlace | None = None) -> Image:
    return Shown(hashlib.sha256(name.encode()).hexdigest(), Path(name), place=place)


def side(*images: Image, model: str = "") -> ShownImages:
    return ShownImages(model, digests=tuple(each.digest for each in images))


def ask(answers: Sequence[HumanAnswer], query: Query, capability: str = "answer") -> Any:
    judge = PeopleJudge(AnswerFile(Path("votes.csv"), tuple(answers), {}))
    ((asked, found),) = judge.observe(capability, [query])
    assert asked is query
    return found


A, B = image("a"), image("b")


def said(
    rater: str, answer: str, question: str = "object", text: str = "", shown: tuple[ShownImages, ...] = ()
) -> HumanAnswer:
    return HumanAnswer(rater, question, answer, shown or (side(A),), text=text)


class TestContract(JudgeContract):
    """The contract of judges, on answers to the suite's own questions."""

    module = "t2i_people.plugin"
    name = "people"

    @pytest.fixture
    def component(self, info: JudgeInfo, tmp_path: Path) -> Component[Any]:
        """The judge of a file with an answer to each question of the suite."""
        images = sample_images(tmp_path)
        answers = []
        for query in self.queries("answer", images, self.text_of_suite):
            asked = VisualQuestion.of(query)
            first = asked.grids[0] if asked.grids else 1
            sides = [part for part in (query.images[:first], query.images[first:]) if part]
            if len({each.digest for part in sides for each in part}) >= len(sides):
                answers.append(
                    HumanAnswer("Ann", asked.text[:20], asked.choices[-1] if asked.choices else "a car",
                                tuple(side(*part) for part in sides), text=asked.text)
                )  # fmt: skip
        pairs = self.queries("prefer", images, "")
        answers += [
            HumanAnswer("Ann", "preference", "left", tuple(side(each) for each in q.images)) for q in pairs
        ]
        unique = {answer.identity: answer for answer in answers}
        write_answers(tmp_path / "a.csv", unique.values())
        return settle(info, {}, str(tmp_path / "a.csv"))

    text_of_suite = "a photo of a car"


def test_people_vote_on_choices_by_the_words_of_the_question() -> None:
    answers = [
        said(rater, answer, "q", "is there  a DOG?")
        for rater, answer in zip("abc", ("yes", "YES", "no"), strict=True)
    ]
    found = ask(answers, DOG.about(A))
    assert (found.choice, found.probs.tolist()) == ("yes", [pytest.approx(2 / 3), pytest.approx(1 / 3)])
    assert [(vote.rater, vote.answer) for vote in found.votes] == [("a", "yes"), ("b", "yes"), ("c", "no")]


@pytest.mark.parametrize(
    ("answers", "choice", "probs"),
    [
        (["dog"], "yes", [1, 0]),
        (["cat"], "no", [0, 1]),
        (["dog", "cat"], None, [0.5, 0.5]),
        (["dog", "cannot-tell"], None, [0.5, 0]),
        (["cannot-tell"], None, [0, 0]),
        (["dog", "dog", "cannot-tell"], "yes", [2 / 3, 0]),
    ],
)
def test_answers_to_other_questions_count_that_mean_a_choice(
    answers: list[str], choice: str | None, probs: list[float]
) -> None:
    found = ask([said(str(n), answer) for n, answer in enumerate(answers)], DOG.about(A))
    assert (found.choice, found.probs.tolist()) == (choice, pytest.approx(probs))
    if choice is None:
        assert found.explain_no_choice().missing


def test_answers_without_the_choice_dog_do_not_mean_that_it_is_missing() -> None:
    answer = said("a", "none")
    assert ask([replace(answer, choices=("cat", "none"))], DOG.about(A)).missing
    assert ask([replace(answer, choices=("Dog", "none"))], DOG.about(A)).choice == "no"
    assert ask([answer], DOG.about(A)).choice == "no"


def test_a_missing_answer_names_the_question_and_what_was_asked_in_its_place() -> None:
    gender = {"a man": [{"gender": "man"}], "a woman": [{"gender": "woman"}], "": [{"human": "no"}]}
    question = VisualQuestion("Which describes the person?", ("a man", "a woman"), meant_by=gender)
    query = question.about(A)
    human = said("ann", "yes", "human")
    nobody = ask([human], query)
    assert nobody.missing
    assert "'gender'" in nobody.reason
    other = replace(said("ann", "child", "gender"), choices=("child", "adult", "cannot-tell"))
    found = ask([human, other], query)
    assert found.missing
    assert "'gender' with the choices child, adult, cannot-tell" in found.reason
    assert "man, woman" in found.reason


def test_an_image_that_nobody_saw_is_missing_and_one_that_is_damaged_fails(tmp_path: Path) -> None:
    assert ask([said("a", "dog")], DOG.about(B)).missing
    assert ask([said("a", "dog", "colour")], DOG.about(A)).missing
    with pytest.raises(Exception, match="cannot be read"):
        ask([said("a", "dog")], DOG.about(Image(A.digest, tmp_path / "none.png")))


def test_answers_that_are_not_choices_fail() -> None:
    found = ask([said("a", "perhaps", "q", DOG.text)], DOG.about(A))
    assert isinstance(found, Failure)
    assert not found.missing


def test_questions_in_the_same_words_are_told_apart_by_their_choices() -> None:
    hat, coat = (VisualQuestion("Which of these?", choices) for choices in (("hat", "none"), ("red", "blue")))
    answers = [said("a", "hat", "1", hat.text), said("a", "blue", "2", coat.text)]
    assert [ask(answers, question.about(A)).choice for question in (hat, coat)] == ["hat", "blue"]
    unsure = [answers[0], said("a", "cannot-tell", "2", coat.text)]
    assert [ask(unsure, question.about(A)).choice for question in (hat, coat)] == ["hat", None]


@pytest.mark.parametrize("said_last", ["yes", "no", "cannot-tell"])
def test_the_last_answer_of_a_person_counts(said_last: str) -> None:
    question = VisualQuestion("Is it red?", YES_NO)
    offered = ("yes", "no", "cannot-tell")
    answers = [
        replace(said("a", answer, str(number), question.text), choices=offered)
        for number, answer in enumerate([*(each for each in offered if each != said_last), said_last])
    ]
    assert ask(answers, question.about(A)).choice == (None if said_last == "cannot-tell" else said_last)


def test_a_place_finds_answers_without_digests_and_digests_have_priority() -> None:
    here, there = ImagePlace("m", "p", 3), ImagePlace("m", "p", 4)
    by_place = HumanAnswer("a", "object", "dog", (ShownImages("m", (3,)),), prompt="p")
    assert ask([by_place], DOG.about(replace(A, place=here))).choice == "yes"
    assert ask([by_place], DOG.about(replace(A, place=there))).missing
    assert ask([by_place], DOG.about(A)).missing
    other = replace(by_place, shown=(ShownImages("m", (3,), (B.digest,)),))
    assert ask([other], DOG.about(replace(A, place=here))).missing, "another image was shown to people"
    assert ask([replace(by_place, shown=(side(A),))], DOG.about(replace(A, place=ImagePlace("m", "q", 3)))).missing


def test_a_grid_answers_for_its_images_only_where_the_question_says_so() -> None:
    grid = said("a", "dog", shown=(side(A, B),))
    assert ask([grid], DOG.about(A)).missing
    assert ask([grid], replace(DOG, per_grid=True).about(A)).choice == "yes"
    whole = HumanAnswer("a", "object", "dog", (ShownImages("m"),), prompt="p")
    placed = replace(A, place=ImagePlace("m", "p", 5))
    assert ask([whole], replace(DOG, per_grid=True).about(placed)).choice == "yes"


def test_a_rating_has_the_mean_of_the_raters() -> None:
    scale = VisualQuestion("How good?", tuple("12345"), ordered=True)
    found = ask([said(r, a, "rating", scale.text) for r, a in zip("abc", "255", strict=True)], scale.about(A))
    assert found.expected_value((1, 2, 3, 4, 5)) == pytest.approx(4)
    assert found.choice == "5"


def test_grids_are_compared_in_the_order_shown() -> None:
    images = [image(name) for name in "cdef"]
    which = VisualQuestion("Which?", ("the first", "the second"), grids=(2, 2))
    answer = said("a", "the first", "q", "Which?", (side(*images[:2]), side(*images[2:])))
    assert ask([answer], which.about(*images)).choice == "the first"
    assert ask([answer], which.about(*images[2:], *images[:2])).missing


SWAPPED = {"first": "second", "second": "first"}


@given(
    st.lists(
        st.tuples(st.sampled_from(["left", "right", "tie", "both-bad"]), st.booleans()), min_size=1, max_size=7
    )
)
def test_a_preference_does_not_depend_on_the_side(votes: list[tuple[str, bool]]) -> None:
    answers = [
        said(str(n), answer, "preference", shown=(side(B), side(A)) if turned else (side(A), side(B)))
        for n, (answer, turned) in enumerate(votes)
    ]
    found: Preference = ask(answers, Query((A, B), ("p",)), "prefer")
    back: Preference = ask(answers, Query((B, A), ("p",)), "prefer")
    assert back.verdict == SWAPPED.get(found.verdict, found.verdict)
    assert (found.margin or 0) == -(back.margin or 0)
    for one, other in zip(found.votes, back.votes, strict=True):
        assert other == RaterAnswer(one.rater, SWAPPED.get(one.answer, one.answer), not one.as_shown)
    given = [vote.answer for vote in found.votes]
    margin = given.count("first") - given.count("second")
    assert found.margin == pytest.approx(margin / len(votes))
    neither = "both_bad" if 2 * given.count("both_bad") > len(votes) else "tie"
    assert found.verdict == ("first" if margin > 0 else "second" if margin < 0 else neither)


def test_two_models_with_one_image_are_told_apart_by_their_labels() -> None:
    answer = said("a", "left", "preference", shown=(side(A, model="x"), side(A, model="y")))
    x, y = (replace(A, place=ImagePlace(model, "p", 0)) for model in "xy")
    assert ask([answer], Query((x, y), ("p",)), "prefer").verdict == "first"
    assert ask([answer], Query((y, x), ("p",)), "prefer").verdict == "second"


def test_the_fingerprint_follows_the_answers(tmp_path: Path) -> None:
    (info,) = t2i_judges()
    path = tmp_path / "a.csv"
    fingerprints = set()
    for answer in ("dog", "cat", "dog"):
        write_answers(path, [said("a", answer)])
        fingerprints.add(Component("judge", f"people:{path}", info, info.options(), str(path)).fingerprint)
    assert len(fingerprints) == 2


@pytest.mark.parametrize("text", ["", "rater,answer\n", "not a table\x00"])
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str) -> None:
    (info,) = t2i_judges()
    (tmp_path / "a.csv").write_text(text)
    for path in (tmp_path / "a.csv", tmp_path / "none.sqlite", tmp_path):
        setup = Component("judge", "people", info, info.options(), str(path)).setup()
        assert info.loading.check is not None
        with pytest.raises(BadOption) as caught:
            info.loading.check(setup)
        assert "\n" not in str(caught.value)


def test_votes_survive_storage_and_answers_of_earlier_versions_are_read() -> None:
    vote = RaterAnswer("Ann", "first", False)
    kept = Preference("first", 1.0, "", (vote,))
    assert Preference.from_bytes(kept.to_bytes(), None) == kept
    assert Preference.from_bytes(b'["tie", null, "why"]', None) == Preference("tie", None, "why")
    assert QuestionAnswer.from_bytes(b'[["yes", "no"], 0, null, ""]', None) == QuestionAnswer(YES_NO, 0)
