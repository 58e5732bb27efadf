"""Prompt sources on small files in the published columns, with invented contents."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from t2i_core.api import ObjectClass, Prompt, PromptQuestion, Scene, SceneObject, Setup
from t2i_core.api.errors import BadPrompts, MissingDependency
from t2i_core.testing import PromptSourceContract
from t2i_questions.noun_phrases import drop_adjectives, list_noun_phrases, list_nouns, load_model
from t2i_questions.plugin import t2i_prompt_sources

SOURCES = {info.name: info for info in t2i_prompt_sources()}
HEAD = ",".join(
    (
        "item_id",
        "text",
        "keywords",
        "proposition_id",
        "dependency",
        "category_broad",
        "category_detailed",
        "tuple",
        "question_natural_language",
    )
)


FILES = Path(__file__).parent / "files"


class TestDsgSource(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "dsg"
    argument = str(FILES / "dsg.csv")


class TestDpgBenchSource(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "dpg-bench"
    argument = str(FILES / "dpg_bench.csv")


class TestTifaSource(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "tifa-v1"
    argument = str(FILES / "tifa")


class TestGenAiBenchSource(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "genai-bench"
    argument = str(FILES / "genai_image.json")


class TestGenEval2Source(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "geneval2"
    argument = str(FILES / "geneval2.jsonl")


class TestCompBenchSource(PromptSourceContract):
    module = "t2i_questions.plugin"
    name = "t2i-compbench"
    argument = str(FILES / "numeracy_val.txt")


def read(name: str, argument: Path | str, **options: Any) -> list[Prompt]:
    info = SOURCES[name]
    return list(info.prompts(Setup(str(argument), info.options(**options))))


def write_graph(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return path


def test_dsg_has_questions_with_parents_and_categories(tmp_path: Path) -> None:
    file = write_graph(
        tmp_path / "dsg.csv",
        [
            "tifa1,a teal mug,mug,1,0,entity,whole,entity - whole (mug),Is there a mug?",
            'tifa1,a teal mug,mug,2,1,attribute,color,"attribute - color (mug, teal)",Is the mug teal?',
            'vrd7,"a mug, on a shelf",x,1,0,other,count,"other - count (mug, ==1)",Is there one mug?',
            'vrd7,"a mug, on a shelf",x,2,"0, 1",action,x,"action - lie (mug)",Does the mug lie?',
        ],
    )
    first, second = read("dsg", file)
    assert first == Prompt(
        "tifa1",
        "a teal mug",
        facets={"source": "tifa"},
        questions=(
            PromptQuestion("1", "Is there a mug?", category="entity", subcategory="entity - whole"),
            PromptQuestion(
                "2", "Is the mug teal?", parents=("1",), category="attribute", subcategory="attribute - color"
            ),
        ),
    )
    assert (second.text, second.facets) == ("a mug, on a shelf", {"source": "relation"})
    assert [q.category for q in second.questions] == ["attribute", "relation"]
    assert second.questions[1].parents == ("1",)


def test_dsg_drops_all_dependencies_of_an_item_with_words_among_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = write_graph(
        tmp_path / "dsg.csv",
        [
            "whoops1,a,x,1,0,,,entity - whole (a),A?",
            "whoops1,a,x,2,1,,,entity - whole (b),B?",
            'whoops1,a,x,3,"1, mug",,,entity - whole (c),C?',
            "whoops2,b,x,1,0,,,entity - whole (a),A?",
            "whoops2,b,x,2,1,,,entity - whole (b),B?",
        ],
    )
    first, second = read("dsg", file)
    assert [q.parents for q in first.questions] == [(), (), ()]
    assert [q.parents for q in second.questions] == [(), ("1",)]
    (warning,) = caplog.messages
    assert "dsg.csv, line 4: dependency: '1, mug' is not a list of numbers" in warning


@pytest.mark.parametrize("source", ["dsg", "dpg-bench"])
def test_numbers_of_questions_may_be_floats(source: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = ["a,text,x,1.0,0.0,,,entity - whole (a),A?", 'a,text,x,2,"1.0, 3",,,entity - whole (b),B?']
    (of_table,) = read(source, write_graph(tmp_path / "a.csv", lines))
    rows = [
        {"item_id": "a", "text": "text", "tuple": "entity - whole (a)", "question_natural_language": text,
         "proposition_id": number, "dependency": dependency}
        for text, number, dependency in (("A?", 1.0, 0.0), ("B?", 2.0, "1, 3.0"))
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (of_records,) = read(source, tmp_path / "a.json")
    for prompt in (of_table, of_records):
        assert [(q.id, q.parents) for q in prompt.questions] == [("1", ()), ("2", ("1", "3"))]
    assert not caplog.messages


@pytest.mark.parametrize("dependency", ["mug", '"1, mug"', "1.5", '"1,"'])
def test_dpg_bench_refuses_dependencies_that_are_not_numbers(dependency: str, tmp_path: Path) -> None:
    lines = ["a,text,x,1,0,,,entity - whole (a),A?", f"a,text,x,2,{dependency},,,entity - whole (b),B?"]
    with pytest.raises(BadPrompts, match=r"line 3: dependency: '.*' is not a list of numbers"):
        read("dpg-bench", write_graph(tmp_path / "dpg_bench.csv", lines))


def test_dpg_bench_names_the_question_that_the_published_code_loses(tmp_path: Path) -> None:
    one, two, other = (
        f"{item},text,x,{number},0,,,entity - whole (a),A?" for item, number in (("a", 1), ("a", 2), ("b", 1))
    )
    file = write_graph(tmp_path / "dpg_bench.csv", [two, other, one])
    assert [dict(prompt.facets) for prompt in read("dpg-bench", file)] == [{"lost_question": "2"}, {}]
    write_graph(file, [two, other, one, two])  # the later row is read
    assert [dict(prompt.facets) for prompt in read("dpg-bench", file)] == [{}, {}]


def test_dpg_bench_has_levels(tmp_path: Path) -> None:
    rows = [
        "7,a mug,x,1,0,,,global - (photo),Is it a photo?",
        'partiprompts3,a dog,x,1,0,,,"relation - non-spatial (dog, mug, with)",Is the dog with the mug?',
    ]
    file = write_graph(tmp_path / "dpg_bench.csv", rows)
    first, second = read("dpg-bench", file)
    assert [(q.category, q.subcategory) for q in first.questions] == [("global", "global -")]
    assert [(q.category, q.subcategory) for q in second.questions] == [("relation", "relation - non-spatial")]
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "7.txt").write_text("a long text about a mug\n", encoding="utf-8")
    assert [prompt.text for prompt in read("dpg-bench", tmp_path)] == ["a long text about a mug", "a dog"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,,x,1,0,,,entity (a),A?", "line 2: text: is empty"),
        ("a,text,x,1,0,,,entity (a),", "line 2: question_natural_language: must be a text"),
    ],
)
def test_a_wrong_row_is_told(row: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadPrompts) as caught:
        read("dsg", write_graph(tmp_path / "dsg.csv", [row]))
    assert message in str(caught.value)


def test_repeated_questions_and_loops_are_as_in_the_original(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ["a,text,x,1,1,,,entity (a),A?", "a,text,x,2,1,action,,,B?", "a,text,x,1,0,,,entity (b),C?"]
    (prompt,) = read("dsg", write_graph(tmp_path / "dsg.csv", rows))
    assert [(q.id, q.text, q.parents, q.category) for q in prompt.questions] == [
        ("1", "C?", (), "entity"),
        ("2", "B?", ("1",), "relation"),
    ]
    assert "line 4: the item has question 1 twice" in caplog.text


def test_other_columns_are_told(tmp_path: Path) -> None:
    (tmp_path / "dsg.csv").write_text("id,text\n1,a\n", encoding="utf-8")
    with pytest.raises(BadPrompts, match="no column 'item_id'"):
        read("dsg", tmp_path / "dsg.csv")
    with pytest.raises(BadPrompts, match="no such file"):
        read("dsg", tmp_path / "gone.csv")


TEXTS = [{"id": "coco_7", "caption": "two mugs", "coco_val_id": "7"}, {"id": "drawbench_0", "caption": "a mug"}]
ASKED = [
    {"id": "drawbench_0", "caption": "a mug", "question": "is there a mug?", "choices": ["yes", "no"],
     "answer": "yes", "element_type": "object", "element": "mug"},
    {"id": "coco_7", "caption": "two mugs", "question": "how many mugs?", "choices": ["1", "2", "3", "4"],
     "answer": "2", "element_type": "counting", "element": "2"},
]  # fmt: skip


@pytest.fixture
def tifa(tmp_path: Path) -> Path:
    (tmp_path / "tifa_v1.0_text_inputs.json").write_text(json.dumps(TEXTS), encoding="utf-8")
    (tmp_path / "tifa_v1.0_question_answers.json").write_text(json.dumps(ASKED), encoding="utf-8")
    return tmp_path


def test_tifa_has_choices(tifa: Path) -> None:
    prompts = read("tifa-v1", tifa)
    assert prompts == read("tifa-v1", tifa / "tifa_v1.0_text_inputs.json")
    assert [prompt.id for prompt in prompts] == ["coco_7", "drawbench_0"]
    assert prompts[0] == Prompt(
        "coco_7",
        "two mugs",
        facets={"source": "coco"},
        questions=(PromptQuestion("1", "how many mugs?", ("1", "2", "3", "4"), ("2",), (), "counting", "2"),),
    )
    alone = read("tifa-v1", tifa / "tifa_v1.0_question_answers.json")
    assert {prompt.id: prompt for prompt in alone} == {prompt.id: prompt for prompt in prompts}


def test_tifa_without_questions_is_told(tifa: Path) -> None:
    texts = tifa / "tifa_v1.0_text_inputs.json"
    texts.write_text(json.dumps([*TEXTS, {"id": "x", "caption": "x"}]), encoding="utf-8")
    with pytest.raises(BadPrompts, match="item 3: the file of questions has none for 'x'"):
        read("tifa-v1", texts)
    (tifa / "tifa_v1.0_question_answers.json").unlink()
    with pytest.raises(BadPrompts, match="no such file"):
        read("tifa-v1", texts)


def test_genai_bench_has_skills(tmp_path: Path) -> None:
    images = {"00000": {"prompt": "a mug", "models": {"m": [5, 4]}}, "00001": {"prompt": "two mugs", "models": {}}}
    (tmp_path / "genai_image.json").write_text(json.dumps(images), encoding="utf-8")
    assert read("genai-bench", tmp_path)[0] == Prompt("00000", "a mug")
    skills = {"attribute": [0, 1], "Counting": [1]}
    (tmp_path / "genai_skills.json").write_text(json.dumps(skills), encoding="utf-8")
    assert [prompt.facets for prompt in read("genai-bench", tmp_path / "genai_image.json")] == [
        {"skill": "attribute", "level": "basic"},
        {"skill": "attribute | Counting", "level": "basic | advanced"},
    ]


def test_genai_levels_are_those_of_the_file(tmp_path: Path) -> None:
    images = {f"0000{number}": {"prompt": f"{number} mugs", "models": {}} for number in range(4)}
    (tmp_path / "genai_image.json").write_text(json.dumps(images), encoding="utf-8")
    everything = [0, 1, 2, 3]
    skills = {"basic": [0], "attribute": [0, 1], "advanced": [1, 2], "counting": [1, 3], "all": everything}
    (tmp_path / "genai_skills.json").write_text(json.dumps(skills), encoding="utf-8")
    assert [prompt.facets for prompt in read("genai-bench", tmp_path)] == [
        {"skill": "attribute", "level": "basic"},
        {"skill": "attribute | counting", "level": "advanced"},
        {"level": "advanced"},
        {"skill": "counting"},
    ]
    skills = {"attribute": [0], "counting": [1], "all": everything}
    (tmp_path / "genai_skills.json").write_text(json.dumps(skills), encoding="utf-8")
    assert [prompt.facets for prompt in read("genai-bench", tmp_path)] == [
        {"skill": "attribute", "level": "basic"},
        {"skill": "counting", "level": "advanced"},
        {},
        {},
    ]


def test_geneval2_has_skills_and_numbers(tmp_path: Path) -> None:
    record = {
        "prompt": "three mugs",
        "atom_count": 3,
        "vqa_list": [["How many mugs are there?", "three"], ["Is there a mug?", "Yes"]],
        "skills": ["count", "object"],
    }
    file = tmp_path / "geneval2.jsonl"
    file.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n", encoding="utf-8")
    first, second = read("geneval2", file)
    assert (first.id, second.id, first.facets) == ("three-mugs", "three-mugs-2", {"atoms": 3})
    count, there = first.questions
    assert (count.answers, count.choices[3], count.category) == (("3",), "3", "count")
    assert (there.answers, there.choices) == (("yes",), ("yes", "no"))
    file.write_text(json.dumps(record | {"skills": ["count"]}), encoding="utf-8")
    with pytest.raises(BadPrompts, match="line 1: vqa_list and skills"):
        read("geneval2", file)


def test_numbers_and_texts_of_compbench_need_no_spacy(tmp_path: Path) -> None:
    numbers, texts = tmp_path / "numeracy_val.txt", tmp_path / "non_spatial_val.txt"
    numbers.write_text("two cats and three cups.\nfour vases\n", encoding="utf-8")
    texts.write_text("a man holds a mug\na man holds a mug\n", encoding="utf-8")
    first, second = read("t2i-compbench", numbers)
    assert first.facets == {"task": "numeracy", "subset": "numeracy"}
    assert first.scene == Scene(
        (SceneObject(ObjectClass("cat"), count=2), SceneObject(ObjectClass("cup"), count=3))
    )
    assert second.scene == Scene((SceneObject(ObjectClass("vase"), count=4),))
    (text,) = read("t2i-compbench", texts)
    assert (text.facets["task"], text.scene, text.questions) == ("non-spatial", None, ())


def test_sentences_with_numbers_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_model.cache_clear()
    spacy = ModuleType("spacy")
    spacy.load = lambda name: parse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    file = tmp_path / "numeracy_val.txt"
    file.write_text("three goats on a big lawn of two farms\n", encoding="utf-8")
    (prompt,) = read("t2i-compbench", file)
    assert prompt.scene is not None
    assert [(one.cls.name, one.count) for one in prompt.scene.objects] == [
        ("goat", 3),
        ("farm", 2),
    ]
    load_model.cache_clear()


def test_categories_that_cannot_be_measured_are_told(tmp_path: Path) -> None:
    for name, message in (("3d_spatial_val.txt", "needs a judge of depths"), ("mine.txt", "tells no category")):
        (tmp_path / name).write_text("a mug\n", encoding="utf-8")
        with pytest.raises(BadPrompts, match=message):
            read("t2i-compbench", tmp_path / name)


def test_without_spacy_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_model.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    (tmp_path / "color_val.txt").write_text("a red mug\n", encoding="utf-8")
    with pytest.raises(MissingDependency, match=r"pip install 't2i-questions\[spacy\]'") as caught:
        read("t2i-compbench", tmp_path / "color_val.txt")
    assert "\n" not in str(caught.value)


@dataclass
class Token:
    text: str
    pos_: str

    @property
    def text_with_ws(self) -> str:
        return f"{self.text} "


class Document(list[Token]):
    """What a parser would make of a text: tokens, and the noun phrases that are given."""

    noun_chunks: tuple[Any, ...] = ()


def parse(text: str) -> Document:
    """Parse a text of articles, the adjectives red and big, nouns and prepositions."""
    kinds = {"a": "DET", "the": "DET", "red": "ADJ", "big": "ADJ", "on": "ADP", "left": "NOUN", "of": "ADP"}
    found = Document(Token(word, kinds.get(word, "NOUN")) for word in text.split())
    phrases = [part.strip() for part in text.replace(" on ", ",").replace(" of ", ",").split(",")]
    found.noun_chunks = tuple(Token(phrase, "") for phrase in phrases)
    return found


def test_phrases_and_nouns_of_a_parsed_text() -> None:
    document = parse("a red mug on the left of a big Dog")
    assert list_noun_phrases(document) == ["a red mug", "a big Dog"]
    assert (list_nouns(document)[0], list_nouns(document)[-1]) == ("mug", "Dog")
    assert drop_adjectives(document) == "a mug on the left of a Dog"


def test_compbench_with_a_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_model.cache_clear()
    spacy = ModuleType("spacy")
    spacy.load = lambda name: parse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    for name, lines in (
        ("color_val", "a red mug"),
        ("spatial_val", "a mug on the left of a dog"),
        ("complex_val", "a big mug on the left of a dog\na red dog"),
        ("complex_val_spatial", "a big mug on the left of a dog"),
    ):
        (tmp_path / f"{name}.txt").write_text(f"{lines}\n", encoding="utf-8")
    (colour,) = read("t2i-compbench", tmp_path / "color_val.txt")
    assert [(q.text, q.category) for q in colour.questions] == [("a red mug?", "attribute")]
    pair = Scene((SceneObject(ObjectClass("mug")), SceneObject(ObjectClass("dog"))))
    (spatial,) = read("t2i-compbench", tmp_path / "spatial_val.txt")
    assert (spatial.scene, spatial.questions) == (pair, ())
    listed, other = read("t2i-compbench", tmp_path / "complex_val.txt")
    assert listed.facets == {"task": "complex", "subset": "complex", "listed_as": "spatial"}
    assert (listed.scene, listed.references) == (pair, ("a mug on the left of a dog",))
    assert (other.scene, "listed_as" in other.facets) == (None, False)
    load_model.cache_clear()


def test_data_sets_of_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": 3, "prompt": "a mug", "skills": ["attribute"]},
        {"id": 3, "prompt": "a mug", "skills": ["attribute"]},
        {"id": 4, "prompt": "a dog"},
        {"id": 5, "prompt": "two dogs", "tags": ["counting", "advanced", "all"]},
    ]
    asked: list[Any] = []

    class Library(ModuleType):
        DownloadConfig = dict

        class exceptions:  # noqa: N801
            DatasetsError = KeyError

        @staticmethod
        def load_dataset(name: str, **how: Any) -> Any:
            asked.append((name, how["revision"], how["download_config"]))
            return {"train": rows, "other": []}

    monkeypatch.setitem(sys.modules, "datasets", Library("datasets"))
    with pytest.raises(BadPrompts, match="has the splits train, other"):
        read("genai-bench", "someone/prompts")
    found = read("genai-bench", "someone/prompts", split="train", revision="v1")
    assert [(p.id, p.text, dict(p.facets)) for p in found] == [
        ("3", "a mug", {"skill": "attribute", "level": "basic"}),
        ("4", "a dog", {}),
        ("5", "two dogs", {"skill": "counting", "level": "advanced"}),
    ]
    assert asked[-1] == ("someone/prompts", "v1", {"local_files_only": False})
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependency, match=r"t2i-questions\[hub\]"):
        read("dsg", "someone/prompts")
