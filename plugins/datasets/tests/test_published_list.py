"""DALL-Eval's published lists of captions, read without options: ids, images and references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.io.prompt_file import read_prompts
from t2i_datasets import coco, hub
from t2i_datasets.options import CocoOptions, HubOptions

UIDS = "uid,caption\n346904_mscoco_0,A bus driving down a road by a building.\n60623_mscoco_2,A girl.\n"
KARPATHY = [
    {"img_id": "COCO_val2014_000000391895", "targets": "A man with a red helmet  on a small moped.\n"},
    {"img_id": "COCO_val2014_000000060623", "targets": ["A girl.", "A child."]},
]


def read(file: Path, **options: Any) -> list[Prompt]:
    return list(coco.prompts(file, CocoOptions(**options)))


def write(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_uid_caption_names_prompts_and_images(tmp_path: Path) -> None:
    bus, girl = read(write(tmp_path, "uid_caption.csv", UIDS))
    text = "A bus driving down a road by a building."
    assert bus == Prompt("346904_mscoco_0", text, cluster="coco-image-346904", references=(text,))
    assert girl.cluster == "coco-image-60623"


def test_all_readers_of_uid_caption_give_the_same_ids_and_texts(tmp_path: Path) -> None:
    file = write(tmp_path, "uid_caption.csv", UIDS)
    found = [read_prompts(file), list(hub.prompts(Setup(str(file), HubOptions()))), read(file)]
    assert len({tuple((prompt.id, prompt.text) for prompt in prompts) for prompts in found}) == 1


def test_karpathy_test_text_fills_references(tmp_path: Path) -> None:
    man, girl = read(write(tmp_path, "karpathy_test_text.json", KARPATHY))
    text = "A man with a red helmet on a small moped."
    assert man == Prompt("COCO_val2014_000000391895", text, cluster="coco-image-391895", references=(text,))
    assert girl.references == ("A girl.", "A child.")


def test_references_come_from_captions_or_from_karpathys_file(tmp_path: Path) -> None:
    listed = write(tmp_path, "karpathy_test_text.json", KARPATHY)
    captions = {391895: ["one", "two"], 60623: ["three"]}
    official = [
        {"image_id": image, "id": 10 * image + n, "caption": text}
        for image, own in captions.items()
        for n, text in enumerate(own)
    ]
    karpathy = [
        {"cocoid": image, "split": "test", "sentences": [{"raw": f"{text}\n"} for text in own]}
        for image, own in captions.items()
    ]
    for name, content in (
        ("captions_val2014.json", {"annotations": official}),
        ("dataset_coco.json", {"images": karpathy}),
    ):
        found = read(listed, references=write(tmp_path, name, content))
        assert [prompt.references for prompt in found] == [("one", "two"), ("three",)]
    fewer = write(tmp_path, "fewer.json", {"images": karpathy[1:]})
    with pytest.raises(
        BadPrompts, match=r"fewer\.json: has no caption of image 391895, which .*test_text\.json lists"
    ):
        read(listed, references=fewer)


def test_a_sample_of_a_list_is_nested(tmp_path: Path) -> None:
    rows = "".join(f"{image}_mscoco_0,Caption {image}.\n" for image in range(1, 40))
    file = write(tmp_path, "uid_caption.csv", f"uid,caption\n{rows}")
    few, more = ({prompt.id for prompt in read(file, limit=limit)} for limit in (5, 9))
    assert len(few) == 5
    assert few < more


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "uid,text\n1_mscoco_0,a\n", "no column 'caption'"),
        ("x.csv", "uid,caption\n17,a\n", "line 2: uid: must be like 346904_mscoco_0"),
        ("x.csv", "uid,caption\n1_mscoco_0,\n", "line 2: the caption of 1_mscoco_0 must be a text"),
        ("x.csv", "uid,caption\n1_mscoco_0,a\n1_mscoco_0,b\n", "line 3: uid: 1_mscoco_0 appears twice"),
        ("x.csv", "uid,caption\n", "holds no captions"),
        ("x.json", "[", "not JSON"),
        ("x.json", "[]", "holds no captions"),
        ("x.json", '[{"img_id": 7}]', "item 1: must have img_id and targets"),
        ("x.json", '[{"img_id": 7, "targets": "a"}]', "item 1: img_id: must be like COCO_val2014_000000391895"),
        (
            "x.json",
            '[{"img_id": "COCO_val2014_7", "targets": []}]',
            "item 1: the caption of COCO_val2014_7 must be",
        ),
    ],
)
def test_lists_that_are_not_valid_are_refused_in_one_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    file = write(tmp_path, name, content)
    with pytest.raises(BadPrompts, match=message) as caught:
        read(file)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_list_with_fewer_captions_than_the_limit_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "uid_caption.csv", UIDS)
    with pytest.raises(BadPrompts, match=r"uid_caption\.csv: limit is 3, but the file has only 2 captions"):
        read(file, limit=3)


def test_options_of_the_other_kind_of_file_are_refused(tmp_path: Path) -> None:
    listed = write(tmp_path, "uid_caption.csv", UIDS)
    with pytest.raises(BadPrompts, match="is a list of captions; remove the option split_file"):
        read(listed, split_file="dataset_coco.json")
    official = write(tmp_path, "c.json", {"annotations": [{"image_id": 1, "id": 1, "caption": "a"}]})
    with pytest.raises(BadPrompts, match="has all captions of its images; remove the option references"):
        read(official, references=official)
