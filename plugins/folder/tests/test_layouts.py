"""Layouts beside plain tables: GenEval's folders, runs of `t2i generate`, formats, and what does not fit."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_core import evaluate
from t2i_core.api import Failure, Generated, ObjectClass, Prompt, Relation, Scene, SceneObject, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.generator import ImageRequest
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.files.digest import digest_file
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver
from t2i_folder.options import FolderOptions
from t2i_folder.plugin import t2i_generators
from t2i_folder.table import Table, read_table
from t2i_torch_support.coco_classes import CLASSES

(INFO,) = t2i_generators()


def draw(path: Path, shade: int = 0, **how) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PILImage.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(path, **how)


def table(path: Path, **options) -> Table:
    return read_table(path, FolderOptions(**options))


def answer(model, prompt: Prompt, seed: int) -> Generated | Failure:
    ((_, given),) = model.generate(iter([ImageRequest(prompt, seed, seed)]))
    return given


def model_of(path: Path, **options):
    return INFO.create(Setup(str(path), FolderOptions(**options)))


# GenEval ----------------------------------------------------------------------------------------------------


def geneval(folder: Path, *prompts: dict, samples: int = 2) -> Path:
    for number, data in enumerate(prompts):
        own = folder / f"{number:05}"
        for sample in range(samples):
            draw(own / "samples" / f"{sample:04}.png", 50 * number % 256 + sample)
        draw(own / "grid.png")
        (own / "metadata.jsonl").write_text(json.dumps(data))
    return folder


DOG = {
    "tag": "position",
    "include": [{"class": "bear", "count": 1}, {"class": "dog", "count": 1, "position": ["right of", 0]}],
    "prompt": "a photo of a dog right of a bear",
}
CLOCKS = {
    "tag": "counting",
    "include": [{"class": "clock", "count": 2, "color": "red"}],
    "exclude": [{"class": "clock", "count": 3}],
    "prompt": "a photo of two red clocks",
}


def test_geneval_gives_prompts_seeds_and_what_must_be_there(tmp_path):
    found = table(geneval(tmp_path, DOG, CLOCKS))
    bear, dog, clock = (ObjectClass(name, f"{name}.n.01") for name in ("bear", "dog", "clock"))
    assert found.layout == "geneval"
    assert found.prompts() == (
        Prompt(
            "00000", DOG["prompt"], Scene((SceneObject(bear), SceneObject(dog)), (Relation(1, "right", 0),)),
            {"tag": "position"},
        ),
        Prompt("00001", CLOCKS["prompt"], Scene((SceneObject(clock, "red", 2),)), {"tag": "counting"}),
    )  # fmt: skip
    assert found.seeds == [0, 1]
    assert found.find(Prompt("x", CLOCKS["prompt"]), 1) == tmp_path / "00001" / "samples" / "0001.png"


# evaluation/object_names.txt of djghosh13/geneval
NAMES = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop
sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack,
umbrella, handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball
glove, skateboard, surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana,
apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed,
dining table, toilet, tv, laptop, computer mouse, tv remote, computer keyboard, cell phone, microwave,
oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear, hair drier, toothbrush
"""


def test_the_numbers_of_genevals_samples_are_seeds_that_prompts_share(tmp_path):
    assert table(geneval(tmp_path, DOG, CLOCKS)).unshared_seeds is None


def test_every_class_of_geneval_is_one_that_judges_of_coco_know(tmp_path):
    names = " ".join(NAMES.split()).split(", ")
    made = [{"prompt": f"a photo of a {name}", "include": [{"class": name, "count": 1}]} for name in names]
    found = [prompt.scene.objects[0].cls for prompt in table(geneval(tmp_path, *made, samples=1)).prompts()]
    assert [c.name for c in found] == names  # as prompts and texts for CLIP have them
    assert [c.synset for c in found] == [c.synset for c in CLASSES.values()]  # the same eighty, in the same order
    assert [c.name for c, name in zip(CLASSES.values(), names, strict=True) if c.name != name] == [
        "mouse", "remote", "keyboard",
    ]  # fmt: skip
    assert len({c.synset for c in found}) == 80


def test_a_class_that_coco_does_not_have_is_a_name_alone(tmp_path):
    (prompt,) = table(geneval(tmp_path, {"prompt": "a fox", "include": [{"class": "fox"}]})).prompts()
    assert prompt.scene.classes == (ObjectClass("fox"),)


def test_a_geneval_prompt_without_samples_is_missing_and_not_forgotten(tmp_path):
    geneval(tmp_path, DOG)
    geneval(tmp_path / "more", DOG, CLOCKS, samples=0)
    (tmp_path / "more" / "00001").rename(tmp_path / "00001")
    found = table(tmp_path)
    assert [p.id for p in found.prompts()] == ["00000", "00001"]
    assert answer(model_of(tmp_path), found.prompts()[1], 0).missing


