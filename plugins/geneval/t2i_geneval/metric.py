"""The metric `geneval`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import Answer, Detections, Evidence, Segments
from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import join_levels
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Need, Sample, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt, Scene
from t2i_torch_support.geneval_records import PREDICATES

from .colours import GREY, combine_texts, measure_fit, write_texts
from .options import GenEvalOptions
from .rules import Decision, ReadColour, Selection, decide, select_objects
from .task_rows import PromptTasks, TaskRows
from .tasks import TAG, TASKS, find_task

if TYPE_CHECKING:
    from t2i_core.api.metric import MeanOf
    from t2i_core.statistics import Estimate

OBJECTS, COLOURS, TEXTS = "objects", "colours", "texts"
IMAGES, PROMPTS = "images", "prompts"
NO_COLOUR = "of no colour"


class GenEval(TableMetric):
    """Mean, over six tasks, of the shares of images that show exactly what their prompt asks for.

    The colours of objects are those that the judge gives with them. If it gives none, a second judge compares what
    is cut out of the image with texts.
    """

    strata = TAG
    computes_headline = True
    aggregates = frozenset(TASKS)
    options: GenEvalOptions

    def __init__(self, setup: Setup[GenEvalOptions]) -> None:
        super().__init__(setup)
        lowest = min(setup.options.confidence, setup.options.counting_confidence)
        find = partial(
            Need, OBJECTS, knows=True, confidence=lowest, spares={"colour": frozenset({TEXTS, COLOURS})}
        )
        self.needs = (
            find("segment", alternatives=(find("detect"),)),
            Need(TEXTS, "embed", images="prompt", per="run", queries=self._ask_texts),
            Need(COLOURS, "embed", after=OBJECTS, queries=self._ask_colours),
        )
        self._names: tuple[str, ...] = ()
        self._directions: _Directions | None = None
        self._prompt_tasks = PromptTasks()

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt lists its objects, in colours and relations that the rules know.

        Raises:
            BadPrompts: If a prompt cannot be measured.
        """
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(
                    f"geneval: prompt {prompt.id!r} has no scene with objects; use prompts that list their "
                    "objects, for example `--prompts geneval`"
                )
            for asked in prompt.scene.objects:
                if asked.colour is not None and asked.colour not in self.options.colours:
                    raise BadPrompts(
                        f"geneval: the colour of an object of prompt {prompt.id!r} must be one of "
                        f"{', '.join(self.options.colours)} (got {asked.colour!r}); change the prompt, or add the "
                        "colour to the option `colours`"
                    )
            for relation in prompt.scene.relations:
                if relation.predicate not in PREDICATES.values():
                    raise BadPrompts(
                        f"geneval: a relation of prompt {prompt.id!r} must be one of "
                        f"{', '.join(PREDICATES.values())} (got {relation.predicate!r}); change the prompt"
                    )
        self._prompt_tasks.add(prompts)

    def _ask_texts(self, samples: Sequence[Sample]) -> list[Query]:
        """Return the texts for each class that prompts give a colour."""
        scenes = [sample.prompt.scene for sample in samples]
        names = {each.cls.name: None for scene in scenes if scene for each in scene.objects if each.colour}
        self._names = tuple(names)
        return [Query(texts=(text,)) for name in names for text in write_texts(name, self.options.colours)]

    def _ask_colours(self, samples: Sequence[Sample]) -> list[Query]:
        """Return a query about each object whose colour matters, cut out of its image."""
        (sample,) = samples
        scene, image = sample.prompt.scene, sample.image
        assert scene is not None  # see `check`
        assert image is not None  # the need is about generated images
        seen: Detections = sample.answers[0].observation
        selections = select_objects(scene, find_task(sample.prompt, scene), seen, self.options)
        masks = seen.masks if isinstance(seen, Segments) else None
        numbers = [int(selections[clause].chosen[place]) for clause, place in _list_coloured(scene, selections)]
        return [Query((image.crop(seen.boxes[n], masks[n] if masks else None, GREY),)) for n in numbers]

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Yield two rows for one image: 1 if it is correct, otherwise 0, for its task and for all images.

        Args:
            unit: One sample with its objects, and the embeddings of what is cut out of it.
        """
        observed = unit.one()
        scene = observed.prompt.scene
        assert scene is not None  # see `check`
        seen: Detections = observed.one(OBJECTS)
        task = find_task(observed.prompt, scene)
        selections = select_objects(scene, task, seen, self.options)
        given = COLOURS not in observed.answers
        read = _read_given(scene, selections, seen) if given else self._read_crops(scene, selections, unit)
        if isinstance(read, Failure):
            yield read
            return
        decision = decide(scene, task, selections, seen.boxes, read, self.options)
        facets: dict[str, str | int | float] = {
            TAG: task,
            "class": join_levels(each.cls.name for each in scene.objects),
        }
        because = "; ".join(decision.reasons)
        evidence = _show(scene, selections, seen, decision)
        yield Row(task, float(decision.is_correct), facets, because, evidence)
        yield Row(IMAGES, float(decision.is_correct), facets, because)

    def _read_crops(self, scene: Scene, selections: Sequence[Selection], unit: Unit) -> ReadColour | Failure:
        """Return the colours of objects by the embeddings of what is cut out of the image."""
        places = _list_coloured(scene, selections)
        vectors = dict(zip(places, (each.values for each in unit.one().all(COLOURS)), strict=True))
        directions = self._find_directions(unit.shared[TEXTS])
        if directions is None or not all(vector.any() for vector in vectors.values()):
            return Failure("an embedding is 0, so it has no cosine")
        names = [each.cls.name for each in scene.objects]
        fits = {place: measure_fit(vector, directions[names[place[0]]]) for place, vector in vectors.items()}
        read = {place: self.options.colours[int(fit.argmax())] for place, fit in fits.items()}
        return lambda clause, place: read[clause, place]

    def _find_directions(self, texts: Sequence[Answer]) -> Mapping[str, NDArray[np.float64]] | None:
        """Return the directions of the colours of each class, computed once a run; None if a text has none."""
        if self._directions is None or self._directions.texts is not texts:
            self._directions = _Directions.of(texts, self._names, len(self.options.colours))
        return self._directions.by_class

    def prepare(self, table: pd.DataFrame) -> TaskRows:
        """Find the task of each row."""
        return TaskRows.of(table, self._prompt_tasks.list_tested(table))

    def aggregate(self, rows: TaskRows, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `geneval`, the mean of the tasks' means; NaN if a task has no rows or weights of sum 0."""
        return {"geneval": rows.average(weights)}

    def estimates(self, table: pd.DataFrame, mean: MeanOf) -> Mapping[str, Estimate | None]:
        """Return `prompts`, the share of prompts with at least one correct image, one value for each prompt."""
        images = table[table["measure"] == IMAGES]
        if images.empty:
            return {}
        best = images.loc[images.groupby("prompt", observed=True)["value"].idxmax()]
        return {PROMPTS: mean(best.assign(measure=PROMPTS, seed=np.nan))}

    def remarks(self, table: pd.DataFrame) -> Iterator[Note]:
        """Yield a note if some tasks have no prompt, and one if some have prompts but no image was measured."""
        tested, measured = self._prompt_tasks.list_tested(table), set(table["measure"].unique())
        if absent := [task for task in TASKS if task not in tested]:
            yield Note(f"geneval is the mean of {len(tested)} tasks: no prompt tests {', '.join(absent)}")
        if missing := [task for task in tested if task not in measured]:
            yield Note(f"geneval has no value: no image of {', '.join(missing)} was measured")


