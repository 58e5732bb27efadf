"""The metrics: what the skills' decisions are asked of, and the rows that they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import Detections
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.metric import Metric, TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt, Scene
from t2i_core.api.study import Analysis, Study

from . import decisions
from .options import ColorOptions, ConfidenceOptions, CountOptions, PaintSkillsOptions, SkillOptions
from .skills import COLOURS, RELATIONS, SKILLS, Skill

NEED = "objects"
Facets = dict[str, str | int | float]
Right = dict[str, bool]
"""What is right of one image: the skill itself under "", and what it is made of."""


class UnknownToJudge(Exception):
    """A judge's answer that cannot be decided on, and why."""


def fits(skill: Skill, scene: Scene) -> str | None:
    """Say what is wrong with a scene that is to be of a skill, if anything."""
    one = len(scene.objects) == 1 and not scene.relations
    match skill:
        case "object" | "count" if not one:
            return "one object and no relation"
        case "object" if scene.objects[0].count != 1:
            return "one thing alone"
        case "color" if not one or scene.objects[0].count != 1 or scene.objects[0].colour is None:
            return "one thing in a colour"
        case "spatial":
            ends = [{r.subject, r.object} for r in scene.relations]
            if [o.count for o in scene.objects] != [1, 1] or ends != [{0, 1}]:
                return "two objects and one relation between them"
            if scene.relations[0].predicate not in RELATIONS:
                return f"a relation that is {', '.join(RELATIONS)}"
    return None


def facets_of(skill: Skill, scene: Scene) -> Facets:
    """What a row can be broken down by."""
    if skill == "spatial":
        (relation,) = scene.relations
        a, b = (scene.objects[end].cls.name for end in (relation.object, relation.subject))
        return {"object": a, "object_2": b, "relation": relation.predicate}
    (wanted,) = scene.objects
    facets: Facets = {"object": wanted.cls.name}
    if skill == "count":
        facets["count"] = wanted.count
    if skill == "color":
        facets["colour"] = str(wanted.colour)
    return facets


def decide(skill: Skill, scene: Scene, found: Detections, options: SkillOptions) -> Right:
    """Decide one image. Raises UnknownToJudge where the judge's answer has not what that takes."""
    if found.class_probs is None:
        raise UnknownToJudge("the judge gave no probabilities of classes")
    probs = found.class_probs
    if skill == "spatial":
        (relation,) = scene.relations
        columns = [_column(found, scene.objects[end].cls) for end in (relation.object, relation.subject)]
        if None in columns:
            return {"": False, "objects": False}
        a, b = (int(column or 0) for column in columns)
        boxes = found.boxes.astype(np.float64)
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        right = decisions.is_relation(probs, centres, a, b, relation.predicate)
        return {"": right, "objects": decisions.are_both(probs, a, b)}
    (wanted,) = scene.objects
    target = _column(found, wanted.cls)
    if skill == "count":
        assert isinstance(options, CountOptions | PaintSkillsOptions)
        number = decisions.confident(probs, options.threshold) == wanted.count
        rule = options.rule, options.threshold, options.clamp
        return {
            "": target is not None and decisions.is_count(probs, target, wanted.count, *rule),
            "number": number,
        }
    assert isinstance(options, ConfidenceOptions | PaintSkillsOptions)
    is_object = target is not None and decisions.is_object(probs, target, options.confidence)
    if skill == "object":
        return {"": is_object}
    assert isinstance(options, ColorOptions | PaintSkillsOptions)
    in_colour = _in_colour(found, probs, str(wanted.colour), COLOURS if options.colours == "skill" else None)
    return {"": is_object and in_colour, "object": is_object, "colour": in_colour}


def confidence_of(options: SkillOptions) -> float:
    """From which confidence on detections must be there, or another threshold would be asked than the one given.

    Relations know no threshold: 1 asks for nothing.
    """
    match options:
        case PaintSkillsOptions():
            return min(options.confidence, options.threshold)
        case ConfidenceOptions():
            return options.confidence
        case CountOptions():
            return options.threshold
    return 1.0


def _in_colour(found: Detections, probs: decisions.Probs, colour: str, among: Sequence[str] | None) -> bool:
    if found.colours is None:
        raise UnknownToJudge("the judge gave no colours")
    if colour not in found.colour_names:
        known = ", ".join(found.colour_names)
        raise UnknownToJudge(f"the judge knows no {colour!r} among colours: it knows {known}")
    columns = [i for i, name in enumerate(found.colour_names) if among is None or name in {*among, colour}]
    return decisions.has_colour(found.colours[:, columns], probs, columns.index(found.colour_names.index(colour)))


def _column(found: Detections, cls: ObjectClass) -> int | None:
    """The column of a class; None where a judge that declares no classes has found nothing of it."""
    return next((i for i, label in enumerate(found.labels) if label.same_as(cls)), None)