def test_geneval_prompts_of_one_text_are_told_apart_by_their_folders(tmp_path):
    found = table(geneval(tmp_path, {"prompt": "a cat"}, {"prompt": "a cat"}))
    one, two = found.prompts()
    assert found.find(one, 0) == tmp_path / "00000" / "samples" / "0000.png"
    assert found.find(two, 0) == tmp_path / "00001" / "samples" / "0000.png"
    given = answer(model_of(tmp_path), Prompt("cat", "a cat"), 0)
    assert given.missing
    assert "several images of this text under seed 0" in given.reason


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "must be one JSON object with a field 'prompt'"),
        ("[1]", "must be one JSON object with a field 'prompt'"),
        ('{"tag": "x"}', "must be one JSON object with a field 'prompt'"),
        *(
            (json.dumps({"prompt": "x", "include": include}), f"include: not as GenEval writes it: {said}")
            for include, said in (
                ([{"count": 1}], "object 0: class must be a name (got None)"),
                (
                    [{"class": "dog"}, {"class": "a", "position": ["near", 0]}],
                    "object 1: position must be one of left of,",
                ),
                (
                    [{"class": "a", "position": ["above", 5]}],
                    "object 0: position must be one of left of, right of,",
                ),
                ([{"class": "a", "position": ["above"]}], "object 0: position must be one of"),
                ([{"class": "a", "position": "above"}], "object 0: position must be one of"),
                ("a", "must be a list of objects"),
                (["a"], "must be a list of objects"),
                ([{"class": "a", "color": 3}], "object 0: color must be a word (got 3)"),
                ([{"class": "a", "count": 0}], "object 0: count must be a whole number above 0 (got 0)"),
            )
        ),
    ],
)
def test_bad_metadata_of_geneval_is_told_in_one_line(tmp_path, content, said):
    geneval(tmp_path, DOG)
    (tmp_path / "00000" / "metadata.jsonl").write_text(content)
    with pytest.raises(BadModel) as caught:
        table(tmp_path)
    assert said in str(caught.value)
    assert "Error" not in str(caught.value)
    assert str(tmp_path / "00000" / "metadata.jsonl") in str(caught.value)


def test_samples_of_geneval_need_numbers_for_names(tmp_path):
    draw(geneval(tmp_path, DOG) / "00000" / "samples" / "best.png")
    with pytest.raises(BadModel, match=r"best\.png: the name must be a number"):
        table(tmp_path)


def test_metadata_of_geneval_that_is_not_utf_8_is_told_like_any_other_file(tmp_path):
    (geneval(tmp_path, DOG) / "00000" / "metadata.jsonl").write_bytes('{"prompt": "\xfc"}'.encode("latin-1"))
    with pytest.raises(BadModel, match=r"metadata\.jsonl, line 1: not UTF-8 \(byte 0xfc\)$"):
        table(tmp_path)


def test_folders_of_geneval_that_lack_a_half_are_said(tmp_path, caplog):
    geneval(tmp_path, DOG, DOG)
    (tmp_path / "00001" / "metadata.jsonl").unlink()
    assert model_of(tmp_path).settings["unlisted"] == 2
    assert f"{tmp_path}: does not list 2 images" in caplog.text
    assert f"(first: {tmp_path / '00001' / 'samples' / '0000.png'})" in caplog.text
    with pytest.raises(BadModel, match=r"its numbered folders hold no samples \(00000/samples/0000\.png\)"):
        table(geneval(tmp_path / "none", DOG, samples=0))


# runs of t2i generate ---------------------------------------------------------------------------------------


_OF_THE_MODEL = ("model", "settings", "domain", "judge", "judges")
"""What results say of the model, and of why the judge was chosen for its domain."""


def there_and_back(folder: Path, metric, model: str, resolver=None, judges=(), options=None, **common) -> None:
    """Evaluate a model, and the folder that `t2i generate` makes of it: the same to the last digit."""
    drawn = (ModelRequest(model, "x"),)
    options = options or {}
    prompts = make_plan(Request((), drawn, options=options, **common), resolver).images[0].prompts
    run_plan(make_plan(Request((), drawn, options=options, out=folder / "D", **common), resolver))
    own = table(folder / "D")
    assert own.prompts() == prompts
    assert own.seeds == list(common["seeds"])
    existing = (ModelRequest(f"folder:{folder / 'D'}", "x"),)
    tables = []
    for out, models, given in (("s", drawn, options), ("f", existing, {})):
        request = Request((metric,), models, judges=judges, options=given, out=folder / out, **common)
        run = run_plan(make_plan(request, resolver))
        (score,) = run.results
        assert score.n_ok == len(prompts) * len(own.seeds)
        tables.append(
            (
                run.measurements().to_csv(),
                {k: v for k, v in score.model_dump(by_alias=True).items() if k not in _OF_THE_MODEL},
            )
        )
    assert tables[0] == tables[1]


