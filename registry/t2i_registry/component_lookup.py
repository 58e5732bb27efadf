"""Lookup of installed components by name, with their argument and validated options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from t2i_core.api.environment import ENVIRONMENT
from t2i_core.api.errors import (
    AmbiguousName,
    BadOption,
    BrokenPlugin,
    MissingDependency,
    UnknownName,
    did_you_mean,
)
from t2i_core.files.home_folder import expand_home

from .descriptor import load
from .discovery import DISABLE_VARIABLE, KINDS, Catalogue, Entry, EntryKind, normalize_name, scan
from .options import Address, check_options, find_kind, merge_options, select_options

if TYPE_CHECKING:
    from t2i_core.api.plugin_info import Info, Kind, Preset
    from t2i_core.api.resolver import Isolate, OptionTable
    from t2i_core.engine.component import Component

ISOLATED: tuple[EntryKind, ...] = ("generator", "judge")
"""Kinds of components that can run in their own environments, and so have the option `environment`."""


@dataclass(frozen=True)
class Description:
    """A component before the user's argument and options apply.

    Attributes:
        entry: Entry that the user's name refers to.
        made_by: Entry whose code creates the component; another one if the name is a preset.
        info: Descriptor; for a preset, that of the underlying component with the preset's changes.
        argument: Argument that a preset sets.
        options: Options that presets set.
        presets: Presets between the name and the component, outermost first.
    """

    entry: Entry
    made_by: Entry
    info: Info
    argument: str | None = None
    options: Mapping[str, Any] | None = None
    presets: tuple[Preset, ...] = ()

    @property
    def summary(self) -> str:
        """The one-line summary of the component, or of its outermost preset."""
        return (self.presets[0] if self.presets else self.info).summary


@dataclass(frozen=True)
class Spec:
    """A component as users name it: `[dist/]name[:argument]`."""

    name: str
    dist: str | None = None
    argument: str | None = None

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Parse a spec; the argument may contain any characters."""
        head, colon, argument = text.strip().partition(":")
        dist, slash, name = head.rpartition("/")
        return cls(name, dist if slash else None, argument if colon else None)

    def __str__(self) -> str:
        head = self.name if self.dist is None else f"{self.dist}/{self.name}"
        return head if self.argument is None else f"{head}:{self.argument}"


