"""Content of the page: the nodes of the tree, and images and scores of each prompt by model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.api.image import Image
from t2i_core.api.prompt import Prompt
from t2i_core.results.run import Run

from ..taxonomy import Taxonomy


@dataclass(frozen=True)
class ShownPrompt:
    """A prompt of the run.

    Attributes:
        text: Its text.
        scores: Mean of each score for each model, (scores, models); None without a value.
        pictures: Places of its images in `PageContent.pictures`, for each model.
    """

    text: str
    scores: Sequence[Sequence[float | None]]
    pictures: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Node:
    """A node of the tree.

    Attributes:
        name: Its name in the taxonomy.
        lemmas: Its lemmas.
        definition: Its definition, or empty.
        parents: Places of the nodes directly above.
        n_hyponyms: Number of nodes directly below in the whole taxonomy.
        prompts: The run's prompts about it.
    """

    name: str
    lemmas: Sequence[str]
    definition: str
    parents: Sequence[int]
    n_hyponyms: int
    prompts: Sequence[ShownPrompt]


@dataclass(frozen=True)
class PageContent:
    """The content of the page.

    Attributes:
        title: Name of the run.
        models: Labels of the models.
        scores: Names of the scores.
        nodes: The synsets of the run's prompts and all nodes above them.
        pictures: All images, in the order in which prompts show them.
        n_left_out: Number of prompts that name no node of the taxonomy.
        most_images: Largest number of images for each prompt and model; 0 for a page without images.
    """

    title: str
    models: Sequence[str]
    scores: Sequence[str]
    nodes: Sequence[Node]
    pictures: Sequence[Image]
    n_left_out: int
    most_images: int


def collect_content(run: Run, taxonomy: Taxonomy, most_images: int) -> PageContent:
    """Return what the page shows of a run.

    Args:
        run: The run.
        taxonomy: The taxonomy.
        most_images: Largest number of images for each prompt and model; 0 for a page without images.

    Raises:
        BadFolder: No prompt of the run names a node of the taxonomy.
    """
    prompts = run.prompts()
    node_of = {prompt.id: node for prompt in prompts if (node := find_node(prompt, taxonomy)) is not None}
    if not node_of:
        where = "WordNet" if taxonomy.file is None else str(taxonomy.file)
        raise BadFolder(
            f"{run.path}: none of its {len(prompts)} prompts names a synset of {where}; run prompts of synsets, "
            "such as --prompts wordnet-imagenet, or name the taxonomy of the prompts with --taxonomy"
        )
    models = list(run.manifest.models)
    names, scores = _mean_scores(run, models)
    images = _first_images(run, models, most_images)
    pictures: list[Image] = []
    shown: dict[str, list[ShownPrompt]] = {}
    for prompt in prompts:
        if prompt.id not in node_of:
            continue
        places = []
        for model in models:
            own = images.get((prompt.id, model), [])
            places.append(range(len(pictures), len(pictures) + len(own)))
            pictures += own
        values = [[scores.get((prompt.id, model, name)) for model in models] for name in names]
        entry = ShownPrompt(prompt.text, values, [list(each) for each in places])
        shown.setdefault(node_of[prompt.id], []).append(entry)
    nodes = _list_nodes(taxonomy, shown)
    n_left_out = len(prompts) - len(node_of)
    return PageContent(run.folder.name, models, names, nodes, pictures, n_left_out, most_images)


def find_node(prompt: Prompt, taxonomy: Taxonomy) -> str | None:
    """Return the node that a prompt is about: that of its first object, or its id; None if neither is one."""
    objects = prompt.scene.objects if prompt.scene is not None else ()
    candidates = [prompt.id]
    if objects:
        candidates = [objects[0].cls.synset or "", objects[0].cls.name, prompt.id]
    return next((name for name in candidates if name in taxonomy), None)


def _list_nodes(taxonomy: Taxonomy, shown: Mapping[str, Sequence[ShownPrompt]]) -> list[Node]:
    above = set().union(*(taxonomy.closure(name) for name in shown))
    names = sorted({*shown, *above}, key=lambda name: (taxonomy.lemmas(name)[0].lower(), name))
    place = {name: i for i, name in enumerate(names)}
    return [
        Node(
            name,
            taxonomy.lemmas(name),
            taxonomy.definition(name),
            [place[parent] for parent in taxonomy.hypernyms(name)],
            len(taxonomy.hyponyms(name)),
            shown.get(name, ()),
        )
        for name in names
    ]


def _mean_scores(run: Run, models: Iterable[str]) -> tuple[list[str], dict[tuple[str, str, str], float]]:
    """Return the names of the scores, and the mean of each by prompt, model and name."""
    table = run.measurements()
    if not {"prompt", "model", "value"} <= set(table.columns):
        return [], {}
    table = table[table["model"].isin(list(models))].dropna(subset=["prompt", "value"])
    table = table.assign(value=pd.to_numeric(table["value"]), score=_name_scores(table))
    means = table.groupby(["prompt", "model", "score"], sort=False)["value"].mean().reset_index()
    rows: Iterable[Any] = means.itertuples(index=False, name=None)
    found = {(prompt, model, name): float(mean) for prompt, model, name, mean in rows}
    return [str(name) for name in dict.fromkeys(table["score"])], found


def _name_scores(table: pd.DataFrame) -> pd.Series:
    """Return the name of each row's score: the metric, and the measure and the judge if it has several."""
    names: pd.Series = table["metric"].astype(str)
    for column in ("measure", "judge"):
        if column in table:
            several = table.groupby("metric")[column].transform("nunique") > 1
            names = names.where(~several, names + ": " + table[column].astype(str))
    return names


def _first_images(run: Run, models: Iterable[str], most: int) -> dict[tuple[str, str], list[Image]]:
    """Return the first images of each prompt and model, in the order of seeds."""
    samples = run.samples().assign(picture=run.images())
    samples = samples[samples["model"].isin(list(models)) & samples["picture"].notna()]
    samples = samples.assign(order=pd.to_numeric(samples["seed"])).sort_values("order", kind="stable")
    found: dict[tuple[str, str], list[Image]] = {}
    rows: Iterable[Any] = samples[["prompt", "model", "picture"]].itertuples(index=False, name=None)
    for prompt, model, picture in rows:
        own = found.setdefault((prompt, model), [])
        if len(own) < most:
            own.append(picture)
    return found
