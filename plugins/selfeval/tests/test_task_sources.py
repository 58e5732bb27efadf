"""Task sources: folders in the official layouts, by hand; what is right is right, and what is wrong is told."""

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PILImage
from t2i_core.api import Setup
from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.errors import BadPrompts, MissingDependency
from t2i_core.testing import PromptSourceContract
from t2i_selfeval.samples import find_fault
from t2i_selfeval.task_sources import t2i_prompt_sources
from t2i_selfeval.tasks import order
from t2i_selfeval.tasks.clevr import COLOURS, SHAPES

INFOS = {info.name: info for info in t2i_prompt_sources()}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def read(name, argument, **options):
    info = INFOS[name]
    prompts = list(info.prompts(Setup(str(argument), info.options(**options))))
    images = 2 if name == "winoground-pairs" else 1
    assert [find_fault(prompt, images) for prompt in prompts] == [None] * len(prompts)
    return prompts


def planned(name, argument):
    """What a dry run is told."""
    info = INFOS[name]
    return list(info.prompts(Setup(str(argument), info.options(), dry=True)))


def refused(name, argument, **options):
    with pytest.raises(BadPrompts) as told:
        read(name, argument, **options)
    message = str(told.value)
    assert "\n" not in message
    return message


def picture(path, size=(40, 30), shade=0):
    """Left black but for the shade, right white."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((size[1], size[0], 3), 255, np.uint8)
    pixels[:, : size[0] // 2] = shade
    PILImage.fromarray(pixels).save(path)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def altered(file, change):
    """The same file with its JSON changed."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


# TIFA


def question(caption, question, choices, answer, kind, image="391895", **more):
    coco = {"coco_val_id": image} if image else {}
    told = {"id": "coco_1", "caption": caption, "question": question, "choices": choices, "answer": answer}
    return {**told, "element_type": kind, "element": answer, **coco, **more}


PLACES = ["in a box", "on a bed", "at sea", "up a tree"]


@pytest.fixture
def tifa(tmp_path):
    board, cats = "On a gray day a surfer carries a white board.", "Three cats sit in a box."
    write(
        tmp_path / "tifa_v1.0_question_answers.json",
        [
            question(board, "what color is the board?", ["white", "black", "red", "blue"], "white", "color"),
            question(board, "is the board white?", ["yes", "no"], "yes", "color"),
            question(board, "what color is the sky?", ["grey", "black", "red", "blue"], "grey", "color"),
            question(cats, "how many cats are there?", ["1", "2", "3", "4"], "3", "counting", "5"),
            question(cats, "where are the cats?", PLACES, "in a box", "spatial", "5"),
            question("A white cat.", "what color?", ["white", "black", "red", "blue"], "white", "color", None),
            question(board, "who is it?", [], "a surfer", "animal/human"),
        ],
    )  # fmt: skip
    for number in (391895, 5):
        picture(tmp_path / "val2014" / f"COCO_val2014_{number:012}.jpg")
    return tmp_path


def test_tifa_puts_other_answers_in_the_place_of_the_right_one(tifa):
    asked = {prompt.facets["task"]: prompt for prompt in read("tifa", tifa)}
    assert len(asked) == 3
    assert asked["colour"].text == "On a gray day a surfer carries a white board."
    assert set(asked["colour"].texts) == {
        f"On a gray day a surfer carries a {colour} board." for colour in ("white", "black", "red", "blue")
    }
    assert set(asked["count"].texts) == {f"{n} cats sit in a box." for n in ("One", "Two", "Three", "Four")}
    assert set(asked["spatial"].texts) == {f"Three cats sit {where}." for where in PLACES}
    assert asked["count"].images == (str(tifa / "val2014" / "COCO_val2014_000000000005.jpg"),)
    assert asked["count"].cluster == asked["spatial"].cluster != asked["colour"].cluster
    assert {prompt.facets["source"] for prompt in asked.values()} == {"tifa"}


