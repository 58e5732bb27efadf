"""The metric `tiam`: rows from decisions, and the two ways to average colour binding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Derive, Need, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt, SceneObject
from t2i_core.api.study import Analysis, Study

from .mask_measurements import MaskMeasurements
from .options import TiamOptions
from .rules import Finding, Thresholds, all_hold, decide
from .spans import write_spans

NEED = "objects"
NOT_SCORED = (
    "tiam asks whether objects are there, in their colours: what else prompts say of them (numbers, relations, "
    "other attributes) is not scored"
)
"""What a result says once where prompts expect more than the paper's metric looks at."""


class Tiam(TableMetric):
    """Are the objects of the prompt in the image, and in their colours?"""

    options: TiamOptions

    def __init__(self, setup: Setup[TiamOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        self.columns = {name: i for i, name in enumerate(options.references)}
        self.thresholds = Thresholds(
            options.confidence, _fraction(options.overlap), _fraction(options.colour_share)
        )
        measurements = MaskMeasurements(tuple(options.references.values()))
        derive = Derive("tiam", measurements.take, {"references": options.references})
        self.needs = (Need(NEED, "segment", knows=True, confidence=options.confidence, derive=derive),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that do not say which objects they expect, or want a colour that has no reference."""
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(f"tiam: the prompt {prompt.id!r} does not say which objects it expects (a scene)")
            for expected in prompt.scene.objects:
                if expected.colour is not None and expected.colour not in self.columns:
                    raise BadPrompts(
                        f"tiam: the prompt {prompt.id!r} wants the colour {expected.colour!r}, "
                        f"which is none of the references: {', '.join(self.columns)}"
                    )

    def measure(self, unit: Unit) -> Iterator[Row | Note]:
        """Turn one image into rows.

        tiam:            1 where every object is found and carries its colour if it has one, else 0; its facet
                         `holds_at` has the thresholds of confidence at which it is 1
        objects:         for prompts with colours: 1 where every object is found, else 0
        found:           per object, 0 or 1
        binding_pooled:  per found object with a colour, 0 or 1

        What the prompt expects beyond that is no part of any row; a note says so.
        """
        observed = unit.one()
        assert observed.prompt.scene is not None  # as checked before anything ran
        objects = observed.prompt.scene.objects
        findings = decide(objects, observed.one(NEED), observed.derived(NEED), self.columns, self.thresholds)
        size: dict[str, str | int | float] = {"n_objects": len(objects)}
        at = {"holds_at": written} if (written := write_spans(all_hold(findings))) else {}
        yield Row("tiam", float(all(f.found and f.bound is not False for f in findings)), {**size, **at})
        if any(o.colour for o in objects):
            yield Row("objects", float(all(f.found for f in findings)), size)
        for position, (expected, finding) in enumerate(zip(objects, findings, strict=True), 1):
            yield from _object_rows(position, expected, finding)
        if observed.prompt.scene.relations or any(o.count > 1 or o.attributes for o in objects):
            yield Note(NOT_SCORED)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the tables and figures of the paper's study."""
        from .study import analyse

        return analyse(study, self.options, study.floors.get(NEED))

    def prepare(self, table: pd.DataFrame) -> _Binding:
        """Find which objects carry their colour."""
        return _Binding.of(table)

    def aggregate(self, binding: _Binding, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `binding_per_prompt`, which the paper's reference computes; all other scores are plain means.

        It is the mean over prompts of each one's own share of found objects that carry their colour, prompts
        without any left out.
        """
        return {"binding_per_prompt": binding.mean(weights)} if len(binding.bound) else {}


def _object_rows(position: int, expected: SceneObject, finding: Finding) -> Iterator[Row]:
    facets: dict[str, str | int | float] = {"object": expected.cls.name, "position": position}
    if expected.colour is not None:
        facets["colour"] = expected.colour
    yield Row("found", float(finding.found), facets)
    if finding.bound is not None:
        yield Row("binding_pooled", float(finding.bound), facets)


@dataclass(frozen=True)
class _Binding:
    """Where a table says which found objects carry their colour.

    bound, images:  positions of the rows of `binding_pooled` and of `tiam`
    values:         of the former
    prompts:        a number for each row's prompt
    """

    bound: NDArray[np.intp]
    images: NDArray[np.intp]
    values: NDArray[np.float64]
    prompts: NDArray[np.intp]

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Binding:
        """Find the rows."""
        bound, images = (np.flatnonzero(table["measure"] == m) for m in ("binding_pooled", "tiam"))
        prompts = table["prompt"].astype("category").cat.codes.to_numpy(np.intp)
        return cls(bound, images, table["value"].to_numpy(np.float64)[bound], prompts)

    def mean(self, weights: NDArray[np.float64]) -> float:
        """Average the prompts' shares, each prompt with the weight of its images; NaN where nothing weighs."""
        weight, prompts = weights[self.bound], self.prompts[self.bound]
        carried = np.bincount(prompts, weight * self.values)
        found = np.bincount(prompts, weight)
        images = np.bincount(self.prompts[self.images], weights[self.images], len(found))[: len(found)]
        some = found > 0
        total = images[some].sum()
        return float((images[some] * carried[some] / found[some]).sum() / total) if total > 0 else float("nan")


def _fraction(threshold: float) -> Fraction:
    """Return the decimal that the user wrote: 2/5 for 0.4, whose float is a little more."""
    return Fraction(str(threshold))
