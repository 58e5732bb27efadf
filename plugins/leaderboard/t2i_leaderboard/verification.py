"""Verification of a run: some of its images are judged anew, and the values are compared with its table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from t2i_core import ModelRequest, evaluate
from t2i_core.api.errors import BadFolder, T2IError
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.image import Image, Truth
from t2i_core.api.metric import PairMetric, PromptMetric, SetMetric
from t2i_core.api.plugin_info import ExistingImagesInfo, Setup
from t2i_core.api.prompt import Prompt
from t2i_core.api.resolver import Resolver
from t2i_core.files.image_file import DamagedImage

from .conditions import describe_difference, read_conditions
from .entries import BoardEntry

TOLERANCE = 1e-3
"""Values that differ by more than this, of values above 1 relatively, are reported."""

Cell = tuple[str, int]
"""The id of a prompt, and a seed."""


@dataclass(frozen=True)
class ChangedValue:
    """A value of a run that its judges do not confirm.

    Attributes:
        run: The run's folder.
        model: Label of the model.
        metric: The metric.
        sample: The prompt's id and the seed, in words.
        measure: The measure.
        stored: The value in the run's table, in words if it has none.
        anew: The value that the judges give now, in words if they give none.
    """

    run: Path
    model: str
    metric: str
    sample: str
    measure: str
    stored: str
    anew: str

    def describe(self) -> str:
        """Return the value in one line."""
        return (
            f"{self.run}: {self.model}, {self.sample}, {self.metric} {self.measure}: {self.stored} in the run, "
            f"{self.anew} when judged anew"
        )


@dataclass(frozen=True)
class Verification:
    """The verification of one score.

    Attributes:
        entry: The score.
        images: Number of images that were judged anew.
        changed: Values that differ.
        skipped: Why the score could not be verified; empty if it was.
    """

    entry: BoardEntry
    images: int = 0
    changed: tuple[ChangedValue, ...] = ()
    skipped: str = ""


@dataclass(frozen=True, eq=False)
class _StoredImages:
    """A generator of the images that a run stored: the factory, and the generator itself."""

    images: Mapping[Cell, Image]
    truths: Mapping[str, Truth]

    def __getstate__(self) -> dict[str, Any]:
        """Return what identifies the images, for the digest of their code."""
        return {"images": sorted((*cell, image.digest) for cell, image in self.images.items())}

    def __call__(self, setup: Setup[Any]) -> _StoredImages:
        """Return the generator."""
        return self

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with its image; an image that was not drawn for verification is missing."""
        for request in requests:
            image = self.images.get((request.prompt.id, request.seed))
            if image is None:
                yield request, Failure("not drawn for verification", missing=True)
            else:
                yield request, Generated(image.pixels, truth=self.truths.get(image.digest))


def verify_entry(entry: BoardEntry, number: int, resolver: Resolver[Any]) -> Verification:
    """Judge some images of a score anew with the run's judges, and compare the values with the run's table.

    The images are drawn at random. Nothing is downloaded, and images outside of the run's folder are read only if
    an evaluation with this user's cache has used them.

    Args:
        entry: The score.
        number: Number of images; of a metric that measures prompts as a whole, all images of the drawn prompts.
        resolver: Finds metric and judges.
    """
    try:
        _check_verifiable(entry)
        images = _draw_images(entry, number)
        with TemporaryDirectory(prefix="t2i-verify-") as folder:
            anew, signature = _judge(entry, images, Path(folder) / "run", resolver)
        changed_values = list(_compare_rows(entry, images, anew))
    except T2IError as error:
        return Verification(entry, skipped=str(error))
    except DamagedImage as error:
        changed = _describe_change(entry, "", "", "image", "as the run wrote it", str(error))
        return Verification(entry, changed=(changed,))
    own = read_conditions(signature, entry.metric.dist, same_samples=False).settings
    stored = read_conditions(entry.result.signature or "", entry.metric.dist, same_samples=False).settings
    if own != stored and (difference := _describe_judges(own, stored)):
        changed_values.insert(0, _describe_change(entry, "", "", "signature line", "another", difference))
    return Verification(entry, len(images), tuple(changed_values))


