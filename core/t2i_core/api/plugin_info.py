"""Descriptors of components, read before any component is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .budget import Budget
from .judge import Capability
from .options import Options
from .prompt import ObjectClass, Prompt

if TYPE_CHECKING:
    from .generator import Generator
    from .judge import Judge
    from .metric import Metric
    from .metric_output import Measure
    from .sink import Sink

Kind = Literal["generator", "judge", "metric", "prompt_source", "sink"]
KINDS: tuple[Kind, ...] = ("generator", "judge", "metric", "prompt_source", "sink")
OptionsT = TypeVar("OptionsT", bound=Options, covariant=True)


@dataclass(frozen=True)
class Setup(Generic[OptionsT]):
    """The input of a factory.

    Attributes:
        argument: The text after the colon in `name:argument`.
        options: The component's own options, checked.
        device: `cpu`, `cuda`, `cuda:1` or `mps`. If None, the best one.
        batch_size: Number of items to start with; fewer if memory runs out. If None, the plugin chooses.
        offline: True if nothing may be downloaded.
        labels: For prompt sources that read them: the classes that the judge knows.
        dry: For prompt sources: True if only the plan is wanted. Then images of prompts are not made; those that
            do not exist yet get their own, unused paths. For checks: True if only the presence of files matters
            (`t2i doctor`). Then they need not be read.
        budget: What requests to a paid service may cost; see `t2i_core.api.budget`.
        plans_online: True in the dry run of a run that may use the network. `offline` is set then, too.
        prompts: For prompt sources that change others' prompts: the run's prompts, if the run perturbs them. If
            None, the argument names the prompts.
    """

    argument: str | None
    options: OptionsT
    device: str | None = None
    batch_size: int | None = None
    offline: bool = False
    labels: tuple[ObjectClass, ...] | None = None
    dry: bool = False
    budget: Budget = field(default_factory=Budget, compare=False)
    plans_online: bool = False
    prompts: tuple[Prompt, ...] | None = None

    @property
    def may_ask_services(self) -> bool:
        """True if the run may ask services, also if this is its dry run. Then a check refuses a missing key."""
        return self.plans_online or not self.offline


@dataclass(frozen=True)
class Price:
    """The price of a component's requests to a paid service.

    Attributes:
        most: Returns the most that one item can cost, in USD, if no request is repeated. The arguments are an
            `ImageRequest` and None, or a `Query` and its capability.
        unknown: What the user must set before the price is known ("set price_per_image"). Empty if it is known.
            Otherwise `most` is not called, and t2i refuses the component under `--max-cost`.
    """

    most: Callable[[Any, Capability | None], float]
    unknown: str = ""


@dataclass(frozen=True)
class Defaults:
    """Settings of a metric that the user does not give.

    Attributes:
        prompts: A prompt source, as the user would name it.
        seeds: Number of seeds, counted from 0.
        judges: The judge for each capability.
        options: Options of the metric itself.
        absent: What to do if the judge of a capability is not installed: how to install it, what may replace it.
            Among a domain's defaults: what to do because the domain has no judge of the capability. The metric's
            own judge, made for photographs, is then not its default in the domain.
    """

    prompts: str | None = None
    seeds: int | None = None
    judges: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Domain:
    """A domain of images, with its judges and the defaults of metrics.

    Attributes:
        name: Its name.
        summary: One line.
        judges: The judge for each capability.
        metrics: Defaults by the metric's name.
    """

    name: str
    summary: str
    judges: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Defaults] = field(default_factory=dict)


PHOTOGRAPHS = Domain("photographs", "Natural images; every metric's own defaults are made for them.")


@dataclass(frozen=True, kw_only=True)
class About:
    """Information about a component for readers. No result depends on it.

    Attributes:
        meaning: Of a metric: what its score says, in at most two sentences that need no paper.
        limits: What a metric or judge does not see, or when its numbers mislead.
        quality: Of a judge: how well its answers agree with the truth or with people, measured on what, with the
            source. Empty if nobody measured it.
        citation: The paper or source to cite.
        bibtex: The BibTeX entry of that paper.
        licence: The licence of the weights.
        memory_gb: Estimated device memory in its default settings, in GB.
        notes: Warnings for users (deprecated, gated, a restrictive licence).
        original: The repository that its publisher withdrew and that the argument mirrors. A preset sets it; the
            plan and `t2i prefetch` print a line about it, and the manifest records it.
    """

    meaning: str = ""
    limits: str = ""
    quality: str = ""
    citation: str = ""
    bibtex: str = ""
    licence: str = ""
    memory_gb: float | None = None
    notes: str = ""
    original: str = ""

    def overlay(self, above: About) -> About:
        """Return a copy with each field that `above` sets replaced."""
        return replace(self, **{f.name: value for f in fields(above) if (value := getattr(above, f.name))})


@dataclass(frozen=True, kw_only=True)
class Loading:
    """Steps before a component is created, so that loading does not fail late.

    The engine calls the four functions at different times: `resolve` for every component of a plan, `check` once
    the plan knows its options, `prefetch` only for `t2i prefetch`, `weights` for the fingerprint. Few components
    need more than one or two.

    Attributes:
        weights: Returns the weights that results depend on, given argument and options: files, or texts
            (revisions).
        check: Raises a T2IError if something is wrong with argument and options, before anything is loaded.
        resolve: Returns the options settled for this machine (a precision that depends on the device). Results
            depend on them as on any others.
        prefetch: Downloads everything that loading needs and that is not there yet. Afterwards loading works
            offline.
    """

    weights: Callable[[str | None, Any], Iterable[Path | str]] | None = None
    check: Callable[[Setup[Any]], None] | None = None
    resolve: Callable[[Setup[Any]], Options] | None = None
    prefetch: Callable[[Setup[Any]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class _Info:
    """Describe any component.

    The requirement of its distribution gives the versions of t2i-core that it fits.

    Attributes:
        name: The entry point's name.
        summary: One line.
        options: Its options, a subclass of `Options`.
        argument: The meaning of `name:argument`; None if it takes no argument.
        needs_argument: True if the argument is required.
        code: Files of its package whose content its results depend on, as glob patterns.
        loading: Steps before it is created.
        about: Information for readers.
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
    """Describe a model that generates images.

    Attributes:
        create: Creates the model; loads weights and imports torch here.
        domain: The domain of its images.
        reads_scene: True if it draws the prompt's scene, not only its text.
        labels: Returns every class it can draw, in a stable order, by which sinks number the classes of exported
            annotations. Needed if it reports what is really drawn (`Generated.truth`).
        price: Returns the price of its requests, given its options; None if they cost nothing. A component with
            a price sends no request without a reservation (`Setup.budget`). If None, they cost nothing.
    """

    create: Callable[[Setup[Any]], Generator]
    domain: Domain = PHOTOGRAPHS
    reads_scene: bool = False
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None
    price: Callable[[Any], Price | None] | None = None


