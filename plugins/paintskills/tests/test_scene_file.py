from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api.errors import BadFolder, BadPrompts
from t2i_paintskills.scene_file import of_scenes, read_scenes
from t2i_paintskills.skills import COLOURS, SHAPES, SKILLS
from t2i_paintskills.splits import CHARACTERS, REPEATS, SCALES, STATES, draw_split
from typer.testing import CliRunner

#: a scene as published files have it: no split, another order, what is not drawn is null
PUBLISHED = {
    "scene": "empty", "skill": "count", "answer": 2,
    "objects": [
        {"id": 0, "shape": "humanSophie", "color": "plain", "relation": None, "scale": 8.890905938624922,
         "texture": "plain", "rotation": None, "state": "sitting"},
    ],
    "text": "a photo of 1 human", "id": "count_val_00000",
}  # fmt: skip


@pytest.fixture
def written(tmp_path):
    def write(data, indent=4, end=""):
        path = tmp_path / "scenes.json"
        path.write_text(json.dumps(data, indent=indent) + end)
        return path

    return write


@pytest.mark.parametrize(("indent", "end"), [(4, ""), (4, "\n"), (None, "")])
def test_published_files_come_back_byte_for_byte(written, indent, end):
    spatial = {
        **PUBLISHED, "skill": "spatial", "id": "spatial_val_00001", "split": "val",
        "text": "a photo of dog and fire hydrant; fire hydrant is left to dog",
        "objects": [
            {**PUBLISHED["objects"][0], "shape": "dog", "state": "standing"},
            {**PUBLISHED["objects"][0], "id": 1, "shape": "fireHydrant", "relation": "left_0", "state": None},
        ],
    }  # fmt: skip
    path = written({"data": [PUBLISHED, spatial]}, indent, end)
    found = read_scenes(path)
    assert found.to_text().encode() == path.read_bytes()
    first, second = found.scenes
    assert (first.item.skill, first.item.shapes, first.item.count) == ("count", ("human",), 1)
    assert first.item.text == first.text
    assert second.item.text == second.text


