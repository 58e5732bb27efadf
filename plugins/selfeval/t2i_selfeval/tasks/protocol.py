"""The paper's protocol: six tasks with at most 1,000 samples each over all data sets, in one or more repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain, islice, zip_longest
from typing import Any

from t2i_core.api import Prompt, Setup

from ..samples import REPEAT, TASKS
from ..task_options import (
    AroOptions,
    AroOrderOptions,
    AroRelationOptions,
    BindingOptions,
    ClevrOptions,
    ProtocolOptions,
    SourceName,
    TaskOptions,
    TifaOptions,
)
from .fields import find_folder


@dataclass(frozen=True)
class DataSet:
    """A data set's part in the protocol.

    Attributes:
        place: Its folder or file, relative to the protocol's folder.
        module: The module that reads it.
        options: Its options.
        given: Options that differ from the defaults.
        function: The function of the module.
    """

    place: str
    module: str
    options: type[TaskOptions]
    given: Mapping[str, Any]
    function: str = "prompts"

    def read(self, setup: Setup[ProtocolOptions], folder: str, seed: int) -> Iterable[Prompt]:
        """Return its samples, at most the limit of each task, drawn by a seed."""
        options = self.options(**self.given, limit=setup.options.limit, seed=seed)
        function: Callable[[Setup[Any]], Iterable[Prompt]] = getattr(
            import_module(f".{self.module}", __package__), self.function
        )
        return function(Setup(f"{folder}/{self.place}", options, offline=setup.offline, dry=setup.dry))


SOURCES: Mapping[SourceName, DataSet] = {
    "tifa": DataSet("TIFA", "tifa", TifaOptions, {}),
    "clevr": DataSet("CLEVR_v1.0", "clevr", ClevrOptions, {"tasks": ("colour", "count", "shape")}),
    "clevr-two-object": DataSet("clevr-binding", "binding", BindingOptions, {"part": "two-object"}),
    "clevr-rel": DataSet("clevr-binding", "binding", BindingOptions, {"part": "rel"}),
    "aro-attribution": DataSet("ARO", "aro", AroOptions, {}, "attribution"),
    "aro-relation": DataSet("ARO", "aro", AroRelationOptions, {}, "relation"),
    "aro-order": DataSet("COCO/coco_karpathy_test.json", "order", AroOrderOptions, {}),
}
"""The data sets of the paper. Of CLEVR, binding and positions come from the splits of Lewis et al."""


def prompts(setup: Setup[ProtocolOptions]) -> Iterator[Prompt]:
    """Yield the samples, task after task and repeat after repeat.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    folder, options = str(find_folder(setup.argument, "selfeval-tasks")), setup.options
    repeats = [_draw(setup, folder, options.seed + number) for number in range(options.repeats)]
    if len(repeats) == 1:
        yield from repeats[0]
        return
    for number, samples in enumerate(repeats, start=1):
        for sample in samples:
            name = sample.id if number == 1 else f"{sample.id}-repeat-{number}"  # as `selfeval-captions` names it
            yield replace(sample, id=name, facets={**sample.facets, REPEAT: number})


def _draw(setup: Setup[ProtocolOptions], folder: str, seed: int) -> list[Prompt]:
    by_task: dict[str, list[list[Prompt]]] = defaultdict(list)
    for name in setup.options.sources:
        own: dict[str, list[Prompt]] = defaultdict(list)
        for sample in SOURCES[name].read(setup, folder, seed):
            own[str(sample.facets["task"])].append(sample)
        for task, samples in own.items():
            by_task[task].append(samples)
    return list(
        chain.from_iterable(share_evenly(by_task[task], setup.options.limit) for task in TASKS if task in by_task)
    )


def share_evenly(sources: Sequence[Sequence[Prompt]], limit: int | None) -> list[Prompt]:
    """Return at most `limit` samples of one task, as many of each source as they have, source after source.

    Args:
        sources: The samples of each source, in the order of selection.
        limit: Maximum number of samples; None for all.
    """
    turns = chain.from_iterable(zip_longest(*(range(len(samples)) for samples in sources)))
    places = enumerate(turns)
    kept = list(islice((place % len(sources) for place, turn in places if turn is not None), limit))
    return [sample for n, samples in enumerate(sources) for sample in samples[: kept.count(n)]]
