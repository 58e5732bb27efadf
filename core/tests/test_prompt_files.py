import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject
from t2i_core.io.prompt_file import is_prompt_file, merge_duplicates, read_prompts
from t2i_core.io.prompt_record import make_id

CAR = Scene((SceneObject(ObjectClass("car", "car.n.01"), "red"),))


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_is_a_prompt_a_line_whatever_the_line_ends_and_the_byte_order_mark(tmp_path):
    path = write(tmp_path, "p.txt", b"\xef\xbb\xbfa cat\r\n\r\n  a dog \n\x0ca bird\xe2\x80\xa8or two")
    assert [p.text for p in read_prompts(path)] == ["a cat", "a dog", "a bird\u2028or two"]


def test_csv_has_ids_scenes_and_facets(tmp_path):
    scene = json.dumps(CAR.to_json()).replace('"', '""')
    path = write(tmp_path, "p.csv", f'prompt,id,scene,style\na red car,one,"{scene}",photo\n"two\nlines",,,\n')
    assert read_prompts(path) == [
        Prompt("one", "a red car", CAR, {"style": "photo"}),
        Prompt(make_id("two\nlines"), "two\nlines"),
    ]


def test_json_lines_have_everything_that_a_prompt_has(tmp_path):
    image = write(tmp_path, "own.png", b"x")
    line = {
        "text": "a red car", "id": 7, "scene": CAR.to_json(), "facets": {"n": 1}, "style": "photo",
        "images": ["own.png"], "texts": ["a red car", "a blue car"], "answer": 0, "cluster": "cars",
        "references": ["a red car", "a car that is red"],
    }  # fmt: skip
    assert read_prompts(write(tmp_path, "p.jsonl", json.dumps(line) + "\n\n")) == [
        Prompt(
            "7",
            "a red car",
            CAR,
            {"style": "photo", "n": 1},
            (str(image),),
            ("a red car", "a blue car"),
            0,
            "cars",
            ("a red car", "a car that is red"),
        )
    ]


def test_a_folders_table_of_images_is_a_list_of_prompts_too(tmp_path):
    path = write(tmp_path, "p.csv", "file,prompt,seed\na.png,a cat,0\nb.png,a cat,1\n")
    assert merge_duplicates(read_prompts(path)) == ([Prompt("a-cat", "a cat")], 1)


def test_only_prompts_that_do_not_differ_are_merged(tmp_path):
    lines = [
        {"prompt": "a car"},
        {"prompt": "a car"},
        {"prompt": "a car", "scene": CAR.to_json()},
        {"prompt": "a car", "scene": CAR.to_json()},
        {"prompt": "a car", "id": "mine"},
        {"prompt": "a car", "style": "photo"},
    ]
    prompts = read_prompts(write(tmp_path, "p.jsonl", "\n".join(json.dumps(line) for line in lines)))
    assert [p.id for p in prompts] == ["a-car", "a-car", "a-car-2", "a-car-2", "mine", "a-car-3"]
    merged, repetitions = merge_duplicates(prompts)
    assert ([p.id for p in merged], repetitions) == (["a-car", "a-car-2", "mine", "a-car-3"], 2)


def test_prompts_of_several_lists_may_not_differ_under_one_id():
    with pytest.raises(BadPrompts, match="'x': 'a cat' and 'a dog'"):
        merge_duplicates([Prompt("x", "a cat"), Prompt("x", "a dog")])


