"""Verification of a run: some of its images are judged anew, and the values are compared with its table."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api.errors import BadFolder, T2IError
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.image import Image, RefusedImage, Truth
from t2i_core.api.metric import PairMetric, PromptMetric, SetMetric
from t2i_core.api.options import select_changed_options
from t2i_core.api.plugin_info import ExistingImagesInfo, Setup
from t2i_core.api.prompt import Prompt
from t2i_core.api.resolver import Resolver
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.signature_line import describe_difference, read_parts

from .changed_values import ChangedValue, compare_rows, describe_change, list_invented
from .conditions import read_conditions
from .entries import BoardEntry
from .option_safety import find_local_path, is_local_path, list_keys, reaches_out, select_options
from .sample_checks import Cell, refuse_misfits, select_lost_rows, select_own_rows


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

    Values of samples that have no image are told, whether judges can be asked or not.

    The images are drawn at random. Nothing is downloaded, and images outside of the run's folder are read only if
    an evaluation with this user's cache has used them.

    Args:
        entry: The score.
        number: Number of images; of a metric that measures prompts as a whole, all images of the drawn prompts.
        resolver: Finds metric and judges.
    """
    changed_values: list[ChangedValue] = []
    try:
        _check_metric(entry)
        with refuse_misfits(entry.run):
            changed_values += list_invented(entry)
            _check_judges(entry)
            images = _draw_images(entry, number)
        with TemporaryDirectory(prefix="t2i-verify-") as folder:
            found = _judge(entry, images, Path(folder) / "run", resolver)
            changed_values += compare_rows(entry, images, found.measurements())
    except T2IError as error:
        return Verification(entry, changed=tuple(changed_values), skipped=str(error))
    except DamagedImage as error:
        if isinstance(error, RefusedImage) or isinstance(error.__cause__, OSError):  # not read, so not known
            return Verification(entry, changed=tuple(changed_values), skipped=str(error))
        changed = describe_change(entry, "", "", "image", "another file", str(error))
        return Verification(entry, changed=(*changed_values, changed))
    signature = next((each.signature for each in found.results if each.signature), "") or ""
    own = read_conditions(signature, entry.metric.dist, same_samples=False).settings
    stored = read_conditions(entry.result.signature or "", entry.metric.dist, same_samples=False).settings
    if own != stored and (difference := _describe_judges(own, stored)):
        changed_values.insert(
            0, describe_change(entry, "", "", "signature line", "another", f"{difference} when judged anew")
        )
    return Verification(entry, len(images), tuple(changed_values))


def _describe_judges(own: Sequence[tuple[str, str]], stored: Sequence[tuple[str, str]]) -> str:
    """Return how the parts of two signature lines differ that do not depend on the run's prompts and looks."""
    parts = [tuple(p for p in each if p[0] not in ("prompts", "until", "perturb")) for each in (own, stored)]
    return describe_difference(*parts)


def _check_metric(entry: BoardEntry) -> None:
    """Raise BadFolder if the metric's values cannot be verified by single images."""
    instance = entry.scoring.instance
    if isinstance(instance, SetMetric | PairMetric) or instance.rows_depend_on_prompts:
        raise BadFolder("the metric measures sets of images or pairs of models, which single images cannot verify")
    if any(need.source == "model" for need in instance.needs):
        raise BadFolder("the model itself gives the answers")
    if all(need.images != "generated" for need in instance.needs):
        raise BadFolder("the metric measures no generated images")
    measured = dict(read_parts(entry.result.signature or "")[:2]).get("version")
    if measured != str(entry.metric.info.version):
        raise BadFolder(f"version {measured} of the metric is not installed here, but {entry.metric.info.version}")
    if entry.unchecked:
        raise BadFolder(entry.unchecked)


def _check_judges(entry: BoardEntry) -> None:
    """Raise BadFolder if the run's options of the metric or of a judge name files, servers or code."""
    judges = [judge.name for judge in entry.result.judges]
    for judge in judges:
        if is_local_path(judge.partition(":")[2]):
            raise BadFolder(f"the judge {judge} is a local file or folder, which is not loaded for another's run")
    asked = _select_options(entry)
    for component, own in asked.items():
        if (key := next((key for key, _ in list_keys(own) if reaches_out(key)), None)) is not None:
            raise BadFolder(
                f"the option {component}.{key} runs code or names a server or an environment variable, which "
                "is not used for another's run"
            )
        if (key := find_local_path(own)) is not None:
            raise BadFolder(
                f"the option {component}.{key} names a local file or folder, which is not read for another's run"
            )


def _select_options(entry: BoardEntry) -> dict[str, dict[str, Any]]:
    """Return the options of the judges that were given, and of the metric all that its values depend on.

    The metric's may come from the domain of the model, which stored images do not have.
    """
    metric, judges = entry.metric, [judge.name for judge in entry.result.judges]
    own = select_changed_options(metric.options)
    return {
        **select_options(entry.run.manifest.request.options, judges),
        f"metric:{metric.spec.partition(':')[0]}": own,
    }


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
    run, result = entry.run, entry.result
    tables = select_own_rows(run, result), select_lost_rows(run, result, [result.label])
    return {str(prompt) for table in tables for prompt in table["prompt"].dropna().unique()}


def _judge(entry: BoardEntry, images: Mapping[Cell, Image], out: Path, resolver: Resolver[Any]) -> Run:
    """Return a run of the metric and judges of a score on images of its run."""
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
    request = run.manifest.request
    found = evaluate(
        result.metric,
        ModelRequest(info, result.label),
        prompts=prompts,
        seeds=sorted({seed for _, seed in images}),
        judge=entry.judges,
        options=_select_options(entry),
        interval=request.interval,
        max_failed=1.0,
        fresh=True,
        offline=True,
        out=out,
        resolver=resolver,
        progress=False,
    )
    missing = found.failures()
    failed = missing[missing["kind"] != "missing"] if len(missing) else missing
    if found.measurements().empty and len(failed):
        raise BadFolder(f"the judge failed: {failed['reason'].iloc[0]}")
    return found


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
            f"{runs}: {count} values differ from what the judges say now, or have no image; leave these runs out, "
            "or find out why"
        )
    return found
