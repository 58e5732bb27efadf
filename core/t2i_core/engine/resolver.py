"""How core asks for components by name, without knowing who finds them.

The registry implements `Resolver` and enters it under the group `t2i.resolver`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

from ..api.adapter import Adapter
from ..api.errors import MissingDependency
from ..api.judge import Capability
from ..api.plugin_info import Domain, JudgeInfo, Kind
from .component import Component

OptionTable = Mapping[str, Mapping[str, Any]]
"""Options by component: `{"tiam": {"confidence": 0.5}, "judge:openai": {...}}`, values as text or plain data."""


@dataclass(frozen=True)
class JudgeChoice:
    """The judge that serves a need.

    chain:  adapters from what the judge is asked up to what the metric needs; empty where it offers that itself
    why:    one sentence for the reader of the score
    """

    judge: Component[JudgeInfo]
    chain: tuple[Adapter, ...]
    why: str

    def asked_for(self, wanted: Capability) -> Capability:
        """The capability that the judge itself is asked for."""
        return self.chain[-1].offered if self.chain else wanted


class Resolver(Protocol):
    """Finds components by name."""

    def component(self, kind: Kind, spec: str, options: OptionTable) -> Component[Any]:
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
    ) -> JudgeChoice:
        """Return a judge that offers the capability itself or through adapters.

        asked:      judges that the user named (`NAME` or `CAPABILITY=NAME`); if any can serve, it is taken
        preferred:  (name, reason) in order of preference: the domain's choice, or else the metric's

        Otherwise the only installed judge of the domain that can serve is taken; one that reads the truth never
        is. Raises NoJudge where none can, or several could.
        """
        ...

    def manifest(self) -> list[dict[str, Any]]:
        """Return what is installed: name, kind, distribution, version and target of every component."""
        ...


def installed_resolver() -> Resolver:
    """Return the resolver that is installed. Raises MissingDependency where none is."""
    for entry in entry_points(group="t2i.resolver"):
        resolver: Resolver = entry.load()()
        return resolver
    raise MissingDependency("components are named, but nothing here finds them: install t2i-registry")
