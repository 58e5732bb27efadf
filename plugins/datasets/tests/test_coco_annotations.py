"""The annotations of a run's images are exactly what its model really drew, and pycocotools reads them."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from t2i_core.api import (
    ExistingImagesInfo,
    Failure,
    Generated,
    GeneratorInfo,
    Instance,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    SinkInfo,
    Truth,
)
from t2i_core.api.errors import BadFolder, BrokenPlugin
from t2i_core.api.mask import PackedMask
from t2i_core.api.progress import Silent
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.results.run import Run, load_run
from t2i_core.storage.store import DATABASE
from t2i_core.testing import SinkContract, StaticResolver
from t2i_datasets import coco_annotations
from t2i_datasets.plugin import t2i_sinks

(SINK,) = t2i_sinks()
DOG, CAT, ZEBRA = ObjectClass("dog", "dog.n.01"), ObjectClass("cat", "cat.n.01"), ObjectClass("zebra", None)
LABELS = (ZEBRA, DOG, CAT)
WIDTH, HEIGHT = 40, 30
TEXTS = ("a dog", 'two lines\nand a tab\t, "quotes" and a \\ backslash', "كلب \u2028 собака 🐕", "=cat" * 400)
PROMPTS = tuple(Prompt(f"p{n}", text) for n, text in enumerate(TEXTS))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def masks_of(prompt: Prompt, seed: int) -> list[tuple[ObjectClass, np.ndarray]]:
    """What is drawn for a prompt and seed: up to four things with ragged, torn masks that do not meet."""
    rng = np.random.default_rng([seed, *prompt.text.encode()])
    owner = rng.integers(0, 5, (HEIGHT // 5, WIDTH // 5)).repeat(5, 0).repeat(5, 1)
    owner[rng.random(owner.shape) < 0.3] = 0
    return [(LABELS[int(rng.integers(3))], owner == n) for n in range(1, 5) if (owner == n).any()]


def drawn(request: Any) -> Generated:
    rng = np.random.default_rng([request.seed, *request.prompt.text.encode()])
    pixels = rng.integers(1, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    instances = []
    for n, (cls, mask) in enumerate(masks_of(request.prompt, request.seed)):
        packed = PackedMask.pack(mask)
        instances.append(Instance(cls, "red" if n else None, packed.box, packed, {"hat": "no"} if n else {}))
    return Generated(pixels, truth=Truth((WIDTH, HEIGHT), tuple(instances), request.prompt.scene))


def draw_cat(request: Any) -> Generated:
    """One thing of the same synset as the declared cat, under another name."""
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[3:9, 4:20] = True
    packed = PackedMask.pack(mask)
    truth = Truth((WIDTH, HEIGHT), (Instance(ObjectClass("kitty", "cat.n.01"), None, packed.box, packed),))
    return Generated(np.ones((HEIGHT, WIDTH, 3), np.uint8), truth=truth)


def painter(
    answer: Any = drawn,
    labels: tuple[ObjectClass, ...] | None = LABELS,
    name: str = "painter",
    info: type[GeneratorInfo] = GeneratorInfo,
) -> GeneratorInfo:
    class Model:
        def generate(self, requests: Any) -> Iterator[Any]:
            for request in requests:
                yield request, answer(request)

    declared = None if labels is None else lambda argument, options: labels
    return info(name=name, summary="Paints.", create=lambda setup: Model(), labels=declared)


class Heard(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def generate(
    *models: Any,
    prompts: tuple[Prompt, ...] = PROMPTS,
    seeds: int = 3,
    heard: Heard | None = None,
    sinks: tuple[SinkInfo, ...] = (SINK,),
    **more: Any,
) -> Run:
    source = PromptSourceInfo(name="list", summary="A list.", prompts=lambda setup: prompts)
    asked = tuple(m if isinstance(m, ModelRequest) else ModelRequest(m) for m in models)
    request = Request(
        models=asked,
        prompts=("list",),
        seeds=tuple(range(seeds)),
        out=Path("run"),
        max_failed=1,
        sinks=sinks,
        **more,
    )
    return run_plan(make_plan(request, StaticResolver(source)), heard or Heard())


def annotations(place: str = "painter") -> dict[str, Any]:
    return json.loads(Path(f"run/annotations/{place}.json").read_text(encoding="ascii"))


class TestContract(SinkContract):
    module = "t2i_datasets.plugin"
    name = "coco-annotations"
    model = painter()


def test_annotations_are_the_truth_exactly() -> None:
    heard = Heard()
    run = generate(painter(), heard=heard)
    assert run.sink_failures == ()
    coco = COCO("run/annotations/painter.json")
    by_id = {p.id: p for p in PROMPTS}
    assert [f"images/painter/{image['file_name']}" for image in coco.loadImgs(coco.getImgIds())] == list(
        run.samples()["image"]
    )
    names = {c["id"]: c["name"] for c in coco.loadCats(coco.getCatIds())}
    ids = []
    for image in coco.loadImgs(coco.getImgIds()):
        assert (image["width"], image["height"]) == (WIDTH, HEIGHT)
        found = coco.loadAnns(coco.getAnnIds(imgIds=image["id"]))
        truth = masks_of(by_id[image["prompt"]], image["seed"])
        assert len(found) == len(truth)
        for n, (entry, (cls, mask)) in enumerate(zip(found, truth, strict=True)):
            ids.append(entry["id"])
            rle = entry["segmentation"]
            assert (coco.annToMask(entry) == mask).all()
            assert rle["counts"].encode() == coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"]
            assert entry["area"] == mask.sum() == coco_mask.area(rle)
            assert entry["bbox"] == list(coco_mask.toBbox(rle))
            assert names[entry["category_id"]] == cls.name
            assert entry["iscrowd"] == 0
            assert (entry["colour"], entry["attributes"]) == (("red", {"hat": "no"}) if n else (None, {}))
    assert ids == list(range(1, len(ids) + 1))
    assert heard.notes == [f"annotations of painter: annotations/painter.json ({len(ids)} objects in 12 images)"]
    assert annotations()["info"]["samples"] == hashlib.sha256(Path("run/samples.csv").read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["segm", "bbox"])
def test_the_truth_against_itself_has_an_average_precision_of_one(kind: str) -> None:
    generate(painter())
    truth = COCO("run/annotations/painter.json")
    keys = ("image_id", "category_id", "segmentation" if kind == "segm" else "bbox")
    own = [{**{k: e[k] for k in keys}, "score": 0.9} for e in annotations()["annotations"]]
    assert average_precision(truth, [dict(each) for each in own], kind) == 1.0  # loading adds to them
    # other classes are other things
    assert average_precision(truth, [{**each, "category_id": 1} for each in own], kind) < 0.5


def average_precision(truth: COCO, found: list[dict[str, Any]], kind: str) -> float:
    evaluation = COCOeval(truth, truth.loadRes(found), kind)
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return float(evaluation.stats[0])


def test_categories_keep_their_numbers_whatever_the_prompts() -> None:
    expected = [
        {"id": 1, "name": "zebra", "supercategory": "photographs", "synset": None},
        {"id": 2, "name": "dog", "supercategory": "photographs", "synset": "dog.n.01"},
        {"id": 3, "name": "cat", "supercategory": "photographs", "synset": "cat.n.01"},
    ]
    generate(painter())
    assert annotations()["categories"] == expected
    Path("run").rename("before")
    generate(painter(draw_cat), prompts=PROMPTS[:1], seeds=1, fresh=True)
    assert annotations()["categories"] == expected
    # the class is the one of the same synset, as everywhere
    assert [a["category_id"] for a in annotations()["annotations"]] == [3]


def test_a_class_that_was_not_declared_is_the_models_fault_and_does_not_harm_the_run() -> None:
    run = generate(painter(labels=(ZEBRA, DOG)))
    (failure,) = run.sink_failures
    assert "'painter' drew 'cat', which is not one of the classes that it declares (zebra, dog)" in failure.reason
    assert failure.exit_code == BrokenPlugin.exit_code
    assert load_run("run").status == "done"
    assert not list(Path("run").rglob("*.part"))
    assert not Path("run/annotations").exists()


def test_models_without_truth_or_without_classes_have_no_annotations_and_a_note() -> None:
    heard = Heard()
    generate(painter(lambda r: Generated(drawn(r).image)), heard=heard)
    assert not Path("run/annotations").exists()
    assert "the cache does not hold what painter drew in its 12 images" in heard.notes[-1]
    Path("run").rename("unreported")
    generate(painter(lambda r: Generated(drawn(r).image), labels=None), heard=heard, fresh=True)
    assert heard.notes[-1] == "painter does not report what it drew, so no annotations are written"
    Path("run").rename("before")
    generate(painter(labels=None), heard=heard, fresh=True)
    assert not Path("run/annotations").exists()
    assert "GeneratorInfo.labels" in heard.notes[-1]
    assert "no annotations are written" in heard.notes[-1]


def test_a_run_of_an_earlier_version_gets_a_note() -> None:
    run = generate(painter(), sinks=())
    data = json.loads(Path("run/run.json").read_text())
    assert data["models"]["painter"]["classes"][1] == {"name": "dog", "synset": "dog.n.01"}
    del data["models"]["painter"]["domain"], data["models"]["painter"]["classes"]
    Path("run/run.json").write_text(json.dumps(data))
    heard = Heard()
    coco_annotations.CocoAnnotations().write(load_run("run"), heard)
    assert "run.json was written by an earlier version of t2i" in heard.notes[-1]
    assert not Path("run/annotations").exists()
    generate(painter())  # the same command rewrites run.json
    assert len(annotations()["images"]) == len(run.samples())


def test_only_existing_images_are_annotated_and_keep_their_numbers() -> None:
    generate(painter())
    before = annotations()

    def faulty(request: Any) -> Any:
        if request.seed == 1:
            return Failure("blank")
        return Failure("no such file", missing=True) if request.prompt.id == "p2" else drawn(request)

    generate(painter(faulty), fresh=True)
    there = [(p.id, s) for p in PROMPTS for s in (0, 2) if p.id != "p2"]
    after = annotations()
    assert [(image["prompt"], image["seed"]) for image in after["images"]] == there
    assert [i for i in before["images"] if (i["prompt"], i["seed"]) in there] == after["images"]


def test_annotations_of_an_earlier_run_are_removed() -> None:
    heard = Heard()
    generate(painter())
    Path("run/annotations/notes.txt").write_text("mine")
    generate(painter(lambda r: Failure("no")), fresh=True, heard=heard)
    assert [p.name for p in Path("run/annotations").iterdir()] == ["notes.txt"]
    assert heard.notes[-1] == "painter has no images, so no annotations are written"


def test_a_failure_leaves_no_annotations_of_earlier_images() -> None:
    generate(painter(draw_cat))
    assert annotations()["annotations"]

    def draw_horse(request: Any) -> Generated:
        (cat,) = draw_cat(request).truth.instances
        horse = replace(cat, cls=ObjectClass("horse", "horse.n.01"))
        return Generated(np.full((HEIGHT, WIDTH, 3), 9, np.uint8), truth=Truth((WIDTH, HEIGHT), (horse,)))

    again = generate(painter(draw_horse), fresh=True)
    assert "drew 'horse'" in again.sink_failures[0].reason
    assert not Path("run/annotations").exists()


def test_images_without_a_truth_are_left_out_and_counted() -> None:
    heard = Heard()
    generate(painter(lambda r: drawn(r) if r.seed else Generated(drawn(r).image)), heard=heard)
    assert {image["seed"] for image in annotations()["images"]} == {1, 2}
    assert "in 8 images; 4 of 12 images have no ground truth and are left out)" in heard.notes[-1]


def test_each_model_has_its_own() -> None:
    plain = painter(lambda r: Generated(drawn(r).image // 2 + 1), name="plain")
    other = ModelRequest(plain, "a painter / another")
    generate(ModelRequest(painter(), "first"), other, ModelRequest(painter(), "a painter ? another"))
    assert {p.name for p in Path("run/annotations").iterdir()} == {"first.json", "a-painter-another-2.json"}
    first, second = annotations("first"), annotations("a-painter-another-2")
    assert first["images"] == second["images"]
    assert first["info"]["description"] == "What is really drawn in the images of first"


def test_images_that_existed_already_are_not_annotated(tmp_path: Path) -> None:
    """Not even if the cache knows the truth of an equal image that a model has drawn."""
    run = generate(painter())
    (kept,) = tmp_path.glob(f"cache/images/*/{run.samples()['digest'][0]}.png")
    file = shutil.copy(kept, tmp_path / "copy.png")
    Path("run").rename("before")
    heard = Heard()
    generate(painter(lambda r: Generated(file), name="files", info=ExistingImagesInfo), heard=heard)
    assert not Path("run/annotations").exists()
    assert "files: its images existed already, and what they show is not known" in heard.notes[-1]


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    generate(painter(), sinks=())
    (tmp_path / "elsewhere").mkdir()
    Path("run/annotations").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadFolder, match="is a link"):
        coco_annotations.CocoAnnotations().write(load_run("run"), Silent())
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_damaged_truth_is_an_error_and_the_same_command_heals_it(cache: Path) -> None:
    generate(painter())
    before = Path("run/annotations/painter.json").read_bytes()
    alter_truth(cache)
    with pytest.raises(BadFolder, match=r"kept truth of image .* was altered; run the command again to fix it"):
        coco_annotations.CocoAnnotations().write(load_run("run"), Silent())
    assert not Path("run/annotations").exists()
    again = generate(painter())
    assert (again.made.images, again.sink_failures) == (1, ())
    assert Path("run/annotations/painter.json").read_bytes() == before


def alter_truth(cache: Path) -> None:
    """Alter one of the kept truths."""
    db = sqlite3.connect(cache / DATABASE, isolation_level=None)
    one = "select value from truths limit 1"
    assert (
        db.execute(f"update truths set value = cast(value || x'00' as blob) where value = ({one})").rowcount == 1
    )
    db.close()