def test_tifa_can_ask_its_questions(tifa):
    asked = read("tifa", tifa, captions="answered", tasks=["colour"])
    assert {prompt.text for prompt in asked} == {"what color is the board? white", "what color is the sky? grey"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data[3].pop("choices"), "entry 3: choices: is missing"),
        (lambda data: data[3].update(answer="7"), "entry 3: answer: must be one of the choices (got '7')"),
        (lambda data: data[0].update(coco_val_id=391895), "entry 0: coco_val_id: must be text (got 391895)"),
        (lambda data: data[0].update(coco_val_id="x"), "entry 0: coco_val_id: must be COCO's number of the image"),
        (lambda data: data.__setitem__(1, 5), "entry 1: must be an object (got 5)"),
        (lambda data: data.clear(), "contains no sample for these options"),
    ],
)
def test_a_malformed_tifa_is_told(tifa, change, told):
    file = tifa / "tifa_v1.0_question_answers.json"
    altered(file, change)
    message = refused("tifa", tifa)
    assert message.startswith(str(file))
    assert told in message


def test_missing_files_of_tifa_are_told(tifa, tmp_path):
    (tifa / "val2014" / "COCO_val2014_000000000005.jpg").unlink()
    assert "tifa-3: image" in refused("tifa", tifa, tasks=["count"])
    assert "does not exist" in refused("tifa", tifa, images="elsewhere")
    assert "no such folder" in refused("tifa", tmp_path / "nowhere")
    (tifa / "tifa_v1.0_question_answers.json").write_text("[1,")
    assert "not valid JSON" in refused("tifa", tifa)


# CLEVR


def clevr_scene(number, things, places):
    """A scene of things at places (x to the right, y to the front), annotated as CLEVR does."""
    beyond = {
        "left": lambda a, b: a[0] < b[0],
        "right": lambda a, b: a[0] > b[0],
        "front": lambda a, b: a[1] > b[1],
        "behind": lambda a, b: a[1] < b[1],
    }
    of = range(len(things))
    return {
        "image_index": number,
        "image_filename": f"CLEVR_val_{number:06}.png",
        "split": "val",
        "objects": [
            {"color": colour, "shape": shape, "material": "rubber", "size": "large"} for colour, shape in things
        ],
        "relationships": {
            name: [[j for j in of if j != i and test(places[j], places[i])] for i in of]
            for name, test in beyond.items()
        },
    }


@pytest.fixture
def clevr(tmp_path):
    rng = np.random.default_rng(1)
    scenes, every = [], list(product(COLOURS, SHAPES))
    for number in range(120):
        things = [every[i] for i in rng.choice(len(every), size=rng.integers(3, 7))]
        scenes.append(clevr_scene(number, things, rng.random((len(things), 2)).tolist()))
    questions = [
        ("What color is the large cube?", "cyan", "query_color"),
        ("How many things are there?", "6", "count"),
        ("What shape is it?", "sphere", "query_shape"),
        ("Is it a cube?", "yes", "exist"),
    ]
    write(tmp_path / "scenes" / "CLEVR_val_scenes.json", {"info": {}, "scenes": scenes})
    write(
        tmp_path / "questions" / "CLEVR_val_questions.json",
        {
            "info": {},
            "questions": [
                {"question": q, "answer": a, "image_filename": f"CLEVR_val_{n:06}.png",
                 "program": [{"function": "scene"}, {"function": f}]}
                for n, (q, a, f) in enumerate(questions)
            ],
        },
    )  # fmt: skip
    for number in range(120):
        picture(tmp_path / "images" / "val" / f"CLEVR_val_{number:06}.png", (2, 2))
    return tmp_path


