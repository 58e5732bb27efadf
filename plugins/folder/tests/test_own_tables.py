"""Users' tables: columns under other names, rows of one model, absolute paths, WebDataset's tar files."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError
from t2i_core.api import Failure, Generated, ImageRequest, Prompt, SceneObject
from t2i_core.api.errors import BadModel, BadPrompts, T2IError
from t2i_core.api.prompt import ObjectClass
from t2i_core.files.image_file import read_header
from t2i_folder.generator import Folder
from t2i_folder.layouts import find_layout
from t2i_folder.options import FolderOptions
from t2i_folder.table import Table, read_table


def png(value: int = 0) -> bytes:
    held = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(held, "PNG")
    return held.getvalue()


def read(folder: Path, **options: Any) -> Table:
    return read_table(folder, FolderOptions(**options))


@pytest.fixture
def captioned(tmp_path: Path) -> Path:
    """A folder with images of two models and a table with columns of its owner."""
    for number in range(4):
        (tmp_path / f"{number}.png").write_bytes(png(number))
    (tmp_path / "captions.csv").write_text(
        "filename,caption,text,run,model,kind,score\n"
        "0.png,a photo of a dog,x,0,sdxl,animal,0.1\n"
        "1.png,a photo of a dog,y,1,sdxl,animal,0.2\n"
        "2.png,a photo of a dog,z,0,flux,animal,0.3\n"
        "3.png,a photo of a car,w,0,flux,vehicle,0.4\n"
    )
    return tmp_path


OWN = {"table": "captions.csv", "image": "filename", "prompt": "caption", "seed": "run"}


def test_columns_have_the_names_that_the_user_gives(captioned: Path) -> None:
    found = read(captioned, **OWN, where={"model": "sdxl"}, facets=["kind"])
    (dog,) = found.prompts()
    assert (dog.text, dog.facets) == ("a photo of a dog", {"kind": "animal"})
    assert [found.find(dog, seed) for seed in (0, 1)] == [captioned / "0.png", captioned / "1.png"]
    assert found.find(Prompt("x", "x"), 0) is None


def test_all_other_columns_are_facets_unless_some_are_named(captioned: Path) -> None:
    (first, *_) = read(captioned, **OWN, where={"model": "sdxl"}).prompts()
    assert first.facets == {"kind": "animal", "score": "0.1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "captions.csv"}, "-o folder.image=filename"),
        ({"table": "captions.csv", "image": "filename", "facets": ["kind"]}, "holds no scene"),
        ({**OWN, "image": "filenam"}, "did you mean 'filename'"),
        ({**OWN, "prompt": "words"}, "its columns are filename, caption, text, run, model, kind, score"),
        ({**OWN, "facets": ["kinds"]}, "did you mean 'kind'"),
        ({**OWN, "where": {"models": "sdxl"}}, "did you mean 'model'"),
        ({**OWN, "where": {"model": "sdx"}}, "did you mean 'sdxl'"),
        ({}, "-o folder.table=captions.csv"),
    ],
)
def test_a_wrong_column_is_told_with_those_there_are(captioned: Path, options: dict[str, Any], said: str) -> None:
    if said == "holds no scene":  # its own column `text` serves
        assert read(captioned, **options).own[0].text == "x"
        return
    with pytest.raises(T2IError) as caught:
        read(captioned, **options)
    assert said in str(caught.value)
    assert str(captioned) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_without_prompts_says_which_column_may_be_meant(captioned: Path) -> None:
    (captioned / "two.csv").write_text("file,Caption\n0.png,a dog\n")
    with pytest.raises(BadModel) as caught:
        read(captioned, table="two.csv")
    assert "-o folder.prompt=Caption" in str(caught.value)


def test_objects_in_a_column_are_scenes(captioned: Path) -> None:
    (captioned / "o.jsonl").write_text(
        json.dumps({"file": "0.png", "prompt": "a dog", "things": ["dog", "two red cars"]}) + "\n"
    )
    (prompt,) = read(captioned, table="o.jsonl", objects="things").prompts()
    assert prompt.scene is not None
    assert prompt.scene.objects == (SceneObject(ObjectClass("dog")), SceneObject(ObjectClass("car"), "red", 2))
    assert not prompt.facets


def test_paths_outside_the_folder_need_the_users_word(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    image = tmp_path / "images" / "a.png"
    image.write_bytes(png())
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "prompts.csv").write_text(f"file,prompt\n{image},a dog\n../images/a.png,a cat\n")
    with pytest.raises(BadModel, match=r"line 2: file: .*absolute_paths"):
        read(folder)
    found = read(folder, absolute_paths=True)
    files = [found.find(prompt, 0) for prompt in found.prompts()]
    assert all(isinstance(file, Path) and file.resolve() == image for file in files)


def test_columns_of_no_table_are_refused(tmp_path: Path) -> None:
    for options in ({"pattern": "{id}.png", "image": "x"}, {"layout": "geneval", "where": {"a": "b"}}):
        with pytest.raises(ValidationError, match="columns are those of a table"):
            FolderOptions.model_validate(options)


def test_parquet_has_columns_of_ones_own_too(tmp_path: Path) -> None:
    table = pa.table({"jpg": [png(1), png(2)], "caption": ["a dog", "a cat"], "model": ["a", "b"]})
    pq.write_table(table, tmp_path / "x.parquet")
    options = FolderOptions(image="jpg", prompt="caption", where={"model": "b"})
    found = read_table(tmp_path, options)
    (prompt,) = found.prompts()
    assert (prompt.text, dict(prompt.facets)) == ("a cat", {})
    ((_, answer),) = Folder(found, options).generate([ImageRequest(prompt, 0, 0)])
    assert isinstance(answer, Generated)
    assert answer.image.read_bytes() == png(2)  # type: ignore[union-attr]
    with pytest.raises(BadModel, match=r"did you mean 'jpg'"):
        read_table(tmp_path, FolderOptions(image="png", prompt="caption"))


def write_tar(file: Path, members: dict[str, bytes], **arguments: Any) -> None:
    with tarfile.open(file, **({"mode": "w"} | arguments)) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def sample(key: str, text: str, value: int, **fields: Any) -> dict[str, bytes]:
    return {
        f"{key}.png": png(value),
        f"{key}.txt": f"{text}\n".encode(),
        f"{key}.json": json.dumps({"url": f"https://example.org/{key}", **fields}).encode(),
    }


def test_webdataset_is_read_in_place(tmp_path: Path) -> None:
    write_tar(tmp_path / "00000.tar", {**sample("0", "a dog", 1, seed=0), **sample("1", "a dog", 2, seed=1)})
    write_tar(tmp_path / "00001.tar", sample("s/2", "a cat", 3, seed=0, kind="pet"))
    options = FolderOptions()
    found = read_table(tmp_path, options)
    assert (found.layout, found.unshared_seeds) == ("webdataset", None)
    dog, cat = found.prompts()
    assert (dog.text, dict(dog.facets), cat.text) == ("a dog", {}, "a cat")
    requests = [ImageRequest(dog, 0, 0), ImageRequest(dog, 1, 1), ImageRequest(cat, 0, 0), ImageRequest(cat, 1, 1)]
    *images, missing = [answer for _, answer in Folder(found, options).generate(requests)]
    assert [each.image.read_bytes() for each in images] == [png(1), png(2), png(3)]  # type: ignore[union-attr]
    assert isinstance(missing, Failure)
    assert missing.missing
    assert {path.name for path in tmp_path.iterdir()} == {"00000.tar", "00001.tar"}


def test_fields_of_json_serve_as_columns(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", sample("0", "short", 1, caption="a long one", kind="pet", model="x"))
    (prompt,) = read(tmp_path, prompt="caption", id="__key__", facets=["kind"], where={"model": "x"}).prompts()
    assert (prompt.id, prompt.text, prompt.facets) == ("0", "a long one", {"kind": "pet"})
    with pytest.raises(BadPrompts, match=r"did you mean 'caption'"):
        read(tmp_path, prompt="captions")


def test_another_text_in_a_tar_file_is_another_list_of_images(tmp_path: Path) -> None:
    digests = []
    for text in ("a dog", "a cat", "a dog"):
        write_tar(tmp_path / "a.tar", sample("0", text, 1))
        digests.append(find_layout(tmp_path, FolderOptions()).depends_on())
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"0.png": png(), "0.jpg": png(), "0.txt": b"a"}, "several images"),
        ({"0.png": png()}, "no column 'prompt' or 'text'"),
        ({"0.txt": b"a dog"}, "holds no image"),
        ({"0.png": png(), "0.json": b"[1]"}, "sample 0: json: must be one JSON object"),
        ({"0.png": png(), "0.json": b"{"}, "sample 0: json: not JSON"),
        ({"0.png": png(), "0.txt": b"\xff"}, "0.txt is not UTF-8"),
        ({"0.png": png(), "0.json": b'{"prompt": 3}'}, "sample 0: prompt: must be a text"),
    ],
)
def test_a_bad_tar_file_is_told_in_one_line(tmp_path: Path, members: dict[str, bytes], said: str) -> None:
    write_tar(tmp_path / "a.tar", members)
    with pytest.raises((BadModel, BadPrompts)) as caught:
        read(tmp_path)
    assert said in str(caught.value)
    assert "a.tar" in str(caught.value)


def test_compressed_and_damaged_tar_files_are_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", sample("0", "a dog", 1), mode="w:gz")
    with pytest.raises(BadModel, match="uncompressed"):
        read(tmp_path)
    write_tar(tmp_path / "a.tar", sample("0", "a dog", 1))
    whole = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "a.tar").write_bytes(whole[: 512 + 20])
    with pytest.raises(BadModel):
        read(tmp_path)


def test_links_in_a_tar_file_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png(9))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, kind in (("0.png", tarfile.SYMTYPE), ("1.png", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, str(secret)
            tar.addfile(info)
    with pytest.raises(BadModel, match="holds no image"):
        read(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(keep=st.integers(0, 4000))
def test_a_cut_tar_file_is_refused_or_its_whole_images_are_read(tmp_path: Path, keep: int) -> None:
    write_tar(tmp_path / "b.bin", {**sample("0", "a dog", 1), **sample("1", "a cat", 2)})
    folder = tmp_path / "cut"
    folder.mkdir(exist_ok=True)
    (folder / "a.tar").write_bytes((tmp_path / "b.bin").read_bytes()[:keep])
    try:
        found = read(folder)
    except T2IError:
        return
    answers = Folder(found, FolderOptions()).generate(ImageRequest(p, 0, 0) for p in found.prompts())
    for _, answer in answers:
        assert isinstance(answer, Generated)
        assert read_header(answer.image, FolderOptions().rules).size == (8, 8)  # type: ignore[arg-type]
