"""The measured rows of a run as the study reads them: a table of images and one of the objects asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from t2i_core.api.study import Study
from t2i_core.statistics import Question, mean_interval

PLACE = ["model", "prompt", "seed"]


@dataclass(frozen=True)
class Tables:
    """What was measured, without what has failed.

    images:    model, prompt, cluster, seed, kind, n_objects, value (TIAM), objects (the same without colours; NaN
               where there are none), holds_at
    objects:   model, prompt, cluster, seed, kind, n_objects, position, object, colour (NaN without), found, bound
               (NaN where not found or without colour), right (found, and in its colour if it has one)
    prompts:   by prompt: cluster (prompts of one are resampled as one), kind, n_objects, wording, asked (object
               and colour of each position)
    interval:  the question of the run's intervals
    question:  the same in words, as these prompts and seeds can answer it

    A kind is what prompts of one template share: "2 objects", "2 coloured objects", "3 objects (comma)".
    """

    images: pd.DataFrame
    objects: pd.DataFrame
    prompts: pd.DataFrame
    interval: Question = "new"
    question: str = ""

    @property
    def models(self) -> list[str]:
        """The models' labels, in the run's order."""
        return list(dict.fromkeys(self.images["model"]))

    @property
    def kinds(self) -> list[str]:
        """The kinds of prompts, those with fewer objects first."""
        order = self.prompts.assign(coloured=self.prompts["kind"].str.contains("coloured"))
        return list(dict.fromkeys(order.sort_values(["coloured", "n_objects", "wording"])["kind"]))

    def seeds_of(self, model: str) -> pd.DataFrame:
        """A model's TIAM by prompt (rows) and seed (columns); NaN where an image failed."""
        own = self.images[self.images["model"] == model]
        return own.pivot(index="prompt", columns="seed", values="value")


def read_tables(study: Study) -> Tables:
    """Read a study's rows, whether they come from a file or from memory."""
    columns = ["measure", "value", *PLACE, "cluster", "object", "colour", "position", "holds_at"]
    rows = study.table.reindex(columns=columns)
    rows = rows.astype({name: object for name in rows.columns if name != "value"})
    rows = rows.where(rows.notna(), np.nan)  # and not None here, NaN there
    rows["seed"] = rows["seed"].map(int)
    rows["cluster"] = rows["cluster"].fillna(rows["prompt"])
    by_measure = dict(list(rows.groupby("measure", sort=False)))
    objects = by_measure["found"].rename(columns={"value": "found"}).drop(columns=["measure", "holds_at"])
    objects["position"] = objects["position"].map(_whole)
    bound = by_measure.get("binding_pooled", rows.iloc[:0]).assign(position=lambda t: t["position"].map(_whole))
    bound = bound.rename(columns={"value": "bound"})[[*PLACE, "position", "bound"]]
    objects = objects.merge(bound, on=[*PLACE, "position"], how="left")
    coloured = objects["colour"].notna()
    objects["right"] = np.where(coloured, objects["bound"].fillna(0), objects["found"])
    prompts = _prompts(objects)
    whatever = by_measure.get("objects", rows.iloc[:0]).rename(columns={"value": "objects"})[[*PLACE, "objects"]]
    images = by_measure["tiam"][[*PLACE, "value", "holds_at"]].merge(whatever, on=PLACE, how="left")
    images = images.join(prompts[["cluster", "kind", "n_objects"]], on="prompt")
    objects = objects.join(prompts[["kind", "n_objects"]], on="prompt")
    question = mean_interval(images["value"], images["cluster"], images["seed"], interval=study.interval).question
    return Tables(images, objects, prompts, study.interval, question)


def _prompts(objects: pd.DataFrame) -> pd.DataFrame:
    """What each prompt asked for, read from the rows of its objects."""
    lines = {}
    for prompt, own in objects.drop_duplicates(["prompt", "position"]).groupby("prompt", sort=False):
        own = own.sort_values("position")
        asked = tuple(
            (str(name), None if pd.isna(colour) else str(colour))
            for name, colour in zip(own["object"], own["colour"], strict=True)
        )
        coloured = any(colour for _, colour in asked)
        wording = _wording(str(prompt), asked)
        plural = "object" if len(asked) == 1 else "objects"
        kind = f"{len(asked)} {'coloured ' if coloured else ''}{plural}{f' ({wording})' if wording else ''}"
        lines[prompt] = {
            "cluster": own["cluster"].iloc[0],
            "kind": kind,
            "n_objects": len(asked),
            "wording": wording,
            "asked": asked,
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def _wording(prompt: str, asked: tuple[tuple[str, str | None], ...]) -> str:
    """What a template's `id_suffix` says after the objects: `car+zebra-comma` is worded with a comma."""
    plain = "+".join("-".join(f"{colour or ''} {name}".split()) for name, colour in asked)
    return prompt.removeprefix(plain).strip("-") if prompt.startswith(plain) else ""


def _whole(position: object) -> int:
    return int(float(str(position)))
