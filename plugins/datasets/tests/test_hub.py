"""Data sets that the library itself wrote, read where they lie; nothing is fetched and nobody's cache touched."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import datasets
import huggingface_hub.constants
import pytest
from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.testing import PromptSourceContract
from t2i_datasets.options import HubOptions
from t2i_datasets.plugin import t2i_prompt_sources

(HUB,) = (info for info in t2i_prompt_sources() if info.name == "hub")

ROWS = [{"prompt": f"a thing {n}", "key": f"k{n}", "style": "ab"[n % 2], "size": n} for n in range(10)]
TABLE = {name: [row[name] for row in ROWS] for name in ROWS[0]}


@pytest.fixture(autouse=True)
def _offline(tmp_path, monkeypatch):
    """No network, and a cache of this test's own."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")


def read(place: Path | str, offline: bool = False, **options) -> list[Prompt]:
    return list(HUB.prompts(Setup(str(place), HubOptions(**options), offline=offline)))


def saved(folder: Path, kind: str) -> Path:
    """Rows as the library writes them in one of its forms."""
    rows = datasets.Dataset.from_dict(TABLE)
    if kind == "saved":
        rows.save_to_disk(str(folder / "saved"))
        return folder / "saved"
    if kind == "splits":
        datasets.DatasetDict(train=rows, test=rows.select([0, 1])).save_to_disk(str(folder / "splits"))
        return folder / "splits"
    if kind == "folder":
        (folder / "folder").mkdir()
        rows.to_parquet(str(folder / "folder" / "train.parquet"))
        return folder / "folder"
    file = folder / f"rows.{kind}"
    if kind == "tsv":
        rows.to_csv(str(file), sep="\t")
    elif kind == "txt":
        file.write_text("".join(f"{text}\n" for text in TABLE["prompt"]))
    else:
        {"parquet": rows.to_parquet, "jsonl": rows.to_json, "csv": rows.to_csv}[kind](str(file))
    return file


@pytest.mark.parametrize("kind", ["saved", "folder", "parquet", "jsonl", "csv", "tsv", "txt"])
def test_every_form_gives_the_same_prompts(tmp_path, kind):
    assert read(saved(tmp_path, kind)) == [Prompt(f"train-{n}", f"a thing {n}") for n in range(10)]


def test_ids_facets_and_a_seeded_sample(tmp_path):
    place = saved(tmp_path, "parquet")
    found = read(place, id_column="key", facets=("style", "size"), limit=4)
    assert len(found) == 4
    assert found[0] == Prompt(found[0].id, f"a thing {found[0].id[1:]}", facets=dict(found[0].facets))
    assert all(p.facets == {"style": "ab"[int(p.id[1:]) % 2], "size": int(p.id[1:])} for p in found)
    assert {p.id for p in found} < {p.id for p in read(place, id_column="key", limit=7)}
    assert [p.id for p in found] != [p.id for p in read(place, id_column="key", limit=4, seed=1)]
    assert [p.id for p in read(saved(tmp_path, "saved"), id_column="key", limit=4)] == [p.id for p in found]


def test_splits_are_named(tmp_path):
    place = saved(tmp_path, "splits")
    assert [p.id for p in read(place, split="test")] == ["test-0", "test-1"]
    with pytest.raises(BadPrompts, match=r"has the splits train, test: name one with -o hub\.split=NAME"):
        read(place)
    with pytest.raises(BadPrompts, match="has no split 'val'; it has train, test"):
        read(place, split="val")


def test_images_of_the_rows_are_not_read(tmp_path):
    """Other columns are left alone: here they are not even images."""
    features = datasets.Features({"caption": datasets.Value("string"), "image": datasets.Image()})
    rows = {"caption": ["a dog"], "image": [{"bytes": b"no image", "path": None}]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(tmp_path / "x.parquet"))
    assert read(tmp_path / "x.parquet") == [Prompt("train-0", "a dog")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"column": "promt"}, "has no column 'promt'; it has prompt, key, style, size"),
        ({"column": "size"}, "train, row 1: size: must be a text (got '0')"),
        ({"id_column": "no"}, "has no column 'no'"),
        ({"facets": ["no"]}, "has no column 'no'"),
        ({"limit": 11}, "11 rows are wanted, and 'train' has only 10"),
        ({"revision": "main"}, "local data have no revision; remove the option"),
    ],
)
def test_options_that_do_not_fit_are_told(tmp_path, options, said):
    place = saved(tmp_path, "parquet")
    with pytest.raises(BadPrompts) as caught:
        read(place, **options)
    assert str(caught.value).startswith(f"hub:{place}")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.jsonl", '{"prompt": "a"}\n{"prompt": \n', "cannot be read by the library datasets"),
        ("x.parquet", "no parquet", "cannot be read by the library datasets"),
        ("x.csv", "style,size\na,1\n", "has no column prompt, text, caption: name one of style, size"),
        ("x.jsonl", '{"prompt": "a"}\n{"prompt": null}\n', "train, row 2: prompt: must be a text (got 'None')"),
        ("x.jsonl", '{"prompt": ["a", "b"]}\n', "prompt: must be a text"),
        ("x.yaml", "prompt: a\n", "the file must end in .json, .jsonl, .csv"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadPrompts) as caught:
        read(tmp_path / name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_argument_that_is_neither_a_path_nor_a_repository_is_refused(tmp_path):
    with pytest.raises(BadPrompts, match="no such file or folder, and no data set of the hub either"):
        read(tmp_path / "gone" / "far")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadPrompts, match="cannot be read by the library datasets"):
        read(tmp_path / "empty")


