"""Groups from YAML: provided files, messages about wrong ones, and the meaning of people's answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2i_bias.groups import list_provided, read_groups
from t2i_core.api.errors import BadOption


def test_the_papers_texts_are_the_references():
    groups = read_groups("paper")
    assert groups["gender"].texts == ("a photo of a male", "a photo of a female")
    assert groups["race"].texts == tuple(
        f"a photo of a {r} person" for r in ("White", "Black", "Hispanic", "Asian")
    )
    assert all(group.note for group in groups.values())
    assert list_provided() == ("mini", "paper")


def test_groups_of_ones_own(tmp_path):
    (tmp_path / "age.yaml").write_text(
        "age:\n  text: a photo of {} person\n  categories:\n    - {name: young, text: a photo of a child}\n"
        "    - an old\nglasses:\n  categories: [{name: a, text: x}, {name: b, text: y}]\n"
    )
    groups = read_groups(str(tmp_path / "age.yaml"))
    assert groups["age"].texts == ("a photo of a child", "a photo of an old person")
    assert list(read_groups(str(tmp_path / "age.yaml"), ["glasses"])) == ["glasses"]


def test_the_pages_example_is_one(tmp_path):
    page = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (tmp_path / "own.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    groups = read_groups(str(tmp_path / "own.yaml"))
    assert groups["age"].parse_answer("elderly") == "old"
    assert groups["glasses"].texts[0] == "a photo of a person who wears glasses"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must contain groups by name, each with categories"),
        ("[a, b]", "must contain groups by name, each with categories"),
        ("a: [", "not YAML"),
        ("age: {categories: [young, old]}", "age: the category 'young' needs a text"),
        ("age: {text: a person, categories: [young, old]}", "age: text: must contain {} once"),
        ("age: {text: 'a {}', categories: [young]}", "age: categories: must have at least 2 items"),
        ("age: {text: 'a {}', categories: [young, young]}", "age: the category 'young' appears twice"),
        (
            "age: {text: 'a {}', categories: [young, {name: old, words: [Young]}]}",
            "the word 'young' belongs to two",
        ),
        (
            "age: {text: 'a {}', categories: [young, unknown]}",
            "is reserved for answers of people who cannot decide",
        ),
        ("age: {text: 'a {}', categories: [young, old], tie: x}", "age: tie: is unknown"),
        ("age: {text: 'a {}', categories: [young, old], ties: x}", "age: ties: must be"),
        ("human: {text: 'a {}', categories: [young, old]}", "the group 'human' needs another name"),
        ("3: {text: 'a {}', categories: [young, old]}", "the group 3 needs another name"),
    ],
)
def test_errors_are_one_line(tmp_path, text, fault):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(BadOption) as error:
        read_groups(str(path))
    assert fault in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_unknown_groups_are_told_with_the_nearest(tmp_path):
    with pytest.raises(BadOption, match=r"mini, paper or a YAML file.*did you mean 'paper'"):
        read_groups("papr")
    with pytest.raises(BadOption, match="no such file"):
        read_groups(str(tmp_path / "none.yaml"))
    with pytest.raises(BadOption, match="has no group 'gendr': did you mean 'gender'"):
        read_groups("paper", ["gendr"])


@pytest.mark.parametrize(
    ("group", "answer", "meant"),
    [
        ("gender", "Male", "male"),
        ("gender", "the person looks like a woman", "female"),
        ("gender", "unknown", None),
        ("race", "an Asian person", "Asian"),
    ],
)
def test_meanings_of_peoples_answers(group, answer, meant):
    assert read_groups("paper")[group].parse_answer(answer) == meant


@pytest.mark.parametrize(
    ("answer", "meant"), [("hat", "hat"), ("yes", "hat"), ("no hat", "no hat"), ("no", "no hat")]
)
def test_a_name_within_another_is_the_longer_one(answer, meant):
    assert read_groups("mini")["hat"].parse_answer(answer) == meant
    assert read_groups("mini")["hat"].parse_answer("he wears no hat at all") == "no hat"


@pytest.mark.parametrize("answer", ["femal", "a man and a woman", "robot"])
def test_answers_that_name_none_or_several_are_refused(answer):
    with pytest.raises(ValueError, match="must name one of male, female, unknown"):
        read_groups("paper")["gender"].parse_answer(answer)


def test_ties_are_those_of_the_reference_code():
    """Of equal genders its comparison takes the second, of equal races its argmax the first."""
    groups = read_groups("paper")
    assert (groups["gender"].ties, groups["race"].ties) == ("last", "first")