def true_of(scene, said):
    """Whether a described caption is true of a scene: read from its words alone."""
    things = [(one["color"], one["shape"]) for one in scene["objects"]]
    text = said.removeprefix("a photo of ")
    words = text.replace("a ", "").split()
    if " and a " in text:
        return set(zip(words[::3], words[1::3], strict=True)) <= set(things)
    if " a " in text:
        first, second = tuple(words[:2]), tuple(words[-2:])
        held = [name for name in ("left", "right", "front", "behind") if name in words]
        assert len(held) == 2
        i, j = things.index(first), things.index(second)
        return all(i in scene["relationships"][name][j] for name in held)
    if words[0] in ("one", "two", "three", "four"):
        wanted = ("one", "two", "three", "four").index(words[0]) + 1
        return sum(shape == words[1].rstrip("s") for _, shape in things) == wanted
    return tuple(words) in things


def test_statements_about_clevrs_scenes_hold_for_the_right_caption_alone(clevr):
    scenes = json.loads((clevr / "scenes" / "CLEVR_val_scenes.json").read_text())["scenes"]
    asked = read("clevr", clevr)
    assert Counter(prompt.facets["task"] for prompt in asked).keys() == {
        "attribute-binding", "colour", "count", "shape", "spatial"
    }  # fmt: skip
    for prompt in asked:
        scene = scenes[int(prompt.id.rpartition("-")[2])]
        assert prompt.images[0].endswith(scene["image_filename"])
        assert [true_of(scene, text) for text in prompt.texts] == [
            n == prompt.answer for n in range(len(prompt.texts))
        ]
        wanted = {"attribute-binding": 2, "colour": 4, "count": 4, "shape": 3, "spatial": 4}
        assert len(prompt.texts) == wanted[prompt.facets["task"]]


def test_answers_and_places_are_balanced_and_samples_nest(clevr):
    asked = read("clevr", clevr, tasks=["colour"], limit=64)
    assert set(Counter(prompt.text.split()[4] for prompt in asked).values()) == {8}
    assert set(Counter(prompt.answer for prompt in asked).values()) == {16}
    assert read("clevr", clevr, tasks=["colour"], limit=10) == asked[:10]
    sides = read("clevr", clevr, tasks=["spatial"], limit=40)
    assert set(Counter(" ".join(p.text.split()[6:-3]) for p in sides).values()) == {10}
    assert {p.id for p in read("clevr", clevr, tasks=["colour"], limit=10, seed=1)} != {p.id for p in asked[:10]}


def test_clevrs_questions_have_answers_after_them(clevr):
    asked = {prompt.facets["task"]: prompt for prompt in read("clevr", clevr, captions="answered")}
    assert asked.keys() == {"colour", "count", "shape"}
    assert asked["colour"].text == "What color is the large cube? cyan"
    assert set(asked["shape"].texts) == {f"What shape is it? {shape}" for shape in SHAPES}
    numbers = sorted(int(text.split()[-1]) for text in asked["count"].texts)
    assert numbers == list(range(numbers[0], numbers[0] + 4))
    assert 6 in numbers


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda one: one["objects"][1].update(shape="cone"), "objects[1]: shape: must be one of cube, sphere"),
        (lambda one: one.pop("objects"), "scenes[7]: objects: is missing"),
        (lambda one: one["relationships"].pop("left"), "scenes[7]: relationships.left: must be a list for each"),
        (lambda one: one["relationships"]["front"].__setitem__(0, [99]), "relationships.front: must be lists of"),
        (lambda one: one.update(image_filename=3), "scenes[7]: image_filename: must be text (got 3)"),
    ],
)  # fmt: skip
def test_a_malformed_clevr_is_told(clevr, change, told):
    file = clevr / "scenes" / "CLEVR_val_scenes.json"
    altered(file, lambda data: change(data["scenes"][7]))
    message = refused("clevr", clevr)
    assert message.startswith(f"{file}: scenes[7]")
    assert told in message


