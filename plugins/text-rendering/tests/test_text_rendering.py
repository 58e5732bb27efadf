"""The rules of the metric, and the metric in evaluations with a judge whose readings are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import (
    BadPrompts,
    JudgeInfo,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Query,
    ReadText,
    Scene,
    SceneObject,
)
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, MetricContract, StaticResolver
from t2i_text_rendering.asked_text import find_asked_texts, find_quoted_texts
from t2i_text_rendering.options import TextRenderingOptions
from t2i_text_rendering.plugin import t2i_metrics
from t2i_text_rendering.text_match import TextMatch, TextRules, match_texts

(INFO,) = t2i_metrics()
SIGN = ObjectClass("sign")
PROMPTS = (
    Prompt("stop", 'a sign that says "STOP"'),
    Prompt("menu", "a board that says “Soup of the day” and „Tee“"),
    Prompt("cat", "a cat"),
)
SOURCE = PromptSourceInfo(name="mine", summary="Mine.", prompts=lambda setup: iter(PROMPTS))


class Reader:
    """Reads the asked texts of `PROMPTS` by turns, whatever the image, the second line with little confidence."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            height, width = query.images[0].pixels.shape[:2]
            bright = float(query.images[0].pixels.mean()) / 255
            lines = ("STOQ", "the SOUP of day", "tee") if bright > 0.5 else ("stop!", "Soup", "noise")
            boxes = np.array([[0, 0, width, height]] * 3, np.float32)
            yield query, ReadText((width, height), lines, boxes, np.array([0.9, 0.8, 0.4], np.float32))


JUDGE = JudgeInfo(
    name="reader",
    summary="Lines.",
    capabilities={"read": frozenset({"boxes", "scores"})},
    create=lambda setup: Reader(),
)


class TestContract(MetricContract):
    module = "t2i_text_rendering.plugin"
    name = "text-rendering"
    prompts = "mine"
    resolver_parts: ClassVar = (SOURCE,)


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompts: Iterable[Prompt] = PROMPTS, **options: Any
) -> Run:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    source = PromptSourceInfo(name="mine", summary="Mine.", prompts=lambda setup: iter(prompts))
    return evaluate(
        [INFO],
        TEST_MODEL,
        prompts="mine",
        seeds=2,
        judge="reader",
        options={"text-rendering": options},
        resolver=StaticResolver(JUDGE, source),
    )


def test_rows_say_what_was_read_and_what_was_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(tmp_path, monkeypatch)
    (result,) = found.results
    assert (result.n_ok, result.n_excluded) == (4, 2)
    rows = found.measurements()
    for _, row in rows[rows["measure"] == "exact"].iterrows():
        asked = {"stop": "STOP", "menu": "Soup of the day Tee"}[row["prompt"]]
        if row["value"]:
            assert pd.isna(row["because"])  # nothing is wrong
            continue
        assert row["because"].endswith(f"asked '{asked}'")
        read = row["because"].partition(", asked")[0]
        assert read in ("read 'STOQ the SOUP of day'", "read 'stop! Soup'")  # the third line is below 0.5
        assert row["prompt"] != "stop" or "stop!" not in read
    assert (rows.loc[rows["measure"] == "exact", "value"] == 1).any()


def test_lines_of_low_confidence_count_if_the_option_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = run(tmp_path, monkeypatch, confidence=0.1).measurements()
    assert rows["because"].dropna().str.contains("tee'|noise'").all()


def test_prompts_without_text_are_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadPrompts, match="no prompt asks for a text; put it in quotes"):
        run(tmp_path, monkeypatch, [Prompt("cat", "a cat"), Prompt("dots", 'a sign that says "..."')])
    with pytest.raises(BadPrompts, match="the facet 'words' of every prompt is missing or blank"):
        run(tmp_path, monkeypatch, facet="words")


