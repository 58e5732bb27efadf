"""The metric `t2i-compbench`: attributes by questions, positions and counts by detections, the rest by a CLIP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from t2i_core.api import (
    Detections,
    Evidence,
    Failure,
    Metric,
    Need,
    Note,
    ObjectClass,
    Observed,
    Prompt,
    PromptQuestion,
    Query,
    Row,
    Sample,
    SceneObject,
    Setup,
    Unit,
)
from t2i_core.api.errors import BadPrompts

from .composition_rules import (
    combine_scores,
    find_distinct,
    find_relation,
    multiply_answers,
    score_numeracy,
    score_position,
    score_spatial,
)
from .cosine import compute_cosine
from .options import TASKS, CompBenchOptions

ATTRIBUTES, OBJECTS, SIMILARITY = "attributes", "objects", "similarity"
MOST_PHRASES = 8
"""Number of noun phrases that the original asks about."""

OTHER_DETECTOR = Note("objects are found by this detector; published values are UniDet's and do not compare")
OTHER_NAMES = {
    **dict.fromkeys(("girl", "boy", "man", "woman"), "person"),
    "ship": "boat",
    "goldfish": "fish",
    "painting": "picture",
}
"""Names of detectors for nouns of the prompts."""

SIDES = {
    "left": "on the left of",
    "right": "on the right of",
    "above": "on the top of",
    "below": "on the bottom of",
}


@dataclass(frozen=True)
class PartialScore:
    """One of the scores of an image.

    Attributes:
        value: The score.
        because: Why it is not higher; may be empty.
        evidence: Boxes of detections, and questions that are hardly answered yes.
    """

    value: float
    because: str = ""
    evidence: tuple[Evidence, ...] = ()


class CompBench(Metric):
    """Scores each image by the rule of its prompt's task."""

    options: CompBenchOptions

    def __init__(self, setup: Setup[CompBenchOptions]) -> None:
        super().__init__(setup)
        needs = {
            ("attribute", "complex"): Need(
                ATTRIBUTES,
                "answer",
                queries=self._for_tasks(_ask_about_phrases, "attribute", "complex"),
                question="{noun phrase}?",
            ),
            ("spatial", "numeracy", "complex"): Need(
                OBJECTS,
                "detect",
                queries=self._for_tasks(_ask_about_image, "spatial", "numeracy", "complex"),
                confidence=self.options.confidence,
            ),
            ("non-spatial", "complex"): Need(
                SIMILARITY, "embed", queries=self._for_tasks(_ask_about_text, "non-spatial", "complex")
            ),
        }
        self.needs = tuple(need for tasks, need in needs.items() if {*tasks} & {*self.options.tasks})

    def _for_tasks(self, ask: Any, *tasks: str) -> Any:
        """Return queries that ask nothing about prompts of other tasks."""

        def queries(samples: Sequence[Sample]) -> Sequence[Query]:
            (sample,) = samples
            task = sample.prompt.facets.get("task")
            found: Sequence[Query] = ask(sample) if task in tasks and task in self.options.tasks else ()
            return found

        return queries

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts of other tasks, and those without what their task needs."""
        for prompt in prompts:
            task = prompt.facets.get("task")
            where = f"t2i-compbench: prompt {prompt.id!r}"
            if task not in TASKS:
                raise BadPrompts(
                    f"{where}: the facet `task` must be one of {', '.join(TASKS)} (got {task!r}); use the source "
                    "t2i-compbench:FILE, or add the column `task` to a file of prompts"
                )
            if task not in self.options.tasks:
                raise BadPrompts(
                    f"{where} is of the task {task!r}, which the option `tasks` leaves out "
                    f"({', '.join(self.options.tasks)}); add the task, or leave out its prompts"
                )
            if task in ("attribute", "complex") and not list_phrases(prompt):
                raise BadPrompts(
                    f"{where} has no questions of the category `attribute`, one for each noun phrase; "
                    f"add them to the "
                    "field `questions` of a file of prompts"
                )
            if task == "spatial" and (len(list_objects(prompt)) < 2 or name_relation(prompt) is None):
                raise BadPrompts(
                    f"{where} needs two objects and a relation; list them in the fields `objects` and "
                    f"`relations` of "
                    "a file of prompts"
                )
            if task == "numeracy" and not list_objects(prompt):
                raise BadPrompts(
                    f"{where} needs objects with their numbers; list them in the field `objects` of a "
                    f"file of prompts"
                )

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the score of one image by the rule of its task."""
        observed = unit.one()
        task = str(observed.prompt.facets["task"])
        parts = self._score(task, observed)
        if isinstance(parts, Failure):
            yield parts
            return
        if task == "complex":
            attribute, spatial, action = parts
            value = combine_scores(attribute.value, spatial.value, action.value, _find_list(observed.prompt))
        else:
            value = parts[0].value
        reasons = "; ".join(part.because for part in parts if part.because)
        evidence = [each for part in parts for each in part.evidence]
        yield Row("t2i-compbench", value, because=reasons, evidence=evidence)
        if task in ("spatial", "numeracy", "complex"):
            yield OTHER_DETECTOR

    def _score(self, task: str, observed: Observed) -> list[PartialScore] | Failure:
        if task == "spatial":
            return [self._score_spatial(observed)]
        if task == "numeracy":
            return [self._score_numeracy(observed)]
        if task == "non-spatial":
            similarity = _score_similarity(observed)
            return similarity if isinstance(similarity, Failure) else [similarity]
        attribute = self._score_attributes(observed)
        if isinstance(attribute, Failure):
            return attribute
        if task == "attribute":
            return [attribute]
        listed = _find_list(observed.prompt)
        spatial = PartialScore(0.0) if listed == "action" else self._score_spatial(observed)
        action = PartialScore(0.0) if listed == "spatial" else _score_similarity(observed)
        return action if isinstance(action, Failure) else [attribute, spatial, action]

    def _score_attributes(self, observed: Observed) -> PartialScore | Failure:
        phrases = list_phrases(observed.prompt)
        values = []
        for answer in observed.all(ATTRIBUTES):
            weights = answer.weights()
            if weights is None:
                return Failure("the judge answered neither yes nor no")
            values.append(float(weights[0]))
        wrong = [(value, phrase.text) for phrase, value in zip(phrases, values, strict=True) if value < 0.5]
        return PartialScore(
            multiply_answers(values),
            "; ".join(f"no to: {text}" for _, text in wrong),
            tuple(Evidence(f"{text} yes: {value:.2f}") for value, text in wrong),
        )

    def _score_spatial(self, observed: Observed) -> PartialScore:
        seen: Detections = observed.one(OBJECTS)
        relation = name_relation(observed.prompt)
        if relation is None or len(list_objects(observed.prompt)) < 2:  # a complex prompt
            return PartialScore(0.0, "the text has no two objects with a relation")
        first, second = (list_objects(observed.prompt)[at] for at in (0, -1))
        places = [self._find_best(seen, each.cls) for each in (first, second)]
        missing = [
            f"{each.cls.name} not found" for each, at in zip((first, second), places, strict=True) if at is None
        ]
        scores = [None if at is None else float(seen.scores[at]) for at in places]
        position = 0.0
        if places[0] is not None and places[1] is not None:
            one, other = (seen.boxes[at].tolist() for at in places)
            position = score_position(relation, one, other, self.options.near)
        because = "; ".join(missing)
        if not missing and position < 1:
            because = f"{first.cls.name} is not {relation} {second.cls.name}"
        evidence = tuple(_show(seen, at) for at in places if at is not None)
        return PartialScore(score_spatial(scores[0], scores[1], position), because, evidence)

    def _score_numeracy(self, observed: Observed) -> PartialScore:
        seen: Detections = observed.one(OBJECTS)
        asked, counts, reasons = [], {}, []
        evidence: list[Evidence] = []
        for number, each in enumerate(list_objects(observed.prompt)):
            places = self._find_all(seen, each.cls)
            kept = [places[at] for at in find_distinct([seen.boxes[place].tolist() for place in places])]
            name = f"{number}:{each.cls.name}"
            asked.append((name, each.count))
            counts[name] = len(kept)
            evidence += [_show(seen, place) for place in kept]
            if len(kept) != each.count:
                reasons.append(f"counted {len(kept)} {each.cls.name}, asked {each.count}")
        return PartialScore(score_numeracy(asked, counts), "; ".join(reasons), tuple(evidence))

    def _find_all(self, seen: Detections, wanted: ObjectClass) -> list[int]:
        """Return the detections of a class, the most confident first."""
        named = ObjectClass(OTHER_NAMES.get(wanted.name, wanted.name))
        found = [
            number
            for number in range(len(seen))
            if seen.scores[number] >= self.options.confidence
            and (wanted.same_as(seen.label(number)) or named.name == seen.label(number).name)
        ]
        return sorted(found, key=lambda number: (-float(seen.scores[number]), number))

    def _find_best(self, seen: Detections, wanted: ObjectClass) -> int | None:
        return next(iter(self._find_all(seen, wanted)), None)