def test_a_list_of_captions_is_read_under_its_own_columns(tmp_path: Path) -> None:
    """DALL-Eval's uid_caption.csv, and captions beside prompts, which stay facets."""
    file = tmp_path / "uid_caption.csv"
    file.write_text('uid,caption,part\n346904_mscoco_0,"A bus, driving.",a\n416478_mscoco_2,A laptop screen.,b\n')
    assert read_prompts(file) == [
        Prompt("346904_mscoco_0", "A bus, driving.", facets={"part": "a"}),
        Prompt("416478_mscoco_2", "A laptop screen.", facets={"part": "b"}),
    ]
    file.write_text("caption,id,uid\nA bus.,x,7\n")
    assert read_prompts(file) == [Prompt("x", "A bus.", facets={"uid": "7"})]
    file.write_text("prompt,uid,caption\nA bus.,7,Another.\n")
    assert read_prompts(file) == [
        Prompt("a-bus-" + read_prompts(file)[0].id[-10:], "A bus.", facets={"uid": "7", "caption": "Another."})
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.txt", "\n \n", "p.txt: holds no prompts"),
        ("p.txt", b"a cat\n\xff\xfea", "p.txt, line 2: not UTF-8 (byte 0xff)"),
        ("p.tsv", "a", "p.tsv: the name of a prompt file must end in .txt, .csv, .jsonl"),
        ("p.csv", "", "line 1: no column 'prompt' or 'text'"),
        ("p.csv", "words\na cat\n", "line 1: no column 'prompt' or 'text' (columns: words)"),
        ("p.csv", "uid,caption\n1_mscoco_0,\n", "line 2: prompt: is missing"),
        ("p.csv", "uid,caption\n7,a cat\n7,a dog\n", "line 3: id: '7' is also the id of line 2"),
        ("p.csv", "prompt,a,a\nx,1,2\n", "line 1: the column 'a'"),
        ("p.csv", "prompt\na cat, a dog\n", "line 2: has 2 cells"),
        ("p.csv", 'prompt\na\n"b\nc\n', "line 3: not CSV"),
        ("p.csv", "prompt,id\n,x\n", "line 2: prompt: "),
        ("p.csv", "prompt,id\na,x\n\nb,x\n", "line 4: id: 'x' is also the id of line 2"),
        ("p.csv", "prompt,scene\na,{\n", "line 2: scene: not JSON"),
        ("p.csv", "prompt,model\na,b\n", "line 2: model: "),
        ("p.jsonl", '{"prompt": "a"}\n{"prompt": \n', "line 2: not JSON"),
        ("p.jsonl", '"a cat"', "line 1: must be a JSON object"),
        ("p.jsonl", '{"prompt": 3}', "line 1: prompt: must be a text (got 3)"),
        ("p.jsonl", '{"prompt": "a", "id": ["x"]}', "line 1: id: "),
        ("p.jsonl", '{"prompt": "a", "scene": {}}', "line 1: scene: the field 'objects'"),
        *(
            (
                "p.jsonl",
                f'{{"prompt": "a", "scene": {{"objects": [{{"cls": {{"name": "car"}}, "count": {count}}}]}}}}',
                f"line 1: scene: not a scene (objects[0]: count: must be a whole number from 1 (got {shown})",
            )
            for count, shown in (("0", 0), ("-1", -1), ("2.7", 2.7), ("true", True), ('"2"', "'2'"))
        ),
        ("p.jsonl", '{"prompt": "a", "scene": [1]}', "line 1: scene: not a scene"),
        (
            "p.jsonl",
            '{"prompt": "a", "scene": {"objects": [{"cls": {"name": "dog"}, "color": "red"}]}}',
            "line 1: scene: not a scene (objects[0]: unknown field 'color'; known are cls, ",
        ),
        (
            "p.jsonl",
            '{"prompt": "a", "scene": {"objects": [], "relation": []}}',
            "line 1: scene: not a scene (scene: unknown field 'relation'; known are objects, relations)",
        ),
        (
            "p.jsonl",
            '{"prompt": "a", "scene": {"objects": [{"cls": {"nom": "x"}}]}}',
            "line 1: scene: not a scene",
        ),
        (
            "p.jsonl",
            '{"prompt": "a", "scene": {"objects": [], '
            '"relations": [{"subject": 0, "predicate": "left", "object": 1}]}}',
            "line 1: scene: relation 'left'",
        ),
        (
            "p.jsonl",
            '{"prompt": "a", "texts": ["a"], "answer": 1}',
            "line 1: answer: ",
        ),
        ("p.jsonl", '{"prompt": "a", "texts": "a"}', "line 1: texts: "),
        ("p.jsonl", '{"prompt": "a", "references": "a"}', "line 1: references: "),
        ("p.jsonl", '{"prompt": "a", "references": ["a", " "]}', "line 1: references: "),
        ("p.jsonl", '{"prompt": "a", "images": ["gone.png"]}', "line 1: images: no such file"),
        ("p.jsonl", '{"prompt": "a", "facets": 1}', "line 1: facets: "),
        ("p.jsonl", '{"prompt": "a", "style": ["x"]}', "line 1: style: "),
        ("p.jsonl", '{"prompt": "a", "style": NaN}', "line 1: style: "),
        ("p.jsonl", '{"prompt": "a", "style": "\\u0000"}', "line 1: style: "),
        ("p.jsonl", '{"prompt": ' + "[" * 100_000, "line 1: not JSON"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path, name, content, message):
    with pytest.raises(BadPrompts) as caught:
        read_prompts(write(tmp_path, name, content))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_many_expectations_of_one_text_are_numbered_without_end(tmp_path):
    lines = [json.dumps({"prompt": "a car", "n": i}) for i in range(20_000)] * 2
    own = json.dumps({"prompt": "x", "id": "a-car-3"})
    prompts = read_prompts(write(tmp_path, "p.jsonl", "\n".join([own, *lines])))
    merged, left_out = merge_duplicates(prompts)
    assert (len(merged), left_out) == (20_001, 20_000)
    assert [p.id for p in merged[:5]] == ["a-car-3", "a-car", "a-car-2", "a-car-4", "a-car-5"]


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    with pytest.raises(BadPrompts, match=r"gone\.txt: no such file"):
        read_prompts(tmp_path / "gone.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(BadPrompts, match=r"folder\.txt: cannot be read"):
        read_prompts(tmp_path / "folder.txt")


def test_files_are_told_from_prompt_sources(tmp_path):
    there = write(tmp_path, "p.tsv", "")
    assert all(is_prompt_file(s) for s in ("gone.txt", "a/b.CSV", "b.jsonl", "C:\\p.csv", str(there)))
    assert not any(
        is_prompt_file(s) for s in ("tiam-5-2", "t2i-tiam/tiam-5-2", "tiam-template:x.yaml", "list:x.csv")
    )


@given(st.text(min_size=1), st.text(min_size=1))
def test_ids_depend_on_the_text_alone_and_tell_texts_apart(a, b):
    assert (make_id(a) == make_id(b)) == (a == b)
    assert 0 < len(make_id(a)) <= 60
    assert not set(make_id(a)) & set(' /\\\n"')


def test_ids_are_readable():
    assert make_id("a photo of a car") == "a-photo-of-a-car"
    assert make_id("A car!").startswith("a-car-")
    assert len(make_id("x" * 10_000)) <= 60


def test_a_scene_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"prompt,scene\na dog,{'[' * 100_000}\n")
    with pytest.raises(BadPrompts, match=r"p\.csv, line 2: scene: not a scene"):
        read_prompts(path)
