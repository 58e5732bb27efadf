from __future__ import annotations

import csv
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency
from t2i_wordnet_hypernymy import captions as captions_module
from t2i_wordnet_hypernymy.base_forms import RULES, inflect, noun_exceptions
from t2i_wordnet_hypernymy.caption_files import CaptionPart, find_column, list_parts, read_part
from t2i_wordnet_hypernymy.captions import CaptionWords, count_captions, count_in, word_of
from t2i_wordnet_hypernymy.command import app
from t2i_wordnet_hypernymy.taxonomy_file import read_taxonomy
from typer.testing import CliRunner

KNOWN = CaptionWords.of(["dog", "fire truck", "fire", "truck", "t shirt", "animal"])
TEXT = """A dog, a DOG and another dog.
fire-truck on fire
the truck; fire exit
hotdog stand

T-shirts and a T-shirt
Three dogs
Animals before fire trucks
"""
EXPECTED = {"dog": 2, "fire truck": 2, "fire": 3, "truck": 3, "t shirt": 1, "animal": 1}


def test_a_caption_counts_once_for_each_word_that_stands_in_it_in_any_form():
    counts, captions = count_in(TEXT.splitlines(), KNOWN)
    assert counts == EXPECTED
    assert captions == 7


def test_words_are_looked_for_without_signs():
    assert word_of("T-shirt") == "t shirt"
    assert word_of("Château's café") == "château s café"


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("dogs", "dog"), ("buses", "bus"), ("wolves", "wolf"), ("aardwolves", "aardwolf"), ("boxes", "box"),
        ("waltzes", "waltz"), ("churches", "church"), ("dishes", "dish"), ("firemen", "fireman"),
        ("ladies", "lady"), ("mice", "mouse"), ("children", "child"), ("abaci", "abacus"),
        ("amici curiae", "amicus curiae"), ("box kodaks", "box kodak"), ("fire trucks", "fire truck"),
        ("spectacles", "spectacles"),
    ],
)  # fmt: skip
def test_base_forms_follow_wordnets_rules(form, base):
    assert base in inflect([base, "spectacle", "other"])[form]


def test_a_form_may_have_several_bases_and_an_irregular_one_no_regular():
    assert inflect(["spectacle", "spectacles"])["spectacles"] == ("spectacle", "spectacles")
    assert "men" in noun_exceptions()
    assert inflect(["man", "men"])["men"] == ("men", "man")
    assert "axes" in noun_exceptions()
    assert set(inflect(["axis", "ax", "axe"])["axes"]) == set(noun_exceptions()["axes"])


@given(st.lists(st.text("abcemnsyxz", min_size=1), max_size=5))
def test_inflection_is_the_inverse_of_detachment(nouns):
    forms = inflect(nouns)
    for form, bases in forms.items():
        detached = {form.removesuffix(end) + base for end, base in RULES if form.endswith(end)}
        assert set(bases) == ({form} | set(noun_exceptions().get(form, detached))) & set(nouns)


@given(st.integers(1, 100))
def test_parts_hold_every_line_once(chunk):
    path = Path(__file__)
    parts = list(list_parts(path, None, chunk))
    data = path.read_bytes()
    assert b"".join(data[part.start : part.end] for part in parts) == data
    assert all(data[part.start : part.end].endswith(b"\n") for part in parts)
    assert sum(part.size for part in parts) == len(data)
    whole = count_in(path.read_text("utf-8").split("\n"), KNOWN)
    each = [count_in(read_part(part), KNOWN) for part in parts]
    assert sum((counts for counts, _ in each), type(whole[0])()) == whole[0]
    assert sum(lines for _, lines in each) == whole[1]


@pytest.fixture
def taxonomy(tmp_path):
    path = tmp_path / "taxonomy.csv"
    path.write_text("dog.n.01,animal.n.01\nfire truck,vehicle\n")
    return path


def write_corpus(folder, kind, lines):
    """Write captions as a file of a kind."""
    folder.mkdir(exist_ok=True)
    path = folder / f"captions.{kind}"
    if kind == "txt":
        path.write_text("\n".join(lines))
    elif kind == "parquet":
        table = pa.table({"URL": ["x"] * len(lines), "TEXT": pa.array([*lines[:-1], lines[-1] or None])})
        pyarrow.parquet.write_table(table, path, row_group_size=2)
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",")
            writer.writerows([("id", "Caption"), *((i, line) for i, line in enumerate(lines))])
    return path


@pytest.mark.parametrize("kind", ["txt", "csv", "tsv", "parquet"])
def test_every_kind_of_file_has_the_same_captions(tmp_path, kind):
    path = write_corpus(tmp_path, kind, TEXT.splitlines())
    parts = list(list_parts(path, find_column(path, None)))
    assert len(parts) == (4 if kind == "parquet" else 1)
    counts, captions = count_in((text for part in parts for text in read_part(part)), KNOWN)
    assert (counts, captions) == (EXPECTED, 7)


def test_several_corpora_are_counted_at_once(tmp_path, taxonomy):
    shares = []
    for name, kinds in (("one", ("txt", "parquet")), ("two", ("csv",))):
        for kind in kinds:
            write_corpus(tmp_path / name, kind, TEXT.splitlines())
    found = count_captions(
        {"one": [tmp_path / "one"], "two": [tmp_path / "two" / "captions.csv"]},
        read_taxonomy(taxonomy),
        workers=2,
        report=lambda captions, share: shares.append((captions, share)),
    )
    assert found["two"].counts == {"dog.n.01": 2, "animal.n.01": 1, "fire truck": 2, "vehicle": 0}
    assert found["one"].counts == {"dog.n.01": 4, "animal.n.01": 2, "fire truck": 4, "vehicle": 0}
    assert (found["one"].captions, found["two"].captions) == (14, 7)
    assert [captions for captions, _ in shares] == sorted(captions for captions, _ in shares)
    assert shares[-1] == (21, pytest.approx(1, abs=0.02))


