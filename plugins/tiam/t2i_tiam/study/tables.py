"""Measured rows of a run as tables of images, of expected objects and of prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from t2i_core.api.study import Study
from t2i_core.statistics import Question, mean_interval

PLACE = ["model", "prompt", "seed"]


@dataclass(frozen=True)
class Tables:
    """Measured rows of a run, without failed samples.

    A kind of prompts is the number of objects, whether they have colours, and the wording: "2 objects", "2
    coloured objects", "3 objects (comma)".

    Attributes:
        images: model, prompt, cluster, seed, kind, n_objects, value (TIAM), objects (found in any colour; NaN for
            prompts without colours), holds_at.
        objects: model, prompt, cluster, seed, kind, n_objects, position, object, colour (NaN if none), found,
            bound (NaN if not found or without a colour), right (found, and in its colour if it has one).
        prompts: By prompt: cluster (prompts of one cluster are resampled together), kind, n_objects, wording,
            asked (object and colour of each position).
        interval: The question of the run's intervals.
        question: The same in words, as far as these prompts and seeds can answer it.
    """

    images: pd.DataFrame
    objects: pd.DataFrame
    prompts: pd.DataFrame
    interval: Question = "new"
    question: str = ""

    @property
    def models(self) -> list[str]:
        """Labels of the models, in the run's order."""
        return list(dict.fromkeys(self.images["model"]))

    @property
    def kinds(self) -> list[str]:
        """Kinds of prompts without colours, then with colours, each by ascending number of objects."""
        order = self.prompts.assign(coloured=self.prompts["kind"].str.contains("coloured"))
        return list(dict.fromkeys(order.sort_values(["coloured", "n_objects", "wording"])["kind"]))

    def seeds_of(self, model: str) -> pd.DataFrame:
        """Return a model's TIAM by prompt (rows) and seed (columns); NaN if the image failed."""
        own = self.images[self.images["model"] == model]
        return own.pivot(index="prompt", columns="seed", values="value")


def read_tables(study: Study) -> Tables:
    """Return a study's rows as tables."""
    columns = ["measure", "value", *PLACE, "cluster", "object", "colour", "position", "holds_at"]
    rows = study.table.reindex(columns=columns)
    rows = rows.astype({name: object for name in rows.columns if name != "value"})
    rows = rows.where(rows.notna(), np.nan)  # replace None by NaN
    rows["seed"] = rows["seed"].map(int)
    rows["cluster"] = rows["cluster"].fillna(rows["prompt"])
    by_measure = dict(list(rows.groupby("measure", sort=False)))
    objects = by_measure["found"].rename(columns={"value": "found"}).drop(columns=["measure", "holds_at"])
    objects["position"] = objects["position"].map(_to_int)
    bound = by_measure.get("binding_pooled", rows.iloc[:0]).assign(position=lambda t: t["position"].map(_to_int))
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
    """Return the expected objects of each prompt, read from the rows of its objects."""
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
    """Return the `id_suffix` of a prompt's template: `comma` for the prompt `car+zebra-comma`."""
    plain = "+".join("-".join(f"{colour or ''} {name}".split()) for name, colour in asked)
    return prompt.removeprefix(plain).strip("-") if prompt.startswith(plain) else ""


def _to_int(position: object) -> int:
    return int(float(str(position)))
