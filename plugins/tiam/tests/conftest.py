"""Fixtures: small images with known masks, measured as in a run, and runs as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from t2i_core.api import Note, Observed, Prompt, Row, Sample, Scene, SceneObject, Segments, Setup, Unit
from t2i_core.api.mask import PackedMask
from t2i_core.api.metric_input import Answer
from t2i_core.api.study import Analysis, Study
from t2i_core.results.images import find_images
from t2i_tiam.labels import LABELS
from t2i_tiam.metric import NEED, Tiam
from t2i_tiam.options import TiamOptions
from t2i_tiam.templates import Template, TemplatePosition

# one sRGB value that is nearest to each reference
PAINT = {
    "pink": (255, 192, 203),
    "red": (255, 0, 0),
    "yellow": (255, 255, 0),
    "green": (0, 255, 0),
    "blue": (30, 144, 255),
    "purple": (128, 0, 128),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
Found = tuple[str, float, np.ndarray]


class World:
    """Builder of prompts, observations and rows."""

    labels = tuple(LABELS.values())
    paint = PAINT

    def prompt(self, *words: str) -> Prompt:
        """Return a prompt for words such as `red car` or `fire hydrant`."""
        objects = []
        for word in words:
            colour, _, name = word.partition(" ")
            objects.append(SceneObject(LABELS[word]) if word in LABELS else SceneObject(LABELS[name], colour))
        return Prompt("+".join(words), " and ".join(words), Scene(tuple(objects)))

    def segments(self, found: Sequence[Found], size: tuple[int, int]) -> Segments:
        """Return detections built from (label, confidence, boolean mask)."""
        names = [c.name for c in self.labels]
        masks = tuple(PackedMask.pack(mask) for _, _, mask in found)
        return Segments(
            size=size,
            boxes=np.array([m.box for m in masks], np.float32).reshape(-1, 4),
            scores=np.array([score for _, score, _ in found], np.float32),
            classes=np.array([names.index(label) for label, _, _ in found], np.int16),
            labels=self.labels,
            masks=masks,
        )

    def strip(self, *parts: tuple[str, float, dict[str, int]]) -> tuple[np.ndarray, Segments]:
        """Return an image one pixel high; a detection is a label, a confidence and numbers of pixels by colour."""
        width = sum(sum(colours.values()) for _, _, colours in parts) or 1
        pixels, found, start = np.zeros((1, width, 3), np.uint8), [], 0
        for label, score, colours in parts:
            mask = np.zeros((1, width), bool)
            for colour, count in colours.items():
                pixels[0, start : start + count] = PAINT[colour]
                mask[0, start : start + count] = True
                start += count
            found.append((label, score, mask))
        return pixels, self.segments(found, (width, 1))

    def metric(self, **options: Any) -> Tiam:
        return Tiam(Setup(None, TiamOptions(**options)))

    def rows(self, prompt: Prompt, pixels: np.ndarray, found: Segments, **options: Any) -> list[Row | Note]:
        """Return what the metric yields for one image."""
        metric = self.metric(**options)
        derive = metric.needs[0].derive
        assert derive is not None
        sample = Sample("model", prompt, 0)
        observed = Observed((sample,), {NEED: [Answer(found, derive.function(pixels, found))]})
        return list(metric.measure(Unit(("model",), prompt, 0, [observed])))

    def score(self, prompt: Prompt, pixels: np.ndarray, found: Segments, **options: Any) -> float:
        rows = self.rows(prompt, pixels, found, **options)
        return next(r.value for r in rows if isinstance(r, Row) and r.measure == "tiam")


Draw = Callable[[Prompt, int], Sequence[bool]]
"""Function of a prompt and a seed that returns a truth value for each object of the prompt."""


class Runs:
    """Builder of the input of analyses from the objects found in each image."""

    def prompts(self, sentence: str, *objects: str, colours: Sequence[str] = (), suffix: str = "") -> list[Prompt]:
        """Return the prompts of a template whose positions have the same objects and colours."""
        places = (TemplatePosition(objects=objects, colours=tuple(colours)),) * sentence.count("{")
        return list(Template(template=sentence, positions=places, id_suffix=suffix).prompts())

    def rows(
        self, model: str, prompts: Sequence[Prompt], seeds: Sequence[int], found: Draw, bound: Draw | None = None
    ) -> list[dict[str, Any]]:
        """Return the metric's rows; found objects have their colours as `bound` says, or always if it is None."""
        table = []
        for prompt in prompts:
            objects = prompt.scene.objects
            for seed in seeds:
                place = {"model": model, "prompt": prompt.id, "seed": seed}
                there = [bool(x) for x in found(prompt, seed)]
                carried = [True] * len(objects) if bound is None else bound(prompt, seed)
                right = [t and (o.colour is None or c) for t, c, o in zip(there, carried, objects, strict=True)]
                holds = {"holds_at": "0-1"} if all(right) else {}
                table.append({**place, "measure": "tiam", "value": all(right), "n_objects": len(objects), **holds})
                if objects[0].colour:
                    table.append({**place, "measure": "objects", "value": all(there)})
                for i, o in enumerate(objects):
                    of = {**place, "object": o.cls.name, "position": i + 1}
                    if o.colour:
                        of["colour"] = o.colour
                    table.append({**of, "measure": "found", "value": there[i]})
                    if o.colour and there[i]:
                        table.append({**of, "measure": "binding_pooled", "value": right[i]})
        return table

    def study(
        self,
        rows: Sequence[dict[str, Any]],
        folder: Path = Path(),
        others: pd.DataFrame | None = None,
        **known: Any,
    ) -> Study:
        """Return a study as `t2i analyze` builds it: all but values and seeds are texts, as read from a file."""
        columns = dict.fromkeys(name for row in rows for name in row)
        texts = {name: [str(row[name]) if name in row else None for row in rows] for name in columns}
        table = pd.DataFrame(texts, dtype=object)
        table["value"] = [float(row["value"]) for row in rows]
        table["seed"] = pd.array([row["seed"] for row in rows], "Int64")
        samples = (
            table[["model", "prompt", "seed"]].drop_duplicates().assign(status="ok", image="none.png", digest="")
        )
        return Study(table, samples, folder, others, find_images=partial(find_images, samples, folder), **known)

    def analyses(self, study: Study, **options: Any) -> dict[str, Analysis]:
        """Return the metric's analyses by name."""
        return {a.name: a for a in Tiam(Setup(None, TiamOptions(**options))).analyses(study)}


@pytest.fixture(scope="session")
def runs() -> Runs:
    return Runs()


@pytest.fixture(scope="session")
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    cases = json.loads((Path(__file__).parent / "golden" / "tiam.json").read_text())
    return {case["id"]: case for case in cases}.__getitem__
