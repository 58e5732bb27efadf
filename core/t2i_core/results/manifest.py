"""The manifest of a run: the content of run.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from ..api.text import fit_one_line
from .looks import StoppingRecord
from .number_format import format_interval, format_number
from .result import Comparison, JudgeAgreement, Result
from .typed import Count, Interval, Number, Seed, Typed


class RequestRecord(Typed):
    """The request of a run."""

    metrics: list[str] = Field(description="the metrics; empty for `t2i generate`")
    prompts: list[str] = Field(description="the prompt sources or files of all metrics")
    perturb: list[str] = Field([], description="`--perturb`: prompt sources that change the prompts")
    seeds: list[Seed] = Field(description="the seeds of all metrics")
    judges: list[str] = Field([], description="`--judge`: judges named in place of the chosen ones")
    correct: str | None = Field(None, description="`--correct`, or null")
    sinks: list[str] = Field([], description="the sinks")
    limit: int | None = Field(None, description="`--limit`, or null")
    common_prompts: bool = Field(False, description="`--common-prompts`")
    until: str | None = Field(None, description="`--until`, or null")
    margin: Number | None = Field(None, description="`--margin`, or null")
    max_images: Count | None = Field(None, description="`--max-images`, or null")
    default_prompts: list[str] = Field([], description="`--default-prompts`")
    skip_unavailable: list[str] = Field([], description="`--skip-unavailable`")
    scenes: str | None = Field(None, description="`--scenes`, or null")
    interval: Literal["new", "prompts", "seeds"] = Field(description="`--interval`")
    noise: Literal["shared", "per-prompt"] = Field(description="`--noise`")
    max_failed: Number = Field(0.01, description="`--max-failed`")
    fresh: bool = Field(False, description="`--fresh`")
    max_cost: Number | None = Field(None, description="`--max-cost`, or null")
    offline: bool = Field(False, description="`--offline`")
    options: dict[str, dict[str, Any]] = Field({}, description="options given, by component")


class ComponentRecord(Typed):
    """A component under its options."""

    name: str = Field(description="the component's name, as the user wrote it")
    dist: str = Field(description="the distribution that it comes from")
    version: str = Field(description="the distribution's version")
    module: str = Field("", description="the plugin's module")
    argument: str | None = Field(None, description="the argument after the colon, or null")
    original: str | None = Field(
        None,
        description="for a mirror: the repository that it replaces",
        exclude_if=lambda original: original is None,
    )
    options: dict[str, Any] = Field(description="all options, with defaults")
    fingerprint: str = Field(
        description="SHA-256 of everything that its results depend on; empty for a sink, because it has none"
    )
    reported: dict[str, Any] = Field({}, description="settings that the loaded component reported")
    seconds: Number | None = Field(
        None,
        description="for a generator or a judge: seconds for an image or an answer, when last measured here",
        exclude_if=lambda seconds: seconds is None,
    )
    environment: dict[str, str] | None = Field(
        None,
        description="for a component with its own environment: version of each distribution that its "
        "requirements name",
        exclude_if=lambda environment: environment is None,
    )


class ClassRecord(Typed):
    """A class of objects."""

    name: str = Field(description="the name that prompts use")
    synset: str | None = Field(None, description="the WordNet 3.0 synset, or null")


class SpeedRecord(Typed):
    """The speed of a model, as it was measured when it last generated images here.

    The first batch does not count. Loading, images from the cache, encoding and writing are not measured.
    """

    seconds: Number = Field(
        description="mean seconds for an image: those of a batch, divided by its images; if the model works on "
        "several images at once, those of all images after the first ones, divided by their number"
    )
    ci: Interval | None = Field(
        description="its 95 % confidence interval `[lo, hi]` (t over batches); null if the model works on several "
        "images at once"
    )
    images: Count = Field(description="number of images that were measured")
    batches: Count | None = Field(
        description="number of full batches that were measured; null if the model takes further images before it "
        "has finished the ones that it took"
    )
    batch_size: Count | None = Field(
        description="images in each of them, as the model took them at a time; null like `batches`"
    )
    left_out: Count = Field(description="other images: those of the first batch and of batches of other sizes")
    device: str = Field(description="the device that the model reports, or `--device`")
    peak_memory_gb: Number | None = Field(
        description="largest memory of the device in GB (10^9 bytes) that the model had allocated, if it reports "
        "it"
    )
    measured: str = Field(description="time (UTC)")

    def describe(self) -> str:
        """Return the speed in words, with its conditions."""
        interval = f" {format_interval(self.ci)}" if self.ci is not None else ""
        memory = "" if self.peak_memory_gb is None else f"; at most {self.peak_memory_gb:.3g} GB of its memory"
        how = (
            f"in batches of {self.batch_size} after the first batch"
            if self.batch_size is not None
            else "after the first ones, several at once"
        )
        return (
            f"{format_number(self.seconds)} s an image{interval}, over {self.images} images {how}, "
            f"on {self.device}{memory}"
        )


class ModelRecord(ComponentRecord):
    """A model that was evaluated."""

    settings: dict[str, Any] = Field(description="the options given for this label")
    domain: str | None = Field(
        None,
        description="the domain of its images",
        exclude_if=lambda domain: domain is None,
    )
    classes: list[ClassRecord] | None = Field(
        None,
        description="every class that it can draw, each with `name` and `synset`, if it declares them",
        exclude_if=lambda classes: classes is None,
    )
    speed: SpeedRecord | None = Field(
        None,
        description="its speed, if enough images were generated here by executor `local` (three batches of a "
        "size); not for paid services",
        exclude_if=lambda speed: speed is None,
    )
    perturbation: ComponentRecord | None = Field(
        None,
        description="the prompt source that changed the prompts that it got (`--perturb`)",
        exclude_if=lambda perturbation: perturbation is None,
    )
    reported_as_judge: dict[str, Any] | None = Field(
        None,
        description="settings that it reported after it judged images",
        exclude_if=lambda reported: reported is None,
    )
    unshared_seeds: str | None = Field(
        None,
        description="for existing images: why images of one seed have nothing in common between prompts; left out "
        "if prompts share their seeds, as `--noise` says",
        exclude_if=lambda why: why is None,
    )


class PartRecord(ComponentRecord):
    """A component that took part in a run."""

    kind: str = Field(description="`generator`, `judge`, `metric` or `sink`")
    metric_version: Count | None = Field(
        None,
        description="for a metric: the version of its numbers",
        exclude_if=lambda version: version is None,
    )


class DeviceRecord(Typed):
    """The device of a run."""

    asked: str = Field(description="`--device`; `best` without it, and after `--device auto`")
    batch_size: int | str = Field("auto", description="`--batch-size`, or `auto`")
    threads: str | None = Field(None, description="`OMP_NUM_THREADS`, or null")
    executor: str = Field("local", description="`--executor`, or what `--device auto` chose")
    address: str | None = Field(None, description="`--address`")
    workers: int | None = Field(None, description="`--workers`, or null if the executor chose")
    gpus_per_worker: Number | None = Field(None, description="`--gpus-per-worker`, or null if the executor chose")


class JudgeRecord(Typed):
    """The judge of one need of one metric."""

    metric: str = Field(description="the metric")
    need: str = Field(description="the metric's name for the need")
    judge: str = Field(description="the judge")
    why: str = Field(description="why it was chosen")
    floor: Number | None = Field(
        None,
        description="for detections and segments: the confidence below which the judge keeps none",
        exclude_if=lambda floor: floor is None,
    )


class SpendingRecord(Typed):
    """Spending of one paid component."""

    usd: Number = Field(description="US dollars, by the prices in its options")
    unconfirmed: Number = Field(
        0.0,
        description="the part of it for requests without an answer, which the service may not have charged",
    )


class DatasetRecord(Typed):
    """The data set that was written for one model."""

    model: str = Field(description="label of the model")
    images: str = Field(description="folder of the images, within the run's folder")
    metadata: str = Field(description="the file with a line for each image")
    n_images: Count = Field(description="number of images")
    n_truncated: Count = Field(0, description="number of images whose prompt is longer than the model reads")


class Manifest(Typed):
    """The record of a run, complete enough to repeat it."""

    plan: str = Field(description="digest of the request: the run's identity")
    status: Literal["running", "done", "failed"] = Field(
        description="`running`, `done` or `failed`. `t2i runs` shows `interrupted` if run.json says `running` but "
        "no process works on the run, and `unreadable` if run.json is damaged"
    )
    failed: str | None = Field(
        None,
        description="null, or why the run has failed: too many samples failed, or an error ended it",
    )
    started: str = Field(
        description="time (UTC) when the command began that finished the run. A run that was interrupted has that "
        "of the command that resumed it"
    )
    finished: str | None = Field(None, description="time (UTC) when that command ended; null while it runs")
    t2i: str = Field(description="version of core")
    command: list[str] = Field(
        description="that command, word by word. If it is repeated without a new image, answer or "
        "result, for example to write to a sink, `command`, `started` and `finished` do not change"
    )
    request: RequestRecord = Field(description="the request")
    models: dict[str, ModelRecord] = Field(description="the models by label")
    components: list[PartRecord] = Field(description="every component that took part, judges and sinks among them")
    installed: list[dict[str, Any]] = Field([], description="every component that was installed")
    device: DeviceRecord = Field(description="device, batch size and threads")
    python: str = Field(description="version of Python")
    platform: str = Field(description="operating system and processor")
    packages: dict[str, str] = Field({}, description="version of every installed distribution")
    judges: list[JudgeRecord] = Field(
        description="the judge of each metric and need; once if it is the same for all models"
    )
    spent: dict[str, SpendingRecord] = Field(
        {},
        description="what each paid component has spent, by kind and name (`judge openai:MODEL`), in all commands "
        "that worked on this run, those with `--shard` included, but for those that were killed; left out if "
        "nothing was spent",
        exclude_if=lambda spent: not spent,
    )
    left_out: dict[str, str] = Field(
        {},
        description="with `--skip-unavailable`: why each metric that was left out could not run",
        exclude_if=lambda left_out: not left_out,
    )
    results: list[Result] = Field([], description="as `--json` prints them")
    comparisons: list[Comparison] = Field([], description="as `--json` prints them")
    agreements: list[JudgeAgreement] = Field([], description="as `--json` prints them")
    stopping: StoppingRecord | None = Field(
        None,
        description="present with `--until`: the rule, the planned looks and those that were taken",
        exclude_if=lambda stopping: stopping is None,
    )
    datasets: list[DatasetRecord] = Field(
        [], description="the [data sets](#the-data-set-of-t2i-generate) of `t2i generate`; empty for `t2i eval`"
    )
    files: dict[str, str] = Field(
        {},
        description="SHA-256 of each table. `t2i analyze` refuses a table that was altered; to rewrite it, run "
        "the run's command again",
    )

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.status != "running" and self.finished is None:
            raise ValueError("the run has ended, but 'finished' is missing")
        labels = [result.label for result in self.results]
        labels += [label for comparison in self.comparisons for label in (comparison.a, comparison.b)]
        if unknown := next((label for label in labels if label not in self.models), None):
            raise ValueError(f"the results name the model {unknown!r}, which is not among the models")
        return self

    def to_json(self) -> dict[str, Any]:
        """Return plain data, as run.json holds it."""
        return self.model_dump(by_alias=True)


def parse_manifest(data: Mapping[str, Any]) -> Manifest:
    """Check the content of run.json and return it as a manifest.

    Args:
        data: The content.

    Raises:
        ValueError: If a run did not write it, with the reason in one line.
    """
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(
            fit_one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": "))
        ) from error
    except (RecursionError, OverflowError) as error:
        raise ValueError(fit_one_line(str(error))) from error