def test_a_file_that_is_not_there_is_told_as_one_and_asked_for_nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr("t2i_torch_support.hub_files.find_outage", lambda: None)
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was asked"))
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    for offline in (True, False):
        with pytest.raises(BadPrompts, match=r"hub:d/nope\.parquet: file d/nope\.parquet does not exist"):
            read("d/nope.parquet", offline=offline)


def test_a_missing_repository_may_have_been_meant_as_a_file(monkeypatch):
    def load_dataset(name, *args, **kwargs):
        raise datasets.exceptions.DatasetNotFoundError(f"Dataset {name!r} doesn't exist on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(
        BadPrompts, match=r"^no file or folder no/such exists here; hub:no/such: cannot be had .*exist"
    ):
        read("no/such", offline=True)


def test_offline_a_data_set_of_the_hub_is_asked_for_nowhere(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was asked"))
    with pytest.raises(BadPrompts) as caught:
        read("t2i-tests/no-such-data", offline=True)
    assert str(caught.value).startswith("no file or folder t2i-tests/no-such-data exists here; hub:t2i-tests/no-")
    assert "is not on this machine and cannot be fetched" in str(caught.value)
    assert "`t2i prefetch hub:t2i-tests/no-such-data` with a network" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not datasets.config.HF_HUB_OFFLINE


@pytest.mark.parametrize("what", [HUB.prompts, HUB.loading.prefetch])
def test_without_a_network_the_hub_is_asked_once(tmp_path, monkeypatch, caplog, what):
    """Its client would try five times and tell of each; what lies on this machine is never asked for there."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("t2i_torch_support.hub_files._SECONDS_TO_REACH", 1)
    said = "^no file or folder t2i-tests/no-such-data exists here; no network, and hub:t2i-tests/no-such-data is"
    with pytest.raises(BadPrompts, match=said):
        list(what(Setup("t2i-tests/no-such-data", HubOptions())) or ())
    assert not caplog.records
    assert not datasets.config.HF_HUB_OFFLINE
    monkeypatch.setattr("t2i_torch_support.hub_files.find_outage", lambda: pytest.fail("the hub was asked"))
    assert len(read(saved(tmp_path, "jsonl"))) == 10


def test_code_of_a_data_set_is_never_run(tmp_path):
    script = tmp_path / "data" / "data.py"
    script.parent.mkdir()
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(BadPrompts):
        read(script.parent)
    assert not (tmp_path / "ran").exists()


@pytest.mark.long
def test_from_the_command_line_and_nothing_at_home(tmp_path):
    place = saved(tmp_path, "jsonl")
    home = tmp_path / "home"
    home.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "XDG_"))}
    env |= {"HOME": str(home), "T2I_CACHE_DIR": str(tmp_path / "cache"), "HF_DATASETS_OFFLINE": "1"}
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "prompts.csv").write_text("file,prompt\na.png,a thing 3\n")
    command = [
        sys.executable,
        "-m",
        "t2i_cli",
        "generate",
        "--model",
        "folder:images",
        "--prompts",
        f"hub:{place}",
    ]
    command += ["--dry-run", "--json", "-o", "hub.limit=3"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"][0]["n_prompts"] == 3
    assert not [path for path in home.rglob("*") if path.suffix in (".arrow", ".parquet", ".json")]


class TestHub(PromptSourceContract):
    module = "t2i_datasets.plugin"
    name = "hub"
    options: ClassVar = {"id_column": "key", "facets": ["style"], "limit": 5}

    @pytest.fixture(autouse=True)
    def file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(type(self), "argument", str(saved(tmp_path, "parquet")))
