"""COCO and DrawBench: ids that last, samples that nest, and one line for what is wrong."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import ValidationError
from t2i_core.api import Prompt
from t2i_core.api.errors import BadPrompts
from t2i_core.testing import PromptSourceContract
from t2i_datasets import coco, drawbench
from t2i_datasets.options import CocoOptions
from t2i_datasets.sampling import rank, sample


def captions_file(folder: Path, images: int = 20, each: int = 3) -> Path:
    """As COCO writes them: out of order, with blanks and line breaks at the ends."""
    annotations = [
        {"image_id": 1000 - i, "id": 10 * i + n, "caption": f"Caption {n} of image {1000 - i}. \n"}
        for n in reversed(range(each))
        for i in range(images)
    ]
    described = [{"id": 1000 - i, "file_name": f"COCO_val2014_{1000 - i:012}.jpg"} for i in range(images)]
    file = folder / "captions_val2014.json"
    file.write_text(json.dumps({"info": {}, "images": described, "licenses": [], "annotations": annotations}))
    return file


def karpathy_file(folder: Path, splits: dict[int, str]) -> Path:
    file = folder / "dataset_coco.json"
    images = [
        {"cocoid": image, "split": split, "sentids": [], "imgid": n}
        for n, (image, split) in enumerate(splits.items())
    ]
    file.write_text(json.dumps({"dataset": "coco", "images": images}))
    return file


def read(file: Path, **options) -> list[Prompt]:
    return list(coco.prompts(file, CocoOptions(**options)))


def captions_of(image: int) -> tuple[str, ...]:
    return tuple(f"Caption {n} of image {image}." for n in range(3))


def test_the_first_caption_of_each_image_with_lasting_ids(tmp_path):
    found = read(captions_file(tmp_path, images=2))
    assert found == [
        Prompt("coco-10", "Caption 0 of image 999.", cluster="coco-image-999", references=captions_of(999)),
        Prompt("coco-0", "Caption 0 of image 1000.", cluster="coco-image-1000", references=captions_of(1000)),
    ]


def test_all_captions_of_an_image_are_one_cluster(tmp_path):
    found = read(captions_file(tmp_path, images=2), captions="all")
    assert [p.id for p in found] == ["coco-10", "coco-11", "coco-12", "coco-0", "coco-1", "coco-2"]
    assert len({p.cluster for p in found}) == 2
    assert [p.references for p in found] == [captions_of(999)] * 3 + [captions_of(1000)] * 3


def test_one_caption_drawn_by_the_seed(tmp_path):
    file = captions_file(tmp_path)
    one, again, other = (read(file, captions="random", seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert [p.cluster for p in one] == [p.cluster for p in other]
    assert one != other
    assert len({p.text.split()[1] for p in one}) == 3


@pytest.mark.parametrize("captions", ["first", "random", "all"])
def test_larger_samples_hold_smaller_ones_whatever_the_files_order(tmp_path, captions):
    file = captions_file(tmp_path)
    small, large = (read(file, captions=captions, limit=limit) for limit in (5, 12))
    assert len(small) == 5
    assert {p.id for p in small} < {p.id for p in large}
    data = json.loads(file.read_text())
    data["annotations"].reverse()
    file.write_text(json.dumps(data))
    assert read(file, captions=captions, limit=5) == small
    assert read(file, captions=captions, limit=5, seed=1) != small


def test_a_sample_is_what_the_digests_say():
    """Golden: anybody can draw it again with SHA-256 alone."""
    order = sorted(range(10), key=lambda n: rank(0, n))
    assert order == [7, 4, 9, 3, 8, 2, 6, 0, 5, 1]
    assert sample(range(10), 3, 0, lambda n: n) == [4, 7, 9]
    assert sample(iter("ab"), 5, 0, str) == ["a", "b"]


def test_karpathys_split(tmp_path):
    file = captions_file(tmp_path)
    split = karpathy_file(tmp_path, {1000: "test", 999: "val", 998: "restval", 997: "test"})
    assert [p.cluster for p in read(file, split_file=str(split))] == ["coco-image-997", "coco-image-1000"]
    assert [p.cluster for p in read(file, split_file=str(split), split="restval")] == ["coco-image-998"]
    with pytest.raises(BadPrompts, match="has no image of the split 'train'"):
        read(file, split_file=str(split), split="train")
    split = karpathy_file(tmp_path, {1000: "test", 5: "test", 7: "test"})
    with pytest.raises(BadPrompts, match=r"has no caption of 2 of the 3 images of 'test' \(first: 5\)"):
        read(file, split_file=str(split))
    with pytest.raises(BadPrompts, match="as Karpathy's dataset_coco"):
        read(file, split_file=str(file))
    for images, said in (
        ([{"cocoid": 1, "split": "test"}, {"cocoid": 2}], r"images\[1\]: wants a text 'split' and a whole number"),
        ([{"split": "test"}], r"images\[0\]: wants a text 'split' and a whole number 'cocoid', as Karpathy's"),
        (["test"], r"images\[0\]: wants"),
        (None, "has no list 'images'; name Karpathy's"),
    ):
        split.write_text(json.dumps({"images": images}))
        with pytest.raises(BadPrompts, match=said) as error:
            read(file, split_file=str(split))
        assert "Error" not in str(error.value)
    with pytest.raises(ValidationError, match="a split needs split_file"):
        CocoOptions(split="val")


GOOD = {"image_id": 1, "id": 1, "caption": "a"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "holds no captions"),
        ("7", "has no list 'annotations'"),
        ('{"annotations": []}', "holds no captions"),
        (json.dumps({"annotations": [{"image_id": 1, "id": 1, "bbox": []}]}), "must be a file of captions"),
        (
            json.dumps({"annotations": [GOOD, {"id": 2, "caption": "b"}]}),
            "annotations[1]: wants a text 'caption' and whole numbers 'id' and 'image_id'",
        ),
        (json.dumps({"annotations": [GOOD, {**GOOD, "id": 2, "caption": " \n"}]}), "the caption 2 is empty"),
        (json.dumps({"annotations": [GOOD, GOOD]}), "annotations[1]: the caption 1 appears twice"),
    ],
)
def test_a_bad_coco_file_is_told_in_one_line(tmp_path, content, said):
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(BadPrompts) as caught:
        read(tmp_path / "c.json")
    assert said in str(caught.value)
    assert str(tmp_path / "c.json") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_captions_than_there_are_and_no_file(tmp_path):
    with pytest.raises(BadPrompts, match="limit is 21, but the file has only 20 captions"):
        read(captions_file(tmp_path), limit=21)
    with pytest.raises(BadPrompts, match="no such file"):
        read(tmp_path / "gone.json")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [50, pytest.param(10, marks=pytest.mark.slow, id="of a quiet machine")])
def test_a_file_of_val2014s_size_is_read_in_seconds(tmp_path, seconds):
    file = captions_file(tmp_path, images=40_000, each=5)
    begin = time.process_time()
    assert len(read(file, captions="random", limit=30_000)) == 30_000
    assert time.process_time() - begin < seconds


# DrawBench --------------------------------------------------------------------------------------------------


def table(folder: Path, text: str, name: str = "drawbench.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_drawbench_numbers_its_prompts_and_keeps_categories(tmp_path):
    text = 'Prompts,Category\nA red car.,Colors\n"A pear, cut in ""two"".",Rare Words\n\nA red car.,Counting\n'
    expected = [
        Prompt("drawbench-001", "A red car.", facets={"category": "Colors"}),
        Prompt("drawbench-002", 'A pear, cut in "two".', facets={"category": "Rare Words"}),
        Prompt("drawbench-003", "A red car.", facets={"category": "Counting"}),
    ]
    assert list(drawbench.prompts(table(tmp_path, "\ufeff" + text))) == expected
    tabs = "Category\tPrompts\nColors\tA red car, and one more\n"
    assert next(drawbench.prompts(table(tmp_path, tabs, "d.tsv"))).text == "A red car, and one more"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("Prompts,Kind\na,b\n", "line 1: no column 'Category' (columns: prompts, kind)"),
        ("Text,Category\na,b\n", "line 1: no column 'Prompts'"),
        ("Prompts,Category\na\n", "line 2: must have a prompt and a category"),
        ("Prompts,Category\na,\n", "line 2: must have a prompt and a category"),
        ("Prompts,Category\n", "holds no prompts"),
        ("", "no column 'Prompts'"),
        ("[" + "a\x1b[31m, b, " * 500 + "\n", r"line 1: no column 'Prompts' (columns: [a\x1b[31m, b, a"),
    ],
)
def test_a_bad_drawbench_file_is_told_in_one_line(tmp_path, content, said):
    with pytest.raises(BadPrompts) as caught:
        list(drawbench.prompts(table(tmp_path, content)))
    assert said in str(caught.value)
    assert len(str(caught.value)) < 250 + len(str(tmp_path))
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("prompts", [read, lambda file: list(drawbench.prompts(file))])
def test_files_that_cannot_be_read(tmp_path, prompts):
    """A split's file is refused in the same way."""
    (tmp_path / "latin").write_bytes("Prompts,Category\nein H\u00fcgel,b\n".encode("latin-1"))
    for name, said in (
        ("gone", r"gone: no such file$"),
        (".", r": cannot be read \(Is a directory\)$"),
        ("latin", r"latin, line 2: not UTF-8 \(byte 0xfc\)$"),
    ):
        with pytest.raises(BadPrompts, match=said):
            prompts(tmp_path / name)


def test_coco_and_drawbench_need_no_library(tmp_path):
    """They read their files where the library datasets, and whatever it wants, is not installed."""
    rows = table(tmp_path, "Prompts,Category\na,b\n")
    code = f"""
import sys
sys.modules.update(dict.fromkeys(("datasets", "pyarrow", "huggingface_hub")))
from t2i_core.api import Setup
from t2i_datasets.plugin import t2i_prompt_sources
coco, drawbench, hub = t2i_prompt_sources()
print(len(list(coco.prompts(Setup({str(captions_file(tmp_path))!r}, coco.options())))))
print(len(list(drawbench.prompts(Setup({str(rows)!r}, drawbench.options())))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["20", "1"], done.stderr


class TestCoco(PromptSourceContract):
    module = "t2i_datasets.plugin"
    name = "coco"
    options: ClassVar = {"captions": "random", "limit": 7}

    @pytest.fixture(autouse=True)
    def file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(type(self), "argument", str(captions_file(tmp_path)))


class TestDrawbench(PromptSourceContract):
    module = "t2i_datasets.plugin"
    name = "drawbench"

    @pytest.fixture(autouse=True)
    def file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(type(self), "argument", str(table(tmp_path, "Prompts,Category\na,b\nc,d\n")))
