"""The registry of installed components: core's resolver."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .component_lookup import ComponentLookup
from .descriptor import load_target
from .options import merge_options, override, repeat_word, split_assignment

if TYPE_CHECKING:
    from t2i_core.api.extension import Extension
    from t2i_core.api.judge import Capability
    from t2i_core.api.plugin_info import Domain
    from t2i_core.api.resolver import Isolate, JudgeChoice, OptionTable
    from t2i_core.engine.component import Component


class Registry(ComponentLookup):
    """Finds components by name and chooses judges: core's `Resolver`."""

    def with_environments(self, isolate: Isolate) -> Registry:
        """Return a registry that takes generators and judges with the option `environment` from a function."""
        again = copy.copy(self)
        again._isolate = isolate
        return again

    def choose_judge(
        self,
        capability: Capability,
        requires: frozenset[str],
        asked: Sequence[str],
        preferred: Sequence[tuple[str, str]],
        domain: Domain,
        options: OptionTable,
    ) -> JudgeChoice[Component[Any]]:
        """Return a judge that offers a capability, itself or through adapters, with the reason of the choice.

        A judge that the user named comes first, then the preferred judges in order, then the only installed judge
        of the domain that fits. A judge that reads the ground truth is chosen only if the user named it.

        Args:
            capability: Capability that is needed.
            requires: Properties that the observations must have.
            asked: Judges that the user named, `NAME` or `CAPABILITY=NAME`.
            preferred: Names of preferred judges in order, each with its reason.
            domain: Domain of the images.
            options: Option table of the user.

        Raises:
            NoJudge: No judge fits, or several do.
        """
        from .judges import JudgeSearch  # imports numpy, which nothing else here needs

        return JudgeSearch(self, capability, requires, domain, options).choose(asked, preferred)

    def manifest(self) -> list[dict[str, Any]]:
        """Return name, kind, distribution, version and module of every installed component."""
        return [
            {"name": e.name, "kind": e.kind, "dist": e.dist, "version": e.version, "module": e.module}
            for e in self.catalogue.entries
        ]

    def list_extensions(self, group: str) -> tuple[Extension, ...]:
        """Return the entry points of a group by which plugins extend a plugin."""
        return tuple(each for each in self.catalogue.extensions if each.group == group)

    def apply_suite(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a request: those of a suite with the user's on top.

        Raises:
            UnknownName: No installed plugin has the suite.
            AmbiguousName: Several have it.
            BrokenPlugin: Its file cannot be found or is not valid.
        """
        from .suite import load_suite  # reads requests, which nothing else here needs

        recipe = load_suite(name, given.get("models", ()), self)
        return override(recipe.values, given, recipe.added)

    def load_command(self, name: str) -> Any:
        """Import and return a plugin's command.

        Raises:
            UnknownName: No plugin offers the command.
            AmbiguousName: Several distributions offer it.
            BrokenPlugin: The plugin does not load.
            MissingDependency: The command needs something that is not installed.
        """
        return load_target(self.find("command", name))

    def read_options(self, assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the option table of `NAME.KEY=VALUE` texts. Raises BadOption."""
        names = {e.name for e in self.catalogue.entries}
        table: dict[str, dict[str, Any]] = {}
        for text in assignments:
            key, path, value = split_assignment(text, names)
            value = repeat_word(table.get(key, {}), path, value)
            table[key] = merge_options(table.get(key, {}), {".".join(path): value})
        return table