def test_a_clevr_without_its_list_or_split_is_told(clevr):
    assert "no such file" in refused("clevr", clevr, split="train")
    (clevr / "scenes" / "CLEVR_val_scenes.json").write_text("{}")
    assert "must be an object with the list 'scenes'" in refused("clevr", clevr)
    altered(clevr / "questions" / "CLEVR_val_questions.json", lambda d: d["questions"][1].update(answer="many"))
    assert "questions[1]: answer: must be one of 0, 1" in refused("clevr", clevr, captions="answered")


# Lewis et al.


@pytest.fixture
def binding(tmp_path):
    rows = [("0.png", "red cube", "blue cube", "red sphere", "blue sphere", "green cube")]
    rows += [(f"{n}.png", f"cyan {one}", "red cube", "blue cube", "gray cube", "brown cube") for n, one in
             ((1, "sphere"), (2, "cylinder"))]  # fmt: skip
    for part, name in (("two_object", "gen"), ("single_object", "test")):
        text = io.StringIO()
        csv.writer(text).writerows([("", "file_name", "pos", "neg_0", "neg_1", "neg_2", "neg_3")])
        csv.writer(text).writerows((n, *row) for n, row in enumerate(rows))
        (tmp_path / part).mkdir()
        (tmp_path / part / f"{name}.csv").write_text(text.getvalue())
    for n in range(3):
        picture(tmp_path / "two_object" / "images" / "gen" / f"{n}.png")
        picture(tmp_path / "single_object" / "images" / f"{n}.png")
    write(tmp_path / "rel" / "gen.json", {"a.png": {"pos": ["cube left sphere", "sphere right cube"]}})
    picture(tmp_path / "rel" / "images" / "gen" / "a.png")
    return tmp_path


def test_lewis_et_al_bring_their_own_wrong_captions(binding):
    asked = read("clevr-binding", binding, choices=5)
    (first,) = (prompt for prompt in asked if prompt.text == "a photo of red cube")
    assert set(first.texts) == {
        f"a photo of {one}" for one in ("red cube", "blue cube", "red sphere", "blue sphere", "green cube")
    }
    assert {len(p.texts) for p in read("clevr-binding", binding, part="single-object")} == {2}
    related = read("clevr-binding", binding, part="rel", choices=5, template="{}")
    (left,) = (prompt for prompt in related if prompt.text == "cube left sphere")
    assert set(left.texts) == {
        "cube left sphere", "sphere left cube", "cube right sphere", "cylinder left sphere", "cube left cylinder"
    }  # fmt: skip
    assert left.cluster == related[1].cluster == related[0].cluster
    assert {p.facets["task"] for p in related} == {"spatial"}
    assert {len(p.texts) for p in read("clevr-binding", binding, part="rel")} == {4}


def test_a_malformed_lewis_is_told(binding):
    file = binding / "two_object" / "gen.csv"
    file.write_text(file.read_text().replace("red sphere", "", 1))
    assert refused("clevr-binding", binding).startswith(f"{file}, line 2: column 'neg_1' is empty")
    file.write_text("file_name,pos\n")
    assert "no column 'neg_0'" in refused("clevr-binding", binding)
    altered(binding / "rel" / "gen.json", lambda data: data["a.png"]["pos"].append("cube beside sphere"))
    assert "gen.json: 'a.png': pos[2]: must be two of cube" in refused("clevr-binding", binding, part="rel")
    with pytest.raises(ValueError, match=r"must contain \{\} exactly once"):
        INFOS["clevr-binding"].options(template="a photo")


# ARO


