"""Templates: they expand sets of objects and colours into prompts with scenes.

Example of a template in a YAML file:

    template: a photo of {1} next to {2}
    positions:
      - objects: [car, {name: crane, synset: crane.n.04}]
        colours: [red, green]
      - objects: [couch, zebra]

`{1}` stands for the article, colour and name of the first object. Labels of the paper's study have their synsets
filled in.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024. Propositions 1
    to 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject
from t2i_core.io.yaml_file import find_first_fault
from t2i_core.io.yaml_lines import read_located_yaml

from .labels import LABELS


def _parse_object(value: Any) -> Any:
    return LABELS.get(value, ObjectClass(value)) if isinstance(value, str) else value


Name = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]


class TemplatePosition(BaseModel):
    """Choices for one position of a template.

    Attributes:
        objects: The object classes, O_i in the paper.
        colours: The colours, A_i in the paper; if empty, the objects have no colour.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objects: tuple[Annotated[ObjectClass, BeforeValidator(_parse_object)], ...] = Field(min_length=1)
    colours: tuple[Name, ...] = ()

    @field_validator("objects")
    @classmethod
    def _check_names(cls, objects: tuple[ObjectClass, ...]) -> tuple[ObjectClass, ...]:
        if any(not o.name.strip() for o in objects):
            raise ValueError("an object must have a name that is not blank")
        return objects

    @property
    def choices(self) -> Iterator[SceneObject]:
        """All combinations of an object and a colour."""
        for cls in self.objects:
            for colour in self.colours or (None,):
                yield SceneObject(cls, colour)


class Template(BaseModel):
    """A sentence with positions for objects.

    Attributes:
        template: The sentence; it contains {1}, {2}, ... exactly once each.
        positions: The choices for each position.
        rule: `parts`: a prompt repeats neither an object nor a colour (Proposition 1). `whole`: a prompt does not
            repeat an object in the same colour (Propositions 2 and 3). If None: `parts` if all positions have the
            same choices, otherwise `whole`.
        id_suffix: Suffix of the prompts' ids; it distinguishes templates with the same objects.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    positions: tuple[TemplatePosition, ...] = Field(min_length=1)
    rule: Literal["parts", "whole"] | None = None
    id_suffix: str = ""

    @model_validator(mode="after")
    def _check_template(self) -> Template:
        wanted = [str(i) for i in range(1, len(self.positions) + 1)]
        if sorted(re.findall(r"\{(.*?)\}", self.template)) != sorted(wanted):
            markers = ", ".join(f"{{{i}}}" for i in wanted)
            raise ValueError(
                f"template: must contain {markers} exactly once each, one for each of the "
                f"{len(wanted)} `positions` (got {self.template!r})"
            )
        return self

    def prompts(self) -> Iterator[Prompt]:
        """Yield the prompts; the last position varies fastest.

        Raises:
            BadPrompts: If two prompts get the same id.
        """
        seen: set[str] = set()
        for objects in self._combinations(_same_part if self._parts_differ else _same_whole, ()):
            prompt = self._prompt(objects)
            if prompt.id in seen:
                raise BadPrompts(
                    f"template {self.template!r}: two prompts have the id {prompt.id!r}; remove repeated objects "
                    "and colours from `positions`"
                )
            seen.add(prompt.id)
            yield prompt

    @property
    def _parts_differ(self) -> bool:
        if self.rule is not None:
            return self.rule == "parts"
        return len({(frozenset(p.objects), frozenset(p.colours)) for p in self.positions}) == 1

    def _combinations(self, clash: Clash, chosen: tuple[SceneObject, ...]) -> Iterator[tuple[SceneObject, ...]]:
        if len(chosen) == len(self.positions):
            yield chosen
            return
        for candidate in self.positions[len(chosen)].choices:
            if not any(clash(other, candidate) for other in chosen):
                yield from self._combinations(clash, (*chosen, candidate))

    def _prompt(self, objects: tuple[SceneObject, ...]) -> Prompt:
        facets = {}
        for i, o in enumerate(objects, 1):
            facets[f"object_{i}"] = o.cls.name
            if o.colour:
                facets[f"colour_{i}"] = o.colour
        return Prompt(
            id="+".join(_words(o).replace(" ", "-") for o in objects) + self.id_suffix,
            text=re.sub(r"\{(\d+)\}", lambda m: with_article(_words(objects[int(m[1]) - 1])), self.template),
            scene=Scene(objects),
            facets=facets,
        )


Clash = Callable[[SceneObject, SceneObject], bool]


def _same_whole(a: SceneObject, b: SceneObject) -> bool:
    return a.cls.same_as(b.cls) and a.colour == b.colour


def _same_part(a: SceneObject, b: SceneObject) -> bool:
    return a.cls.same_as(b.cls) or (a.colour is not None and a.colour == b.colour)


def _words(o: SceneObject) -> str:
    return f"{o.colour} {o.cls.name}" if o.colour else o.cls.name


def with_article(words: str) -> str:
    """Return words with the article `a` or `an`, chosen by their first letter alone as in the paper."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def read_template(path: Path) -> Template:
    """Read a template from a YAML file.

    Raises:
        BadPrompts: If the file is not a valid template; the message names the file, the field and the fault.
    """
    data = read_located_yaml(path, BadPrompts, "the fields template and positions").data
    try:
        return Template.model_validate(data)
    except ValidationError as error:
        raise BadPrompts(f"{path}: {find_first_fault(error)}") from error
