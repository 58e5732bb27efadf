"""The metrics in evaluations, with a judge whose captions are known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_captioning import java, meteor, spice
from t2i_captioning.bleu import compute_bleu, count_matches
from t2i_captioning.cider import compute_cider
from t2i_captioning.meteor import COUNTS, MeteorCounts
from t2i_captioning.metrics import Bleu, Cider, RougeL
from t2i_captioning.options import CaptionOptions
from t2i_captioning.plugin import t2i_metrics
from t2i_captioning.ptb import tokenize
from t2i_captioning.references import InverseFrequencies
from t2i_core.api import Caption, JudgeInfo, Prompt, PromptSourceInfo, Query, Setup
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, MetricContract, StaticResolver

INFOS = {info.name: info for info in t2i_metrics()}
PROMPTS = (
    Prompt("dog", "a dog on a mat", references=("A dog on a mat.", "The dog sits on a mat", "A mat with a dog")),
    Prompt("cat", "two cats", references=("Two cats.", "A pair of cats", "Cats (two)")),
    Prompt("bus", "a red bus", references=("A red bus in a street", "The bus is red", "A red, red bus!")),
)
WORDS = ["a", "the", "dog", "cat", "cats", "bus", "red", "on", "two", "mat", "street", "in", "with"]


def caption_of(query: Query) -> str:
    rng = np.random.default_rng(query.images[0].pixels.astype(int).sum())
    return " ".join(rng.choice(WORDS, rng.integers(1, 9))) + "."


class Captioner:
    """Draws words by the pixels of an image."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            yield query, Caption(caption_of(query))


JUDGE = JudgeInfo(
    name="captioner", summary="Words.", capabilities={"caption": frozenset()}, create=lambda setup: Captioner()
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def run(names: Iterable[str], prompts: Iterable[Prompt] = PROMPTS, **how: Any) -> Run:
    source = PromptSourceInfo(name="mine", summary="Mine.", prompts=lambda setup: iter(prompts))
    metrics = [INFOS[name] for name in names]
    return evaluate(
        metrics,
        TEST_MODEL,
        prompts="mine",
        seeds=2,
        judge="captioner",
        resolver=StaticResolver(JUDGE, source),
        **how,
    )


def read_captions(found: Run, measure: str) -> list[tuple[str, list[str]]]:
    """Return the tokenised captions of a run with their references."""
    own = {p.id: [tokenize(text) for text in p.references or (p.text,)] for p in PROMPTS}
    table = found.measurements()
    rows = table[table["measure"] == measure]
    return [(caption, own[prompt]) for prompt, caption in zip(rows["prompt"], rows["because"], strict=True)]


class TestBleu(MetricContract):
    module = "t2i_captioning.plugin"
    name = "bleu"
    judge = JUDGE


class TestCider(MetricContract):
    module = "t2i_captioning.plugin"
    name = "cider"
    judge = JUDGE


class TestRougeL(MetricContract):
    module = "t2i_captioning.plugin"
    name = "rouge-l"
    judge = JUDGE


def test_scores_are_those_of_all_captions(tmp_path: Path) -> None:
    found = run(["bleu", "cider", "rouge-l"], out=tmp_path / "run")
    bleu, cider, rouge = found.results
    images = read_captions(found, "cider")
    assert len(images) == 6
    idf = InverseFrequencies(tuple(p.references) for p in PROMPTS)
    assert idf.images == 3
    assert cider.score == pytest.approx(np.mean([compute_cider(*image, idf) for image in images]), abs=1e-12)
    counts = [count_matches(*image) for image in images]
    sums = [np.sum([getattr(c, name) for c in counts], axis=0) for name in ("matches", "guesses")]
    expected = compute_bleu(*sums, sum(c.length for c in counts), sum(c.reference_length for c in counts))
    assert [bleu.scores[f"bleu-{n}"].value for n in (1, 2, 3, 4)] == pytest.approx(expected, abs=1e-12)
    assert bleu.score == bleu.scores["bleu-4"].value
    assert bleu.score != pytest.approx(np.mean([compute_bleu(*_own(c))[3] for c in counts]))
    assert not {name for name in bleu.scores if name.startswith("matches")}
    for result in (bleu, cider, rouge):
        low, high = result.ci
        assert low <= result.score <= high
        assert any("port of COCO's tokenizer" in note for note in result.notes)
        assert not any("text alone" in note for note in result.notes)


def _own(counts: Any) -> tuple[Any, ...]:
    return np.array(counts.matches), np.array(counts.guesses), counts.length, counts.reference_length


def test_weights_do_not_depend_on_the_model_and_captions_of_one_image_count_once() -> None:
    once = InverseFrequencies(tuple(p.references) for p in PROMPTS)
    twice = InverseFrequencies(tuple(p.references) for p in (*PROMPTS, *PROMPTS))
    assert once(("dog",)) == twice(("dog",)) == pytest.approx(np.log(3))
    assert once(("a",)) == 0
    assert once(("unknown",)) == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("options", "words"), [({}, "no other references"), ({"references": "prompt"}, "the option")]
)
def test_without_references_the_text_counts_and_a_note_says_so(options: dict[str, str], words: str) -> None:
    prompts = PROMPTS if options else [replace(p, references=()) for p in PROMPTS]
    found = run(["rouge-l"], prompts, options={"rouge-l": options})
    assert [words in note for note in found.results[0].notes].count(True) == 1