@pytest.fixture
def aro(tmp_path):
    def entry(number, right, wrong, **more):
        box = {"bbox_x": 20, "bbox_y": 5, "bbox_w": 10, "bbox_h": 20}
        return {
            "image_id": number,
            "image_path": f"{number}.jpg",
            **box,
            "true_caption": right,
            "false_caption": wrong,
        } | more

    write(
        tmp_path / "visual_genome_attribution.json",
        [
            entry(1, "the paved road and the white house", "the white road and the paved house"),
            entry(2, "the red car and the old man", "the old car and the red man"),
        ],
    )  # fmt: skip
    write(
        tmp_path / "visual_genome_relation.json",
        [
            entry(1, "the dog is on the bed", "the bed is on the dog", relation_name="on"),
            entry(2, "the man is riding the horse", "the horse is riding the man", relation_name="riding"),
        ],
    )
    for number in (1, 2):
        picture(tmp_path / "images" / f"{number}.jpg", shade=number)
    return tmp_path


def test_aros_boxes_are_cut_out_and_kept(aro):
    assert not any(Path(prompt.images[0]).exists() for prompt in planned("aro-attribution", aro))
    asked = read("aro-attribution", aro)
    assert {prompt.text for prompt in asked} == {
        "the paved road and the white house",
        "the red car and the old man",
    }
    for prompt in asked:
        with PILImage.open(prompt.images[0]) as part:
            assert part.size == (10, 20)
            assert np.asarray(part).min() > 200  # the right half is white
        assert prompt.facets == {"task": "attribute-binding", "source": "aro"}
        assert len(prompt.texts) == 2
    assert read("aro-attribution", aro) == asked == planned("aro-attribution", aro)
    assert {p.images[0] for p in read("aro-attribution", aro, crop=False)} == {
        str(aro / "images" / "1.jpg"), str(aro / "images" / "2.jpg")
    }  # fmt: skip
    # a box that reaches over the edge is cut off there
    altered(aro / "visual_genome_attribution.json", lambda data: [one.update(bbox_w=99) for one in data])
    with PILImage.open(read("aro-attribution", aro)[0].images[0]) as part:
        assert part.size == (20, 20)


def test_aros_relations_are_those_of_places_unless_all_are_wanted(aro):
    (asked,) = read("aro-relation", aro)
    assert (asked.text, asked.facets["task"], asked.facets["relation"]) == (
        "the dog is on the bed",
        "spatial",
        "on",
    )
    altered(aro / "visual_genome_relation.json", lambda data: data[0].update(bbox_w=0))
    assert read("aro-relation", aro, crop=False)[0].images == (str(aro / "images" / "1.jpg"),)
    both = read("aro-relation", aro, relations="all", crop=False)
    assert {prompt.facets["relation"] for prompt in both} == {"on", "riding"}
    assert {p.cluster for p in read("aro-attribution", aro)} == {p.cluster for p in both}


def test_an_image_that_is_none_fails_where_it_is_opened_and_a_missing_one_is_told(aro):
    (aro / "images" / "1.jpg").write_bytes(b"no image")
    (asked,) = read("aro-relation", aro)
    assert asked.images == (str(aro / "images" / "1.jpg"),)
    (aro / "images" / "1.jpg").unlink()
    assert "aro-relation-0: image" in refused("aro-relation", aro)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bbox_w": 0}, "entry 0: bbox_w: must be at least 1 (got 0)"),
        ({"bbox_x": 2.5}, "entry 0: bbox_x: must be a whole number (got 2.5)"),
        ({"true_caption": " "}, "entry 0: true_caption: must be text"),
        ({"false_caption": "the dog is on the bed"}, "contains no sample for these options"),
        ({"relation_name": None}, "entry 0: relation_name: must be text (got null)"),
        ({"bbox_x": 400}, "aro-relation-0: the box [400, 5, 10, 20] (x, y, width, height) lies outside of"),
    ],
)
def test_a_malformed_aro_is_told(aro, change, told):
    altered(aro / "visual_genome_relation.json", lambda data: data[0].update(change))
    assert told in refused("aro-relation", aro)


# ARO's order

TAGS = {"red": "JJ", "small": "JJ", "dog": "NN", "cat": "NN", "bed": "NN"}
CAPTION = "A red dog and a small cat lie on the bed."


