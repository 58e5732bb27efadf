"""The runs that tables and figures need: each once, with only the models that their cells are about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.files.slug import make_slug

from .grid import Cell
from .paper import FOLDER_OF_RUN, PaperModel, PaperRun, Show, Side

if TYPE_CHECKING:
    from t2i_core import Request
    from t2i_core.api.command import Evaluator
    from t2i_core.api.resolver import Resolver

GPU = "one A100 GPU"


@dataclass(frozen=True)
class NeededRun:
    """A run of a paper with the models that are needed.

    Attributes:
        name: Its name in the paper's file.
        run: Its description.
        models: The models, by key.
        is_part: Whether the run has more models that are available.
    """

    name: str
    run: PaperRun
    models: Mapping[str, PaperModel] = field(repr=False)
    is_part: bool = False

    @property
    def missing_files(self) -> dict[str, str]:
        """The files that the run reads and that are not there, each with how to get it."""
        return {file: how for file, how in self.run.files.items() if not Path(file).exists()}

    @property
    def missing_answers(self) -> dict[str, str]:
        """The files that analyses read and that are not there, each with how to make it from the run."""
        return {file: how for file, how in self.run.answers.items() if not Path(file).exists()}

    def list_analysis_options(self, folders: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the options of metrics for the analyses, without missing files and runs.

        Args:
            folders: Folders of the finished runs by name.
        """
        missing = self.missing_answers
        found: dict[str, dict[str, Any]] = {}
        for metric, options in self.run.analyses.items():
            for key, value in options.items():
                values = value if isinstance(value, list) else [value]
                named = set(re.findall(FOLDER_OF_RUN, str(values)))
                if missing.keys().isdisjoint(map(str, values)) and named <= folders.keys():
                    found.setdefault(metric, {})[key] = _name_folders(value, folders)
        return found

    @property
    def is_available(self) -> bool:
        """True if it has a generator, or needs none."""
        return bool(self.models) or not self.run.models

    def list_settings(self) -> tuple[list[str], list[str]]:
        """Return assumptions about settings, and settings that differ from the paper's."""
        parts: list[PaperModel | PaperRun] = [self.run, *self.models.values()]
        assumes = [text for part in parts for text in part.assumes]
        return assumes, [text for part in parts for text in part.differs]

    @property
    def folder_name(self) -> str:
        """Name of the run's folder: that of a part of the run has the names of its models, too."""
        return make_slug(" ".join([self.name, *(self.models if self.is_part else ())]))

    def list_prior_runs(self) -> list[str]:
        """Return the runs whose folders the recipe names."""
        return list(dict.fromkeys(re.findall(FOLDER_OF_RUN, str(self.run.recipe))))

    def make_recipe(self, folders: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the recipe of the run.

        Args:
            folders: Folders of the prior runs by name; None while they do not exist.
        """
        models = [
            {
                "model": model.model,
                "label": model.names[0],
                "settings": model.settings,
                "matrix": self.run.matrix,
            }
            for model in self.models.values()
        ]
        found = dict.fromkeys(self.list_prior_runs(), ".") if folders is None else folders
        return {**_name_folders(self.run.recipe, found), "models": models}


def _name_folders(value: Any, folders: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(FOLDER_OF_RUN, lambda named: folders[named[1]], value)
    if isinstance(value, list):
        return [_name_folders(each, folders) for each in value]
    if isinstance(value, dict):
        return {key: _name_folders(each, folders) for key, each in value.items()}
    return value


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
        if cell.reason is None and cell.source.run is not None and not cell.source.mean_of:
            keys = cell.list_models() or side.runs[cell.source.run].models
            wanted.setdefault(cell.source.run, set()).update(keys)
    for show in shows:
        for name in (show.run, *show.also):
            wanted.setdefault(name, set()).update(show.models or side.runs[name].models)
    for name in list(wanted):
        for prior in NeededRun(name, side.runs[name], {}).list_prior_runs():
            wanted.setdefault(prior, set()).update(side.runs[prior].models)
    return {
        name: NeededRun(
            name,
            run,
            models := _select_models(side, run, wanted[name]),
            models.keys() < _select_models(side, run, set(run.models)).keys(),
        )
        for name, run in side.runs.items()
        if name in wanted
    }


def _select_models(side: Side, run: PaperRun, keys: set[str]) -> dict[str, PaperModel]:
    return {key: side.models[key] for key in run.models if key in keys and side.models[key].model is not None}


def make_request(
    needed: NeededRun,
    file: str,
    evaluator: Evaluator,
    out: Path | None,
    folders: Mapping[str, str] | None = None,
) -> Request:
    """Return the request of a run, checked.

    Args:
        needed: The run.
        file: Name of the paper's file, for messages.
        evaluator: Makes requests.
        out: Folder for the runs. None: the default.
        folders: Folders of the prior runs by name; None while they do not exist.

    Raises:
        BadRecipe: The recipe is not valid.
        T2IError: A component is unknown, broken or missing.
    """
    place = out and out / needed.folder_name
    return evaluator.make_request(needed.make_recipe(folders), f"{file}, runs.{needed.name}.recipe", place)


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


def find_default_seeds(needed: NeededRun, resolver: Resolver[Any]) -> int:
    """Return the number of seeds of a run whose recipe names none: the largest default of its metrics.

    As in a run, the default of a model's domain replaces the metric's own.

    Args:
        needed: The run.
        resolver: Finds components by name.

    Raises:
        T2IError: A component is unknown, broken or missing.
    """
    named = needed.run.recipe.get("metrics", ())
    metrics = [
        resolver.component("metric", name, {}).info for name in ([named] if isinstance(named, str) else named)
    ]
    models = [resolver.component("generator", model.model or "", {}).info for model in needed.models.values()]
    found = [1]
    for metric in metrics:
        domains = [model.domain.metrics.get(metric.name) for model in models] or [None]
        found += [(there and there.seeds) or metric.defaults.seeds or 1 for there in domains]
    return max(found)


def estimate_cost(
    needed: NeededRun, seeds: Sequence[int] | int | str, limit: int | None, has_images: bool
) -> RunCost:
    """Return the work of a run. Nothing is loaded, so prompts that share a text count apart.

    Args:
        needed: The run.
        seeds: Its seeds, as a recipe writes them.
        limit: Largest number of prompts, if one was asked for.
        has_images: Whether another run makes all its images.
    """
    run = needed.run
    prompts = run.n_prompts if limit is None else min(run.n_prompts, limit)
    n_seeds = _count_seeds(seeds)
    settings = 1
    for values in run.matrix.values():
        settings *= len(values)
    each = prompts * n_seeds * settings
    generated = [model for model in needed.models.values() if model.seconds > 0 and not has_images]
    images = each * len(generated)
    calls = round(each * (len(needed.models) or not run.models) * run.calls)
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


def _count_seeds(seeds: Sequence[int] | int | str) -> int:
    if isinstance(seeds, int):
        return seeds
    if not isinstance(seeds, str):
        return len(seeds)
    ranges = [part.partition("-") for part in seeds.split(",")]
    return sum(int(last) - int(first) + 1 if dash else 1 for first, dash, last in ranges)


def list_rates(needed: Sequence[NeededRun]) -> list[str]:
    """Return the assumed rates behind the estimates, in words."""
    seconds: dict[float, dict[str, None]] = {}
    for each in needed:
        for model in each.models.values():
            if model.seconds > 0:
                seconds.setdefault(model.seconds, {})[model.names[0]] = None
    rates = [f"{rate:g} s an image of {', '.join(names)}" for rate, names in sorted(seconds.items())]
    calls = {f"{each.run.call_seconds:g} s a judge call" for each in needed if each.run.calls}
    return [*rates, *sorted(calls)]
