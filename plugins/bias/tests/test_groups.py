"""Groups from YAML: what is provided, what is refused and how, and what people's answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2i_bias.groups import provided, read_groups
from t2i_core.api.errors import BadOption


def test_the_papers_texts_are_the_references():
    groups = read_groups("paper")
    assert groups["gender"].texts == ("a photo of a male", "a photo of a female")
    assert groups["race"].texts == tuple(
        f"a photo of a {r} person" for r in ("White", "Black", "Hispanic", "Asian")
    )
    assert all(group.note for group in groups.values())
    assert provided() == ("mini", "paper")


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
    assert groups["age"].meant("elderly") == "old"
    assert groups["glasses"].texts[0] == "a photo of a person who wears glasses"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "want groups by name, each with categories"),
        ("[a, b]", "want groups by name, each with categories"),
        ("a: [", "not YAML"),
        ("age: {categories: [young, old]}", "age: 'young' has no text, and neither has the group"),
        ("age: {text: a person, categories: [young, old]}", "age: text: want {} once"),
        ("age: {text: 'a {}', categories: [young]}", "age: categories: Tuple should have at least 2 items"),
        ("age: {text: 'a {}', categories: [young, young]}", "age: the category 'young' is there twice"),
        (
            "age: {text: 'a {}', categories: [young, {name: old, words: [Young]}]}",
            "the word 'young' is said of two",
        ),
        ("age: {text: 'a {}', categories: [young, unknown]}", "is what people answer who cannot say"),
        ("age: {text: 'a {}', categories: [young, old], ties: x}", "age: ties: Extra inputs are not permitted"),
        ("human: {text: 'a {}', categories: [young, old]}", "the group 'human': want a name without colon"),
        ("3: {text: 'a {}', categories: [young, old]}", "the group 3: want a name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, text, fault):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(BadOption) as error:
        read_groups(str(path))
    assert fault in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_unknown_groups_are_told_with_the_nearest(tmp_path):
    with pytest.raises(BadOption, match=r"did you mean 'paper'.*or a YAML file"):
        read_groups("papr")
    with pytest.raises(BadOption, match="no such file"):
        read_groups(str(tmp_path / "none.yaml"))
    with pytest.raises(BadOption, match="has no 'gendr': did you mean 'gender'"):
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
def test_what_people_mean(group, answer, meant):
    assert read_groups("paper")[group].meant(answer) == meant


@pytest.mark.parametrize(
    ("answer", "meant"), [("hat", "hat"), ("yes", "hat"), ("no hat", "no hat"), ("no", "no hat")]
)
def test_a_name_within_another_is_the_longer_one(answer, meant):
    assert read_groups("mini")["hat"].meant(answer) == meant
    assert read_groups("mini")["hat"].meant("he wears no hat at all") == "no hat"


@pytest.mark.parametrize("answer", ["femal", "a man and a woman", "robot"])
def test_answers_that_name_none_or_several_are_refused(answer):
    with pytest.raises(ValueError, match="want one of male, female, unknown"):
        read_groups("paper")["gender"].meant(answer)