@pytest.fixture
def coco(tmp_path, monkeypatch):
    """COCO's captions, with a tagger that knows five words."""
    monkeypatch.setattr(order, "load_tagger", lambda name: lambda words: [TAGS.get(word, "DT") for word in words])
    entries = [{"image": f"val2014/{n}.jpg", "caption": [CAPTION, f"{CAPTION} Number {n}!"]} for n in range(6)]
    for n in range(7):
        picture(tmp_path / "val2014" / f"{n}.jpg", (2, 2))
    return write(
        tmp_path / "coco_karpathy_test.json", [*entries, {"image": "val2014/6.jpg", "caption": ["A dog."]}]
    )


def test_words_change_places_as_the_four_ways_say(coco):
    asked = read("aro-order", coco, captions="all")
    assert len(asked) == 12  # a dog has no four wrong orders
    assert len({prompt.cluster for prompt in asked}) == 6
    for prompt in asked:
        assert prompt.facets["task"] == "text-corruption"
        assert len(set(prompt.texts)) == 5
        assert {tuple(sorted(text.split())) for text in prompt.texts} == {tuple(sorted(prompt.text.split()))}
        assert prompt.text.startswith("a red dog and a small cat lie on the bed")
    assert len(read("aro-order", coco)) == 6
    assert read("aro-order", coco, limit=3) == read("aro-order", coco)[:3]


def trigrams(words):
    return [words[at : at + 3] for at in range(0, len(words), 3)]


@pytest.mark.parametrize(
    ("way", "kept"),
    [
        ("nouns-adjectives", lambda words: [TAGS.get(word, word) for word in words]),
        ("all-but-nouns-adjectives", lambda words: [word if word in TAGS else "" for word in words]),
        ("within-trigrams", lambda words: [sorted(trigram) for trigram in trigrams(words)]),
        ("trigrams", lambda words: sorted(trigrams(words))),
    ],
)
def test_a_way_keeps_what_it_should(coco, way, kept):
    options = {"perturbations": [way], "captions": "all", "most_words": 9}
    (nine,) = (p for p in read("aro-order", coco, **options) if p.id.endswith("-0-0"))
    (wrong,) = (text for text in nine.texts if text != nine.text)
    assert kept(wrong.split()) == kept(nine.text.split())


def test_captions_are_prepared_as_aro_does():
    assert order.normalise('A "Red" dog,  (old); on #1: bed!', 30) == "a red dog, old on 1 bed"
    assert order.normalise("one two three four", 3) == "one two three"


def test_a_tagger_that_is_not_there_is_told_with_both_ways_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingDependency, match=r'pip install spacy .*perturbations=\["trigrams", "words"\]'):
        order.load_tagger("en_core_web_sm")


def test_orders_without_tags_need_no_tagger(coco, monkeypatch):
    monkeypatch.setattr(order, "load_tagger", lambda name: pytest.fail("asked for a tagger"))
    asked = read("aro-order", coco, perturbations=["within-trigrams", "trigrams", "words", "words"])
    assert {len(prompt.texts) for prompt in asked} == {5}


def test_a_malformed_order_is_told(coco):
    altered(coco, lambda data: data[2].update(caption="A dog."))
    assert refused("aro-order", coco) == f'{coco}: entry 2: caption: must be a list of texts (got "A dog.")'
    assert "no such file" in refused("aro-order", coco.parent / "coco.json")


# Winoground

EXAMPLES = [
    {"id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1", "caption_0": f"{n}: a dog on a bed",
     "caption_1": f"{n}: a bed on a dog", "tag": "Noun", "secondary_tag": "" if n else "Symbolic",
     "num_main_preds": 1, "collapsed_tag": "Object"}
    for n in range(3)
]  # fmt: skip


@pytest.fixture
def winoground(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in EXAMPLES))
    for n, side in product(range(3), range(2)):
        picture(tmp_path / "data" / "images" / f"ex_{n}_img_{side}.png", shade=10 * n + side)
    return tmp_path


