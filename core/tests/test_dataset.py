"""What `t2i generate` writes to train with: images with their texts."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    ExistingImagesInfo,
    Failure,
    Generated,
    GeneratorInfo,
    Instance,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Scene,
    SceneObject,
    Truth,
)
from t2i_core.api.errors import BadFolder
from t2i_core.api.mask import PackedMask
from t2i_core.api.progress import Silent
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.files.digest import _file_digest
from t2i_core.results.run import Run
from t2i_core.storage.store import DATABASE
from t2i_core.testing import StaticResolver

DOG, CAT, ZEBRA = ObjectClass("dog", "dog.n.01"), ObjectClass("cat", "cat.n.01"), ObjectClass("zebra", None)
WIDTH, HEIGHT = 40, 30
TEXTS = (
    "a dog",
    'two lines\nand a tab\t, "quotes" and a \\ backslash',
    "كلب \u2028 собака 🐕 é e\u0301",
    "../../etc/passwd, a cat" * 400,
)
PROMPTS = tuple(
    Prompt(f"p{n}", text, Scene((SceneObject(cls, count=n + 1),)) if n else None, {"kind": cls.name, "n": n})
    for n, (text, cls) in enumerate(zip(TEXTS, (DOG, CAT, ZEBRA, CAT), strict=True))
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def drawn(request: Any) -> Generated:
    """Noise, with the truth that its upper left part is a dog."""
    rng = np.random.default_rng([request.seed, *request.prompt.text.encode()])
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[3:9, 4:20] = True
    packed = PackedMask.pack(mask)
    truth = Truth((WIDTH, HEIGHT), (Instance(DOG, None, packed.box, packed),), request.prompt.scene)
    return Generated(rng.integers(1, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8), truth=truth)


def painter(
    answer: Any = drawn, name: str = "painter", info: type[GeneratorInfo] = GeneratorInfo
) -> GeneratorInfo:
    class Model:
        def generate(self, requests: Any) -> Iterator[Any]:
            for request in requests:
                yield request, answer(request)

    return info(name=name, summary="Paints.", create=lambda setup: Model())


class Heard(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def generate(
    *models: Any, prompts: tuple[Prompt, ...] = PROMPTS, seeds: int = 3, heard: Heard | None = None, **more: Any
) -> Run:
    source = PromptSourceInfo(name="list", summary="A list.", prompts=lambda setup: prompts)
    asked = tuple(m if isinstance(m, ModelRequest) else ModelRequest(m) for m in models)
    request = Request(
        metrics=(),
        models=asked,
        prompts=("list",),
        seeds=tuple(range(seeds)),
        out=Path("run"),
        max_failed=1,
        **more,
    )
    return run_plan(make_plan(request, StaticResolver(source)), heard or Heard())


def metadata(place: str = "painter") -> list[dict[str, Any]]:
    data = Path(f"run/images/{place}/metadata.jsonl").read_bytes().decode("utf-8")
    return [json.loads(line) for line in data.split("\n")[:-1]]


def test_every_image_has_its_line() -> None:
    run = generate(painter())
    lines = metadata()
    assert [(line["prompt"], line["seed"]) for line in lines] == [(p.id, s) for p in PROMPTS for s in range(3)]
    table = run.samples()
    assert [f"images/painter/{line['file_name']}" for line in lines] == list(table["image"])
    by_id = {p.id: p for p in PROMPTS}
    for line in lines:
        prompt = by_id[line["prompt"]]
        assert line["text"] == prompt.text
        assert json.loads(line["facets"]) == prompt.facets
        scene = json.loads(line["scene"])
        assert (Scene.from_json(scene) if scene else None) == prompt.scene
        assert Path("run/images/painter", line["file_name"]).is_file()
        # a column has one type in all lines, or `datasets` refuses it
        types = {name: type(value) for name, value in line.items()}
        assert types == dict.fromkeys(line, str) | {"seed": int, "noise_seed": int}
    assert len(list(Path("run/images/painter").iterdir())) == len(lines) + 1


def test_half_a_surrogate_pair_does_not_spoil_the_file() -> None:
    prompt = Prompt("p", "a \udc80 dog", scene=Scene((SceneObject(ObjectClass("\udfff")),)))
    plain = painter(lambda r: Generated(np.full((HEIGHT, WIDTH, 3), 9, np.uint8)))
    generate(plain, prompts=(prompt,), seeds=1)
    (line,) = metadata()
    assert line["text"] == r"a \udc80 dog"
    assert json.loads(line["scene"])["objects"][0]["cls"]["name"] == "\udfff"


def test_missing_packages_have_no_line() -> None:
    generate(painter())

    def faulty(request: Any) -> Any:
        if request.seed == 1:
            return Failure("blank")
        return Failure("no such file", missing=True) if request.prompt.id == "p2" else drawn(request)

    run = generate(painter(faulty), fresh=True)
    assert Counter(run.samples()["status"]) == {"ok": 6, "failed": 4, "missing": 2}
    there = [(p.id, s) for p in PROMPTS for s in (0, 2) if p.id != "p2"]
    assert [(line["prompt"], line["seed"]) for line in metadata()] == there
    # and no image of the first run is left behind
    files = {p.name for p in Path("run/images/painter").iterdir()}
    assert files == {"metadata.jsonl", *(line["file_name"] for line in metadata())}


def test_when_no_image_is_there_nothing_of_an_earlier_run_stays() -> None:
    generate(painter())
    generate(painter(lambda r: Failure("no")), fresh=True)
    assert metadata() == []
    assert [p.name for p in Path("run/images/painter").iterdir()] == ["metadata.jsonl"]


def test_each_model_has_its_own() -> None:
    plain = painter(lambda r: Generated(drawn(r).image // 2 + 1), name="plain")
    other = ModelRequest(plain, "a painter / another")
    same = ModelRequest(painter(), "a painter ? another")
    run = generate(ModelRequest(painter(), "first"), other, same)
    assert {d.model: (d.images, d.n_images) for d in run.manifest.datasets} == {
        "first": ("images/first", 12),
        "a painter / another": ("images/a-painter-another", 12),
        "a painter ? another": ("images/a-painter-another-2", 12),
    }


def test_images_that_exist_already_stay_where_they_are(tmp_path: Path) -> None:
    from PIL import Image

    file = tmp_path / "there.png"
    Image.new("RGB", (4, 4), "red").save(file)
    run = generate(painter(lambda r: Generated(file), info=ExistingImagesInfo))
    assert Counter(run.samples()["status"]) == {"ok": 12}
    assert run.manifest.datasets == []
    assert not Path("run/images").exists()


@pytest.mark.parametrize("what", ["image", "truth"])
def test_altered_images_are_made_again(what: str, cache: Path) -> None:
    run = generate(painter())
    digest = run.samples()["digest"][5]
    before = contents()
    if what == "image":
        file = cache / "images" / digest[:2] / f"{digest}.png"
        times = file.stat()
        data = bytearray(file.read_bytes())
        data[-30] ^= 1
        file.write_bytes(data)  # the run's own link shows it too
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a failing disk does it
        _file_digest.cache_clear()  # as a new process knows nothing
    else:
        alter_truth(cache)
    heard = Heard()
    again = generate(painter(), heard=heard)
    # a damaged truth is found before the images are opened, and its image counts as not kept
    assert heard.notes == (["1 kept images were damaged and are made again"] if what == "image" else [])
    assert again.made.images == 1
    assert contents() == before
    assert generate(painter(), heard=heard).made.images == 0


def alter_truth(cache: Path) -> None:
    """Alter one of the kept truths."""
    db = sqlite3.connect(cache / DATABASE, isolation_level=None)
    one = "select value from truths limit 1"
    assert (
        db.execute(f"update truths set value = cast(value || x'00' as blob) where value = ({one})").rowcount == 1
    )
    db.close()


def test_a_truth_that_cannot_be_read_is_said_and_never_left_out(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one is damaged after the images were looked up, no data set without it is written."""
    from t2i_core.engine import run as running

    generate(painter())
    before = contents()
    made = running.generate

    def alter_then_generate(*args: Any) -> Any:
        images = made(*args)
        alter_truth(cache)
        return images

    monkeypatch.setattr(running, "generate", alter_then_generate)
    with pytest.raises(BadFolder, match=r"an image \(of painter, .* was removed or changed during the run"):
        generate(painter())
    assert contents() == before


def contents() -> dict[str, bytes]:
    """All files of the data set, byte for byte, and the list."""
    files = [p for p in Path("run", "images").rglob("*") if p.is_file()]
    return {str(p): p.read_bytes() for p in [*files, Path("run/samples.csv")]}


def test_long_labels_with_the_same_beginning_have_different_folders() -> None:
    generate(ModelRequest(painter(), "x" * 70 + "a"), ModelRequest(painter(name="b"), "x" * 70 + "b"), seeds=1)
    for place in ("x" * 60, "x" * 60 + "-2"):
        files = {p.name for p in Path("run/images", place).iterdir()}
        assert files == {"metadata.jsonl", *(line["file_name"] for line in metadata(place))}