@pytest.mark.parametrize("noise", ["shared", "per-prompt"])
def test_a_run_of_generate_is_read_back_whole(tmp_path, monkeypatch, mean_reward, noise):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(INFO, TEST_MODEL, TEST_JUDGE, TEST_PROMPTS)
    there_and_back(
        tmp_path, mean_reward, TEST_MODEL.name, resolver, prompts=(TEST_PROMPTS.name,), seeds=(0, 3), noise=noise
    )


def test_images_of_noise_per_prompt_share_no_seeds_when_they_are_read_back(tmp_path, monkeypatch, mean_reward):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(INFO, TEST_MODEL, TEST_JUDGE, TEST_PROMPTS)

    def run(model: str, out: str, metrics=(mean_reward,), **how):
        common = {"prompts": (TEST_PROMPTS.name,), "seeds": (0, 1, 2)}
        request = Request(metrics, (ModelRequest(model, "x"),), out=tmp_path / out, **common, **how)
        return run_plan(make_plan(request, resolver))

    run(TEST_MODEL.name, "D", (), noise="per-prompt")
    (drawn,) = run(TEST_MODEL.name, "drawn", noise="per-prompt").results
    (read,) = run(f"folder:{tmp_path / 'D'}", "read").results
    assert (read.score, read.ci, read.interval) == (drawn.score, drawn.ci, drawn.interval)
    note = "x: 6 of 6 images have a noise_seed that is not their seed, so seeds are not crossed with prompts"
    assert set(read.notes) - set(drawn.notes) == {note}