def _describe_judges(own: Sequence[tuple[str, str]], stored: Sequence[tuple[str, str]]) -> str:
    """Return how the parts of two signature lines differ that do not depend on the run's prompts and looks."""
    parts = [tuple(p for p in each if p[0] not in ("prompts", "until", "perturb")) for each in (own, stored)]
    return describe_difference(*parts)


def _check_verifiable(entry: BoardEntry) -> None:
    """Raise BadFolder if no judge can be asked again about single images of this score."""
    instance, result = entry.scoring.instance, entry.result
    if isinstance(instance, SetMetric | PairMetric) or instance.rows_depend_on_prompts:
        raise BadFolder("the metric measures sets of images or pairs of models, which single images cannot verify")
    if any(need.source == "model" for need in instance.needs):
        raise BadFolder("the model itself gives the answers")
    options = entry.run.manifest.request.options
    for judge in result.judges:
        name, _, argument = judge.name.partition(":")
        if argument and (argument.startswith((".", "/", "~", "\\")) or Path(argument).exists()):
            raise BadFolder(
                f"the judge {judge.name} is a local file or folder, which is not loaded for another's run"
            )
        if any(key.endswith("remote_code") and value for key, value in options.get(name, {}).items()):
            raise BadFolder(f"the judge {judge.name} would run code from a repository")


def _draw_images(entry: BoardEntry, number: int) -> dict[Cell, Image]:
    """Return randomly drawn images of the model that the metric has measured, or that failed under it."""
    run, result = entry.run, entry.result
    samples, images = run.samples(), run.images()
    known = _list_prompts(entry)
    ok = samples[(samples["model"] == result.label) & (samples["status"] == "ok") & samples["prompt"].isin(known)]
    cells = {(p, int(s)): images[n] for n, p, s in zip(ok.index, ok["prompt"], ok["seed"], strict=True)}
    order = sorted(cells)
    if isinstance(entry.scoring.instance, PromptMetric):
        drawn: list[Cell] = []
        for prompt in _shuffle(dict.fromkeys(prompt for prompt, _ in order)):
            if len(drawn) >= number:
                break
            drawn += [cell for cell in order if cell[0] == prompt]
    else:
        drawn = _shuffle(order)[:number]
    if not drawn:
        raise BadFolder("the run stores no images of this score")
    found = {cell: image for cell in drawn if (image := cells[cell]) is not None}
    for image in found.values():
        image.check()
    return found


def _shuffle(items: Iterable[Any]) -> list[Any]:
    """Return items in an order that nobody can predict, so that no altered value can be kept out of the sample."""
    shuffled = list(items)
    random.SystemRandom().shuffle(shuffled)
    return shuffled


def _list_prompts(entry: BoardEntry) -> set[str]:
    """Return the ids of the prompts that the metric measures, whether it has a value for them or not."""
    tables = [entry.run.measurements(), entry.run.failures()]
    own = [t[(t["metric"] == entry.result.metric) & (t["model"] == entry.result.label)] for t in tables if len(t)]
    return {str(prompt) for table in own for prompt in table["prompt"].dropna().unique()}


def _judge(
    entry: BoardEntry, images: Mapping[Cell, Image], out: Path, resolver: Resolver[Any]
) -> tuple[pd.DataFrame, str]:
    """Return the rows that the run's metric and judges give for images, and the signature line."""
    run, result = entry.run, entry.result
    wanted = {prompt for prompt, _ in images}
    prompts: list[Prompt] = [prompt for prompt in run.prompts() if prompt.id in wanted]
    if lost := sorted(wanted - {prompt.id for prompt in prompts}):
        raise BadFolder(f"the prompt {lost[0]!r} is not among the run's prompts")
    digests = [image.digest for image in images.values()]
    truths = {d: truth for d, truth in zip(digests, run.truths(digests), strict=True) if truth is not None}
    stored = _StoredImages(images, truths)
    info = ExistingImagesInfo(
        name="stored-images",
        summary="Images that a run stored.",
        create=stored,
        seeds=lambda setup: sorted({seed for _, seed in images}),
    )
    capabilities = {need.name: need.capability for need in entry.scoring.instance.needs}
    request = run.manifest.request
    names = {result.metric.partition(":")[0], *(judge.name.partition(":")[0] for judge in result.judges)}
    found = evaluate(
        result.metric,
        ModelRequest(info, result.label),
        prompts=prompts,
        seeds=sorted({seed for _, seed in images}),
        judge=list(
            dict.fromkeys(f"{each.capability or capabilities[each.need]}={each.name}" for each in result.judges)
        ),
        options={name: dict(o) for name, o in request.options.items() if name.rpartition(":")[2] in names},
        interval=request.interval,
        max_failed=1.0,
        fresh=True,
        offline=True,
        out=out,
        resolver=resolver,
        progress=False,
    )
    table = found.measurements()
    missing = found.failures()
    failed = missing[missing["kind"] != "missing"] if len(missing) else missing
    signature = next((each.signature for each in found.results if each.signature), "") or ""
    if table.empty and len(failed):
        raise BadFolder(f"the judge failed: {failed['reason'].iloc[0]}")
    return table, signature