@dataclass(frozen=True)
class _Directions:
    """Directions of colours in the space of embeddings.

    Attributes:
        texts: The answers about the texts that they were computed from.
        by_class: float64 of shape (colours, d) by the name of a class; None if an embedding is 0.
    """

    texts: Sequence[Answer]
    by_class: Mapping[str, NDArray[np.float64]] | None

    @classmethod
    def of(cls, texts: Sequence[Answer], names: Sequence[str], colours: int) -> _Directions:
        """Compute them from the texts of each class."""
        if not names:
            return cls(texts, {})
        vectors = np.stack([answer.observation.values for answer in texts])
        if not vectors.any(axis=1).all():
            return cls(texts, None)
        apart = vectors.reshape(len(names), colours, -1, vectors.shape[1])
        return cls(texts, {name: combine_texts(own) for name, own in zip(names, apart, strict=True)})


def _list_coloured(scene: Scene, selections: Sequence[Selection]) -> list[tuple[int, int]]:
    """Return each object whose colour matters: the number of its clause, and its place among those chosen."""
    return [
        (clause, place)
        for clause, (asked, selection) in enumerate(zip(scene.objects, selections, strict=True))
        if asked.colour is not None
        for place in range(len(selection.chosen))
    ]


def _read_given(scene: Scene, selections: Sequence[Selection], seen: Detections) -> ReadColour | Failure:
    """Return the colours of objects that the judge gives with them: the most probable ones."""
    asked = {each.colour for each in scene.objects if each.colour}
    if asked and seen.colours is None:
        return Failure("the judge gave no colours")
    if unknown := sorted(asked - set(seen.colour_names)):
        known = ", ".join(seen.colour_names)
        return Failure(f"the judge does not know the colour {unknown[0]!r}; it knows {known}")

    def read(clause: int, place: int) -> str:
        assert seen.colours is not None
        own = seen.colours[selections[clause].chosen[place]]
        return seen.colour_names[int(own.argmax())] if own.any() else NO_COLOUR

    return read


def _show(
    scene: Scene, selections: Sequence[Selection], seen: Detections, decision: Decision
) -> tuple[Evidence, ...]:
    """Return the objects that count, with their confidences, and the colours that they were read as."""
    masks = seen.masks if isinstance(seen, Segments) else None
    shown = []
    for asked, selection in zip(scene.objects, selections, strict=True):
        for number in selection.kept.tolist():
            colour = decision.colours.get(number)
            label = f"{asked.cls.name} {seen.scores[number]:.2f}{f', {colour}' if colour else ''}"
            x0, y0, x1, y1 = seen.boxes[number].tolist()
            shown.append(Evidence(label, (x0, y0, x1, y1), masks[number] if masks else None))
    return tuple(shown)
