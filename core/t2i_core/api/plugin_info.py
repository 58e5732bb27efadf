"""Descriptors: what a plugin says of a component before any of it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .judge import Capability
from .options import Options
from .prompt import ObjectClass, Prompt

if TYPE_CHECKING:
    from .generator import Generator
    from .judge import Judge
    from .metric import Measure, Metric

Kind = Literal["generator", "judge", "metric", "prompt_source"]
KINDS: tuple[Kind, ...] = ("generator", "judge", "metric", "prompt_source")
OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class Setup(Generic[OptionsT]):
    """All that a factory is given.

    argument:    what stands after the colon in `name:argument`
    options:     the component's own options, checked
    device:      `cpu`, `cuda`, `cuda:1`, `mps`; None: the best there is
    batch_size:  how many at a time to begin with, fewer where memory runs out; None: a beginning of one's own
    offline:     nothing may be fetched
    labels:      for prompt sources that read them: the classes that the judge knows
    dry:         for prompt sources: the plan alone is wanted. Images of prompts that would have to be made first
                 are not: each has a path of its own then, where nothing is
    """

    argument: str | None
    options: OptionsT
    device: str | None = None
    batch_size: int | None = None
    offline: bool = False
    labels: tuple[ObjectClass, ...] | None = None
    dry: bool = False


@dataclass(frozen=True)
class Defaults:
    """What a metric is run with where the user says nothing.

    prompts:  a prompt source, as the user would name it
    seeds:    how many seeds, counted from 0
    judges:   by capability, the judge to take
    options:  options of the metric itself
    absent:   by capability, what to do where that judge is not installed: how to install it, what may replace it
    """

    prompts: str | None = None
    seeds: int | None = None
    judges: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Domain:
    """A world that images come from: which judges know it, and what each metric takes there by default."""

    name: str
    summary: str
    judges: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Defaults] = field(default_factory=dict)


PHOTOGRAPHS = Domain("photographs", "Natural images; every metric's own defaults are made for them.")


@dataclass(frozen=True, kw_only=True)
class About:
    """What a component tells its readers, beside its summary. No result depends on it.

    Attributes:
        citation: The paper or source to cite.
        licence: The licence of the weights.
        memory_gb: The memory that it takes of a device in its default settings, an estimate in GB.
        notes: What a user must know before taking it (deprecated, gated, a licence that binds).
        original: The repository that its publisher withdrew and that the argument mirrors. Set by a preset; the
            plan and `t2i prefetch` print a line about it, and the manifest records it.
    """

    citation: str = ""
    licence: str = ""
    memory_gb: float | None = None
    notes: str = ""
    original: str = ""

    def overlay(self, above: About) -> About:
        """Return this with the fields that `above` sets in the place of its own."""
        return replace(self, **{f.name: value for f in fields(above) if (value := getattr(above, f.name))})


@dataclass(frozen=True, kw_only=True)
class Loading:
    """What a component does before it is made, so that loading it neither fails late nor surprises.

    The four functions are apart because the engine calls them at different times: `resolve` for every component of
    a plan, `check` once the plan knows its options, `prefetch` only for `t2i prefetch`, `weights` for the
    fingerprint. Few components need more than one or two.

    Attributes:
        weights: Returns the weights that results depend on, given argument and options: files, or texts
            (revisions).
        check: Raises a T2IError that says what is wrong with argument and options, before anything is loaded.
        resolve: Returns the options as they hold on this machine (a precision left to the device). Results depend
            on them as on any others.
        prefetch: Fetches all that loading will want from a network, and nothing that is there already. A Setup
            that is offline then finds it.
    """

    weights: Callable[[str | None, Any], Iterable[Path | str]] | None = None
    check: Callable[[Setup[Any]], None] | None = None
    resolve: Callable[[Setup[Any]], Options] | None = None
    prefetch: Callable[[Setup[Any]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class _Info:
    """Describe any component.

    Which t2i-core it fits is said by the requirement of its distribution.

    Attributes:
        name: The entry point's name.
        summary: One line.
        options: Its options, a subclass of `Options`.
        argument: The meaning of `name:argument`, where it takes one.
        needs_argument: Whether it cannot do without an argument.
        code: Files of its package whose content its results depend on, as glob patterns.
        loading: What it does before it is made.
        about: What readers see of it.
    """

    name: str
    summary: str
    options: type[Options] = Options
    argument: str | None = None
    needs_argument: bool = False
    code: tuple[str, ...] = ("**/*",)
    loading: Loading = Loading()
    about: About = About()


@dataclass(frozen=True, kw_only=True)
class GeneratorInfo(_Info):
    """Describe a model that makes images.

    Attributes:
        create: Makes the model; weights are loaded here and torch is imported here.
        domain: The world its images belong to.
        reads_scene: Whether it draws the prompt's scene, not only its text.
        labels: Every class it can draw, in a lasting order: the categories of the annotations of its images are
            numbered by it. Wanted where it says what is really drawn (`Generated.truth`).
    """

    create: Callable[[Setup[Any]], Generator]
    domain: Domain = PHOTOGRAPHS
    reads_scene: bool = False
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class ExistingImagesInfo(GeneratorInfo):
    """Describe a generator whose images exist already as files: they are looked up in every run and not copied.

    Attributes:
        prompts: Its own prompts, where it comes with some.
        seeds: The seeds that it has images for.
        holds: Returns a function of a prompt and a seed that says whether there is an image of them. It opens no
            image.
    """

    prompts: Callable[[Setup[Any]], Iterable[Prompt]] | None = None
    seeds: Callable[[Setup[Any]], Iterable[int]] | None = None
    holds: Callable[[Setup[Any]], Callable[[Prompt, int], bool]] | None = None


@dataclass(frozen=True, kw_only=True)
class SelfJudgingInfo(GeneratorInfo):
    """Describe a generator that also answers about itself (`likelihood`): what it makes is a `Judge` too.

    Attributes:
        capabilities: What it can be asked for.
        judge_code: Files of its package, beyond `code`, that its answers depend on and its images do not.
        check_judge: Raises a T2IError that says, before anything is loaded, why it cannot be asked for one of its
            capabilities, with these params of queries (`Need.params`), with this argument and these options.
    """

    capabilities: frozenset[Capability]
    judge_code: tuple[str, ...] = ()
    check_judge: Callable[[Setup[Any], Capability, Sequence[Mapping[str, Any]]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class JudgeInfo(_Info):
    """Describe a judge.

    Attributes:
        capabilities: What it offers, and for each what it gives beyond the required (`class_probs`, `colour`).
        create: Makes the judge; weights are loaded here and torch is imported here.
        domain: The world whose images it can judge.
        labels: The classes it knows, read without loading weights. If None, it takes any text.
        floor: Confidence below which it keeps no detection or segment: a number, or the name of the option that
            has it, by which a refusal tells the user which option to set.
        reads_truth: Whether it reads what is really drawn; such a judge is never chosen by itself.
    """

    capabilities: Mapping[Capability, frozenset[str]]
    create: Callable[[Setup[Any]], Judge]
    domain: Domain = PHOTOGRAPHS
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None
    floor: float | str = 0.0
    reads_truth: bool = False


@dataclass(frozen=True, kw_only=True)
class MetricInfo(_Info):
    """Describe a metric.

    Attributes:
        create: Makes it from a Setup (the Metric class itself, mostly).
        measures: What it measures; the first is the headline.
        defaults: Prompts, seeds and judges for photographs.
        version: Raised when the metric's numbers change. The manifest records it, and stored runs with different
            versions are not compared. No kept image or observation depends on it.
    """

    create: Callable[[Setup[Any]], Metric]
    measures: tuple[Measure, ...]
    defaults: Defaults = Defaults()
    version: int = 1


@dataclass(frozen=True, kw_only=True)
class PromptSourceInfo(_Info):
    """Describe a list of prompts.

    Attributes:
        prompts: Yields them; ids must be unique.
        reads_labels: Whether the list depends on the classes that the judge knows (`Setup.labels`).
    """

    prompts: Callable[[Setup[Any]], Iterable[Prompt]]
    reads_labels: bool = False


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Name another component of the same kind with argument and options set.

    Attributes:
        name: The entry point's name.
        summary: One line.
        of: The other component's name, `name` or `dist/name`.
        argument: The other component's argument.
        options: The other component's options.
        domain: The world of these images, where it is not the other component's.
        lacks: Of a preset of a `SelfJudgingInfo`: capabilities that this model does not have. Without it,
            `t2i info` would list them.
        about: Each field that is set here replaces the other component's.
    """

    name: str
    summary: str
    of: str
    argument: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | None = None
    lacks: frozenset[Capability] = frozenset()
    about: About = About()


Info = GeneratorInfo | JudgeInfo | MetricInfo | PromptSourceInfo
INFO_TYPES: dict[Kind, type[Any]] = {
    "generator": GeneratorInfo,
    "judge": JudgeInfo,
    "metric": MetricInfo,
    "prompt_source": PromptSourceInfo,
}
InfoT = TypeVar("InfoT", bound=Info)
