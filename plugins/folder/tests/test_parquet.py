"""Tables in parquet: paths, bytes, Hugging Face's own files; row groups, and memory."""

import io
import json
import tracemalloc
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PILImage
from t2i_core import evaluate
from t2i_core.api import Failure, ObjectClass, Prompt, Scene, SceneObject, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.generator import ImageRequest
from t2i_core.engine.component import settle_component
from t2i_core.testing import TEST_JUDGE, GeneratorContract, StaticResolver
from t2i_folder.options import FolderOptions
from t2i_folder.plugin import t2i_generators
from t2i_folder.table import read_table

(INFO,) = t2i_generators()


def encoded(shade: int, kind: str = "PNG", side: int = 8) -> bytes:
    file = io.BytesIO()
    PILImage.fromarray(np.full((side, side, 3), shade, np.uint8)).save(file, kind)
    return file.getvalue()


def write(folder: Path, name: str = "images.parquet", row_group_size: int = 2, **columns: list) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name, row_group_size=row_group_size)
    return folder


def given(folder: Path, requests: list[tuple[Prompt, int]]) -> list:
    model = INFO.create(Setup(str(folder), FolderOptions()))
    asked = [ImageRequest(prompt, seed, seed) for prompt, seed in requests]
    answers = {id(request): answer for request, answer in model.generate(iter(asked))}
    assert len(answers) == len(asked)
    return [answers[id(request)] for request in asked]


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def test_bytes_come_out_as_they_went_in_from_any_row_group(tmp_path):
    kinds = ["PNG", "JPEG", "WEBP", "PNG", "JPEG"]
    images = [encoded(40 * n, kind) for n, kind in enumerate(kinds)]
    texts = [f"prompt {n // 2}" for n in range(5)]
    folder = write(
        tmp_path / "f", image=[{"bytes": b, "path": f"{n}.x"} for n, b in enumerate(images)], text=texts,
        seed=[0, 1, 0, 1, 0],
    )  # fmt: skip
    asked = [(Prompt("p", texts[n]), n % 2) for n in (4, 0, 3, 2, 1)]
    files = [answer.image for answer in given(folder, asked)]
    assert [file.read_bytes() for file in files] == [images[n] for n in (4, 0, 3, 2, 1)]
    assert [file.suffix for file in files] == [".jpg", ".png", ".png", ".webp", ".jpg"]
    for damaged in (b"damaged", b"x" * len(images[4])):
        files[0].write_bytes(damaged)
        assert given(folder, asked)[0].image.read_bytes() == images[4]


def test_images_are_found_in_row_groups_that_are_read_in_parts(tmp_path):
    """A group has many more rows than are in memory at a time, and of each part one is wanted, or none."""
    images = [encoded(n) for n in range(100)]
    texts = [str(n) for n in range(100)]
    folder = write(tmp_path / "f", row_group_size=60, image=images, prompt=texts)
    wanted = [0, 17, 59, 60, 99]
    found = given(folder, [(Prompt(texts[n], texts[n]), 0) for n in wanted])
    assert [answer.image.read_bytes() for answer in found] == [images[n] for n in wanted]


def test_plain_bytes_and_paths_too(tmp_path):
    folder = write(
        tmp_path / "f", "data/a.parquet", file=[encoded(1), None, b"GIF89a and more"], prompt=["a", "b", "c"]
    )
    one, none, gif = given(folder, [(Prompt(t, t), 0) for t in "abc"])
    assert one.image.read_bytes() == encoded(1)
    assert none.missing
    assert "a.parquet, row 2 of row group 1: has no image" in none.reason
    assert not gif.missing
    assert "row 1 of row group 2: is GIF, which is not read" in gif.reason
    folder = write(tmp_path / "g", file_name=["x.png", "sub/y.png"], prompt=["a", "b"], id=[7, 8])
    (tmp_path / "g" / "x.png").write_bytes(encoded(3))
    there, gone = given(folder, [(Prompt("7", "a"), 0), (Prompt("8", "b"), 0)])
    assert there.image == tmp_path / "g" / "x.png"
    assert gone.missing


