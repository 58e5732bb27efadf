"""The components of one request: found by name, settled on this machine, and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from ..api.budget import Budget
from ..api.errors import BadOption, NoJudge, NotHere, UnknownName, did_you_mean, join_clauses
from ..api.executor import ExecutorInfo
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import JudgeInfo
from ..api.prices import counts_as_free, refuse_unknown_price
from ..api.resolver import OptionTable, Resolver, installed_resolver, split_judge
from .code.keys import CodeKeys
from .component import Component, settle_component
from .isolation import Isolation
from .job import declared_labels
from .lifecycle import has_fingerprint, settle_on_machine
from .request import Request
from .request_field import explain_problems


class ComponentFinder:
    """Finds the components of one request, and remembers them, to find options that nothing uses.

    Args:
        request: The request.
        resolver: Finds components by name. If None, among the installed plugins.
        dry: True if nothing may be downloaded, and weights need not be on this machine.

    Attributes:
        request: The request.
        dry: As given.
        offline: True if nothing may be downloaded.
        codes: Digests of code that is in no installed distribution.
        budget: What paid components may spend.
        notes: Notes for the user.
        is_settled: False if the identity of a component depends on files that are not on this machine.
        without_classes: Judges whose classes are in a file that is not on this machine.
    """

    def __init__(self, request: Request, resolver: Resolver[Component[Any]] | None, dry: bool) -> None:
        self.request = request
        self.dry = dry
        self.offline = request.offline or dry
        self.codes = CodeKeys()
        self.budget = Budget(request.max_cost)
        self.notes: list[str] = []
        self.is_settled = True
        self.without_classes: set[str] = set()
        self._resolver = resolver
        self._missing: set[str] = set()
        self._used: set[tuple[str, str]] = set()

    @property
    def plans_online(self) -> bool:
        """True in the dry run of a run that may use the network."""
        return self.dry and not self.request.offline

    @property
    def resolver(self) -> Resolver[Component[Any]]:
        """Finds components by name."""
        if self._resolver is None:
            self._resolver = installed_resolver()
        return self._resolver

    def use_environments(self, executor: ExecutorInfo | None, note: Callable[[str], None]) -> None:
        """Let generators and judges run in their own environments, if the executor can build them.

        Args:
            executor: The executor of the run; None for `local`.
            note: Called with a message before an environment is built.
        """
        if executor is not None:
            isolate = Isolation(executor, self.request.device, self.offline, note)
            self._resolver = self.resolver.with_environments(isolate)

    def find(self, kind: Any, spec: Any, extra: Mapping[str, Any] | None = None) -> Component[Any]:
        """Look up a component that results depend on, and settle it here."""
        return self.settle(self.look_up(kind, spec, extra))

    def look_up(self, kind: Any, spec: Any, extra: Mapping[str, Any] | None = None) -> Component[Any]:
        """Resolve a name, or settle a descriptor; the user's options for the name replace those in `extra`."""
        if not isinstance(spec, str):
            self._used.add((kind, spec.name))
            options = {**self.options_for(kind, spec.name), **(extra or {})}
            try:
                return settle_component(spec, spec.options(**options))
            except ValidationError as error:
                raise BadOption(f"{kind} {spec.name!r}: {explain_problems(error, spec.options)}") from error
        name = spec.partition(":")[0].rpartition("/")[2]
        self._used.add((kind, name))
        table: OptionTable = self.request.options
        if extra:
            table = {**table, f"{kind}:{name}": {**self.options_for(kind, name), **extra}}
        return self.resolver.component(kind, spec, table)

    def settle(self, found: Component[Any]) -> Component[Any]:
        """Settle the options that depend on this machine, its device and downloads, and the digest of its code."""
        if found.mirror_note:
            self.notes.append(found.mirror_note)
        settled = self.codes.settle(self.settle_on_machine(found))
        # in a dry run, weights that are missing are noted by the check that follows
        return replace(settled, absent=True) if self.dry and not has_fingerprint(settled) else settled

    def settle_on_machine(self, found: Component[Any]) -> Component[Any]:
        """Settle the options that depend on this machine, as far as they are known without a download."""
        try:
            return settle_on_machine(found, self.request.device, self.offline)
        except NotHere as error:
            self.note_missing(error)
            self.is_settled = False
            return replace(found, absent=True)

    def check(self, found: Component[Any]) -> None:
        """Have a component check its argument and options, before anything is loaded."""
        if self.request.max_cost is not None:
            refuse_unknown_price(found)
            if counts_as_free(found):
                self.notes.append(
                    f"--max-cost counts {describe_component(found)} as free; set its prices if it asks a paid "
                    "service"
                )
        check = found.info.loading.check
        if check is not None:
            try:
                with guard_plugin(found, "to check its argument and options"):
                    setup = found.setup(self.request.device, offline=self.offline)
                    check(replace(setup, plans_online=self.plans_online))
            except NotHere as error:
                self.note_missing(error)
        has_classes = found.absent and isinstance(found.info, JudgeInfo) and found.info.labels is not None
        if has_classes and declared_labels(found) is None:
            self.without_classes.add(found.spec)

    def note_missing(self, error: NotHere) -> None:
        """Note that the run downloads files first; raise the error if the run would raise it."""
        if not self.dry or self.request.offline:
            raise error
        if error.spec not in self._missing:
            self.notes.append(f"{error.spec}: {error.what} is not on this machine; the run downloads it first")
        self._missing.add(error.spec)

    def options_for(self, kind: str, name: str) -> dict[str, Any]:
        """Return the user's options for one component, given under its name or under `kind:name`."""
        found: dict[str, Any] = {}
        for key, options in self.request.options.items():
            its_kind, its_name = _split_address(key)
            if its_name == name and its_kind in ("", kind):
                found |= options
        return found

    def refuse_unused(self) -> None:
        """Refuse options and judges that no part of this run uses; they are usually misspelt."""
        known = {name for _, name in self._used}
        for key in self.request.options:
            kind, name = _split_address(key)
            if not ((kind, name) in self._used if kind else name in known):
                if labelled := next((each for each in self.request.models if each.label == key), None):
                    model = getattr(labelled.spec, "name", labelled.spec)
                    raise UnknownName(
                        f"options of {key!r}: this is the label of a model; write {model}.KEY=VALUE for each "
                        f"{model}, or give this one its settings in a recipe: {{model: {model}, label: {key}, "
                        "settings: {KEY: VALUE}}"
                    )
                parts = ", ".join(sorted(known))
                # names of the kind that the user wrote, so that its prefix makes no name unlike another
                near = did_you_mean(name, {own for its, own in self._used if kind in ("", its)})
                problem = f"options of {key!r}: no part of this run has this name{near}"
                raise UnknownName(join_clauses([problem, f"this run uses {parts}"]))
        for word in self.request.judges:
            name = split_judge(word)[1].partition(":")[0].rpartition("/")[2]
            if ("judge", name) not in self._used:
                raise NoJudge(f"--judge {word}: no metric of this run needs this judge; leave it out")

    def mark_used(self, judge: Component[Any]) -> None:
        """Remember a judge that the resolver chose."""
        self._used.add((judge.kind, judge.name))

    def list_installed(self) -> tuple[Mapping[str, Any], ...]:
        """Return every installed component, if a component was looked up by name."""
        return tuple(self._resolver.manifest()) if self._resolver else ()


def _split_address(key: str) -> tuple[str, str]:
    """Split `[kind:][dist/]name` into kind (empty if not given) and name."""
    kind, _, rest = key.rpartition(":")
    return kind, rest.rpartition("/")[2]