class ComponentLookup:
    """Finds installed components by name and validates their options."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._given = catalogue
        self._loaded: dict[Entry, Info | Preset] = {}
        self._isolate: Isolate | None = None

    @cached_property
    def catalogue(self) -> Catalogue:
        """The installed components, scanned at the first access."""
        return self._given if self._given is not None else scan()

    def find(self, kind: EntryKind, name: str, dist: str | None = None) -> Entry:
        """Return the only entry of a name.

        Args:
            kind: Kind of the component.
            name: Its name.
            dist: Its distribution; any distribution if None.

        Raises:
            UnknownName: Nothing of this name is installed.
            MissingDependency: A known distribution that is not installed offers the name.
            AmbiguousName: Several distributions offer the name.
            BrokenPlugin: One distribution registers the name several times.
        """
        found = self.catalogue.find_entries(kind, name, dist)
        if not found:
            raise self._make_unknown(kind, name, dist)
        if len({e.dist for e in found}) > 1:
            offers = " and ".join(f"{e.dist} {e.version}" for e in found)
            ways = " or ".join(dict.fromkeys(e.full_name for e in found))
            raise AmbiguousName(f"{_format_kind(kind)} {name!r} is offered by {offers}; write {ways}")
        if len(found) > 1:
            targets = " and ".join(e.module for e in found)
            plugin = f"plugin {found[0].dist} {found[0].version}"
            raise BrokenPlugin(f"{plugin} registers {_format_kind(kind)} {name!r} {len(found)} times: {targets}")
        return found[0]

    def correct_case(self, text: str, *kinds: EntryKind) -> str:
        """Return a spec with its name in the case in which a component has it: `tiam` for `TIAM`.

        The text is unchanged if a component has the name as it is written, or if none or several have it in
        another case.

        Args:
            text: `[dist/]name[:argument]`.
            kinds: Kinds of the component.
        """
        spec = Spec.parse(text)
        if any(self.catalogue.find_entries(kind, spec.name, spec.dist) for kind in kinds):
            return text
        same = {
            e.name
            for kind in kinds
            for e in self.catalogue.list_kind(kind)
            if e.name.casefold() == spec.name.casefold() and self.catalogue.find_entries(kind, e.name, spec.dist)
        }
        return str(replace(spec, name=same.pop())) if len(same) == 1 else text

    def find_any(self, text: str) -> list[tuple[Entry, str | None]]:
        """Return every entry that a text may mean, with the argument.

        Args:
            text: `[kind:][dist/]name[:argument]`.

        Raises:
            UnknownName: Nothing of this name is installed; the message has the nearest names of all kinds.
            AmbiguousName: Several distributions offer the name.
        """
        head, colon, rest = text.partition(":")
        kind = find_kind(head) if colon else None
        spec = Spec.parse(self.correct_case(rest if kind else text, *([kind] if kind else KINDS)))
        kinds = [k for k in ([kind] if kind else KINDS) if self.catalogue.find_entries(k, spec.name, spec.dist)]
        if not kinds:
            if kind:
                raise self._make_unknown(kind, spec.name, spec.dist)
            self._refuse_absent(spec.name, spec.dist)
            known = {e.name for e in self.catalogue.entries}
            raise _make_unknown_among("component", spec.name, known, self._hint_disabled(spec.name))
        return [(self.find(k, spec.name, spec.dist), spec.argument) for k in kinds]

    def describe(self, entry: Entry) -> Description:
        """Load an entry's descriptor and resolve presets. Raises BrokenPlugin or MissingDependency."""
        return self._describe(entry, ())

    def component(self, kind: Kind, spec: str, options: OptionTable) -> Component[Any]:
        """Return the component of a spec, with validated options.

        Args:
            kind: Kind of the component.
            spec: `name`, `name:argument` or `dist/name`.
            options: Option table of the user.

        Raises:
            UnknownName: Nothing of this name is installed.
            AmbiguousName: Several distributions offer the name.
            BrokenPlugin: The plugin does not load.
            BadOption: The argument or an option is not valid.
            MissingDependency: The component needs something that is not installed.
        """
        if self.has_environment(kind, spec, options):
            return self._find_isolated(kind, spec, options)
        parsed = Spec.parse(spec)
        return self.settle(self.find(kind, parsed.name, parsed.dist), spec, options)

    def has_environment(self, kind: Kind, spec: str, options: OptionTable) -> bool:
        """Return whether the options give a generator or judge its own environment."""
        return kind in ISOLATED and ENVIRONMENT in self._select(kind, spec, options)

    def _select(self, kind: Kind, spec: str, options: OptionTable) -> dict[str, Any]:
        """Return the options of a component that may not be installed."""
        parsed = Spec.parse(spec)
        return select_options(
            self._refuse_ambiguous(options), kind, parsed.name, self._find_dist(kind, parsed) or ""
        )

    def _find_dist(self, kind: Kind, spec: Spec) -> str | None:
        """Return the only distribution that can offer a component, if it is named or installed."""
        dists = {entry.dist for entry in self.catalogue.find_entries(kind, spec.name, spec.dist)}
        return dists.pop() if len(dists) == 1 else spec.dist

    def _find_isolated(self, kind: Kind, spec: str, options: OptionTable) -> Component[Any]:
        """Return the component of a spec that runs in its own environment."""
        parsed = Spec.parse(spec)
        if self._isolate is None:
            raise BadOption(
                f"option {ENVIRONMENT!r} of {_format_kind(kind)} {parsed.name!r}: only workers can have an "
                "environment; add --executor ray to t2i eval or t2i generate"
            )
        entries = self.catalogue.find_entries(kind, parsed.name, parsed.dist)
        own = self._find_dist(kind, parsed) if entries else None
        found: Component[Any] = self._isolate(kind, spec, self._select(kind, spec, options), own)
        return found

    def settle(self, entry: Entry, spec: str, options: OptionTable) -> Component[Any]:
        """Return the component of an entry, with the argument of `spec` and validated options.

        Errors are those of `component`, except for names.
        """
        from t2i_core.engine.component import Component

        described = self.describe(entry)
        kind: Kind = entry.kind  # type: ignore[assignment]  # never a command
        argument = _settle_argument(described, Spec.parse(spec).argument)
        given = select_options(self._refuse_ambiguous(options), kind, entry.name, entry.dist)
        whose = f"{_format_kind(kind)} {entry.name!r}"
        if ENVIRONMENT in given and ENVIRONMENT not in described.info.options.model_fields:
            raise BadOption(
                f"option {ENVIRONMENT!r} of {whose}: only generators and judges can have an environment; "
                "leave it out"
            )
        made_by = described.made_by
        return Component(
            kind=kind,
            spec=spec.strip(),
            info=described.info,
            options=check_options(described.info.options, merge_options(described.options or {}, given), whose),
            argument=argument,
            dist=made_by.dist,
            version=made_by.version,
            module=made_by.module,
            given=given,
        ).for_argument()

    def name_option(self, entry: Entry) -> str:
        """Return the shortest option prefix (`NAME` in `NAME.KEY=VALUE`) that means only this component."""
        same = [e for kind in KINDS for e in self.catalogue.find_entries(kind, entry.name)]
        name = entry.full_name if len({e.dist for e in same if e.kind == entry.kind}) > 1 else entry.name
        return f"{entry.kind}:{name}" if len({e.kind for e in same}) > 1 else name

    def check_names(self, options: OptionTable) -> None:
        """Check that every key of an option table names a component.

        Raises:
            UnknownName: A key names no component.
            AmbiguousName: A key names components of several kinds or distributions.
            BadOption: A key has an unknown kind.
        """
        for key in self._refuse_ambiguous(options):
            address = Address.parse(key)
            if ENVIRONMENT in options[key] and address.kind in (None, *ISOLATED):
                continue  # its distribution need not be installed here
            if address.kind:
                self.find(address.kind, address.name, address.dist)
            else:
                self.find_any(key)

    def _refuse_ambiguous(self, options: OptionTable) -> OptionTable:
        """Raise AmbiguousName if a key without a kind names components of several kinds."""
        for key in options:
            address = Address.parse(key)
            kinds = [k for k in KINDS if self.catalogue.find_entries(k, address.name, address.dist)]
            if address.kind is None and len(kinds) > 1:
                ways = " or ".join(f"{kind}:{key}" for kind in kinds)
                raise AmbiguousName(
                    f"options of {key!r}: components of several kinds have this name; write {ways}"
                )
        return options

    def _describe(self, entry: Entry, path: tuple[Entry, ...]) -> Description:
        from t2i_core.api.plugin_info import Preset

        if entry in path:
            circle = " -> ".join(e.name for e in (*path[path.index(entry) :], entry))
            raise BrokenPlugin(f"plugin {entry.origin}: its presets refer to each other in a circle: {circle}")
        if entry not in self._loaded:
            self._loaded[entry] = load(entry)
        descriptor = self._loaded[entry]
        if not isinstance(descriptor, Preset):
            return Description(entry, made_by=entry, info=descriptor)
        base = self._describe(self._find_base(entry, descriptor), (*path, entry))
        if descriptor.argument is not None and base.argument is not None:
            raise BrokenPlugin(
                f"plugin {entry.origin}: preset {entry.name!r} sets an argument, but its base {base.entry.name!r} "
                "already sets one"
            )
        changes: dict[str, Any] = {"about": base.info.about.overlay(descriptor.about)}
        if descriptor.domain is not None and hasattr(base.info, "domain"):
            changes["domain"] = descriptor.domain
        return Description(
            entry=entry,
            made_by=base.made_by,
            info=replace(base.info, **changes),
            argument=descriptor.argument if descriptor.argument is not None else base.argument,
            options=merge_options(base.options or {}, descriptor.options),
            presets=(descriptor, *base.presets),
        )

    def _find_base(self, entry: Entry, preset: Preset) -> Entry:
        """Return the entry that a preset refers to. Raises MissingDependency if it is not installed."""
        spec = Spec.parse(preset.of)
        try:
            return self.find(entry.kind, spec.name, spec.dist)
        except UnknownName as error:
            kind = _format_kind(entry.kind)
            way_out = f": install {spec.dist}" if spec.dist else ""
            raise MissingDependency(
                f"{kind} {entry.name!r} of {entry.dist} {entry.version} is a preset of {kind} {preset.of!r}, "
                f"which no installed plugin offers{way_out}{self._hint_disabled(spec.name, '; ')}"
            ) from error

    def find_missing_dist(self, name: str) -> str | None:
        """Return the distribution that offers a name but is not installed; None if no such one is known."""
        catalogue = self.catalogue
        offering = catalogue.elsewhere.get(name)
        installed = {
            normalize_name(e.dist) for e in (*catalogue.entries, *catalogue.commands, *catalogue.disabled)
        }
        installed |= {normalize_name(e.dist) for e in catalogue.extensions}
        return None if offering in installed else offering

    def _refuse_absent(self, name: str, dist: str | None) -> None:
        """Raise MissingDependency if a known distribution offers the name but is not installed."""
        wanted = self.find_missing_dist(name)
        if wanted and (dist is None or normalize_name(dist) == wanted):
            raise MissingDependency(f"{name!r} comes with {wanted}, which is not installed: install {wanted}")

    def _make_unknown(self, kind: EntryKind, name: str, dist: str | None) -> UnknownName:
        self._refuse_absent(name, dist)
        entries = self.catalogue.list_kind(kind)
        others = [k for k in KINDS if k != kind and self.catalogue.find_entries(k, name, dist)]
        kinds = " and a ".join(_format_kind(k) for k in others)
        hint = f"{name!r} is a {kinds}" if others else self._hint_disabled(name)
        if dist is not None:
            return _make_unknown_among(_format_kind(kind), f"{dist}/{name}", {e.full_name for e in entries}, hint)
        return _make_unknown_among(_format_kind(kind), name, {e.name for e in entries}, hint)

    def _hint_disabled(self, name: str, before: str = "") -> str:
        disabled = any(e.name == name for e in self.catalogue.disabled)
        return f"{before}{name!r} is disabled by {DISABLE_VARIABLE}" if disabled else ""


def _make_unknown_among(what: str, name: str, known: set[str], hint: str) -> UnknownName:
    """Return the error for an unknown name, with a hint, near names, or the command that lists all names."""
    listed = "" if hint or did_you_mean(name, known) else "`t2i list-plugins` shows all names"
    return UnknownName.among(what, name, known, hint or listed)


def _settle_argument(described: Description, given: str | None) -> str | None:
    """Return the argument that the preset or the user sets. Raises BadOption."""
    info, name = described.info, described.entry.name
    kind = _format_kind(described.entry.kind)
    if described.argument is not None:
        if given is not None:
            raise BadOption(f"{kind} {name!r} takes no argument, because the preset sets {described.argument!r}")
        return described.argument
    if given is not None and not (info.argument or info.needs_argument):
        raise BadOption(f"{kind} {name!r} takes no argument (got {given!r})")
    if not given and info.needs_argument:
        what = f" ({info.argument})" if info.argument else ""
        raise BadOption(f"{kind} {name!r} needs an argument: {name}:ARGUMENT{what}")
    return expand_home(given) if given else None


def _format_kind(kind: str) -> str:
    return kind.replace("_", " ")
