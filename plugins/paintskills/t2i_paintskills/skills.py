"""PaintSkills' objects, colours and relations, and the distinct texts of its four skills.

References:
    Cho, Zala, Bansal: DALL-Eval. arXiv:2202.04053, first version, section 3.1 and appendix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from t2i_core.api.prompt import ObjectClass, Prompt, Relation, Scene, SceneObject

Skill = Literal["object", "count", "color", "spatial"]
SKILLS: tuple[Skill, ...] = get_args(Skill)

_SYNSETS = {
    "human": "person.n.01", "airplane": "airplane.n.01", "bike": "bicycle.n.01", "bus": "bus.n.01",
    "dog": "dog.n.01", "boat": "boat.n.01", "van": "van.n.05", "train": "train.n.01",
    "fireHydrant": "fireplug.n.01", "stopSign": "street_sign.n.01", "backpack": "backpack.n.01",
    "chair": "chair.n.01", "diningTable": "dining_table.n.01", "skateboard": "skateboard.n.01",
    "bench": "bench.n.01", "suitcase": "bag.n.06", "trafficLight": "traffic_light.n.01", "bird": "bird.n.01",
    "bear": "bear.n.01", "bed": "bed.n.01", "pottedPlant": "pot_plant.n.01",
}  # fmt: skip


def name_of(shape: str) -> str:
    """Return an object's name as written in texts: `fire hydrant` for `fireHydrant`."""
    return re.sub("[A-Z]", lambda found: f" {found[0].lower()}", shape)


SHAPES: dict[str, ObjectClass] = {shape: ObjectClass(name_of(shape), s) for shape, s in _SYNSETS.items()}
"""The 21 objects by their names in scene files, in the order of those files.

WordNet has no stop sign and no potted plant; street sign and pot plant are the nearest synsets.
"""

NAMES: dict[str, str] = {cls.name: shape for shape, cls in SHAPES.items()}
"""Names in scene files by the names in texts."""

COLOURS = ("red", "blue", "yellow", "white", "purple", "green")
COUNTS = (1, 2, 3, 4)
RELATIONS = ("left", "right", "above", "below")
_PHRASES = {"left": "left to", "right": "right to"}

SEEDS: dict[Skill, int] = {"object": 50, "count": 30, "color": 20, "spatial": 2}
"""Number of repeats of each text in the paper's validation split; here a seed takes the place of a repeat."""


@dataclass(frozen=True)
class SkillText:
    """One distinct text of a skill.

    Attributes:
        skill: The skill.
        shapes: One object, or A and B for the spatial skill.
        colour: Colour of the object, for the colour skill.
        count: Number of objects.
        relation: Relation of B to A, for the spatial skill.
    """

    skill: Skill
    shapes: tuple[str, ...]
    colour: str | None = None
    count: int = 1
    relation: str | None = None

    @property
    def text(self) -> str:
        """The text of the prompt."""
        a, *others = (SHAPES[shape].name for shape in self.shapes)
        match self.skill:
            case "object":
                return f"a photo of {a}"
            case "count":
                return f"a photo of {self.count} {a}"
            case "color":
                return f"a photo of {self.colour} {a}"
            case "spatial":
                (b,) = others
                phrase = _PHRASES.get(str(self.relation), self.relation)
                return f"a photo of {a} and {b}; {b} is {phrase} {a}"

    @property
    def id(self) -> str:
        """The identifier, unique among the texts of the four skills."""
        objects = "+".join(SHAPES[shape].name.replace(" ", "-") for shape in self.shapes)
        prefix = {"count": f"{self.count}-", "color": f"{self.colour}-"}.get(self.skill, "")
        suffix = f"-{self.relation}" if self.skill == "spatial" else ""
        return f"{self.skill}-{prefix}{objects}{suffix}"

    @property
    def scene(self) -> Scene:
        """The scene that an image must show."""
        if self.skill == "spatial":
            relation = Relation(1, str(self.relation), 0)
            return Scene(tuple(SceneObject(SHAPES[shape]) for shape in self.shapes), (relation,))
        (shape,) = self.shapes
        return Scene((SceneObject(SHAPES[shape], self.colour, self.count),))

    @property
    def facets(self) -> dict[str, str | int | float]:
        """The facets by which scores are broken down."""
        facets: dict[str, str | int | float] = {"skill": self.skill, "object": SHAPES[self.shapes[0]].name}
        if self.skill == "count":
            facets["count"] = self.count
        if self.colour is not None:
            facets["colour"] = self.colour
        if self.relation is not None:
            facets |= {"object_2": SHAPES[self.shapes[1]].name, "relation": self.relation}
        return facets

    def prompt(self) -> Prompt:
        """Return the prompt for this text."""
        return Prompt(id=self.id, text=self.text, scene=self.scene, facets=self.facets)


def items(skill: Skill, shapes: Sequence[str] = tuple(SHAPES)) -> Iterator[SkillText]:
    """Yield each text of a skill once, in the order of the scene files.

    With all objects there are 21 texts for object, 84 for count, 126 for color and 1764 for spatial.
    """
    match skill:
        case "object":
            yield from (SkillText(skill, (shape,)) for shape in shapes)
        case "count":
            yield from (SkillText(skill, (shape,), count=count) for count, shape in product(COUNTS, shapes))
        case "color":
            yield from (SkillText(skill, (shape,), colour=colour) for colour, shape in product(COLOURS, shapes))
        case "spatial":
            pairs = product(RELATIONS, shapes, shapes)
            yield from (SkillText(skill, (a, b), relation=relation) for relation, a, b in pairs)