def test_the_command_writes_a_column_for_each_corpus(tmp_path, taxonomy):
    text = write_corpus(tmp_path, "txt", TEXT.splitlines())
    table = write_corpus(tmp_path, "csv", TEXT.splitlines()[:1])
    out = tmp_path / "counts.csv"
    arguments = ["--out", str(out), "--taxonomy", str(taxonomy), "--workers", "1"]
    found = CliRunner().invoke(app, [f"laion={text}", f"coyo={table}", *arguments])
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader(out.open()))
    assert rows[0] == {"synset": "dog.n.01", "laion": "2", "coyo": "1"}
    assert "7 in laion, 1 in coyo" in found.stderr
    assert CliRunner().invoke(app, [str(text), *arguments]).exit_code == 0
    assert next(csv.DictReader(out.open())) == {"synset": "dog.n.01", "captions": "2"}


def test_a_path_with_an_equals_sign_is_a_path(tmp_path, taxonomy):
    text = write_corpus(tmp_path / "a=b", "txt", TEXT.splitlines())
    out = tmp_path / "counts.csv"
    arguments = [str(text), "--out", str(out), "--taxonomy", str(taxonomy), "--workers", "1"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert "captions" in next(csv.DictReader(out.open()))


def test_where_the_table_cannot_stand_is_said_before_anything_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(captions_module, "count_captions", lambda *_: pytest.fail("counted"))
    for out in (tmp_path / "gone" / "counts.csv", tmp_path):
        found = CliRunner().invoke(app, [str(tmp_path / "captions.txt"), "--out", str(out)])
        assert isinstance(found.exception, BadFolder)


def test_a_failure_leaves_the_earlier_table_as_it_was(tmp_path, taxonomy):
    out = tmp_path / "counts.csv"
    out.write_text("earlier")
    broken = write_corpus(tmp_path, "parquet", TEXT.splitlines())
    data = bytearray(broken.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little") + 8
    data[4:-footer] = bytes(len(data) - footer - 4)  # the footer is whole, so the count begins
    broken.write_bytes(bytes(data))
    arguments = [str(broken), "--out", str(out), "--taxonomy", str(taxonomy), "--workers", "1"]
    found = CliRunner().invoke(app, arguments)
    assert isinstance(found.exception, BadOption)
    assert out.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["captions.parquet", "counts.csv", "taxonomy.csv"]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\x00\x01"])
def test_files_without_captions_are_refused(tmp_path, taxonomy, content):
    file = tmp_path / "captions.txt"
    file.write_bytes(content)
    with pytest.raises(BadOption, match=r"captions\.txt: no captions"):
        count_captions({"captions": [file]}, read_taxonomy(taxonomy), workers=1)


@pytest.mark.parametrize(
    ("name", "content", "column"),
    [
        ("gone.txt", None, None),
        ("gone.parquet", None, None),
        ("no.parquet", b"PAR1", None),
        ("other.csv", b"url,words\nx,a dog\n", None),
        ("other.csv", b"url,caption\nx,a dog\n", "words"),
        ("empty.csv", b"", None),
    ],
)
def test_files_that_do_not_fit_are_refused_before_counting(tmp_path, name, content, column):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadOption, match=name.replace(".", r"\.")):
        find_column(path, column)


def test_a_column_is_refused_if_no_file_is_a_table(tmp_path, taxonomy):
    text = write_corpus(tmp_path, "txt", TEXT.splitlines())
    known = read_taxonomy(taxonomy)
    with pytest.raises(BadOption, match="--column nope"):
        count_captions({"captions": [text]}, known, workers=1, column="nope")
    table = write_corpus(tmp_path, "csv", TEXT.splitlines())
    found = count_captions({"text": [text], "table": [table]}, known, workers=1, column="Caption")
    assert found["text"] == found["table"]


def test_a_folder_without_captions_is_refused(tmp_path, taxonomy):
    (tmp_path / "own").mkdir()
    with pytest.raises(BadOption, match="own"):
        count_captions({"captions": [tmp_path / "own"]}, read_taxonomy(taxonomy), workers=1)


def test_a_file_that_disappears_gets_one_line(tmp_path):
    with pytest.raises(BadOption, match="cannot be read"):
        list(read_part(CaptionPart(tmp_path / "gone", 0, 1, 1)))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = write_corpus(tmp_path, "parquet", ["a dog"])
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependency):
        find_column(path, None)


@pytest.mark.parametrize("name", ["captions.txt", "link.txt", "taxonomy.csv"])
def test_an_input_is_not_overwritten(name, tmp_path, taxonomy):
    captions = tmp_path / "captions.txt"
    captions.write_text(TEXT)
    (tmp_path / "link.txt").symlink_to(captions)
    before = (tmp_path / name).read_bytes()
    found = CliRunner().invoke(app, [str(captions), "--taxonomy", str(taxonomy), "--out", str(tmp_path / name)])
    assert isinstance(found.exception, BadFolder)
    assert (tmp_path / name).read_bytes() == before
