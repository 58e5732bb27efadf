import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import ObjectClass, Prompt, Scene, SceneObject, Setup
from t2i_core.api.errors import BadPrompts
from t2i_tiam.labels import LABELS
from t2i_tiam.plugin import t2i_prompt_sources
from t2i_tiam.sources import TEMPLATES
from t2i_tiam.templates import Template, TemplatePosition, read_template

SOURCES = {s.name: s for s in t2i_prompt_sources()}


def prompts_of(name: str, argument: str | None = None) -> list[Prompt]:
    source = SOURCES[name]
    return list(source.prompts(Setup(argument, source.options())))


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_source_names_its_objects_in_order_with_synsets(name):
    prompts = prompts_of(name)
    assert len({p.id for p in prompts}) == len({p.text for p in prompts}) == len(prompts)
    assert str(len(prompts)) + " prompts" in SOURCES[name].summary
    for prompt in prompts:
        assert prompt.scene is not None
        words = [f"{o.colour} {o.cls.name}" if o.colour else o.cls.name for o in prompt.scene.objects]
        places = [prompt.text.index(w) for w in words]
        assert places == sorted(places)
        assert all(o.cls.synset for o in prompt.scene.objects)
        assert len(set(prompt.scene.classes)) == len(words)
        assert " " not in prompt.id


@pytest.mark.parametrize(
    ("name", "id", "text"),
    [
        ("tiam-5-1", "elephant", "a photo of an elephant"),
        ("tiam-24-2", "fire-hydrant+oven", "a photo of a fire hydrant and an oven"),
        ("tiam-28", "orange+hot-dog", "a photo of an orange and a hot dog"),
        ("tiam-5-3", "car+zebra+elephant", "a photo of a car next to a zebra and an elephant"),
        (
            "tiam-5-4",
            "car+zebra+giraffe+elephant",
            "a photo of a car next to a zebra with a giraffe and an elephant",
        ),
        ("tiam-5-3-comma", "car+zebra+elephant-comma", "a photo of a car, a zebra and an elephant"),
        ("tiam-color-1", "purple-elephant", "a photo of a purple elephant"),
        ("tiam-color-2", "red-car+blue-elephant", "a photo of a red car and a blue elephant"),
    ],
)
def test_sentences(name, id, text):
    assert {p.id: p.text for p in prompts_of(name)}[id] == text


def test_a_coloured_prompt_says_what_it_expects():
    prompt = next(p for p in prompts_of("tiam-color-2") if p.id == "red-car+blue-elephant")
    assert prompt == Prompt(
        id="red-car+blue-elephant",
        text="a photo of a red car and a blue elephant",
        scene=Scene((SceneObject(LABELS["car"], "red"), SceneObject(LABELS["elephant"], "blue"))),
        facets={"object_1": "car", "colour_1": "red", "object_2": "elephant", "colour_2": "blue"},
    )


names = st.sets(st.sampled_from(["car", "dog", "cat", "bus"]), min_size=1)
colours = st.sets(st.sampled_from(["red", "blue", "green"]))
positions = st.lists(st.tuples(names, colours), min_size=1, max_size=3)


@given(positions)
def test_unlike_positions_forbid_only_the_same_coloured_object_twice(sets):
    template = Template(
        template=" ".join(f"{{{i}}}" for i in range(1, len(sets) + 1)),
        positions=[{"objects": sorted(o), "colours": sorted(c)} for o, c in sets],
        rule="whole",
    )
    choices = [set(itertools.product(o, c or {None})) for o, c in sets]
    expected = {t for t in itertools.product(*choices) if len(set(t)) == len(t)}
    made = [tuple((o.cls.name, o.colour) for o in p.scene.objects) for p in template.prompts()]
    assert len(made) == len(expected)
    assert set(made) == expected


def test_two_unlike_positions_follow_the_closed_form():
    a = TemplatePosition(objects=["car", "dog", "cat"], colours=["red", "blue"])
    b = TemplatePosition(objects=["dog", "cat", "bus", "cow"], colours=["blue", "green", "pink"])
    made = list(Template(template="{1} {2}", positions=(a, b)).prompts())
    assert len(made) == (3 * 2) * (4 * 3) - 2 * 1  # all pairs but the coloured objects that both have


def test_the_rule_follows_from_whether_positions_share_their_sets():
    same = {"objects": ["car", "dog", "cat", "bus"], "colours": ["red", "blue", "green", "pink"]}
    shuffled = {"objects": ["dog", "car", "bus", "cat"], "colours": ["pink", "blue", "green", "red"]}

    def count(rule=None):
        return len(list(Template(template="{1} {2}", positions=(same, shuffled), rule=rule).prompts()))

    assert count() == count("parts") == (4 * 3) * (4 * 3)
    assert count("whole") == 16 * 15


def test_the_same_thing_under_two_names_is_the_same_object():
    positions = [{"objects": ["couch"]}, {"objects": [{"name": "sofa", "synset": "sofa.n.01"}]}]
    assert list(Template(template="{1} {2}", positions=positions).prompts()) == []


def write(folder: Path, text: str) -> Path:
    path = folder / "t.yaml"
    path.write_text(text)
    return path


def test_a_template_from_a_file(tmp_path):
    path = write(
        tmp_path,
        """
        template: "{2} behind {1}, in oil"
        positions:
          - objects: [couch, {name: crane, synset: crane.n.04}]
            colours: [red]
          - objects: [unicorn]
        """,
    )
    first, second = prompts_of("tiam-template", str(path))
    assert first.id == "red-couch+unicorn"
    assert first.text == "an unicorn behind a red couch, in oil"  # the paper's rule goes by letters
    assert first.scene.objects[0].cls == ObjectClass("couch", "sofa.n.01")
    assert first.scene.objects[1].cls == ObjectClass("unicorn")
    assert second.scene.objects[0].cls.synset == "crane.n.04"


GOOD = "template: a photo of {1}\npositions: [{objects: [car]}]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must contain the fields template and positions"),
        ("- 1", "must contain the fields template and positions"),
        ("template: [", "not YAML"),
        ("template: a photo of {1}", "positions: is missing"),
        (GOOD.replace("{1}", "{2}"), "template: must contain {1} exactly once"),
        (GOOD.replace("{1}", "{1} and {1}"), "template: must contain {1} exactly once"),
        (GOOD.replace("[car]", "[]"), "positions.0.objects: must have an item"),
        (GOOD.replace("car", "3"), "positions.0.objects.0: "),
        (GOOD.replace("car", "''"), "positions.0.objects: an object must have a name"),
        (GOOD.replace("[car]", "[car], colors: [red]"), "positions.0.colors: is unknown"),
        (GOOD.replace("[car]", "[car], colours: ['']"), "positions.0.colours.0: "),
        (GOOD + "rule: some", "rule: must be 'parts' or 'whole'"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(BadPrompts) as caught:
        read_template(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(BadPrompts, match=r"gone\.yaml: no such file"):
        prompts_of("tiam-template", str(tmp_path / "gone.yaml"))


def test_two_prompts_of_one_id_are_refused():
    template = Template(template="{1}", positions=[{"objects": ["car", "car"]}])
    with pytest.raises(BadPrompts, match="two prompts have the id 'car'"):
        list(template.prompts())
