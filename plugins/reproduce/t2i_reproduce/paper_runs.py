"""The runs that tables and figures need: each once, with only the models that their cells are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.files.slug import make_slug

from .grid import Cell
from .paper import PaperModel, PaperRun, Show, Side

if TYPE_CHECKING:
    from t2i_core import Request
    from t2i_core.api.command import Evaluator

GPU = "one A100 GPU"


@dataclass(frozen=True)
class NeededRun:
    """A run of a paper with the models that are needed.

    Attributes:
        name: Its name in the paper's file.
        run: Its description.
        models: The models, by key.
    """

    name: str
    run: PaperRun
    models: Mapping[str, PaperModel] = field(repr=False)

    @property
    def missing_files(self) -> dict[str, str]:
        """The files that the run reads and that are not there, each with how to get it."""
        return {file: how for file, how in self.run.files.items() if not Path(file).exists()}

    def list_settings(self) -> tuple[list[str], list[str]]:
        """Return assumptions about settings, and settings that differ from the paper's."""
        parts: list[PaperModel | PaperRun] = [self.run, *self.models.values()]
        assumes = [text for part in parts for text in part.assumes]
        return assumes, [text for part in parts for text in part.differs]

    def make_recipe(self) -> dict[str, Any]:
        """Return the recipe of the run."""
        models = [
            {
                "model": model.model,
                "label": model.names[0],
                "settings": model.settings,
                "matrix": self.run.matrix,
            }
            for model in self.models.values()
        ]
        return {**self.run.recipe, "models": models}


def list_needed_runs(side: Side, cells: Iterable[Cell], shows: Iterable[Show]) -> dict[str, NeededRun]:
    """Return the runs that cells and analyses need, by name.

    A run without a value of single models, such as an analysis of all of them, needs all its models.

    Args:
        side: The paper, or its mini version.
        cells: Cells of all tables.
        shows: Analyses of all figures.
    """
    wanted: dict[str, set[str]] = {}
    for cell in cells:
        if cell.reason is None and cell.source.run is not None:
            keys = cell.list_models() or side.runs[cell.source.run].models
            wanted.setdefault(cell.source.run, set()).update(keys)
    for show in shows:
        wanted.setdefault(show.run, set()).update(side.runs[show.run].models)
    return {
        name: NeededRun(name, run, _select_models(side, run, wanted[name]))
        for name, run in side.runs.items()
        if name in wanted
    }


def _select_models(side: Side, run: PaperRun, keys: set[str]) -> dict[str, PaperModel]:
    ordered = [*run.models, *sorted(keys.difference(run.models))]
    return {key: side.models[key] for key in ordered if key in keys and side.models[key].model is not None}


def make_requests(
    needed: Mapping[str, NeededRun], file: str, evaluator: Evaluator, out: Path | None
) -> dict[str, Request]:
    """Return the request of each run, all checked; runs without models or whose files are missing have none.

    Args:
        needed: The runs by name.
        file: Name of the paper's file, for messages.
        evaluator: Makes requests.
        out: Folder for the runs. None: the default.

    Raises:
        BadRecipe: A recipe is not valid.
        T2IError: A component is unknown, broken or missing.
    """
    return {
        name: evaluator.make_request(
            each.make_recipe(), f"{file}, runs.{name}.recipe", out and out / make_slug(name)
        )
        for name, each in needed.items()
        if each.models and not each.missing_files
    }


@dataclass(frozen=True)
class RunCost:
    """The work of a run, if nothing of it is in the cache.

    Attributes:
        run: Name of the run.
        models: Number of models and settings.
        prompts: Number of prompts.
        seeds: Number of seeds.
        images: Number of images to generate.
        calls: Number of judge calls.
        hours: Estimate of the hours on one GPU, from assumed rates.
    """

    run: str
    models: int
    prompts: int
    seeds: int
    images: int
    calls: int
    hours: float


def estimate_cost(needed: NeededRun, seeds: Sequence[int] | int | str | None, limit: int | None) -> RunCost:
    """Return the work of a run. Nothing is loaded, so prompts that share a text count apart.

    Args:
        needed: The run.
        seeds: Its seeds, as a recipe writes them; None for one.
        limit: Largest number of prompts, if one was asked for.
    """
    run = needed.run
    prompts = run.n_prompts if limit is None else min(run.n_prompts, limit)
    n_seeds = _count_seeds(seeds)
    settings = 1
    for values in run.matrix.values():
        settings *= len(values)
    each = prompts * n_seeds * settings
    generated = [model for model in needed.models.values() if model.seconds > 0]
    images = each * len(generated)
    calls = round(each * len(needed.models) * run.calls)
    seconds = each * sum(model.seconds for model in generated) + calls * run.call_seconds
    return RunCost(
        run=needed.name,
        models=len(needed.models) * settings,
        prompts=prompts,
        seeds=n_seeds,
        images=images,
        calls=calls,
        hours=seconds / 3600,
    )


def _count_seeds(seeds: Sequence[int] | int | str | None) -> int:
    if seeds is None:
        return 1
    if isinstance(seeds, int):
        return seeds
    if not isinstance(seeds, str):
        return len(seeds)
    ranges = [part.partition("-") for part in seeds.split(",")]
    return sum(int(last) - int(first) + 1 if dash else 1 for first, dash, last in ranges)


def list_rates(needed: Iterable[NeededRun]) -> list[str]:
    """Return the assumed rates behind the estimates, in words."""
    rates = {
        f"{model.seconds:g} s an image of {model.names[0]}"
        for each in needed
        for model in each.models.values()
        if model.seconds > 0
    }
    calls = {f"{each.run.call_seconds:g} s a judge call" for each in needed if each.run.calls}
    return [*sorted(rates), *sorted(calls)]