class _Skills(Metric):
    """What one skill and all four share."""

    name: ClassVar[str]
    skills: ClassVar[tuple[Skill, ...]]
    options: SkillOptions

    def __init__(self, setup: Setup[SkillOptions]) -> None:
        super().__init__(setup)
        self.upper_bound = setup.options.upper
        requires = {"class_probs", "colour"} if "color" in self.skills else {"class_probs"}
        looks_from = confidence_of(setup.options)
        self.needs = (Need(NEED, "detect", requires=frozenset(requires), knows=True, confidence=looks_from),)

    def skill_of(self, prompt: Prompt) -> Skill:
        """The skill that a prompt asks for. Raises BadPrompts."""
        raise NotImplementedError

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that ask for something else."""
        for prompt in prompts:
            skill = self.skill_of(prompt)
            if prompt.scene is None:
                wanted: str | None = "say what it expects (a scene)"
            elif (wanted := fits(skill, prompt.scene)) is not None:
                wanted = f"ask for {wanted}"
            if wanted is not None:
                raise BadPrompts(
                    f"{self.name}: the prompt {prompt.id!r} is to {wanted}; take --prompts paintskills-{skill}"
                )

    def right(self, unit: Unit) -> tuple[Skill, Right, Facets] | Failure:
        """Decide one image."""
        observed = unit.one()
        skill, scene = self.skill_of(observed.prompt), observed.prompt.scene
        assert scene is not None  # as checked before anything ran
        try:
            return skill, decide(skill, scene, observed.one(NEED), self.options), facets_of(skill, scene)
        except UnknownToJudge as why:
            return Failure(str(why))

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the table of skills, scores by object, count, colour and relation, and what people say."""
        from .analyses import analyse

        yield from analyse(study, self.name, self.options.answers)


class _OneSkill(_Skills):
    """One of the four."""

    def skill_of(self, prompt: Prompt) -> Skill:
        """The metric's own."""
        return self.skills[0]

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Turn one image into rows: 1 where it is right, else 0, and the same of what that is made of."""
        decided = self.right(unit)
        if isinstance(decided, Failure):
            yield decided
            return
        _, right, facets = decided
        for part, value in right.items():
            yield Row(part or self.name, float(value), facets)


class ObjectSkill(_OneSkill):
    """Is it the object?"""

    name, skills = "paintskills-object", ("object",)


class CountSkill(_OneSkill):
    """Are there as many?"""

    name, skills = "paintskills-count", ("count",)


class ColorSkill(_OneSkill):
    """Is it the object, in its colour?"""

    name, skills = "paintskills-color", ("color",)


class SpatialSkill(_OneSkill):
    """Are both there, and is the second where it should be?"""

    name, skills = "paintskills-spatial", ("spatial",)


class PaintSkills(TableMetric, _Skills):
    """All four skills, and their average."""

    name, skills = "paintskills", SKILLS
    strata = "skill"

    def skill_of(self, prompt: Prompt) -> Skill:
        """The one that the prompt's facet names."""
        named = prompt.facets.get("skill")
        skill = next((skill for skill in SKILLS if skill == named), None)
        if skill is None:
            raise BadPrompts(
                f"paintskills: the prompt {prompt.id!r} does not say its skill (a facet 'skill' that is "
                f"{', '.join(SKILLS)}); take --prompts paintskills, or the metric of one skill"
            )
        return skill

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that ask for something else, and those that leave a skill out."""
        super().check(prompts)
        absent = [skill for skill in SKILLS if skill not in {self.skill_of(prompt) for prompt in prompts}]
        if absent:
            raise BadPrompts(
                f"paintskills: averages four skills, and no prompt is of {' or '.join(absent)}; take --prompts "
                "paintskills, or the metrics of the skills that are there"
            )

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Turn one image into a row of its skill: 1 where it is right, else 0."""
        decided = self.right(unit)
        if isinstance(decided, Failure):
            yield decided
            return
        skill, right, facets = decided
        yield Row(skill, float(right[""]), facets)

    def prepare(self, table: pd.DataFrame) -> _Means:
        """Find the skill of each row."""
        return _Means.of(table)

    def aggregate(self, means: _Means, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `paintskills`: the mean of the four skills' means; NaN where nothing of one of them weighs."""
        return {"paintskills": means.average(weights)}


@dataclass(frozen=True)
class _Means:
    """A table's values, float64 (rows,), and which of the skills each row is of."""

    values: NDArray[np.float64]
    skills: NDArray[np.intp]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Means:
        """Find the skills."""
        codes = pd.Categorical(table["measure"].astype(str), SKILLS).codes.astype(np.intp)
        return cls(table["value"].to_numpy(np.float64), codes)

    def average(self, weights: NDArray[np.float64]) -> float:
        """Return the mean of the skills' means; NaN where nothing of one of them weighs."""
        totals = np.bincount(self.skills, weights, len(SKILLS))
        right = np.bincount(self.skills, weights * self.values, len(SKILLS))
        return float((right / totals).mean()) if (totals > 0).all() else float("nan")
