"""Descriptors: what a plugin says of a component before any of it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .judge import Capability
from .options import Options
from .prompt import ObjectClass, Prompt

if TYPE_CHECKING:
    from .generator import Generator
    from .judge import Judge
    from .metric import Measure, Metric

API_VERSION = 1
"""Version of these contracts. A plugin written for another one is refused by name, not by accident."""

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
class _Info:
    """What every component says of itself.

    name:         the entry point's name
    summary:      one line
    options:      its options, a subclass of `Options`
    argument:     what `name:argument` means, where it takes one
    needs_argument: whether it cannot do without
    citation:     paper or source to cite
    api_version:  the contracts it was written for
    code:         files of its package whose content its results depend on, as glob patterns
    weights:      weights that its results depend on, given argument and options: files, or texts (revisions)
    check:        says before anything is loaded what is wrong with argument and options: raises a T2IError
    resolve:      the options as they hold on this machine (a precision left to the device): results depend on
                  them as on any others
    prefetch:     fetches all that loading will want from a network, and nothing that is there already; a Setup
                  that is offline then finds it
    notes:        what a user must know before taking it (deprecated, gated, a licence that binds)
    original:     the repository that its publisher withdrew and that `argument` mirrors; set by a preset
    """

    name: str
    summary: str
    options: type[Options] = Options
    argument: str | None = None
    needs_argument: bool = False
    citation: str = ""
    api_version: int = API_VERSION
    code: tuple[str, ...] = ("**/*",)
    weights: Callable[[str | None, Any], Iterable[Path | str]] | None = None
    check: Callable[[Setup[Any]], None] | None = None
    resolve: Callable[[Setup[Any]], Options] | None = None
    prefetch: Callable[[Setup[Any]], None] | None = None
    notes: str = ""
    original: str = ""


@dataclass(frozen=True, kw_only=True)
class GeneratorInfo(_Info):
    """A model that makes images.

    create:        makes the model; weights are loaded here and torch is imported here
    domain:        the world its images belong to
    reads_scene:   it draws the prompt's scene, not only its text
    existing:      its images exist already as files; they are not copied
    capabilities:  what else it can be asked for (`likelihood`); it must then be a Judge too
    judge_code:    files of its package, beyond `code`, that its answers as a judge depend on and its images do not
    check_judge:   says before anything is loaded why it cannot be asked for one of its capabilities, with these
                   params of queries (`Need.params`), with this argument and these options: raises a T2IError
    prompts:       its own prompts, where it comes with some (a folder of images)
    seeds:         the seeds that it has images for, where they exist already
    holds:         whether it has an image of a prompt and a seed, where they exist already; opens none
    labels:        every class it can draw, in a lasting order: the categories of the annotations of its images
                   are numbered by it; wanted where it says what is really drawn (`Generated.truth`)
    licence:       of the weights
    memory_gb:     what it takes of a device's memory in its default settings, an estimate in GB
    """

    create: Callable[[Setup[Any]], Generator]
    domain: Domain = PHOTOGRAPHS
    reads_scene: bool = False
    existing: bool = False
    capabilities: frozenset[Capability] = frozenset()
    judge_code: tuple[str, ...] = ()
    check_judge: Callable[[Setup[Any], Capability, Sequence[Mapping[str, Any]]], None] | None = None
    prompts: Callable[[Setup[Any]], Iterable[Prompt]] | None = None
    seeds: Callable[[Setup[Any]], Iterable[int]] | None = None
    holds: Callable[[Setup[Any]], Callable[[Prompt, int], bool]] | None = None
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None
    licence: str = ""
    memory_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class JudgeInfo(_Info):
    """A judge.

    capabilities:  what it offers, and for each what it gives beyond the required (`class_probs`, `colour`)
    create:        makes the judge; weights are loaded here and torch is imported here
    domain:        the world whose images it can judge
    labels:        the classes it knows, read without loading weights; None: it takes any text
    floor:         of detections and segments: those with less confidence are not kept. A number, or the name of
                   the option that has it
    reads_truth:   it reads what is really drawn; such a judge is never chosen by itself
    licence:       of the weights
    memory_gb:     what it takes of a device's memory in its default settings, an estimate in GB
    """

    capabilities: Mapping[Capability, frozenset[str]]
    create: Callable[[Setup[Any]], Judge]
    domain: Domain = PHOTOGRAPHS
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None
    floor: float | str = 0.0
    reads_truth: bool = False
    licence: str = ""
    memory_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class MetricInfo(_Info):
    """A metric.

    create:    makes it from a Setup (the Metric class itself, mostly)
    measures:  what it measures; the first is the headline
    defaults:  prompts, seeds and judges for photographs
    """

    create: Callable[[Setup[Any]], Metric]
    measures: tuple[Measure, ...]
    defaults: Defaults = Defaults()


@dataclass(frozen=True, kw_only=True)
class PromptSourceInfo(_Info):
    """A list of prompts.

    prompts:       yields them; ids must be unique
    reads_labels:  the list depends on the classes that the judge knows (`Setup.labels`)
    """

    prompts: Callable[[Setup[Any]], Iterable[Prompt]]
    reads_labels: bool = False


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A name for another component of the same kind with argument and options set.

    of:      the other component's name, `name` or `dist/name`
    domain:  the world of these images, where it is not the other component's
    lacks:   of a generator: capabilities of the other component that this one has not
    original: the repository of which `argument` is a mirror, because its publisher withdrew it; runs say so, and
             their manifests record it

    Domain, citation, licence, notes, memory_gb and original stand in the place of the other component's.
    """

    name: str
    summary: str
    of: str
    argument: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | None = None
    lacks: frozenset[Capability] = frozenset()
    citation: str = ""
    licence: str = ""
    notes: str = ""
    memory_gb: float | None = None
    original: str = ""
    api_version: int = API_VERSION


Info = GeneratorInfo | JudgeInfo | MetricInfo | PromptSourceInfo
INFO_TYPES: dict[Kind, type[Any]] = {
    "generator": GeneratorInfo,
    "judge": JudgeInfo,
    "metric": MetricInfo,
    "prompt_source": PromptSourceInfo,
}
InfoT = TypeVar("InfoT", bound=Info)
