"""Components as plain data, from which a worker finds them again by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from t2i_core.api.environment import ENVIRONMENT
from t2i_core.api.errors import BadModel
from t2i_core.api.resolver import Identity, ResolvedComponent, installed_resolver


@dataclass(frozen=True)
class SentComponent:
    """A component of a plugin, as the driver settled it.

    Attributes:
        kind: Its kind.
        spec: Its name as the user wrote it.
        given: The options that the user gave.
        options: All options, settled for the run.
        argument: Its argument.
        dist: The plugin's distribution.
        identity: Its fingerprints.
    """

    kind: Any
    spec: str
    given: Mapping[str, Any]
    options: Mapping[str, Any]
    argument: str | None
    dist: str
    identity: Identity

    def resolve(self, host: str) -> ResolvedComponent[Any]:
        """Find the component on this machine.

        Args:
            host: This machine's name, for messages.

        Raises:
            BadModel: If its argument, its code or its weights are not the driver's.
            T2IError: If it is not installed, or does not load.
        """
        name = self.spec.partition(":")[0].rpartition("/")[2]
        found: Any = installed_resolver().component(self.kind, self.spec, {f"{self.kind}:{name}": self.given})
        options: Any = found.info.options
        same = replace(found, options=options.model_validate({**self.options, **self.identity.options}))
        try:
            is_same = (same.fingerprint, same.judge_fingerprint) == self.identity[1:3]
        except BadModel as error:  # its weights lie elsewhere
            if not (differences := self._list_differences(found)):
                raise
            raise self._refuse(host, differences) from error
        if not is_same:
            raise self._refuse(host, self._list_differences(found) or [_find_difference(self.identity.code, same)])
        found = same
        component: ResolvedComponent[Any] = replace(found, options=options.model_validate(dict(self.options)))
        return component

    def _list_differences(self, found: Any) -> list[str]:
        """Return in words how a worker's component differs in its argument and in options that are paths.

        Its other options are the driver's.
        """
        pairs = {"argument": (found.argument, self.argument)}
        pairs |= {
            f"option {name!r}": (value, self.options.get(name))
            for name, value in found.options.model_dump().items()
            if name not in self.given and _is_path(value) and _is_path(self.options.get(name))
        }
        return [
            f"its {name} is {there!r}, on this machine {here!r}"
            for name, (there, here) in pairs.items()
            if there != here
        ]

    def _refuse(self, host: str, differences: Sequence[str]) -> BadModel:
        kind = str(self.kind).replace("_", " ")
        return BadModel(
            f"{kind} {self.spec!r} on {host} is not the one of this machine: {'; '.join(differences)}; "
            "install the same plugins in the same place and fetch the same weights on all machines"
        )


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and Path(value).is_absolute()


def _find_difference(code: str, found: Any) -> str:
    """Return whether the code or the weights of a component differ from the driver's.

    Args:
        code: Digest of the driver's code; empty if it is not known.
        found: The component on the worker.
    """
    if not code:
        return "its code or its weights differ"
    return "its weights differ" if found.identity.code == code else "its code differs"


def send_component(component: ResolvedComponent[Any]) -> SentComponent:
    """Return a component as plain data."""
    is_isolated = component.environment is not None
    return SentComponent(
        component.kind,
        component.spec,
        {name: value for name, value in component.given.items() if name != ENVIRONMENT},
        component.options.model_dump(exclude={ENVIRONMENT} if is_isolated else None),
        component.argument,
        component.dist,
        component.identity,
    )