def test_references_that_are_the_text_alone_are_noted_too() -> None:
    """A published list has one caption of each image, which is the prompt and its only reference."""
    prompts = [replace(p, references=(p.text,)) for p in PROMPTS[:2]]
    found = run(["rouge-l"], [*prompts, PROMPTS[2]])
    (note,) = (note for note in found.results[0].notes if "text alone" in note)
    assert note.startswith("4 samples: compared with the prompt's text alone")


def test_without_prompts_there_are_no_weights() -> None:
    with pytest.raises(BadPrompts, match="cider: there are no prompts"):
        Cider(Setup(None, CaptionOptions())).check([])


def test_only_the_rows_of_cider_depend_on_the_other_prompts() -> None:
    setup = Setup(None, CaptionOptions())
    assert [kind(setup).rows_depend_on_prompts for kind in (Cider, Bleu, RougeL)] == [True, False, False]


def test_one_image_has_no_cider() -> None:
    one = replace(PROMPTS[0], id="again", text="a mat")
    with pytest.raises(BadPrompts, match="same references"):
        run(["cider"], [PROMPTS[0], one])


def test_spice_without_its_jars_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"has no spice-1\.0\.jar"):
        run(["spice"], options={"spice": {"jars": str(tmp_path)}})


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_meteor_in_an_evaluation(tmp_path: Path, meteor_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (java, meteor):
        monkeypatch.setattr(module, "find_java", lambda: meteor_java)
        monkeypatch.setattr(module, "find_meteor", lambda: tmp_path / "meteor-1.5.jar")
    found = run(["meteor"], out=tmp_path / "run")
    (result,) = found.results
    counts = [
        MeteorCounts.parse(f"{len(caption.split())} 3.0 0.0 0.0 1.0 1.0{' 0.0' * 14} 1.0 1.0 1.0")
        for caption, _ in read_captions(found, "meteor")
    ]
    assert len(counts) == 6
    total = MeteorCounts(*np.sum([astuple(one) for one in counts], axis=0))
    assert result.score == pytest.approx(total.compute(), abs=1e-12)
    assert result.score != pytest.approx(np.mean([one.compute() for one in counts]))
    assert result.ci[0] <= result.score <= result.ci[1]
    assert set(result.scores) == {"meteor"}
    table = found.measurements()
    assert {*COUNTS, "meteor"} == set(table["measure"])


#: stands in for SPICE's jar: scores each caption by its number of words
FAKE_SPICE = """import json, sys
asked, out = sys.argv[sys.argv.index("-out") - 1], sys.argv[sys.argv.index("-out") + 1]
scores = [
    {"image_id": each["image_id"], "scores": {"All": {"f": len(each["test"].split()) / 10}}}
    for each in json.load(open(asked))
]
json.dump(scores, open(out, "w"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_spice_in_an_evaluation(
    tmp_path: Path, write_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write_java(FAKE_SPICE)
    monkeypatch.setattr(java, "find_java", lambda: program)
    monkeypatch.setattr(spice, "find_java", lambda: program)
    (tmp_path / "lib").mkdir()
    for name in ("spice-1.0.jar", "lib/stanford-corenlp-3.6.0.jar", "lib/stanford-corenlp-3.6.0-models.jar"):
        (tmp_path / name).touch()
    prompts = (*PROMPTS[:2], replace(PROMPTS[2], references=()))
    found = run(["rouge-l", "spice"], prompts, options={"spice": {"jars": str(tmp_path)}}, out=tmp_path / "run")
    rouge, scored = found.results
    captions = [caption for caption, _ in read_captions(found, "rouge-l")]
    assert scored.score == pytest.approx(np.mean([len(caption.split()) for caption in captions]) / 10)
    assert scored.ci[0] <= scored.score <= scored.ci[1]
    assert any(note.startswith("2 images: compared with the prompt's text alone") for note in scored.notes)
    assert any(note.startswith("2 samples: compared with the prompt's text alone") for note in rouge.notes)