@dataclass(frozen=True, kw_only=True)
class ExistingImagesInfo(GeneratorInfo):
    """Describe a generator of existing image files, which are looked up in every run and not copied.

    Attributes:
        prompts: Returns its own prompts, if it has some.
        seeds: Returns the seeds that it has images for.
        holds: Returns a function that tells whether there is an image for a prompt and a seed. It opens no image.
        unshared_seeds: Returns why images of one seed have nothing in common if their prompts differ ("3 of 8
            images name no seed"), so that intervals do not cross seeds with prompts. Returns None if prompts share
            their seeds, as they do without this function.
    """

    prompts: Callable[[Setup[Any]], Iterable[Prompt]] | None = None
    seeds: Callable[[Setup[Any]], Iterable[int]] | None = None
    holds: Callable[[Setup[Any]], Callable[[Prompt, int], bool]] | None = None
    unshared_seeds: Callable[[Setup[Any]], str | None] | None = None


@dataclass(frozen=True, kw_only=True)
class SelfJudgingInfo(GeneratorInfo):
    """Describe a generator that also judges itself (`likelihood`); the object that it creates is a `Judge` too.

    Attributes:
        capabilities: The capabilities that it offers. If some of its models lack one, `check_judge` refuses them.
        judge_code: Files of its package, beyond `code`, that its answers depend on and its images do not.
        check_judge: Raises a T2IError, before anything is loaded, if it cannot be asked for one of its
            capabilities with these params of queries (`Need.params`), this argument and these options.
    """

    capabilities: frozenset[Capability]
    judge_code: tuple[str, ...] = ()
    check_judge: Callable[[Setup[Any], Capability, Sequence[Mapping[str, Any]]], None] | None = None