def test_seeds_are_shared_only_if_the_column_has_no_gaps(tmp_path):
    columns = {"image": [b"x", b"y", b"z"], "prompt": ["a", "a", "b"]}
    setup = Setup(str(tmp_path), FolderOptions())
    for seeds, why in (([0, 1, 0], None), ([0, 1, None], "1 of 3 images name no seed")):
        write(tmp_path, **columns, seed=seeds)
        assert INFO.unshared_seeds(setup) == why


def test_texts_and_bytes_as_other_libraries_write_them(tmp_path):
    """Categories of pandas, and the views of Arrow's newer types."""
    categories = pa.array(["a", "b", "a"]).dictionary_encode()
    views = pa.array([encoded(n) for n in range(3)], pa.binary_view())
    folder = write(tmp_path / "f", image=views, prompt=categories, kind=pa.array(["x"] * 3, pa.string_view()))
    asked = [(Prompt("a", "a"), 1), (Prompt("b", "b"), 0)]
    assert [answer.image.read_bytes() for answer in given(folder, asked)] == [encoded(2), encoded(1)]
    assert read_table(folder, FolderOptions()).prompts() == tuple(Prompt(t, t, facets={"kind": "x"}) for t in "ab")


def test_a_path_inside_the_struct_stands_for_bytes_and_stays_in_the_folder(tmp_path):
    rows = [{"bytes": None, "path": "x.png"}, {"bytes": None, "path": "../y.png"}]
    folder = write(tmp_path / "f", image=rows, text=["a", "b"])
    (tmp_path / "f" / "x.png").write_bytes(encoded(3))
    there, out = given(folder, [(Prompt("a", "a"), 0), (Prompt("b", "b"), 0)])
    assert there.image == tmp_path / "f" / "x.png"
    assert isinstance(out, Failure)
    assert "leads out of the folder" in out.reason


def test_other_columns_of_texts_and_numbers_are_facets(tmp_path):
    folder = write(
        tmp_path / "f", image=[encoded(1)], prompt=["a"], style=["photo"], steps=[3], vector=[[1.0, 2.0]],
        seed=[4.0], gap=[float("nan")],
    )  # fmt: skip
    found = read_table(folder, FolderOptions())
    assert found.prompts() == (Prompt("a", "a", facets={"style": "photo", "steps": 3}),)
    assert found.seeds == [4]


def test_data_sets_made_from_generate_are_read_back(tmp_path, monkeypatch):
    """An imagefolder loaded and saved by Hugging Face's own library keeps prompts, seeds and expectation."""
    datasets = pytest.importorskip("datasets")
    from datasets.table import embed_table_storage  # as push_to_hub does, so that the file holds the images

    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    scene = Scene((SceneObject(ObjectClass("car", "car.n.01"), "red", 2),))
    source = tmp_path / "source"
    source.mkdir()
    lines = []
    for n in range(3):
        (source / f"{n}.png").write_bytes(encoded(60 * n))
        said = {"file_name": f"{n}.png", "text": "two red cars", "prompt": "red-cars", "seed": n, "noise_seed": n}
        lines.append(said | {"facets": json.dumps({"n": 2}), "scene": json.dumps(scene.to_json())})
    (source / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=str(source), split="train", cache_dir=str(tmp_path / "hf")
    )
    (tmp_path / "f").mkdir()
    loaded = loaded.with_format("arrow").map(embed_table_storage, batched=True).with_format(None)
    loaded.to_parquet(str(tmp_path / "f" / "train.parquet"))
    found = read_table(tmp_path / "f", FolderOptions())
    prompt = Prompt("red-cars", "two red cars", scene, {"n": 2})
    assert found.prompts() == (prompt,)
    assert [a.image.read_bytes() for a in given(tmp_path / "f", [(prompt, n) for n in (2, 0, 1)])] == [
        encoded(60 * n) for n in (2, 0, 1)
    ]