def test_winoground_is_read_from_lines_and_images(winoground):
    asked = read("winoground-pairs", winoground)
    assert [prompt.id for prompt in asked] == ["winoground-0", "winoground-1", "winoground-2"]
    assert asked[1].texts == ("1: a dog on a bed", "1: a bed on a dog")
    assert [Path(path).name for path in asked[1].images] == ["ex_1_img_0.png", "ex_1_img_1.png"]
    assert asked[0].facets == {
        "task": "winoground", "source": "winoground", "tag": "Object", "secondary_tag": "Symbolic"
    }  # fmt: skip
    assert "secondary_tag" not in asked[1].facets
    (one,) = read("winoground-pairs", winoground, limit=1)
    assert one in asked


def parquet(folder, examples=EXAMPLES, images=None):
    """As the hub has it: images in the table."""
    (folder / "data").mkdir()
    rows = [
        {**one, **{f"image_{side}": {"bytes": images(one["id"], side), "path": None} for side in range(2)}}
        for one in examples
    ]
    file = folder / "data" / "test-00000-of-00001.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def encoded(number, side):
    file = io.BytesIO()
    PILImage.fromarray(np.full((4, 6, 3), 10 * number + side, np.uint8)).save(file, "PNG")
    return file.getvalue()


def test_winoground_is_read_from_parquet(tmp_path):
    parquet(tmp_path, images=encoded)
    assert len({path for prompt in planned("winoground-pairs", tmp_path) for path in prompt.images}) == 6
    assert not list(find_cache_folder().rglob("*.png"))
    asked = read("winoground-pairs", tmp_path)
    assert [prompt.id for prompt in asked] == ["winoground-0", "winoground-1", "winoground-2"]
    for number, prompt in enumerate(asked):
        for side, path in enumerate(prompt.images):
            with PILImage.open(path) as image:
                assert (np.asarray(image) == 10 * number + side).all()
    assert len(read("winoground-pairs", tmp_path, limit=2)) == 2


def test_how_to_get_winoground_is_told(tmp_path):
    for place in (tmp_path / "nowhere", tmp_path):
        message = refused("winoground-pairs", place)
        assert "gated" in message
        assert "hf download facebook/winoground" in message


def test_a_malformed_winoground_is_told(winoground, tmp_path_factory):
    file = winoground / "data" / "examples.jsonl"
    (winoground / "data" / "images" / "ex_1_img_1.png").unlink()
    assert f"{file}: line 2: image_1: image" in refused("winoground-pairs", winoground)
    file.write_text(json.dumps({**EXAMPLES[0], "caption_1": EXAMPLES[0]["caption_0"]}))
    assert f"{file}: line 1: caption_1: must differ from caption_0" in refused("winoground-pairs", winoground)
    file.write_text(json.dumps(EXAMPLES[0]) + "\n\n" + json.dumps(EXAMPLES[0]))
    assert f"{file}: line 3: id: must be unique (got 0 twice)" in refused("winoground-pairs", winoground)
    file.write_text("{")
    assert f"{file}: line 1: not valid JSON" in refused("winoground-pairs", winoground)
    folder = tmp_path_factory.mktemp("parquet")
    table = parquet(folder, images=lambda number, side: b"none")
    assert f"{table}: row 1: image_0: " in refused("winoground-pairs", folder)
    table.write_bytes(b"no parquet")
    assert f"{table}: cannot be read" in refused("winoground-pairs", folder)


# The paper's protocol


@pytest.fixture
def protocol(tifa, clevr, tmp_path_factory):
    """A folder with the data sets that the other tests make."""
    folder = tmp_path_factory.mktemp("protocol")
    (folder / "TIFA").symlink_to(tifa)
    (folder / "CLEVR_v1.0").symlink_to(clevr)
    return folder


TIFA_AND_CLEVR = ("tifa", "clevr")


