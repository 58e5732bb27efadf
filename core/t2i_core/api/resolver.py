"""How core, and commands of plugins, ask for components by name without knowing who finds them.

The registry implements `Resolver` and enters it under the group `t2i.resolver`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from .adapter import Adapter
from .errors import MissingDependency
from .judge import Capability
from .options import Options
from .plugin_info import Domain, Info, Kind, Setup

OptionTable = Mapping[str, Mapping[str, Any]]
"""Options by component: `{"tiam": {"confidence": 0.5}, "judge:openai": {...}}`, values as text or plain data."""

InfoT_co = TypeVar("InfoT_co", bound=Info, covariant=True)


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
    def dist(self) -> str:
        """The distribution of the plugin that makes it; empty if it comes from no plugin."""
        ...

    @property
    def version(self) -> str:
        """The version of that distribution."""
        ...

    @property
    def module(self) -> str:
        """The plugin's module."""
        ...

    def setup(self) -> Setup[Any]:
        """Return what its factory is given."""
        ...


ComponentT_co = TypeVar("ComponentT_co", bound=ResolvedComponent[Any], covariant=True)


@dataclass(frozen=True)
class JudgeChoice(Generic[ComponentT_co]):
    """The judge that serves a need.

    chain:  adapters from what the judge is asked up to what the metric needs; empty where it offers that itself
    why:    one sentence for the reader of the score
    """

    judge: ComponentT_co
    chain: tuple[Adapter, ...]
    why: str

    def asked_for(self, wanted: Capability) -> Capability:
        """The capability that the judge itself is asked for."""
        return self.chain[-1].offered if self.chain else wanted


class Resolver(Protocol[ComponentT_co]):
    """Finds components by name. What it returns beyond `ResolvedComponent` is between it and the engine."""

    def component(self, kind: Kind, spec: str, options: OptionTable) -> ComponentT_co:
        """Return the component that a user names `name`, `name:argument` or `dist/name`, its options checked.

        Raises UnknownName, AmbiguousName, BrokenPlugin, BadOption or MissingDependency.
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

        asked:      judges that the user named (`NAME` or `CAPABILITY=NAME`); if any can serve, it is taken
        preferred:  (name, reason) in order of preference: the domain's choice, or else the metric's

        Otherwise the only installed judge of the domain that can serve is taken; one that reads the truth never
        is. Raises NoJudge where none can, or several could.
        """
        ...

    def read_options(self, assignments: Iterable[str]) -> OptionTable:
        """Read `NAME.KEY=VALUE` texts of a command line into an option table. Raises BadOption."""
        ...

    def manifest(self) -> list[dict[str, Any]]:
        """Return what is installed: name, kind, distribution, version and target of every component."""
        ...


def installed_resolver() -> Resolver[Any]:
    """Return the resolver that is installed. Raises MissingDependency where none is."""
    for entry in entry_points(group="t2i.resolver"):
        resolver: Resolver[Any] = entry.load()()
        return resolver
    raise MissingDependency("components are named, but nothing here finds them: install t2i-registry")