numbers = st.floats(0.001, 1e6)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(list(SHAPES)), st.sampled_from(COLOURS), numbers), min_size=1), st.data()
)
def test_any_file_in_the_official_form_comes_back_byte_for_byte(tmp_path_factory, things, data):
    scenes = [
        {
            "id": f"color_val_{n:05d}", "scene": "empty", "text": data.draw(st.text(min_size=1, max_size=5)),
            "skill": "color", "split": "val",
            "objects": [
                {"id": 0, "shape": shape, "color": colour, "relation": None, "scale": scale, "texture": "pure",
                 "rotation": data.draw(st.none() | st.tuples(numbers, numbers, numbers)), "state": None},
            ],
        }
        for n, (shape, colour, scale) in enumerate(things)
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("scenes") / "scenes.json"
    path.write_text(json.dumps({"data": scenes}, indent=4))
    assert read_scenes(path).to_text().encode() == path.read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("skill", SKILLS)
def test_a_drawn_split_is_reproducible_uniform_and_in_the_official_form(skill, tmp_path):
    drawn = draw_split(skill, "val", seed=3)
    path = tmp_path / "scenes.json"
    path.write_text(drawn.to_text())
    assert read_scenes(path) == drawn == draw_split(skill, "val", seed=3)
    assert draw_split(skill, "val", seed=4).scenes[0] != drawn.scenes[0]
    texts = Counter(scene.text for scene in drawn.scenes)
    assert set(texts.values()) == {REPEATS["val"][skill]}
    assert [scene.id for scene in drawn.scenes[:2]] == [f"{skill}_val_00000", f"{skill}_val_00001"]
    things = [(scene, thing) for scene in drawn.scenes for thing in scene.data["objects"]]
    low, high = SCALES[skill]
    scales = [thing["scale"] for _, thing in things]
    yaws = [thing["rotation"][1] for _, thing in things]
    for values, (a, b) in ((scales, (low, high)), (yaws, (0, 360))):
        assert all(a <= value <= b for value in values)
        shares = [sum(a + (b - a) * q / 4 <= v < a + (b - a) * (q + 1) / 4 for v in values) for q in range(4)]
        # four standard errors of a quarter
        assert all(abs(share / len(values) - 0.25) < 4 * (0.1875 / len(values)) ** 0.5 for share in shares)
    for scene, thing in things:
        relation = scene.item.relation
        assert thing["relation"] == (f"{relation}_0" if thing["id"] == 1 and relation else None)
        assert thing["color"] == (scene.item.colour or "plain")
    people = Counter(thing["shape"] for _, thing in things if thing["shape"].startswith("human"))
    assert set(people) == set(CHARACTERS)
    for shape, states in STATES.items():
        if shape != "human":
            assert {thing["state"] for _, thing in things if thing["shape"] == shape} == set(states)


def test_splits_and_skills_are_drawn_apart():
    train, val = draw_split("object", "train"), draw_split("object", "val")
    assert len(train.scenes) == 21000
    scales = [{thing["scale"] for scene in one.scenes for thing in scene.data["objects"]} for one in (train, val)]
    assert not scales[0] & scales[1]


def change(path, value):
    """Return a copy of the published scene with one field changed; `...` removes it."""
    scene = json.loads(json.dumps(PUBLISHED))
    at = scene
    *parents, last = path
    for key in parents:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return scene


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("text",), ..., "text: is missing"),
        (("text",), 3, "text: must be text (got 3)"),
        (
            ("text",),
            "a photo of 3 human",
            "text: must be 'a photo of 1 human', to match the objects (got \"a photo of 3 human\")",
        ),
        (("scene",), None, "scene: must be text (got null)"),
        (("skill",), "counting", "skill: must be one of object, count, color, spatial (got 'counting')"),
        (("objects",), [], "objects: must be a list with 1 to 4 elements"),
        (("objects",), ..., "objects: must be a list with 1 to 4 elements"),
        (("objects", 0), "dog", "objects[0]: must be an object"),
        (("objects", 0, "id"), "0", 'objects[0].id: must be a whole number (got "0")'),
        (("objects", 0, "shape"), "dgo", "objects[0].shape: PaintSkills has no 'dgo': did you mean 'dog'?"),
        (("objects", 0, "color"), "maroon", "objects[0].color: must be one of plain, red"),
        (("objects", 0, "scale"), "big", 'objects[0].scale: must be a number above 0 (got "big")'),
        (("objects", 0, "scale"), 0, "objects[0].scale: must be a number above 0 (got 0)"),
        (("objects", 0, "scale"), ..., "objects[0].scale: is missing"),
        (("objects", 0, "scale"), -(10**400), "objects[0].scale: must be a number above 0 (got -1000"),
        (
            ("objects", 0, "rotation"),
            [0, 10**400, 0],
            "objects[0].rotation: must be null or three numbers (got [0, 1",
        ),
        (("objects", 0, "scale"), float("nan"), "objects[0].scale: must be a number above 0 (got NaN)"),
        (("objects", 0, "scale"), float("inf"), "objects[0].scale: must be a number above 0 (got Infinity)"),
        (("objects", 0, "rotation"), [1, 2], "objects[0].rotation: must be null or three numbers (got [1, 2])"),
        (("objects", 0, "texture"), ..., "objects[0].texture: is missing"),
        (("objects", 0, "state"), 1, "objects[0].state: must be text (got 1)"),
        (("split",), 1, "split: must be text (got 1)"),
    ],
)
def test_a_malformed_scene_is_named_with_its_field(written, path, value, said):
    first = {**PUBLISHED, "id": "first"}
    with pytest.raises(BadPrompts) as caught:
        read_scenes(written({"data": [first, change(path, value)]}))
    assert f"scenes.json: scene 1 ('count_val_00000'): {said}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "must be an object with a list of scenes"),
        ({"data": {}}, "must be an object with a list of scenes"),
        ({"data": []}, "no scenes"),
        ({"data": ["x"]}, "scene 0: must be an object"),
        ({"data": [change(("id",), ...)]}, "scene 0: id: is missing"),
        ({"data": [PUBLISHED, PUBLISHED]}, "scene 1 ('count_val_00000'): id: another scene has the same id"),
    ],
)
def test_a_malformed_file_is_said(written, data, said):
    with pytest.raises(BadPrompts, match=r"scenes\.json") as caught:
        read_scenes(written(data))
    assert said in str(caught.value)


