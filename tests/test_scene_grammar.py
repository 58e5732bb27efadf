"""The grammar of scenes: what it writes it reads again, and it reads the lists of prompts that the field uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import ObjectClass, Prompt, Relation, Scene, SceneObject
from t2i_core.io import scene_grammar
from t2i_core.io.scene_grammar import RELATIONS, UnreadText, parse_scene, write_scene
from t2i_core.io.vocabulary import COLOURS, Vocabulary, pluralize, singularize
from t2i_paintskills.skills import items
from t2i_registry import Registry
from t2i_torch_support.coco_classes import CLASSES, NAMES

COCO = Vocabulary("coco", NAMES)
_things = st.builds(
    SceneObject,
    cls=st.sampled_from(list(CLASSES.values())),
    colour=st.none() | st.sampled_from(COLOURS),
    count=st.integers(1, 30),
)


@st.composite
def _scenes(draw: st.DrawFn) -> Scene:
    """Scenes with relations between neighbours, in order, and then, among different objects, in any order."""
    objects = tuple(draw(st.lists(_things, min_size=1, max_size=5)))
    predicates = st.sampled_from(sorted(set(RELATIONS.values())))
    relations = [Relation(n, draw(predicates), n + 1) for n in range(len(objects) - 1) if draw(st.booleans())]
    if len({thing.cls for thing in objects}) == len(objects) > 1:
        pairs = st.tuples(st.integers(0, len(objects) - 1), predicates, st.integers(0, len(objects) - 1))
        relations += [Relation(*pair) for pair in draw(st.lists(pairs, max_size=2))]
    return Scene(objects, tuple(relations))


@given(_scenes())
def test_a_scene_that_is_written_is_read_again(scene: Scene) -> None:
    text = write_scene(scene)
    assert parse_scene(text, COCO) == scene
    assert parse_scene(text.upper(), COCO) == scene


def test_every_class_is_read_under_every_name_in_singular_and_plural() -> None:
    for cls in NAMES:
        meant = next(own for own in CLASSES.values() if own.synset == cls.synset)
        assert parse_scene(f"a photo of a {cls.name}", COCO).objects == (SceneObject(meant),)
        for plural in (pluralize(cls.name), f"{cls.name}s"):
            assert parse_scene(f"three {plural}", COCO).objects == (SceneObject(meant, count=3),)
        assert singularize(pluralize(cls.name)) == cls.name


def _geneval() -> Iterator[tuple[str, Scene]]:
    """Texts of GenEval's six tasks, by its rules for articles and plurals, and what they ask for."""
    renamed = {"mouse": "computer mouse", "remote": "tv remote", "keyboard": "computer keyboard"}
    positions = {"left of": "left", "right of": "right", "above": "above", "below": "below"}
    colours = COLOURS[:10]
    names = [(renamed.get(name, name), cls) for name, cls in CLASSES.items()]
    for number, (name, cls) in enumerate(names):
        (other, second), colour = names[number - 7], colours[number % 10]
        yield f"a photo of {_article(name)}", Scene((SceneObject(cls),))
        both = SceneObject(cls), SceneObject(second)
        yield f"a photo of {_article(name)} and {_article(other)}", Scene(both)
        several = f"{name}es" if name.endswith("s") else f"{name}s"
        yield f"a photo of four {several}", Scene((SceneObject(cls, count=4),))
        yield f"a photo of {_article(f'{colour} {name}')}", Scene((SceneObject(cls, colour),))
        for words, predicate in positions.items():
            relation = (Relation(0, predicate, 1),)
            yield f"a photo of {_article(name)} {words} {_article(other)}", Scene(both, relation)
        pair = SceneObject(cls, colour), SceneObject(second, colours[number % 7])
        yield f"a photo of {_article(f'{colour} {name}')} and {_article(f'{pair[1].colour} {other}')}", Scene(pair)


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def test_prompts_like_genevals_are_read() -> None:
    texts = list(_geneval())
    assert len(texts) == 80 * 9
    for text, scene in texts:
        # `an orange hot dog` and such are read as GenEval means them too
        assert parse_scene(text, COCO) == scene, text


def test_every_text_of_paintskills_is_read() -> None:
    """Its spatial texts of an object twice are ambiguous, and refused."""
    mini = Vocabulary("mini", tuple({item.scene.objects[0].cls: 0 for item in items("object")}))
    for skill in ("object", "count", "color", "spatial"):
        for item in items(skill):
            if len(set(item.shapes)) == len(item.shapes):
                assert parse_scene(item.text, mini) == item.scene, item.text
            else:
                with pytest.raises(UnreadText, match="several objects"):
                    parse_scene(item.text, mini)


@pytest.mark.parametrize("source", ["tiam-5-4", "tiam-5-3-comma", "tiam-color-2", "tiam-28"])
def test_every_prompt_of_tiam_is_read(source: str) -> None:
    found = Registry().component("prompt_source", source, {})
    prompts: list[Prompt] = list(found.info.prompts(found.setup()))
    assert len(prompts) >= 60
    for prompt in prompts:
        assert parse_scene(prompt.text, COCO) == prompt.scene, prompt.text


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("a photo of a big dog", "'big'"),
        ("a photo of dogs", "'dogs'"),
        ("a dogs", "'dogs'"),
        ("one dogs", "'dogs'"),
        ("a dog on a bench", "'on'"),
        ("a dog without a hat", "'without'"),
        ("a dog and", "ends"),
        ("", "ends"),
        ("a photo of", "ends"),
        ("a zebrra", "'zebra'"),
        ("0 dogs", "'0'"),
        ("a dog is a cat", "'is'"),
        ("a dog and a cat; a bird is above a cat", "'a bird'"),
        ("two and a half dogs", "'and'"),
        ("a black and white dog", "'and'"),
        ("a dog!", "'!'"),
    ],
)
def test_the_word_that_stops_the_grammar_is_named(text: str, stop: str) -> None:
    with pytest.raises(UnreadText) as caught:
        parse_scene(text, COCO)
    assert stop in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        scene = parse_scene(text, COCO)
    except UnreadText:
        return
    assert scene.objects


def test_the_longest_noun_is_taken_and_a_colour_may_be_a_noun() -> None:
    bears = Vocabulary("bears", (ObjectClass("bear"), ObjectClass("black bear"), ObjectClass("orange")))
    (bear,) = parse_scene("a black bear", bears).objects
    assert (bear.cls.name, bear.colour) == ("black bear", None)
    (orange,) = parse_scene("an orange orange", bears).objects
    assert (orange.cls.name, orange.colour) == ("orange", "orange")


@pytest.mark.parametrize(
    "scene",
    [
        Scene(()),
        Scene((SceneObject(ObjectClass("dog"), "beige"),)),
        Scene((SceneObject(ObjectClass("dog"), attributes={"size": "big"}),)),
        Scene((SceneObject(ObjectClass("dog")),) * 3, (Relation(0, "left", 2),)),
    ],
)
def test_a_scene_that_the_grammar_cannot_say_is_not_written(scene: Scene) -> None:
    with pytest.raises(ValueError, match=r"."):
        write_scene(scene)


def test_the_documented_grammar_is_that_of_the_module() -> None:
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
    begin = "<!-- the grammar of t2i_core.io.scene_grammar -->\n\n"
    documented = page.partition(begin)[2].partition("\n\n")[0]
    assert documented.strip().startswith("prompt")
    assert documented in (scene_grammar.__doc__ or "")