@dataclass(frozen=True, kw_only=True)
class JudgeInfo(_Info):
    """Describe a judge.

    Attributes:
        capabilities: The capabilities that it offers, each with the fields that it gives beyond the required ones
            (`class_probs`, `colour`).
        create: Creates the judge; loads weights and imports torch here.
        domain: The domain of the images that it can judge.
        labels: Returns the classes that it knows, without loading weights. If None, it takes any text.
        floor: Confidence below which it keeps no detection or segment: a number, or the name of the option that
            has it, so that error messages can name the option.
        reads_truth: True if it reads what is really drawn; t2i never chooses such a judge by itself.
        by_people: True if it gives people's answers: it gets the place of each image in the run (`Image.place`),
            judges images of any domain, and can be asked only what people can be asked. t2i never chooses such a
            judge by itself.
        price: Returns the price of its requests, as for a `GeneratorInfo`.
    """

    capabilities: Mapping[Capability, frozenset[str]]
    create: Callable[[Setup[Any]], Judge]
    domain: Domain = PHOTOGRAPHS
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None
    floor: float | str = 0.0
    reads_truth: bool = False
    by_people: bool = False
    price: Callable[[Any], Price | None] | None = None


@dataclass(frozen=True, kw_only=True)
class MetricInfo(_Info):
    """Describe a metric.

    Attributes:
        create: Creates it from a Setup (usually the Metric class itself).
        measures: Its measures; the first is the headline.
        defaults: Prompts, seeds and judges for photographs.
        version: Increased when the metric's numbers change. The manifest records it, and stored runs with
            different versions are not compared. No stored image or observation depends on it.
        models: Returns the models that its options bring, by label, given the options (files that name models).
            They are used if the user names no model.
        describe: Returns the descriptor that holds under an argument and options, if they decide the measures or
            the defaults (a file that brings its prompts). Raises a T2IError if the argument is wrong.
    """

    create: Callable[[Setup[Any]], Metric]
    measures: tuple[Measure, ...]
    defaults: Defaults = Defaults()
    version: int = 1
    models: Callable[[Any], Mapping[str, ExistingImagesInfo]] | None = None
    describe: Callable[[str | None, Any], MetricInfo] | None = None


@dataclass(frozen=True, kw_only=True)
class PromptSourceInfo(_Info):
    """Describe a list of prompts.

    Attributes:
        prompts: Yields them; ids must be unique.
        reads_labels: True if the list depends on the classes that the judge knows (`Setup.labels`).
        labels: Returns the classes that its prompts may name, for `--scenes NAME`. A class with a synset may have
            several names, of which the first is used.
        changes_prompts: True if it changes the texts of other prompts, for `--perturb NAME`. It gives each prompt
            once, under the same id; a text that is given twice is changed alike.
    """

    prompts: Callable[[Setup[Any]], Iterable[Prompt]]
    reads_labels: bool = False
    changes_prompts: bool = False
    labels: Callable[[str | None, Any], tuple[ObjectClass, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class SinkInfo(_Info):
    """Describe a sink. No result of a run depends on it.

    Attributes:
        create: Creates the sink; imports the library of a tracker here.
    """

    create: Callable[[Setup[Any]], Sink]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Name another component of the same kind with argument and options set.

    Attributes:
        name: The entry point's name.
        summary: One line.
        of: The other component's name, `name` or `dist/name`.
        argument: The other component's argument.
        options: The other component's options.
        domain: The domain of these images. If None, the other component's.
        about: Each field that is set here replaces the other component's.
    """

    name: str
    summary: str
    of: str
    argument: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | None = None
    about: About = About()


Info = GeneratorInfo | JudgeInfo | MetricInfo | PromptSourceInfo | SinkInfo
INFO_TYPES: dict[Kind, type[Any]] = {
    "generator": GeneratorInfo,
    "judge": JudgeInfo,
    "metric": MetricInfo,
    "prompt_source": PromptSourceInfo,
    "sink": SinkInfo,
}
InfoT = TypeVar("InfoT", bound=Info)
