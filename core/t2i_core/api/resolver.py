"""Resolvers, by which core and commands of plugins get components by name without knowing who finds them.

The registry implements `Resolver` and offers it in the entry point group `t2i.resolver`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from .adapter import Adapter
from .environment import Environment
from .errors import MissingDependency
from .extension import Extension
from .judge import Capability
from .options import Options
from .plugin_info import Domain, Info, Kind, Setup

OptionTable = Mapping[str, Mapping[str, Any]]
"""Options by component: `{"tiam": {"confidence": 0.5}, "judge:openai": {...}}`, values as text or plain data."""

Isolate = Callable[[Kind, str, Mapping[str, Any], str | None], Any]
"""Returns a component in its own environment, given its kind, its name as the user wrote it, its options and
the installed distribution that offers it, if there is one."""

InfoT_co = TypeVar("InfoT_co", bound=Info, covariant=True)


class Identity(NamedTuple):
    """Fingerprints of a component as the process that creates it forms them, in its own environment if it has one.

    Attributes:
        options: Options with which they were formed, where the run may have changed them afterwards.
        fingerprint: SHA-256 (hex) of everything that its results depend on.
        judge_fingerprint: The same for its answers about images.
        code: SHA-256 (hex) of its code, which is a part of both; empty if only its environment knows it.
    """

    options: Mapping[str, Any]
    fingerprint: str
    judge_fingerprint: str
    code: str = ""


class ResolvedComponent(Protocol[InfoT_co]):
    """A descriptor with argument and options settled, as a resolver returns it."""

    @property
    def kind(self) -> Kind:
        """Its kind."""
        ...

    @property
    def spec(self) -> str:
        """The component as the user named it (`simulator`, `folder:images`)."""
        ...

    @property
    def asked(self) -> str:
        """Name and options as a command takes them: `sd2 -o sd2.revision=main`."""
        ...

    @property
    def info(self) -> InfoT_co:
        """The descriptor."""
        ...

    @property
    def options(self) -> Options:
        """Its options, checked."""
        ...

    @property
    def argument(self) -> str | None:
        """The text after the colon, or what a preset sets in its place; None without one."""
        ...

    @property
    def environment(self) -> Environment | None:
        """The environment that it runs in; None for that of this process."""
        ...

    @property
    def given(self) -> Mapping[str, Any]:
        """The options that the user gave."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that its results depend on."""
        ...

    @property
    def judge_fingerprint(self) -> str:
        """SHA-256 (hex) of everything that its answers about images depend on."""
        ...

    @property
    def identity(self) -> Identity:
        """By what the process that creates it finds that its code and its weights are the same."""
        ...

    @property
    def dist(self) -> str:
        """The distribution of the plugin; empty if it comes from no plugin."""
        ...

    @property
    def version(self) -> str:
        """The version of that distribution."""
        ...

    @property
    def module(self) -> str:
        """The plugin's module."""
        ...

    def setup(self, device: str | None = None, batch_size: int | None = None, offline: bool = False) -> Setup[Any]:
        """Return the setup that its factory takes."""
        ...


ComponentT_co = TypeVar("ComponentT_co", bound=ResolvedComponent[Any], covariant=True)


@dataclass(frozen=True)
class JudgeChoice(Generic[ComponentT_co]):
    """The judge that serves a need.

    Attributes:
        judge: The judge.
        chain: Adapters from the judge's capability up to the metric's; empty if the judge offers that itself.
        why: One sentence for the reader of the score.
    """

    judge: ComponentT_co
    chain: tuple[Adapter, ...]
    why: str

    def asked_for(self, wanted: Capability) -> Capability:
        """Return the capability that the judge itself is asked for."""
        return self.chain[-1].offered if self.chain else wanted


class Resolver(Protocol[ComponentT_co]):
    """Finds components by name. The engine may rely on more than `ResolvedComponent`."""

    def component(self, kind: Kind, spec: str, options: OptionTable) -> ComponentT_co:
        """Return the component with a name (`name`, `name:argument` or `dist/name`), its options checked.

        Raises:
            UnknownName: If no component has the name.
            AmbiguousName: If several have it.
            BrokenPlugin: If its plugin fails to load.
            BadOption: If an option or the argument is wrong.
            MissingDependency: If a module is not installed.
        """
        ...

    def with_environments(self, isolate: Isolate) -> Resolver[ComponentT_co]:
        """Return a resolver that takes generators and judges with the option `environment` from a function.

        Without one, it refuses that option.
        """
        ...

    def choose_judge(
        self,
        capability: Capability,
        requires: frozenset[str],
        asked: Sequence[str],
        preferred: Sequence[tuple[str, str]],
        domain: Domain,
        options: OptionTable,
    ) -> JudgeChoice[ComponentT_co]:
        """Return a judge that offers the capability itself or through adapters.

        The first choice is a judge that the user named, then a preferred one, then the only installed judge of the
        domain that can serve. A judge that reads the truth is chosen only if it is named.

        Args:
            capability: The capability that the metric needs.
            requires: Fields that the judge must give beyond the capability.
            asked: Judges that the user named (`NAME` or `CAPABILITY=NAME`).
            preferred: Names and reasons in order of preference: the domain's choice, or else the metric's.
            domain: The domain of the images.
            options: The user's options.

        Raises:
            NoJudge: If no judge can serve, or several could.
        """
        ...

    def read_options(self, assignments: Iterable[str]) -> OptionTable:
        """Return the option table of a command line's `NAME.KEY=VALUE` texts.

        Raises:
            BadOption: If a text is anything else.
        """
        ...

    def apply_suite(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values of a request's fields: those of a suite that fit the models, the given ones on top.

        Raises:
            UnknownName: If no plugin has the suite.
            AmbiguousName: If several have it.
            BrokenPlugin: If its file is missing or not valid.
        """
        ...

    def manifest(self) -> list[dict[str, Any]]:
        """Return name, kind, distribution, version and target of every installed component."""
        ...

    def list_extensions(self, group: str) -> Sequence[Extension]:
        """Return the entry points of a group by which plugins extend a plugin; import nothing."""
        ...

    def find_missing_dist(self, name: str) -> str | None:
        """Return the distribution that offers a name but is not installed; None if no such one is known."""
        ...


def split_judge(word: str) -> tuple[Capability | None, str]:
    """Split a judge as the user names it (`--judge`), `NAME` or `CAPABILITY=NAME`, into capability and name.

    The capability is the plain word before the first `=`; None without one. The name may have an argument
    with any characters: `people:a=b.csv` is only a name.
    """
    capability, equals, name = word.partition("=")
    return (capability, name) if equals and re.fullmatch(r"[\w-]+", capability) else (None, word)


def installed_resolver() -> Resolver[Any]:
    """Return the installed resolver.

    Raises:
        MissingDependency: If none is installed.
    """
    for entry in entry_points(group="t2i.resolver"):
        resolver: Resolver[Any] = entry.load()()
        return resolver
    raise MissingDependency(
        "no resolver is installed, so names of components cannot be found; install t2i-registry"
    )
