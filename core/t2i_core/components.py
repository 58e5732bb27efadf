"""Descriptors: what a plugin says of a component before any of it is loaded."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .code_digest import code_digest, is_installed
from .errors import BadModel, BrokenPlugin
from .judging import Capability
from .options import Options, result_options
from .prompts import ObjectClass, Prompt, digest_of
from .redaction import learn_secrets
from .sources import files_digest, in_package, sources_digest

if TYPE_CHECKING:
    from .generation import Generator
    from .judging import Judge
    from .metrics import Measure, Metric

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


@dataclass(frozen=True)
class Component(Generic[InfoT]):
    """A descriptor with argument and options settled: ready to be made.

    spec:   as the user named it (`simulator`, `folder:images`)
    given:  the options that the user gave, of those that hold
    own_code: digest of its code, settled by the plan of a run where the code is in no installed distribution
    """

    kind: Kind
    spec: str
    info: InfoT
    options: Options
    argument: str | None = None
    dist: str = ""
    version: str = ""
    module: str = ""
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)
    own_code: str | None = None

    def __post_init__(self) -> None:
        learn_secrets(self.options)

    @property
    def name(self) -> str:
        """The name without argument."""
        return self.spec.partition(":")[0].rpartition("/")[2]

    @property
    def asked(self) -> str:
        """Name and options as a command takes them: `sd2 -o sd2.revision=main`."""
        texts = {k: v if isinstance(v, str) else json.dumps(v, default=str) for k, v in self.given.items()}
        options = [word for key, text in texts.items() for word in ("-o", f"{self.name}.{key}={text}")]
        return shlex.join([self.spec, *options])

    @property
    def mirror_note(self) -> str | None:
        """The line that tells users that a mirror is used, or None where none is."""
        if not self.info.original:
            return None
        return (
            f"{self.spec}: {self.info.original} was withdrawn by its publisher; using the mirror {self.argument}"
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that its results depend on: code, weights, argument and options.

        Raises BadModel where its weights cannot be read.
        """
        try:
            weights = files_digest(self.info.weights(self.argument, self.options) if self.info.weights else ())
        except OSError as error:
            raise BadModel(f"{self.kind} {self.spec!r}: its weights cannot be read ({error})") from error
        return digest_of(
            {
                "kind": self.kind,
                "name": self.info.name,
                "argument": self._place if getattr(self.info, "existing", False) else self.argument,
                "options": result_options(self.options),
                "code": self.code_digest,
                "weights": weights,
            }
        )

    @cached_property
    def judge_fingerprint(self) -> str:
        """SHA-256 of all that its answers depend on: of a generator that is asked about itself, some code more."""
        further = self._judge_code if self.is_installed else ()
        return digest_of([self.fingerprint, self._digest_of(further)]) if further else self.fingerprint

    @property
    def _judge_code(self) -> tuple[str, ...]:
        return getattr(self.info, "judge_code", ())

    @cached_property
    def is_installed(self) -> bool:
        """Whether its code is a plugin's, or otherwise in files of an installed distribution."""
        return bool(self.module) or is_installed(self.factory)

    @cached_property
    def code_digest(self) -> str:
        """SHA-256 of the code that its results depend on.

        Code of an installed distribution is digested by its source files, any other by the objects themselves
        (`t2i_core.code_digest`); where these are defined in a package, its files count too, which may be data.

        Raises:
            UnhashableCode: If the code is in no installed distribution and has no digest; never in a run.
        """
        if self.is_installed:
            return self._digest_of(self.info.code)
        files = self._digest_of((*self.info.code, *self._judge_code)) if in_package(self._made_in) else ""
        return digest_of([self.own_code or code_digest(self.factory), files])

    def _digest_of(self, patterns: tuple[str, ...]) -> str:
        try:
            return sources_digest(self.module or self._made_in, patterns)
        except ValueError as error:
            raise BrokenPlugin(f"{self.kind} {self.spec!r} ({self.dist} {self.version}): {error}") from error

    @property
    def factory(self) -> Callable[[Setup[Any]], Any]:
        """The function that makes it; of a prompt source, the one that yields its prompts."""
        return self.info.prompts if isinstance(self.info, PromptSourceInfo) else self.info.create

    @property
    def _made_in(self) -> str:
        """The module of the function that makes it."""
        function = self.factory
        while isinstance(function, partial):
            function = function.func
        return function.__module__

    @property
    def _place(self) -> str | None:
        """The argument of images that exist already, a path, wherever it is seen from."""
        return self.argument and str(Path(self.argument).absolute())

    def setup(
        self,
        device: str | None = None,
        batch_size: int | None = None,
        offline: bool = False,
        labels: tuple[ObjectClass, ...] | None = None,
        dry: bool = False,
    ) -> Setup[Any]:
        """Return what its factory is given."""
        return Setup(self.argument, self.options, device, batch_size, offline, labels, dry)

    def manifest(self) -> dict[str, Any]:
        """Return what a run's manifest says of it."""
        return {
            "name": self.spec,
            "dist": self.dist,
            "version": self.version,
            "module": self.module,
            "argument": self.argument,
            **({"original": self.info.original} if self.info.original else {}),
            "options": self.options.model_dump(mode="json"),
            "fingerprint": self.fingerprint,
        }


def component(info: InfoT, options: Options | None = None, argument: str | None = None) -> Component[InfoT]:
    """Settle a descriptor that does not come from a plugin: for tests and for use from Python."""
    kind = next(k for k, t in INFO_TYPES.items() if isinstance(info, t))
    return Component(kind, info.name, info, options if options is not None else info.options(), argument)
