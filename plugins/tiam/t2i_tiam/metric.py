"""The metric `tiam`: rows from decisions, and the two ways to average colour binding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.components import Setup
from t2i_core.errors import BadPrompts
from t2i_core.metrics import Derive, Metric, Need, Row, Unit
from t2i_core.prompts import Prompt, SceneObject
from t2i_core.sources import sources_digest

from .evidence import Evidence
from .options import TiamOptions
from .rules import Finding, Thresholds, decide

NEED = "objects"


class Tiam(Metric):
    """Are the objects of the prompt in the image, and in their colours?"""

    def __init__(self, setup: Setup[TiamOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        self.columns = {name: i for i, name in enumerate(options.references)}
        self.thresholds = Thresholds(
            options.confidence, _fraction(options.overlap), _fraction(options.colour_share)
        )
        evidence = Evidence(tuple(options.references.values()))
        depends_on = {
            "references": options.references,
            "table": sources_digest(__name__, ("colours.py", "table.py", "*.xz")),
        }
        self.needs = (Need(NEED, "segment", knows=True, derive=Derive("tiam", evidence.take, depends_on)),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        """Turn one image into rows.

        tiam:            1 where every object is found and carries its colour if it has one, else 0
        objects:         for prompts with colours: 1 where every object is found, else 0
        found:           per object, 0 or 1
        binding_pooled:  per found object with a colour, 0 or 1
        """
        observed = unit.one()
        objects = self._expected(observed.prompt)
        findings = decide(objects, observed.one(NEED), observed.derived(NEED), self.columns, self.thresholds)
        size = {"n_objects": len(objects)}
        yield Row("tiam", float(all(f.found and f.bound is not False for f in findings)), size)
        if any(o.colour for o in objects):
            yield Row("objects", float(all(f.found for f in findings)), size)
        for position, (expected, finding) in enumerate(zip(objects, findings, strict=True), 1):
            yield from _object_rows(position, expected, finding)

    def _expected(self, prompt: Prompt) -> tuple[SceneObject, ...]:
        if prompt.scene is None or not prompt.scene.objects:
            raise BadPrompts(f"tiam: the prompt {prompt.id!r} does not say which objects it expects (a scene)")
        for expected in prompt.scene.objects:
            if expected.colour is not None and expected.colour not in self.columns:
                raise BadPrompts(
                    f"tiam: the prompt {prompt.id!r} wants the colour {expected.colour!r}, which is none of the "
                    f"references: {', '.join(self.columns)}"
                )
        return prompt.scene.objects

    def aggregate(self, table: pd.DataFrame, weights: NDArray[np.float64]) -> Mapping[str, float]:
        """Return `binding_per_prompt`, which the paper's reference computes; all other scores are plain means.

        It is the mean over prompts of each one's own share of found objects that carry their colour, prompts
        without any left out.
        """
        per_prompt = _binding_per_prompt(table, weights)
        return {} if per_prompt is None else {"binding_per_prompt": per_prompt}


def _object_rows(position: int, expected: SceneObject, finding: Finding) -> Iterator[Row]:
    facets: dict[str, str | int | float] = {"object": expected.cls.name, "position": position}
    if expected.colour is not None:
        facets["colour"] = expected.colour
    yield Row("found", float(finding.found), facets)
    if finding.bound is not None:
        yield Row("binding_pooled", float(finding.bound), facets)


def _binding_per_prompt(table: pd.DataFrame, weights: NDArray[np.float64]) -> float | None:
    """Average the prompts' ratios, each prompt with the weight of its images; None where nothing is bound."""
    measure = table["measure"]
    bound, image = (measure == "binding_pooled").to_numpy(), (measure == "tiam").to_numpy()
    if not bound.any() or not image.any():
        return None
    prompts = table["prompt"].astype("category").cat.codes.to_numpy()
    values = table["value"].to_numpy(np.float64)
    n = int(prompts.max()) + 1
    carried = np.bincount(prompts[bound], (weights * values)[bound], n)
    found = np.bincount(prompts[bound], weights[bound], n)
    images = np.bincount(prompts[image], weights[image], n)
    some = found > 0
    total = images[some].sum()
    return float((images[some] * carried[some] / found[some]).sum() / total) if total > 0 else float("nan")


def _fraction(threshold: float) -> Fraction:
    """Return the decimal that the user wrote: 2/5 for 0.4, whose float is a little more."""
    return Fraction(str(threshold))
