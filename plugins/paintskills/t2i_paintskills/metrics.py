"""The metrics `paintskills` and `paintskills-SKILL`: from detections to the rows of the skills' decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import Detections, Evidence, Query, QuestionAnswer, Sample
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.metric import Metric, TableMetric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt, Scene
from t2i_core.api.study import Analysis, Study

from . import decisions, questions, reasons
from .options import ColorOptions, ConfidenceOptions, CountOptions, PaintSkillsOptions, SkillOptions
from .skills import COLOURS, RELATIONS, SKILLS, Skill

NEED = "objects"
Facets = dict[str, str | int | float]
Decisions = dict[str, bool]
"""Decisions on one image: the skill itself under "", and the parts of its decision by name."""


class UnknownToJudge(Exception):
    """A judge's answer lacks what a decision needs."""


def find_unmet_requirement(skill: Skill, scene: Scene) -> str | None:
    """Return what a scene must show to belong to a skill, if it does not show that, otherwise None."""
    one = len(scene.objects) == 1 and not scene.relations
    match skill:
        case "object" | "count" if not one:
            return "one object and no relation"
        case "object" if scene.objects[0].count != 1:
            return "a single object"
        case "color" if not one or scene.objects[0].count != 1 or scene.objects[0].colour is None:
            return "a single object with a colour"
        case "spatial":
            ends = [{r.subject, r.object} for r in scene.relations]
            if [o.count for o in scene.objects] != [1, 1] or ends != [{0, 1}]:
                return "two objects and one relation between them"
            if scene.relations[0].predicate not in RELATIONS:
                return f"one of the relations {', '.join(RELATIONS)}"
    return None


def facets_of(skill: Skill, scene: Scene) -> Facets:
    """Return the facets of a scene's rows."""
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


def decide(skill: Skill, scene: Scene, found: Detections, options: SkillOptions) -> Decisions:
    """Decide whether one image is correct.

    Args:
        skill: The skill.
        scene: The scene that the prompt describes.
        found: The judge's detections.
        options: Options of the metric.

    Raises:
        UnknownToJudge: The detections lack probabilities or colours that the decision needs.
    """
    if found.class_probs is None:
        raise UnknownToJudge("the judge gave no class probabilities")
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
    """Return the confidence down to which the judge must keep detections, in [0, 1].

    With a judge that keeps fewer, the options' thresholds would have no effect. Relations use no
    threshold, so their value is 1. The reference code keeps all detections.
    """
    match options:
        case _ if options.reference:
            return 0.0
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
        raise UnknownToJudge(f"the judge does not know the colour {colour!r}; it knows {known}")
    columns = [i for i, name in enumerate(found.colour_names) if among is None or name in {*among, colour}]
    return decisions.has_colour(found.colours[:, columns], probs, columns.index(found.colour_names.index(colour)))


def _column(found: Detections, cls: ObjectClass) -> int | None:
    """Return the column of a class; None if a judge that declares no classes did not find it."""
    return next((i for i, label in enumerate(found.labels) if label.same_as(cls)), None)


@dataclass(frozen=True)
class _Decided:
    """The decisions on one image.

    Attributes:
        skill: The skill.
        correct: The decisions.
        facets: The facets of their rows.
        why: Why each wrong decision is wrong.
        evidence: What decided, if the image is wrong.
    """

    skill: Skill
    correct: Decisions
    facets: Facets
    why: Mapping[str, str]
    evidence: Sequence[Evidence] = ()

    def make_row(self, part: str, measure: str) -> Row:
        """Return the row of one decision: 1 if it is right, otherwise 0."""
        why = self.why.get(part, "")
        return Row(measure, float(self.correct[part]), self.facets, why, self.evidence if why else ())


