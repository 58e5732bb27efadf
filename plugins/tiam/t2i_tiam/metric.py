"""The metric `tiam`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api import Evidence, QuestionAnswer
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.metric import TableMetric
from t2i_core.api.metric_input import Derive, Need, Observed, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt, SceneObject
from t2i_core.api.study import Analysis, Study

from . import questions
from .mask_measurements import MaskMeasurements
from .options import TiamOptions
from .reasons import explain, join_reasons, show
from .rules import Finding, Thresholds, decide, intersect_spans
from .spans import write_spans

NEED = "objects"
NOT_SCORED = (
    "tiam scores the presence and the colours of objects; it does not score the numbers, relations and other "
    "attributes that prompts ask for"
)
"""Note on a result whose prompts ask for more than the paper's metric scores."""


class Tiam(TableMetric):
    """Share of images that show all objects of their prompt in the right colours.

    Attributes:
        columns: The column of each reference colour in the measurements, by the colour's name.
        thresholds: Thresholds of the decisions, from the options.
    """

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
        asked = Need(NEED, "answer", queries=questions.ask, question=questions.QUESTION)
        self.needs = (
            Need(
                NEED,
                "segment",
                knows=True,
                confidence=options.confidence,
                derive=derive,
                alternatives=(asked,),
            ),
        )

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt lists its objects and uses only reference colours.

        Raises:
            BadPrompts: If a prompt has no scene with objects, or names a colour that is not among the references.
        """
        for prompt in prompts:
            if prompt.scene is None or not prompt.scene.objects:
                raise BadPrompts(
                    f"tiam: prompt {prompt.id!r} has no scene with objects; use prompts that list their objects, "
                    "for example `--prompts tiam-5-2`"
                )
            for expected in prompt.scene.objects:
                if expected.colour is not None and expected.colour not in self.columns:
                    raise BadPrompts(
                        f"tiam: the colour of an object of prompt {prompt.id!r} must be one of "
                        f"{', '.join(self.columns)} (got {expected.colour!r}); change the prompt, or add the "
                        "colour to the option `references`"
                    )

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Score one image.

        The measures, each 0 or 1:

        - `tiam`, one row: 1 if every object is found and has the colour that the prompt gives it, if any. The
          facet `holds_at` lists the confidence thresholds at which the value is 1; answers have none.
        - `objects`, one row for a prompt with colours: 1 if every object is found, in any colour.
        - `found`, one row per object: 1 if it is found.
        - `binding_pooled`, one row per found object with a colour: 1 if it has this colour.

        Args:
            unit: One sample with its segmentation, or with answers to questions in its place.

        Yields:
            The rows, and a note if the prompt asks for numbers, relations or other attributes; a failure if a
            question was left open.
        """
        observed = unit.one()
        assert observed.prompt.scene is not None  # see `check`
        objects = observed.prompt.scene.objects
        findings = self._decide(observed, objects)
        if isinstance(findings, Failure):
            yield findings
            return
        size: dict[str, str | int | float] = {"n_objects": len(objects)}
        at = {"holds_at": written} if (written := write_spans(intersect_spans(findings))) else {}
        reasons, evidence = self._explain(observed, objects, findings)
        because = join_reasons(reasons)
        yield Row("tiam", float(not because), {**size, **at}, because, evidence)
        if any(o.colour for o in objects):
            absent = join_reasons(r for r, f in zip(reasons, findings, strict=True) if not f.found)
            yield Row("objects", float(not absent), size, absent, evidence if absent else ())
        for position, (expected, finding) in enumerate(zip(objects, findings, strict=True), 1):
            yield from _object_rows(position, expected, finding, reasons[position - 1])
        if observed.prompt.scene.relations or any(o.count > 1 or o.attributes for o in objects):
            yield Note(NOT_SCORED)

    def _decide(self, observed: Observed, objects: Sequence[SceneObject]) -> list[Finding] | Failure:
        seen = observed.all(NEED)
        if isinstance(seen[0], QuestionAnswer):
            return questions.decide(objects, seen)
        return decide(objects, seen[0], observed.derived(NEED), self.columns, self.thresholds)

    def _explain(
        self, observed: Observed, objects: Sequence[SceneObject], findings: Sequence[Finding]
    ) -> tuple[list[str], tuple[Evidence, ...]]:
        """Return why each object is not right, and what was found of the prompt's objects if one is not."""
        if all(finding.found and finding.bound is not False for finding in findings):
            return [""] * len(objects), ()
        found, names = observed.all(NEED)[0], tuple(self.columns)
        if isinstance(found, QuestionAnswer):
            return explain(objects, findings, None, names), ()
        measured = observed.derived(NEED)
        return explain(objects, findings, measured, names), show(objects, findings, found, measured, names)

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the tables and figures of the paper's study."""
        from .study import analyse

        return analyse(study, self.options, study.floors.get(NEED))

    def prepare(self, table: pd.DataFrame) -> _Binding:
        """Find which objects have their colour."""
        return _Binding.from_table(table)

    def aggregate(self, binding: _Binding, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Compute `binding_per_prompt`; all other scores are plain means.

        It is computed as in the paper's reference implementation: the share of found objects with the right colour
        within each prompt, averaged over the prompts that have found objects.

        Args:
            binding: The objects that were found.
            weights: Weight of each row of the table, float64 of shape (n,).

        Returns:
            The score by name; empty if no prompt has a found object with a colour.
        """
        return {"binding_per_prompt": binding.mean(weights)} if len(binding.bound) else {}


def _object_rows(position: int, expected: SceneObject, finding: Finding, reason: str) -> Iterator[Row]:
    facets: dict[str, str | int | float] = {"object": expected.cls.name, "position": position}
    if expected.colour is not None:
        facets["colour"] = expected.colour
    yield Row("found", float(finding.found), facets, "" if finding.found else reason)
    if finding.bound is not None:
        yield Row("binding_pooled", float(finding.bound), facets, reason)


@dataclass(frozen=True)
class _Binding:
    """Rows of a table from which `binding_per_prompt` is computed.

    Attributes:
        bound: Positions of the rows of `binding_pooled`.
        images: Positions of the rows of `tiam`.
        values: Values of the rows of `binding_pooled`.
        prompts: Number of the prompt of each row of the table.
    """

    bound: NDArray[np.intp]
    images: NDArray[np.intp]
    values: NDArray[np.float64]
    prompts: NDArray[np.integer]

    @classmethod
    def from_table(cls, table: pd.DataFrame) -> _Binding:
        """Find the rows of a table."""
        bound, images = (np.flatnonzero(table["measure"] == m) for m in ("binding_pooled", "tiam"))
        prompts = table["prompt"].astype("category").cat.codes.to_numpy(np.intp)
        return cls(bound, images, table["value"].to_numpy(np.float64)[bound], prompts)

    def mean(self, weights: NDArray[np.float64]) -> float:
        """Return the mean of the prompts' shares, weighted by their images; NaN if all weights are 0."""
        weight, prompts = weights[self.bound], self.prompts[self.bound]
        carried = np.bincount(prompts, weight * self.values)
        found = np.bincount(prompts, weight)
        images = np.bincount(self.prompts[self.images], weights[self.images], len(found))[: len(found)]
        some = found > 0
        total = images[some].sum()
        return float((images[some] * carried[some] / found[some]).sum() / total) if total > 0 else float("nan")


def _fraction(threshold: float) -> Fraction:
    """Return the decimal that the user wrote: 2/5 for 0.4, whose float is slightly larger."""
    return Fraction(str(threshold))
