"""Typing errors and case: the rules, and the sources on files and on prompts of a run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA
from t2i_core.api import BadPrompts, Prompt, Scene, Setup
from t2i_core.testing import PromptSourceContract
from t2i_heim.letter_case import change_case
from t2i_heim.options import CaseOptions, TypoOptions
from t2i_heim.plugin import t2i_prompt_sources
from t2i_heim.typing_errors import KINDS, NEIGHBOURS, apply_error, make_typos

SOURCES = {info.name: info for info in t2i_prompt_sources()}
TEXT = "a photo of a large elephant and two yellow umbrellas"


@pytest.fixture(autouse=True)
def _file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompts.txt").write_text(f"{TEXT}\nan old boat\n", encoding="utf-8")


class TestTypos(PromptSourceContract):
    module = "t2i_heim.plugin"
    name = "typos"
    argument = "prompts.txt"


class TestRecased(PromptSourceContract):
    module = "t2i_heim.plugin"
    name = "recased"
    argument = "prompts.txt"


def test_every_word_that_is_long_enough_gets_one_error_at_the_rate_1() -> None:
    changed = make_typos(TEXT, TypoOptions(rate=1, shortest=3)).split()
    for before, after in zip(TEXT.split(), changed, strict=True):
        assert OSA.distance(before, after) == (len(before) >= 3), (before, after)
        assert before[0] == after[0]


@given(st.text(st.sampled_from("abcdefgh ,.'"), max_size=60), st.integers(0, 50))
def test_a_higher_rate_keeps_the_errors_of_a_lower_one(text: str, seed: int) -> None:
    low, high = (make_typos(text, TypoOptions(rate=rate, seed=seed)).split() for rate in (0.3, 0.7))
    words = text.split()
    assert make_typos(text, TypoOptions(rate=0)) == text
    if len(words) == len(low) == len(high) and all(word.isalpha() for word in words):
        assert all(b in (a, c) for a, b, c in zip(words, low, high, strict=True) if a != b)
        assert all(b == c for a, b, c in zip(words, low, high, strict=True) if a != b)


def test_errors_happen_at_the_rate_and_kinds_alike() -> None:
    words = ["keyboard"] * 4000
    changed = make_typos(" ".join(words), TypoOptions(rate=0.25)).split()
    wrong = [word for word in changed if word != "keyboard"]
    assert len(wrong) / 4000 == pytest.approx(0.25, abs=0.03)
    longer, shorter = (sum(len(word) == length for word in wrong) for length in (9, 7))
    assert longer / len(wrong) == pytest.approx(0.25, abs=0.05)
    assert shorter / len(wrong) == pytest.approx(0.25, abs=0.05)
    swapped = sum(Counter(word) == Counter("keyboard") for word in wrong)
    assert swapped / len(wrong) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("kind", "at", "found"),
    [("swap", 1, "wrod"), ("swap", 3, "wodr"), ("drop", 2, "wod"), ("double", 3, "wordd"), ("neighbour", 1, "")],
)
def test_kinds_of_errors(kind: str, at: int, found: str) -> None:
    if kind == "neighbour":  # letters alone are neighbours
        found = f"w{NEIGHBOURS['o'][0]}rd"
    assert apply_error("word", at, kind, 0.0) == found


def test_a_neighbour_keeps_the_case() -> None:
    assert apply_error("WORD", 1, "neighbour", 0.99) == f"W{NEIGHBOURS['o'][-1].upper()}RD"


def test_a_kind_that_changes_nothing_gives_the_word_back() -> None:
    assert apply_error("book", 1, "swap", 0) == "book"
    assert apply_error("né", 1, "neighbour", 0) == "né"
    assert apply_error("no", 1, "swap", 0) == "no"
    assert set(KINDS) == {"swap", "drop", "double", "neighbour"}


def test_neighbours_are_mutual() -> None:
    assert NEIGHBOURS["g"] == "bfhtvy"
    assert all(a in NEIGHBOURS[b] for a, others in NEIGHBOURS.items() for b in others)


def test_texts_in_quotes_stay_unless_asked_for() -> None:
    text = 'a large sign that says "KEEP Clear" and “Stop”'
    assert '"KEEP Clear"' in make_typos(text, TypoOptions(rate=1))
    assert "“Stop”" in make_typos(text, TypoOptions(rate=1))
    assert '"KEEP Clear"' not in make_typos(text, TypoOptions(rate=1, quoted=True))
    assert change_case(text, CaseOptions(case="upper")) == 'A LARGE SIGN THAT SAYS "KEEP Clear" AND “Stop”'


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, "the dog's well-known bone, on a mat."),
        ({"case": "upper", "punctuation": False}, "THE DOG'S WELL-KNOWN BONE ON A MAT"),
        ({"case": "title"}, "The Dog's Well-Known Bone, On A Mat."),
        ({"case": "keep", "punctuation": False}, "The dog's well-known bone on a mat"),
    ],
)
def test_case_and_punctuation(options: dict[str, object], found: str) -> None:
    assert change_case("The dog's well-known bone, on a mat.", CaseOptions(**options)) == found  # type: ignore[arg-type]


def test_texts_in_quotes_keep_their_spaces() -> None:
    text = 'a  sign,  that says "NO  ENTRY"  here '
    assert change_case(text, CaseOptions(punctuation=False)) == 'a sign that says "NO  ENTRY" here'
    assert change_case(text, CaseOptions(punctuation=False, quoted=True)) == "a sign that says no entry here"


@pytest.mark.parametrize("name", SOURCES)
def test_all_but_the_text_stays(name: str) -> None:
    info = SOURCES[name]
    prompts = (Prompt("p", TEXT.title(), Scene(()), {"a": 1}), Prompt("q", "OLD Boats"))
    options = info.options(rate=1) if name == "typos" else info.options()
    changed = list(info.prompts(Setup(None, options, prompts=prompts)))
    for before, after in zip(prompts, changed, strict=True):
        assert after.text != before.text
        assert (after.id, after.scene) == (before.id, before.scene)
        assert after.facets == {**before.facets, "original": before.text}


@pytest.mark.parametrize("name", SOURCES)
def test_prompts_must_be_named(name: str) -> None:
    with pytest.raises(BadPrompts, match=f"name the prompts to change, {name}:FILE"):
        list(SOURCES[name].prompts(Setup(None, SOURCES[name].options())))