def test_memory_holds_one_row_group_however_many_there_are(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (8, 128, 128, 3), np.uint8)
    images = []
    for pixels in noise:
        file = io.BytesIO()
        PILImage.fromarray(pixels).save(file, "PNG")
        images.append(file.getvalue())
    peaks = {}
    for groups in (2, 24):
        texts = [f"p{n}" for n in range(8 * groups)]
        folder = write(tmp_path / str(groups), row_group_size=8, image=images * groups, text=texts)
        model = INFO.create(Setup(str(folder), FolderOptions()))
        requests = [ImageRequest(Prompt(t, t), 0, 0) for t in texts]
        before, peaks[groups] = pa.total_allocated_bytes(), 0
        tracemalloc.start()
        for _ in model.generate(iter(requests)):
            now = pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[0]
            peaks[groups] = max(peaks[groups], now)
        tracemalloc.stop()
    size = sum(map(len, images))
    assert peaks[2] > size  # it is measured at all
    assert peaks[24] < peaks[2] + size


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"prompt": ["a"]}, "has no column 'file' or 'file_name' or 'image' (columns: prompt)"),
        ({"image": [encoded(1)]}, "has no column 'prompt' or 'text' (columns: image)"),
        ({"image": [3], "prompt": ["a"]}, "the column 'image' must hold paths"),
        (
            {"image": [encoded(1)], "prompt": [["a"]], "seed": [1]},
            "the column 'prompt' must hold texts (got list<",
        ),
        (
            {"image": [encoded(1)] * 2, "prompt": [None, "a"]},
            "row 1: prompt: is missing; give a prompt or an id",
        ),
        ({"image": ["a.png", "/b.png"], "prompt": ["a", "b"]}, "row 2: file: '/b.png' is absolute"),
        ({"image": [encoded(1)] * 2, "prompt": ["a", "a"], "seed": [1, 1]}, "row 2: seed: "),
        (
            {"image": [encoded(1)], "prompt": ["a"], "seed": [-1]},
            "row 1: seed: must be a whole number of at least 0",
        ),
    ],
)
def test_a_bad_table_is_told_in_one_line(tmp_path, columns, said):
    folder = write(tmp_path / "f", **columns)
    with pytest.raises(BadModel) as caught:
        read_table(folder, FolderOptions())
    assert said in str(caught.value)
    assert str(folder / "images.parquet") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_malformed_parquet_is_reported(tmp_path):
    (tmp_path / "images.parquet").write_text("no parquet at all")
    with pytest.raises(BadModel, match=r"images\.parquet: cannot be read as parquet \("):
        read_table(tmp_path, FolderOptions())


def test_another_table_is_another_model(tmp_path):
    def fingerprint() -> str:
        return settle_component(INFO, argument=str(tmp_path)).fingerprint

    write(tmp_path, image=[encoded(1)], prompt=["a"])
    before = fingerprint()
    assert fingerprint() == before
    write(tmp_path, image=[encoded(1)], prompt=["b"])
    assert fingerprint() != before


def test_a_run_counts_what_cannot_be_read(tmp_path, mean_reward):
    whole = encoded(90, "PNG", 64)
    folder = write(tmp_path / "f", image=[whole, whole[:60], None], prompt=["a", "b", "c"])
    run = evaluate(
        mean_reward, f"folder:{folder}", out=tmp_path / "run", max_failed=1.0,
        resolver=StaticResolver(INFO, TEST_JUDGE),
    )  # fmt: skip
    (result,) = run.results
    assert (result.n_ok, result.n_failed, result.n_missing) == (1, 1, 1)


class TestParquet(GeneratorContract):
    module = "t2i_folder.plugin"
    name = "folder"
    options: ClassVar = {"layout": "parquet"}

    @pytest.fixture(autouse=True)
    def images(self, tmp_path, monkeypatch):
        write(tmp_path, image=[encoded(20 * n) for n in range(4)], prompt=["a", "a", "b", "b"])
        monkeypatch.setattr(type(self), "argument", str(tmp_path))
