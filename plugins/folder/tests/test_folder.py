import json
import os
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image as PILImage
from pydantic import ValidationError
from t2i_core.api import Failure, ObjectClass, Prompt, Scene, SceneObject, Setup
from t2i_core.api.errors import BadModel, BadPrompts
from t2i_core.api.generator import ImageRequest
from t2i_core.engine.component import settle_component
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import TEST_JUDGE, TEST_PROMPTS, GeneratorContract, StaticResolver
from t2i_folder.options import FolderOptions
from t2i_folder.plugin import t2i_generators
from t2i_folder.table import Table, read_table

(INFO,) = t2i_generators()


def draw(path: Path, shade: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PILImage.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(path)


def folder(tmp_path: Path, table: str, name: str = "prompts.csv", images: tuple[str, ...] = ()) -> Path:
    (tmp_path / name).write_text(table)
    for shade, image in enumerate(images):
        draw(tmp_path / image, shade)
    return tmp_path


def table(path: Path, **options: str) -> Table:
    return read_table(path, FolderOptions(**options))


def answers(path: Path, prompt: Prompt, *seeds: int, **options: str):
    model = INFO.create(Setup(str(path), FolderOptions(**options)))
    asked = [ImageRequest(prompt, seed, seed) for seed in seeds]
    given = list(model.generate(iter(asked)))
    assert [request for request, _ in given] == asked
    return [answer for _, answer in given]


def test_a_csv_table_gives_prompts_seeds_and_images(tmp_path):
    path = folder(
        tmp_path, "file,prompt,seed\na.png,a car,3\nsub/b.png,a car,1\nc.png,a dog,1\n", images=("a.png",)
    )
    found = table(path)
    assert found.prompts() == (Prompt("a-car", "a car"), Prompt("a-dog", "a dog"))
    assert found.seeds == [1, 3]
    assert found.find(Prompt("x", "a car"), 1) == tmp_path / "sub" / "b.png"
    there, gone, never = answers(path, Prompt("x", "a car"), 3, 1, 2)
    assert there.image == tmp_path / "a.png"
    assert gone.missing
    assert "sub/b.png: named by prompts.csv, but missing" in gone.reason
    assert isinstance(never, Failure)
    assert never.missing
    holds = INFO.holds(Setup(str(path), FolderOptions()))
    assert [holds(Prompt("x", "a car"), seed) for seed in (3, 1, 2)] == [True, False, False]


def test_json_lines_as_image_folders_have_them(tmp_path):
    scene = Scene((SceneObject(ObjectClass("car", "car.n.01")),))
    lines = [
        {"file_name": "a.webp", "text": "a car", "id": "car", "scene": scene.to_json()},
        {"file_name": "b.jpg", "text": "a dog", "style": "photo"},
    ]
    path = folder(tmp_path, "\n".join(map(json.dumps, lines)), "metadata.jsonl", ("a.webp", "b.jpg"))
    assert table(path).prompts() == (
        Prompt("car", "a car", scene),
        Prompt("a-dog", "a dog", facets={"style": "photo"}),
    )
    assert [a.image.name for a in answers(path, Prompt("car", "a car"), 0)] == ["a.webp"]


def test_seeds_that_are_not_given_are_counted_per_prompt_around_those_that_are(tmp_path):
    path = folder(tmp_path, "image,text,seed\na,x,\nb,x,1\nc,x,\nd,y,\n")
    found = table(path)
    assert [found.find(Prompt("", "x"), s).name for s in range(3)] == ["a", "b", "c"]
    assert found.find(Prompt("", "y"), 0).name == "d"


def test_ids_alone_serve_prompts_from_elsewhere(tmp_path):
    path = folder(tmp_path, "file,id\na.png,car\nb.png,car\n", images=("a.png", "b.png"))
    assert answers(path, Prompt("car", "a photo of a car"), 1)[0].image.name == "b.png"
    with pytest.raises(BadPrompts, match=r"prompts\.csv: has ids of prompts but no texts"):
        table(path).prompts()


def test_an_image_of_another_text_is_not_taken_for_a_prompt_of_its_id(tmp_path):
    path = folder(tmp_path, "file,id,prompt\na.png,car,a drawing of a car\n", images=("a.png",))
    assert answers(path, Prompt("car", "a photo of a car"), 0)[0].missing


def test_images_of_one_text_under_several_ids_are_shared(tmp_path):
    path = folder(tmp_path, "file,id,prompt\na.png,one,a car\nb.png,two,a car\n")
    assert [p.id for p in table(path).prompts()] == ["one", "two"]
    assert [table(path).find(Prompt("two", "a car"), s).name for s in (0, 1)] == ["a.png", "b.png"]


def test_the_option_names_the_table(tmp_path):
    folder(tmp_path, "file,prompt\na.png,a car\n")
    folder(tmp_path, "file,prompt\na.png,a dog\n", "other.csv")
    assert table(tmp_path).prompts()[0].text == "a car"
    assert table(tmp_path, table="other.csv").prompts()[0].text == "a dog"


def test_a_pattern_reads_the_files_names(tmp_path):
    for name in ("car+dog/0007.png", "car+dog/1.png", "cat/7.jpg", "cat/7.txt", "7.png"):
        draw(tmp_path / name) if name[-3:] != "txt" else (tmp_path / name).write_text("")
    found = table(tmp_path, pattern="{id}/{seed}.*")
    assert found.seeds == [1, 7]
    assert found.find(Prompt("car+dog", "a car and a dog"), 7) == tmp_path / "car+dog" / "0007.png"
    assert found.find(Prompt("cat", "a cat"), 7) == tmp_path / "cat" / "7.jpg"


def test_a_pattern_finds_real_images_by_the_number_of_their_coco_image(tmp_path):
    for number in (391895, 60623, 42):
        draw(tmp_path / f"COCO_val2014_{number:012d}.png")
    found = table(tmp_path, pattern="COCO_val2014_{image}.png")
    prompts = {
        391895: (
            Prompt("coco-770337", "A man.", cluster="coco-image-391895"),
            Prompt("coco-771687", "A moped.", cluster="coco-image-391895"),
            Prompt("391895_mscoco_3", "A road."),
        ),
        60623: (Prompt("COCO_val2014_000000060623", "A girl."),),
    }
    for number, own in prompts.items():
        assert {found.find(prompt, 0) for prompt in own} == {tmp_path / f"COCO_val2014_{number:012d}.png"}
    # numbers of other things are not those of images
    for other in (Prompt("42", "A cat."), Prompt("coco-42", "A cat."), Prompt("a", "b", cluster="image-42")):
        assert found.find(other, 0) is None
    with pytest.raises(BadPrompts, match=r"has numbers of COCO's images but no texts; name the prompts"):
        found.prompts()


def test_a_pattern_with_texts_brings_prompts(tmp_path):
    draw(tmp_path / "a photo of a car.png")
    found = table(tmp_path, pattern="{text}.png")
    assert found.prompts() == (Prompt("a-photo-of-a-car", "a photo of a car"),)
    assert found.find(found.prompts()[0], 0) is not None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("file,prompt\n,a car\n", "line 2: file: is missing"),
        ("prompt\na car\n", "no column 'file' or 'file_name' or 'image' (columns: prompt)"),
        ("file,prompt,id\na.png,a car,\nb.png,,\n", "line 3: prompt: is missing; give a prompt or an id"),
        ("file,prompt,seed\na.png,a car,-1\n", "line 2: seed: must be a whole number of at least 0 (got '-1')"),
        ("file,prompt,seed\na.png,a car,x\n", "line 2: seed: must be a whole number"),
        ("file,prompt,seed\na,a car,0\nb,a car,0\n", "line 3: seed: "),
        ("file,prompt\n", "prompts.csv names no image"),
    ],
)
def test_a_bad_table_is_told_in_one_line(tmp_path, content, message):
    with pytest.raises(BadModel) as caught:
        table(folder(tmp_path, content))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_malformed_prompts_are_told(tmp_path):
    with pytest.raises(BadPrompts, match=r"prompts\.csv, line 2: scene: not JSON"):
        table(folder(tmp_path, "file,prompt,scene\na.png,a car,{\n"))