@pytest.mark.slow
def test_tiam_of_the_simulators_folder_is_tiam_of_the_simulator(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    there_and_back(
        tmp_path, "tiam", "simulator", judges=("mini-segmenter",), prompts=("tiam-5-2",), limit=4, seeds=(0, 1),
        options={"simulator": {"drop": 0.5, "spp": 4}},
    )  # fmt: skip


def test_prompts_of_one_text_that_expect_different_things_come_back(tmp_path, monkeypatch):
    """As `t2i generate` writes them: the same text and seed stand twice, under different ids."""
    lines = [
        {
            "file_name": f"{n}.png", "text": "a car", "prompt": f"car-{n}", "seed": 0, "noise_seed": 0,
            "facets": json.dumps({"number": n}), "scene": "null",
        }
        for n in (1, 2)
    ]  # fmt: skip
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = table(tmp_path)
    assert found.prompts() == (
        Prompt("car-1", "a car", facets={"number": 1}),
        Prompt("car-2", "a car", facets={"number": 2}),
    )
    assert [found.find(p, 0).name for p in found.prompts()] == ["1.png", "2.png"]


def test_a_run_of_several_models_asks_which_and_one_of_eval_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(TEST_MODEL, TEST_JUDGE, TEST_PROMPTS)
    models = tuple(ModelRequest(TEST_MODEL.name, label) for label in ("a", "b"))
    run_plan(make_plan(Request((), models, prompts=(TEST_PROMPTS.name,), out=tmp_path / "two"), resolver))
    with pytest.raises(BadModel, match=r"images of 2 models; name folder:.*images/a or folder:.*images/b"):
        table(tmp_path / "two")
    assert table(tmp_path / "two" / "images" / "a").own
    (tmp_path / "evaluated").mkdir()
    (tmp_path / "evaluated" / "run.json").write_text("{}")
    with pytest.raises(BadModel, match="`t2i generate` with the same model, prompts and seeds writes one"):
        table(tmp_path / "evaluated")


def test_the_option_says_the_layout_where_several_are_there(tmp_path):
    draw(geneval(tmp_path, DOG) / "a.png")
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,a car\n")
    assert table(tmp_path).layout == "table"
    assert table(tmp_path, layout="geneval").prompts()[0].text == DOG["prompt"]
    with pytest.raises(BadModel, match=r"holds no \*\.parquet, nor in data/, which layout=parquet needs"):
        table(tmp_path, layout="parquet")
    with pytest.raises(BadModel, match=r"holds no t\.csv, which table=t\.csv needs"):
        table(tmp_path, table="t.csv")


def test_ambiguous_folders_are_reported_unless_the_user_decides(tmp_path, caplog):
    draw(geneval(tmp_path, DOG) / "a.png")
    for name, content in (
        ("prompts.csv", "file,prompt\na.png,a car\n"),
        ("metadata.jsonl", '{"file_name": "a.png", "text": "a dog"}\n'),
        ("run.json", "{}"),
        ("images/mini/metadata.jsonl", ""),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    for options in ({"table": "metadata.jsonl"}, {"layout": "geneval"}, {"pattern": "{id}.png"}):
        model_of(tmp_path, **options)
    assert "passed over" not in caplog.text
    model_of(tmp_path)
    others = "metadata.jsonl, 00000/metadata.jsonl, images/mini/metadata.jsonl"
    assert f"{tmp_path / 'prompts.csv'}: t2i reads this and ignores {others}" in caplog.text


# formats ----------------------------------------------------------------------------------------------------


def test_three_formats_are_read_by_their_content_and_others_refused(tmp_path, caplog):
    draw(tmp_path / "a.png")
    draw(tmp_path / "b.jpg")
    draw(tmp_path / "c.webp")
    draw(tmp_path / "d.png", format="GIF")
    draw(tmp_path / "e.png", format="JPEG")
    (tmp_path / "f.png").write_bytes(b"")
    rows = "".join(f"{name},{name}\n" for name in ("a.png", "b.jpg", "c.webp", "d.png", "e.png", "f.png"))
    (tmp_path / "prompts.csv").write_text(f"file,prompt\n{rows}")
    model = model_of(tmp_path)
    given = [answer(model, Prompt(p.id, p.text), 0) for p in model.table.prompts()]
    assert [g.image.name for g in given if isinstance(g, Generated)] == ["a.png", "b.jpg", "c.webp", "e.png"]
    assert given[3].reason.endswith("d.png: is GIF, which is not read; must be one of PNG, JPEG, WebP")
    assert given[5].reason.endswith("f.png: is empty; must be one of PNG, JPEG, WebP")
    assert not given[3].missing
    assert model.settings["formats"] == {"JPEG": 2, "PNG": 1, "WebP": 1}
    model.close()
    assert "have several formats: JPEG (2), PNG (1), WebP (1)" in caplog.text


def test_the_digest_is_of_the_files_own_bytes(tmp_path, monkeypatch, mean_reward):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    images = tmp_path / "images"
    draw(images / "a.webp", 90)
    (images / "metadata.jsonl").write_text('{"file_name": "a.webp", "text": "a car"}')
    resolver = StaticResolver(INFO, TEST_JUDGE)
    run = evaluate(mean_reward, f"folder:{images}", out=tmp_path / "run", resolver=resolver)
    assert list(run.samples()["digest"]) == [digest_file(images / "a.webp")]


# what does not fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../x.png", "leads out of the folder"),
        ("a/../../x.png", "leads out of the folder"),
        ("..\\\\x.png", "leads out of the folder"),
        ("/etc/x.png", "is absolute; use a path relative to the table"),
        ("C:\\\\x.png", "is absolute"),
        ("x.gif", "must end in one of .png, .jpg, .jpeg, .webp; convert it"),
        ("x\\u0000.png", "NUL character"),
    ],
)
def test_names_that_no_image_of_the_folder_can_have(tmp_path, name, said):
    (tmp_path / "metadata.jsonl").write_text(
        f'{{"file_name": "a.png", "text": "a"}}\n{{"file_name": "{name}", "text": "b"}}'
    )
    with pytest.raises(BadModel) as caught:
        table(tmp_path)
    assert said in str(caught.value)
    assert "metadata.jsonl, line 2: file: " in str(caught.value)


def test_images_that_the_table_does_not_list_are_said(tmp_path, caplog):
    for name in ("a.png", "b.png", "sub/c.png", "elsewhere/d.png"):
        draw(tmp_path / name)
    (tmp_path / "prompts.csv").write_text("file,prompt\na.png,a\nsub/c.png,c\n")
    model = model_of(tmp_path)
    assert model.settings["unlisted"] == 1
    assert "does not list 1 images next to its own" in caplog.text
    assert str(tmp_path / "b.png") in caplog.text


def test_prompts_that_only_one_side_knows_are_said_once(tmp_path, caplog):
    draw(tmp_path / "a.png")
    (tmp_path / "prompts.csv").write_text("file,prompt,seed\na.png,a photo of the car,0\na.png,a dog,0\n")
    model = model_of(tmp_path)
    for prompt, seed in (("a photo of a car", 0), ("a photo of a car", 1), ("a dog", 0), ("a dog", 5)):
        answer(model, Prompt("p", prompt), seed)
    with caplog.at_level(logging.WARNING):
        model.close()
    (line,) = [r.message for r in caplog.records]
    assert "has no image of 1 requested prompts (first: 'a photo of a car')" in line
    assert "and 1 of its prompts were not requested (first: 'a photo of the car')" in line


def test_a_changed_table_is_read_again(tmp_path):
    for content in ("file,prompt\na.png,a car\n", "file,prompt\na.png,a large dog\n"):
        (tmp_path / "prompts.csv").write_text(content)
        assert table(tmp_path).prompts()[0].text == content.split(",")[-1].strip()