@pytest.mark.parametrize(
    ("text", "quotes", "found"),
    [
        ('a sign "STOP" and a "Go home" mat', "double", ("STOP", "Go home")),
        ("“one” „two“ „three” «vier» 「五」", "double", ("one", "two", "three", "vier", "五")),
        ('nothing "" " " here', "double", ()),
        ('one mark " alone', "double", ()),
        ('a 12" pizza next to a 10" plate', "double", ()),
        ('a 12" pizza next to a 10" plate and a sign "OPEN"', "double", ("OPEN",)),
        ('a board 10" wide that says "2 for 1"', "all", ("2 for 1",)),
        ("a dog's sign that says 'OPEN'", "double", ()),
        ("a dog's sign that says 'OPEN', and ‘don’t run’", "all", ("OPEN",)),
        ("the dogs' bowls and the cats' bowls", "all", ()),
    ],
)
def test_texts_in_quotes_are_asked_for(text: str, quotes: Any, found: tuple[str, ...]) -> None:
    assert find_quoted_texts(text, quotes) == found


def test_the_scene_and_a_facet_come_before_quotes() -> None:
    scene = Scene((SceneObject(SIGN, attributes={"text": "EXIT"}, count=2), SceneObject(SIGN)))
    prompt = Prompt("p", 'a "sign"', scene, {"words": "Way out", "empty": " "})
    assert find_asked_texts(prompt, None, "double") == ("EXIT", "EXIT")
    assert find_asked_texts(prompt, "words", "double") == ("Way out",)
    assert find_asked_texts(prompt, "empty", "double") == ()
    assert find_asked_texts(Prompt("p", 'a "sign"', Scene((SceneObject(SIGN),))), None, "double") == ("sign",)


@pytest.mark.parametrize(
    ("asked", "read", "rules", "match"),
    [
        (["STOP"], ["stop!"], {}, TextMatch(1, 1, 0.0)),
        (["STOP"], ["stop!"], {"case": True}, TextMatch(1, 0, 1.0)),
        (["STOP"], ["STOP!"], {"punctuation": True}, TextMatch(1, 0, 1 / 5)),
        (["STOP"], ["STOQ"], {}, TextMatch(1, 0, 1 / 4)),
        (["STOP"], [], {}, TextMatch(1, 0, 1.0)),
        (["don’t", "ﬁne"], ["don't fine"], {"punctuation": True}, TextMatch(2, 2, 0.0)),
        (["don´t"], ["don't"], {"punctuation": True}, TextMatch(1, 1, 0.0)),
        (["don´t"], ["don't"], {}, TextMatch(1, 1, 0.0)),
        # each read word counts once
        (["no", "no"], ["no"], {}, TextMatch(2, 1, 1 / 2)),
        (["dog bites man"], ["man bites dog"], {}, TextMatch(3, 3, 0.0)),
        (["dog bites man"], ["man bites dog"], {"any_order": False}, TextMatch(3, 3, 6 / 13)),
        # words that nobody asked for are errors of the text, not of the asked words
        (["STOP"], ["STOP", "NOW"], {}, TextMatch(1, 1, 3 / 7)),
        (["KEEP CLEAR"], ["KEEPCLEAR"], {"any_order": False}, TextMatch(2, 0, 1 / 10)),
        (["KEEP CLEAR"], ["KEEPCLEAR"], {"any_order": False, "spaces": False}, TextMatch(2, 2, 0.0)),
        # no character counts for two words
        (["art part"], ["part"], {"any_order": False, "spaces": False}, TextMatch(2, 1, 3 / 7)),
    ],
)
def test_texts_are_compared_by_the_rules(
    asked: list[str], read: list[str], rules: dict[str, bool], match: TextMatch
) -> None:
    found = match_texts(asked, read, TextRules(**rules))
    assert (found.asked, found.found) == (match.asked, match.found)
    assert found.edit_distance == pytest.approx(match.edit_distance)


WORDS = st.lists(st.text("abcde", min_size=1, max_size=5), min_size=1, max_size=5)


@given(WORDS, WORDS, st.booleans())
def test_distances_lie_between_nothing_and_everything(asked: list[str], read: list[str], any_order: bool) -> None:
    rules = TextRules(any_order=any_order)
    found = match_texts(asked, read, rules)
    assert 0 <= found.edit_distance <= 1
    assert match_texts(asked, asked, rules) == TextMatch(len(asked), len(asked), 0.0)
    assert match_texts(asked, [], rules).edit_distance == 1
    if any_order:
        assert (found.edit_distance == 0) == (sorted(asked) == sorted(read))


def test_joined_words_have_one_order() -> None:
    with pytest.raises(ValueError, match="order=reading"):
        TextRenderingOptions(spaces=False)
    assert not TextRenderingOptions(spaces=False, order="reading").spaces