def test_missing_folders_and_tables_are_reported(tmp_path):
    with pytest.raises(BadModel, match="gone: no such folder"):
        table(tmp_path / "gone")
    with pytest.raises(
        BadModel,
        match=r"holds no table of prompts \(prompts\.csv, .*, no 00000/metadata.jsonl, .* and no pattern is set",
    ):
        table(tmp_path)
    with pytest.raises(BadModel, match=r"holds no x\.csv, which table=x\.csv needs"):
        table(tmp_path, table="x.csv")
    with pytest.raises(BadModel, match="names no image"):
        table(tmp_path, pattern="{id}.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadModel, match="file: not a folder"):
        table(tmp_path / "file", pattern="{id}.png")


@pytest.mark.parametrize(
    "options",
    [
        {"pattern": "{seed}.png"},
        {"pattern": "{id}/{id}.png"},
        {"pattern": "{id}/{name}.png"},
        {"pattern": "{id}.png", "table": "prompts.csv"},
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ValidationError):
        FolderOptions(**options)


def test_another_table_is_another_model(tmp_path):
    def fingerprint() -> str:
        return settle_component(INFO, argument=str(tmp_path)).fingerprint

    folder(tmp_path, "file,prompt\na.png,a car\n")
    before = fingerprint()
    assert fingerprint() == before
    folder(tmp_path, "file,prompt\na.png,a dog\n")
    assert fingerprint() != before


def test_seeds_are_shared_only_if_every_image_names_its_own(tmp_path):
    def unshared(content: str, name: str = "prompts.csv") -> str | None:
        folder(tmp_path, content, name)
        return INFO.unshared_seeds(Setup(str(tmp_path), FolderOptions(table=name)))

    assert unshared("file,prompt,seed\na,x,0\nb,x,1\nc,y,0\n") is None
    assert unshared("file,prompt,seed\na,x,0\nb,x,1\nc,y,\n") == "1 of 3 images name no seed"
    assert unshared("file,prompt\na,x\nb,x\n") == "2 of 2 images name no seed"
    lines = [
        {"file_name": n, "text": n, "prompt": n, "seed": 0, "noise_seed": noise, "facets": "{}", "scene": "null"}
        for n, noise in (("a", 0), ("b", 2**62 + 1))
    ]
    assert unshared(json.dumps(lines[0]), "metadata.jsonl") is None
    said = unshared("\n".join(map(json.dumps, lines)), "metadata.jsonl")
    assert said == "1 of 2 images have a noise_seed that is not their seed"


def test_a_pattern_names_seeds_or_does_not(tmp_path):
    for name in ("car/0.png", "car/1.png", "dog/0.png"):
        draw(tmp_path / name)
    assert table(tmp_path, pattern="{id}/{seed}.png").unshared_seeds is None
    assert table(tmp_path, pattern="{id}/*.png").unshared_seeds == "3 of 3 images name no seed"


def test_images_without_seeds_are_compared_as_with_noise_per_prompt(tmp_path, monkeypatch, mean_reward):
    """Seeds that the folder numbers itself have nothing in common between prompts, so they are not resampled."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    rng = np.random.default_rng(3)
    for name in ("a", "b"):
        rows = []
        for prompt in range(20):
            for image in range(2):
                file = f"{prompt}-{image}.png"
                # the second image of each prompt is brighter in one folder and darker in the other
                draw(
                    tmp_path / name / file,
                    int(rng.integers(60, 120)) + (40 if (name == "a") == (image == 1) else 0),
                )
                rows.append((file, f"prompt {prompt}", image))
        for kind, columns in (("unnamed", 2), ("named", 3)):
            lines = [("file", "prompt", "seed"), *rows]
            text = "".join(",".join(map(str, line[:columns])) + "\n" for line in lines)
            (tmp_path / name / f"{kind}.csv").write_text(text)

    def compare(kind: str, noise: str):
        request = Request(
            metrics=(mean_reward,),
            models=tuple(ModelRequest(f"folder:{tmp_path / name}", name) for name in ("a", "b")),
            options={"folder": {"table": f"{kind}.csv"}},
            noise=noise,
            out=tmp_path / f"{kind}-{noise}",
        )
        return run_plan(make_plan(request, StaticResolver(INFO, TEST_JUDGE)))

    unnamed, per_prompt = compare("unnamed", "shared"), compare("unnamed", "per-prompt")
    assert unnamed.comparisons == per_prompt.comparisons
    assert [(r.score, r.ci, r.interval) for r in unnamed.results] == [
        (r.score, r.ci, r.interval) for r in per_prompt.results
    ]
    assert [r.notes for r in unnamed.results] == [
        [f"{name}: 40 of 40 images name no seed, so seeds are not crossed with prompts"] for name in ("a", "b")
    ]
    assert [r.notes for r in per_prompt.results] == [[], []]
    assert "prompts x seeds" not in unnamed.comparisons[0].interval
    named = compare("named", "shared").comparisons[0]
    assert named.diff == unnamed.comparisons[0].diff
    assert named.ci[1] - named.ci[0] > 5 * (unnamed.comparisons[0].ci[1] - unnamed.comparisons[0].ci[0])


class TestFolder(GeneratorContract):
    module = "t2i_folder.plugin"
    name = "folder"
    options: ClassVar = {"table": "prompts.csv"}

    @pytest.fixture(autouse=True)
    def images(self, tmp_path, monkeypatch):
        images = tuple(f"{i}.png" for i in range(4))
        rows = "".join(f"{name},a {'car' if i < 2 else 'dog'}\n" for i, name in enumerate(images))
        folder(tmp_path, f"file,prompt\n{rows}", images=images)
        monkeypatch.setattr(type(self), "argument", str(tmp_path))


def evaluate(tmp_path: Path, images: Path, metric, prompts: tuple[str, ...]):
    request = Request(
        metrics=(metric,),
        models=(ModelRequest(f"folder:{images}"),),
        prompts=prompts,
        max_failed=1.0,
        out=tmp_path / "run",
    )
    return run_plan(make_plan(request, StaticResolver(INFO, TEST_JUDGE, TEST_PROMPTS)))


def test_corrupt_images_fail_and_absent_ones_are_missing(tmp_path, monkeypatch, mean_reward):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    rows = "".join(f"{c}{s}.png,a photo of a {c},{s}\n" for c in ("car", "dog") for s in (0, 1, 2))
    images = tmp_path / "images"
    images.mkdir()
    folder(
        images, f"file,prompt,seed\n{rows}", images=("car0.png", "car1.png", "car2.png", "dog0.png", "dog1.png")
    )
    (images / "car1.png").write_bytes(b"no image")
    os.truncate(images / "dog1.png", 40)
    for prompts in ((), (TEST_PROMPTS.name,)):
        (result,) = evaluate(tmp_path / f"with{len(prompts)}", images, mean_reward, prompts).results
        assert (result.n_ok, result.n_failed, result.n_missing) == (3, 2, 1)
