"""The resolver of everything that is installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .component_lookup import ComponentLookup
from .descriptor import load_target
from .options import merge_options, split_assignment

if TYPE_CHECKING:
    from t2i_core.api.judge import Capability
    from t2i_core.api.plugin_info import Domain
    from t2i_core.api.resolver import JudgeChoice, OptionTable
    from t2i_core.engine.component import Component


class Registry(ComponentLookup):
    """Finds components by name and chooses judges: core's `Resolver`."""

    def choose_judge(
        self,
        capability: Capability,
        requires: frozenset[str],
        asked: Sequence[str],
        preferred: Sequence[tuple[str, str]],
        domain: Domain,
        options: OptionTable,
    ) -> JudgeChoice[Component[Any]]:
        """Return a judge that offers the capability itself or through adapters, and say why it is this one.

        A judge that the user named comes first, then the preferred ones in order, then the only installed one of
        the domain that can serve. One that reads the truth is taken only where the user named it. Raises NoJudge.
        """
        from .judges import JudgeSearch  # it imports numpy, which nothing else here needs

        return JudgeSearch(self, capability, requires, domain, options).choose(asked, preferred)

    def manifest(self) -> list[dict[str, Any]]:
        """Return what is installed: name, kind, distribution, version and target of every component."""
        return [
            {"name": e.name, "kind": e.kind, "dist": e.dist, "version": e.version, "module": e.module}
            for e in self.catalogue.entries
        ]

    def load_command(self, name: str) -> Any:
        """Import a plugin's command. Raises UnknownName, AmbiguousName, BrokenPlugin or MissingDependency."""
        return load_target(self.find("command", name))

    def read_options(self, assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Read `NAME.KEY=VALUE` texts into an option table. Raises BadOption."""
        names = {e.name for e in self.catalogue.entries}
        table: dict[str, dict[str, Any]] = {}
        for text in assignments:
            key, path, value = split_assignment(text, names)
            table[key] = merge_options(table.get(key, {}), {".".join(path): value})
        return table
