"""Prompts with one human who may wear anything, in DALL-Eval's wording ("a photo of", "a person with")."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject

from t2i_miniworld.vocabulary import SYNSETS

#: The human alone, in several wordings.
ALONE = (
    "a human",
    "a photo of a human",
    "a picture of a human",
    "an image of a human",
    "a photo of one human",
)
#: Kinds of animals.
ANIMALS = ("dog", "bird", "bear", "giraffe", "elephant", "zebra")


def prompts() -> Iterator[Prompt]:
    """Yield 5 prompts with a human alone, 6 with a human and an animal, and 19 with a human and an object."""
    human = SceneObject(ObjectClass("human", SYNSETS["human"]))
    for text in ALONE:
        yield Prompt(id=text, text=text, scene=Scene((human,)), facets={"category": "alone"})
    for name, synset in SYNSETS.items():
        if name == "human":
            continue
        text = f"a human with {'an' if name[0] in 'aeiou' else 'a'} {name}"
        scene = Scene((human, SceneObject(ObjectClass(name, synset))))
        yield Prompt(
            id=text, text=text, scene=scene, facets={"category": "animal" if name in ANIMALS else "object"}
        )
