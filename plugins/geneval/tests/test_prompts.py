"""The prompt sources: scenes, and files of records."""

import json

import pytest
from t2i_core.api import Relation, Setup
from t2i_core.api.errors import BadPrompts
from t2i_geneval.mini_world import COLOURS
from t2i_geneval.options import PromptOptions
from t2i_geneval.sources import read_geneval, read_mini
from t2i_geneval.tasks import TASKS

CLOCKS = {
    "tag": "counting",
    "include": [{"class": "clock", "count": 2}],
    "exclude": [{"class": "clock", "count": 3}],
    "prompt": "a photo of two clocks",
}


def made(argument=None, read=read_geneval, **options):
    return list(read(Setup(argument, PromptOptions(**options))))


def test_scenes_say_what_the_records_say():
    prompts = made()
    assert [prompts[0].id, prompts[-1].id] == ["00000", "00552"]
    assert len({cls.synset for prompt in prompts for cls in prompt.scene.classes} - {None}) == 80
    tags = [prompt.facets["tag"] for prompt in prompts]
    assert list(dict.fromkeys(tags)) == list(TASKS)
    position = prompts[tags.index("position")]
    target, subject = position.scene.objects
    assert position.text.index(subject.cls.name) < position.text.index(target.cls.name)
    (relation,) = position.scene.relations
    assert relation == Relation(1, relation.predicate, 0)
    assert f" {relation.predicate} " in position.text or f" {relation.predicate} of " in position.text
    counting = prompts[tags.index("counting")].scene.objects[0]
    assert counting.count in (2, 3, 4)
    assert {each.colour for each in prompts[tags.index("color_attr")].scene.objects} < {
        "red",
        *COLOURS,
        "orange",
        "brown",
    }


def test_prompts_about_the_mini_world_have_all_tasks():
    prompts = made(read=read_mini)
    assert len(prompts) == len({prompt.text for prompt in prompts}) == 122
    assert {prompt.facets["tag"] for prompt in prompts} == set(TASKS)
    objects = [each for prompt in prompts for each in prompt.scene.objects]
    assert {each.colour for each in objects} == {None, *COLOURS}
    assert all(each.cls.synset for each in objects)
    assert "human" not in {each.cls.name for each in objects if each.colour}


def test_some_tasks_keep_the_numbers_of_all():
    some = made(tasks=("counting", "colors"))
    assert len(some) == 80 + 94
    every = {prompt.id: prompt for prompt in made()}
    assert all(every[prompt.id] == prompt for prompt in some)


def test_a_file_of_records(tmp_path):
    file = tmp_path / "own.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in (CLOCKS, {"prompt": "x"})) + "\n")
    first, second = made(str(file))
    assert (first.id, first.text, first.facets) == ("00000", CLOCKS["prompt"], {"tag": "counting"})
    assert first.scene.objects[0].count == 2
    assert (second.id, second.scene) == ("00001", None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no prompt"),
        ("{", "line 1: "),
        ("summary: a benchmark", "line 1: not JSON; write a record"),
        (json.dumps(CLOCKS) + "\n[]", "line 2: must be one JSON object with a field 'prompt'"),
        (json.dumps({**CLOCKS, "include": [{"class": "clock", "count": 0}]}), "line 1: include: not as GenEval"),
        (json.dumps({**CLOCKS, "exclude": [{"class": "dog", "count": 1}]}), "line 1: exclude: only exact numbers"),
        (json.dumps({**CLOCKS, "exclude": []}), "line 1: exclude: only exact numbers"),
        (json.dumps({**CLOCKS, "tag": "colors"}), "line 1: exclude: only exact numbers"),
        (json.dumps({**CLOCKS, "exclude": 5}), "line 1: exclude: must be a list of objects"),
        (json.dumps({**CLOCKS, "exclude": {"class": "clock"}}), "line 1: exclude: must be a list of objects"),
        (json.dumps({**CLOCKS, "prompt": " "}), "line 1: prompt: is blank"),
        (json.dumps({"prompt": "x", "include": {"class": "dog"}}), "line 1: include: not as GenEval"),
        (json.dumps({"prompt": "x", "include": [{"class": " "}]}), "object 0: class must be a name (got ' ')"),
        (
            json.dumps({"prompt": "x", "include": [{"class": "dog", "color": ""}]}),
            "object 0: color must be a word (got '')",
        ),
        (
            json.dumps(
                {"prompt": "x", "include": [{"class": "dog", "position": ["left of", 0]}, {"class": "cat"}]}
            ),
            "object 0: position must be one of left of, right of, above, below and the number of another of 2",
        ),
        (
            json.dumps(
                {"prompt": "x", "include": [{"class": "dog", "position": ["left of", True]}, {"class": "cat"}]}
            ),
            "object 0: position must be",
        ),
    ],
)
def test_bad_files_are_told_in_one_line(tmp_path, text, said):
    file = tmp_path / "own.jsonl"
    file.write_text(text)
    with pytest.raises(BadPrompts) as caught:
        made(str(file))
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)
    with pytest.raises(BadPrompts, match="no such file"):
        made(str(tmp_path / "none.jsonl"))