def list_phrases(prompt: Prompt) -> list[PromptQuestion]:
    """Return the questions about noun phrases of a prompt, at most eight."""
    return [question for question in prompt.questions if question.category == "attribute"][:MOST_PHRASES]


def list_objects(prompt: Prompt) -> Sequence[SceneObject]:
    """Return the objects of a prompt's scene."""
    return prompt.scene.objects if prompt.scene else ()


def name_relation(prompt: Prompt) -> str | None:
    """Return the relation that a prompt's text names, or else that of its scene; None if it has none."""
    if (found := find_relation(prompt.text)) is not None:
        return found
    relations = prompt.scene.relations if prompt.scene else ()
    return SIDES[relations[0].predicate] if relations else None


def _find_list(prompt: Prompt) -> str:
    """Return the published list of complex prompts that has a prompt; empty if none has it."""
    return str(prompt.facets.get("listed_as", ""))


def _ask_about_image(sample: Sample) -> Sequence[Query]:
    return [sample.query()]


def _ask_about_phrases(sample: Sample) -> Sequence[Query]:
    image = sample.query().images[0]
    return [question.about(image) for question in list_phrases(sample.prompt)]


def _ask_about_text(sample: Sample) -> Sequence[Query]:
    """Return the queries for image and text; the text of complex prompts without adjectives is a reference."""
    texts = sample.prompt.references if sample.prompt.facets["task"] == "complex" else ()
    return [sample.query(), Query(texts=((*texts, sample.prompt.text)[0],))]


def _score_similarity(observed: Observed) -> PartialScore | Failure:
    """Return the cosine of image and text, at least 0."""
    image, text = observed.all(SIMILARITY)
    cosine = compute_cosine(image.values, text.values)
    return cosine if isinstance(cosine, Failure) else PartialScore(min(max(cosine, 0.0), 1.0))


def _show(seen: Detections, number: int) -> Evidence:
    x0, y0, x1, y1 = map(float, seen.boxes[number])
    return Evidence(seen.label(number).name, (x0, y0, x1, y1))