def test_a_task_has_at_most_its_limit_over_all_data_sets(protocol):
    few = read("selfeval-tasks", protocol, sources=TIFA_AND_CLEVR, limit=4)
    count = Counter((prompt.facets["task"], prompt.facets["source"]) for prompt in few)
    # TIFA has one sample of each of its tasks; CLEVR fills the rest, but gives no position here
    assert count == {
        ("colour", "tifa"): 1, ("colour", "clevr"): 3, ("count", "tifa"): 1, ("count", "clevr"): 3,
        ("shape", "clevr"): 4, ("spatial", "tifa"): 1,
    }  # fmt: skip
    assert list(dict.fromkeys(prompt.facets["task"] for prompt in few)) == ["colour", "count", "shape", "spatial"]


def test_repeats_draw_again_in_one_list(protocol):
    def drawn(**options):
        return read("selfeval-tasks", protocol, sources=TIFA_AND_CLEVR, limit=4, **options)

    repeats = drawn(repeats=3)
    assert Counter(prompt.facets["repeat"] for prompt in repeats) == {1: 13, 2: 13, 3: 13}
    assert len({prompt.id for prompt in repeats}) == len(repeats)
    for number in (1, 2, 3):
        own = [(p.text, p.images, p.cluster) for p in repeats if p.facets["repeat"] == number]
        assert own == [(p.text, p.images, p.cluster) for p in drawn(seed=number - 1)]


def test_the_sources_of_a_task_share_its_limit():
    from t2i_selfeval.tasks.protocol import share_evenly

    assert share_evenly([[1, 2, 3], [4], [5, 6, 7]], 6) == [1, 2, 3, 4, 5, 6]
    assert share_evenly([[1, 2, 3], [4], [5, 6, 7]], 3) == [1, 4, 5]
    assert share_evenly([[1], []], None) == [1]


def test_a_missing_data_set_of_the_protocol_is_told(protocol):
    assert f"{protocol / 'clevr-binding'}: no such folder" in refused("selfeval-tasks", protocol)


# All of them


@pytest.mark.parametrize("name", INFOS)
def test_each_says_its_licence_and_reads_nothing_heavy(name):
    info = INFOS[name]
    assert info.about.notes.startswith("Licence")
    assert info.needs_argument


def test_the_light_module_brings_neither_pillow_nor_pyarrow():
    code = "import sys, t2i_selfeval.task_sources; print({'PIL', 'pyarrow', 'spacy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


class FolderContract(PromptSourceContract):
    module = "t2i_selfeval.task_sources"

    @pytest.fixture
    def component(self, info, folder):
        from t2i_core.testing.parts import settle

        return settle(info, self.options, str(folder))

    @pytest.fixture
    def folder(self, request):
        return request.getfixturevalue(self.fixture)


class TestTifa(FolderContract):
    name, fixture = "tifa", "tifa"


class TestClevr(FolderContract):
    name, fixture = "clevr", "clevr"
    options: ClassVar = {"limit": 20}


class TestProtocol(FolderContract):
    name, fixture = "selfeval-tasks", "protocol"
    options: ClassVar = {"sources": TIFA_AND_CLEVR, "limit": 5, "repeats": 2}


class TestClevrBinding(FolderContract):
    name, fixture = "clevr-binding", "binding"


class TestAroAttribution(FolderContract):
    name, fixture = "aro-attribution", "aro"


class TestAroRelation(FolderContract):
    name, fixture = "aro-relation", "aro"


class TestAroOrder(FolderContract):
    name, fixture = "aro-order", "coco"
    waived: ClassVar = {"another_process_has_the_same": "its tagger stands in for spaCy's in this process alone"}


class TestAroOrderWithoutTags(FolderContract):
    name, fixture = "aro-order", "coco"
    options: ClassVar = {"perturbations": ("trigrams", "words")}


class TestWinoground(FolderContract):
    name, fixture = "winoground-pairs", "winoground"
