from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.errors import BadFolder, BadOption
from t2i_wordnet_hypernymy.captions import CaptionWords, count_captions, count_in, parts_of, word_of
from t2i_wordnet_hypernymy.taxonomy_file import read_taxonomy
from typer.testing import CliRunner

KNOWN = CaptionWords.of(["dog", "fire truck", "fire", "truck", "t shirt"])
TEXT = """A dog, a DOG and another dog.
fire-truck on fire
the truck; fire exit
hotdog stand

T-shirts and a T-shirt
"""


def test_a_caption_counts_once_for_each_word_that_stands_in_it():
    counts, captions = count_in(TEXT, KNOWN)
    assert counts == {"dog": 1, "fire truck": 1, "fire": 2, "truck": 2, "t shirt": 1}
    assert captions == 5


def test_words_are_looked_for_without_signs():
    assert word_of("T-shirt") == "t shirt"
    assert word_of("Château's café") == "château s café"


@given(st.integers(1, 100))
def test_parts_hold_every_line_once(chunk):
    path = Path(__file__)
    parts = [path.read_bytes()[start:end] for _, start, end in parts_of(path, chunk)]
    assert b"".join(parts) == path.read_bytes()
    assert all(part.endswith(b"\n") for part in parts)
    whole = count_in(path.read_text("utf-8"), KNOWN)
    each = [count_in(part.decode(), KNOWN) for part in parts]
    assert sum((counts for counts, _ in each), type(whole[0])()) == whole[0]
    assert sum(lines for _, lines in each) == whole[1]


@pytest.fixture
def taxonomy(tmp_path):
    path = tmp_path / "taxonomy.csv"
    path.write_text("dog.n.01,animal.n.01\nfire truck,vehicle\n")
    return path


def test_processes_share_the_work(tmp_path, taxonomy):
    files = [tmp_path / name for name in ("one.txt", "two.txt")]
    for file in files:
        file.write_text(TEXT)
    counts, captions = count_captions(files, read_taxonomy(taxonomy), workers=2)
    assert counts == {"dog.n.01": 2, "animal.n.01": 0, "fire truck": 2, "vehicle": 0}
    assert captions == 10


def test_the_command_writes_a_table(tmp_path, taxonomy):
    from t2i_wordnet_hypernymy.command import app

    (tmp_path / "captions.txt").write_text(TEXT)
    out = tmp_path / "counts.csv"
    arguments = [str(tmp_path / "captions.txt"), "--out", str(out), "--taxonomy", str(taxonomy), "--workers", "1"]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0, said.output
    rows = list(csv.DictReader(out.open()))
    assert rows[0] == {"synset": "dog.n.01", "captions": "1"}
    assert "5 captions" in said.stderr


def test_where_the_table_cannot_stand_is_said_before_anything_is_counted(tmp_path, monkeypatch):
    from t2i_core.api.errors import BadFolder
    from t2i_wordnet_hypernymy import captions
    from t2i_wordnet_hypernymy.command import app

    monkeypatch.setattr(captions, "count_captions", lambda *_: pytest.fail("counted"))
    for out, fault in ((tmp_path / "gone" / "counts.csv", "does not exist"), (tmp_path, "is a folder")):
        said = CliRunner().invoke(app, [str(tmp_path / "captions.txt"), "--out", str(out)])
        assert isinstance(said.exception, BadFolder)
        assert fault in str(said.exception)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x00\x01"])
def test_files_without_captions_are_refused(tmp_path, taxonomy, content):
    file = tmp_path / "captions.txt"
    file.write_bytes(content)
    with pytest.raises(BadOption, match=r"captions\.txt: no captions"):
        count_captions([file], read_taxonomy(taxonomy), workers=1)


def test_a_file_that_cannot_be_read_gets_one_line(tmp_path):
    with pytest.raises(BadOption, match="cannot be read"):
        list(parts_of(tmp_path / "gone"))


@pytest.mark.parametrize("name", ["captions.txt", "link.txt", "taxonomy.csv"])
def test_an_input_is_not_overwritten(name, tmp_path, taxonomy):
    from t2i_wordnet_hypernymy.command import app

    captions = tmp_path / "captions.txt"
    captions.write_text(TEXT)
    (tmp_path / "link.txt").symlink_to(captions)
    before = (tmp_path / name).read_bytes()
    found = CliRunner().invoke(app, [str(captions), "--taxonomy", str(taxonomy), "--out", str(tmp_path / name)])
    assert isinstance(found.exception, BadFolder)
    assert (tmp_path / name).read_bytes() == before