class _SkillMetric(Metric):
    """Base of the metrics of one skill and of all four."""

    name: ClassVar[str]
    skills: ClassVar[tuple[Skill, ...]]
    options: SkillOptions

    def __init__(self, setup: Setup[SkillOptions]) -> None:
        super().__init__(setup)
        requires = {"class_probs", "colour"} if "color" in self.skills else {"class_probs"}
        confidence = confidence_of(setup.options)
        asked = Need(NEED, "answer", queries=self._ask, question=self._describe_questions())
        self.needs = (
            Need(
                NEED,
                "detect",
                requires=frozenset(requires),
                knows=True,
                confidence=confidence,
                alternatives=(asked,),
            ),
        )

    def _describe_questions(self) -> str:
        return " ".join(dict.fromkeys(questions.QUESTIONS[skill] for skill in self.skills))

    def _ask(self, samples: Sequence[Sample]) -> list[Query]:
        (sample,) = samples
        return questions.ask(self.skill_of(sample.prompt), sample)

    def skill_of(self, prompt: Prompt) -> Skill:
        """Return the skill that a prompt tests.

        Raises:
            BadPrompts: The prompt does not name its skill.
        """
        raise NotImplementedError

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject prompts whose scene does not belong to their skill."""
        for prompt in prompts:
            skill = self.skill_of(prompt)
            if prompt.scene is None:
                wanted: str | None = "have a scene that says what it expects"
            elif (wanted := find_unmet_requirement(skill, prompt.scene)) is not None:
                wanted = f"ask for {wanted}"
            if wanted is not None:
                raise BadPrompts(
                    f"{self.name}: the prompt {prompt.id!r} must {wanted}; use --prompts paintskills-{skill}"
                )

    def decide_unit(self, unit: Unit) -> _Decided | Failure:
        """Return the decisions on one image, and why they are wrong."""
        observed = unit.one()
        skill, scene = self.skill_of(observed.prompt), observed.prompt.scene
        assert scene is not None  # because `check` rejects prompts without a scene
        seen = observed.all(NEED)
        if isinstance(seen[0], QuestionAnswer):
            if undecided := next((answer for answer in seen if answer.choice is None), None):
                return undecided.explain_no_choice()
            correct = questions.decide_by_answers(skill, seen)
            whole = reasons.explain_answers(skill, scene, seen)
            why = {part: "" if right else whole for part, right in correct.items()}
            return _Decided(skill, correct, facets_of(skill, scene), why)
        try:
            correct = decide(skill, scene, seen[0], self.options)
        except UnknownToJudge as error:
            return Failure(str(error))
        why, evidence = reasons.explain(skill, scene, seen[0], self.options, correct)
        return _Decided(skill, correct, facets_of(skill, scene), why, evidence)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield accuracy by skill, object, count, colour and relation, and the comparison with people."""
        from .analyses import analyse

        yield from analyse(study, self.name, self.options.answers, self.options.majority)


class _OneSkill(_SkillMetric):
    """Base of the metrics of one skill."""

    def skill_of(self, prompt: Prompt) -> Skill:
        """Return the metric's skill, which all its prompts test."""
        return self.skills[0]

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Yield a row for the decision on one image and for each of its parts: 1 if correct, otherwise 0."""
        decision = self.decide_unit(unit)
        if isinstance(decision, Failure):
            yield decision
            return
        for part in decision.correct:
            yield decision.make_row(part, part or self.name)


class ObjectSkill(_OneSkill):
    """Accuracy of the object."""

    name, skills = "paintskills-object", ("object",)


class CountSkill(_OneSkill):
    """Accuracy of the number of objects."""

    name, skills = "paintskills-count", ("count",)


class ColorSkill(_OneSkill):
    """Accuracy of the object with its colour."""

    name, skills = "paintskills-color", ("color",)


class SpatialSkill(_OneSkill):
    """Accuracy of two objects with their spatial relation."""

    name, skills = "paintskills-spatial", ("spatial",)


class PaintSkills(TableMetric, _SkillMetric):
    """Accuracy of each of the four skills, and their average."""

    name, skills = "paintskills", SKILLS
    strata = "skill"
    computes_headline = True

    def skill_of(self, prompt: Prompt) -> Skill:
        """Return the skill that the prompt's facet `skill` names."""
        named = prompt.facets.get("skill")
        skill = next((skill for skill in SKILLS if skill == named), None)
        if skill is None:
            raise BadPrompts(
                f"paintskills: the prompt {prompt.id!r} does not say its skill (the facet 'skill' must be one of "
                f"{', '.join(SKILLS)}); use --prompts paintskills, or the metric of one skill"
            )
        return skill

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Reject prompts whose scene does not belong to their skill, and lists of prompts that lack a skill."""
        super().check(prompts)
        absent = [skill for skill in SKILLS if skill not in {self.skill_of(prompt) for prompt in prompts}]
        if absent:
            raise BadPrompts(
                f"paintskills: averages four skills, but no prompt tests {' or '.join(absent)}; use --prompts "
                f"paintskills, with --limit {len(SKILLS)} or more, or the metrics of the other skills"
            )

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Yield one row for the skill of an image: 1 if correct, otherwise 0."""
        decision = self.decide_unit(unit)
        if isinstance(decision, Failure):
            yield decision
            return
        yield decision.make_row("", decision.skill)

    def prepare(self, table: pd.DataFrame) -> _SkillRows:
        """Find the skill of each row."""
        return _SkillRows.of(table)

    def aggregate(self, rows: _SkillRows, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `paintskills`, the mean of the four skills' means; NaN if the weights of a skill sum to 0."""
        return {"paintskills": rows.average(weights)}


@dataclass(frozen=True)
class _SkillRows:
    """The values in a table and their skills.

    Attributes:
        values: Values, float64 of shape (rows,).
        skills: Index of each row's skill, shape (rows,).
    """

    values: NDArray[np.float64]
    skills: NDArray[np.intp]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _SkillRows:
        """Read values and skills from a table."""
        codes = pd.Categorical(table["measure"].astype(str), SKILLS).codes.astype(np.intp)
        return cls(table["value"].to_numpy(np.float64), codes)

    def average(self, weights: NDArray[np.float64]) -> float:
        """Return the mean of the skills' weighted means; NaN if the weights of a skill sum to 0."""
        totals = np.bincount(self.skills, weights, len(SKILLS))
        right = np.bincount(self.skills, weights * self.values, len(SKILLS))
        return float((right / totals).mean()) if (totals > 0).all() else float("nan")