def test_malformed_json_is_reported(tmp_path):
    path = tmp_path / "scenes.json"
    path.write_text('{"data": [')
    with pytest.raises(BadPrompts, match=r"scenes\.json: not JSON"):
        read_scenes(path)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            {"relation": "left"},
            'objects[1].relation: must be one of left_0, right_0, above_0, below_0 (got "left")',
        ),
        ({"relation": "left_1"}, "objects[1].relation: must be one of left_0"),
        ({"relation": None}, "objects[1].relation: must be one of left_0"),
    ],
)
def test_a_relation_is_one_of_the_second_to_the_first(second, said):
    dog = {**PUBLISHED["objects"][0], "shape": "dog"}
    with pytest.raises(BadPrompts) as caught:
        of_scenes([{**PUBLISHED, "skill": "spatial", "objects": [dog, {**dog, "id": 1, **second}]}])
    assert said in str(caught.value)


def test_words_of_ones_own_and_those_of_another_skill_are_taken_where_they_say_the_same():
    for text in ("one person, alone", "a photo of human"):
        (scene,) = of_scenes([{**PUBLISHED, "text": text}]).scenes
        assert scene.text == text


def test_counted_objects_are_of_one_kind_and_coloured_ones_have_a_colour():
    dog = {**PUBLISHED["objects"][0], "shape": "dog"}
    with pytest.raises(BadPrompts, match=r"objects\[1\]\.shape: must be 'dog', the shape of the first object"):
        of_scenes([{**PUBLISHED, "objects": [dog, {**dog, "shape": "bed"}]}])
    with pytest.raises(BadPrompts, match=r"objects\[0\]\.color: must be one of red, blue.* \(got 'plain'\)"):
        of_scenes([{**PUBLISHED, "skill": "color", "objects": [dog]}])


def test_the_table_of_official_images_in_the_readme_is_made(written, monkeypatch, capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    _, code = readme.split("count/images/prompts.csv <<'END'\n")
    code, _ = code.split("    END\n", 1)
    path = written({"data": [PUBLISHED, {**PUBLISHED, "id": "count_val_00084"}]})
    monkeypatch.setattr("sys.argv", ["-", str(path)])
    exec(textwrap.dedent(code), {})
    assert capsys.readouterr().out.splitlines() == [
        "file,prompt",
        "image_count_val_00000.png,a photo of 1 human",
        "image_count_val_00084.png,a photo of 1 human",
    ]


def test_the_command_writes_what_is_drawn(tmp_path):
    from t2i_paintskills.command import app

    done = CliRunner().invoke(app, [str(tmp_path / "out"), "--skill", "object", "--split", "val", "--seed", "7"])
    assert done.exit_code == 0, done.output
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert written == [tmp_path / "out/object/scenes/object_val.json"]
    assert written[0].read_text() == draw_split("object", "val", 7).to_text()


def test_the_command_overwrites_no_other_scenes(tmp_path):
    """A folder of the official data has its files at the places where the command writes."""
    from t2i_paintskills.command import app

    official = tmp_path / "object/scenes/object_val.json"
    official.parent.mkdir(parents=True)
    official.write_text("{}")
    asked = [str(tmp_path), "--skill", "object", "--split", "val"]
    done = CliRunner().invoke(app, asked)
    assert isinstance(done.exception, BadFolder)
    assert f"{official}: the file has other scenes" in str(done.exception)
    assert official.read_text() == "{}"
    official.unlink()
    for _ in range(2):  # the same scenes may be written again
        assert CliRunner().invoke(app, asked).exit_code == 0