def _compare_rows(entry: BoardEntry, images: Mapping[Cell, Image], anew: pd.DataFrame) -> Iterator[ChangedValue]:
    """Yield the values of the drawn samples that differ."""
    own = entry.run.measurements()
    own = own[(own["metric"] == entry.result.metric) & (own["model"] == entry.result.label)]
    if entry.result.by is not None:
        own = own[own["by"] == entry.result.by]
    by_prompt = isinstance(entry.scoring.instance, PromptMetric)
    stored, now = (_collect_values(table, images, by_prompt) for table in (own, anew))
    if not now:
        raise BadFolder("the judges gave no value for the drawn images")
    for sample, measure in sorted(stored.keys() | now.keys()):
        pairs = zip_longest(stored.get((sample, measure), []), now.get((sample, measure), []))
        for before, after in pairs:
            if before is None or after is None or not _is_equal(before, after):
                yield _describe_change(entry, sample, measure, "", _write(before), _write(after))
                break


def _collect_values(
    table: pd.DataFrame, images: Mapping[Cell, Image], by_prompt: bool
) -> dict[tuple[str, str], list[float]]:
    """Return the sorted values of the drawn samples by sample and measure."""
    found: dict[tuple[str, str], list[float]] = {}
    if table.empty:
        return found
    prompts = {prompt for prompt, _ in images}
    seeds: Iterable[Any] = table["seed"] if "seed" in table else [None] * len(table)
    for prompt, seed, measure, value in zip(table["prompt"], seeds, table["measure"], table["value"], strict=True):
        single = bool(pd.notna(seed))
        if ((prompt, int(seed)) in images) if single else (by_prompt and prompt in prompts):
            sample = f"prompt {prompt!r}, seed {int(seed)}" if single else f"prompt {prompt!r}"
            found.setdefault((sample, str(measure)), []).append(float(value))
    return {key: sorted(values) for key, values in found.items()}


def _is_equal(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _write(value: float | None) -> str:
    return "no value" if value is None else f"{value:.6g}"


def _describe_change(
    entry: BoardEntry, sample: str, measure: str, what: str, stored: str, anew: str
) -> ChangedValue:
    metric, label = entry.result.title, entry.result.label
    return ChangedValue(entry.run.path, label, metric, sample or "all samples", measure or what, stored, anew)


def verify_entries(
    entries: Sequence[BoardEntry], number: int, resolver: Resolver[Any], tell: Callable[[str], None]
) -> list[Verification]:
    """Verify scores one after the other.

    Args:
        entries: The scores.
        number: Number of images of each.
        resolver: Finds metrics and judges.
        tell: Receives each changed value and each score that could not be verified, in one line.

    Raises:
        BadFolder: If a value has changed.
    """
    found = []
    for entry in entries:
        one = verify_entry(entry, number, resolver)
        found.append(one)
        for changed in one.changed:
            tell(changed.describe())
        if one.skipped:
            tell(f"{entry.run.path}: {entry.result.label}, {entry.result.title}: not verified: {one.skipped}")
    altered = [each for each in found if each.changed]
    if altered:
        count = sum(len(each.changed) for each in altered)
        runs = ", ".join(dict.fromkeys(str(each.entry.run.path) for each in altered))
        raise BadFolder(
            f"{runs}: {count} values differ from what the judges say now; leave these runs out, or find out why "
            "they differ"
        )
    return found
