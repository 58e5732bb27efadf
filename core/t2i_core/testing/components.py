"""Checks that every component must pass, whatever its kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, ClassVar, get_args

import pytest
from pydantic import BaseModel

from ..api.plugin_info import INFO_TYPES, Info, Kind
from ..engine.component import Component
from .ownership import find_other_owners, list_packages
from .parts import settle
from .waivers import waive

GROUPS: dict[Kind, str] = {
    "generator": "t2i.generators",
    "judge": "t2i.judges",
    "metric": "t2i.metrics",
    "prompt_source": "t2i.prompt_sources",
    "sink": "t2i.sinks",
}
HEAVY = (
    *("torch", "tensorflow", "jax", "numpy", "pandas", "scipy", "sklearn", "matplotlib", "PIL", "cv2"),
    *("transformers", "diffusers"),
)


def list_entry_points(group: str) -> EntryPoints:
    """Return the entry points of a group in all installed distributions."""
    return _read_entry_points(group, tuple(sys.path))


@lru_cache
def _read_entry_points(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Return the entry points on the path. To read them takes a tenth of a second, and each component asks."""
    return entry_points(group=group)


class ComponentContract:
    """Checks for every component. Set `module` and `name`; subclass one of the five kinds, not this class.

    A check that cannot hold for a component is waived, by its name without `test_`, with the reason:

        waived = {"another_seed_gives_another_image": "the server takes no seed"}

    It is an error to waive an unknown check, to waive without a reason, to waive a check that holds, and to
    replace a check.
    """

    kind: ClassVar[Kind]
    module: ClassVar[str]
    """The plugin's light module, the target of its entry point."""
    name: ClassVar[str]
    """The component's name."""
    argument: ClassVar[str | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    """Options to test with, beyond the defaults."""
    waived: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        waive(cls, vars(cls).get("waived", {}))

    @pytest.fixture
    def info(self) -> Any:
        """The descriptor."""
        found: list[Info] = [i for i in _get_hook(self.kind, self.module)() if i.name == self.name]
        assert len(found) == 1, f"{self.module} offers {len(found)} components with the name {self.name!r}"
        return found[0]

    @pytest.fixture
    def component(self, info: Info) -> Component[Any]:
        """The component with the options of this suite."""
        return settle(info, self.options, self.argument)

    @pytest.fixture
    def entered(self) -> EntryPoint:
        """The entry point."""
        found = list(list_entry_points(GROUPS[self.kind]).select(name=self.name))
        assert len(found) == 1, f"{len(found)} entry points in {GROUPS[self.kind]} have the name {self.name!r}"
        return found[0]

    def test_is_entered(self, entered: EntryPoint) -> None:
        """The entry point has the component's name and points at the light module."""
        assert entered.value == self.module

    def test_keeps_to_its_own_packages(self, entered: EntryPoint) -> None:
        """All that its distribution installs, the light module too, lies outside other distributions' packages."""
        assert entered.dist is not None
        own = list_packages(entered.dist) | {self.module.partition(".")[0]}
        assert find_other_owners(own, entered.dist) == {}

    def test_descriptor(self, info: Info) -> None:
        """The descriptor has the right type, a valid name and a summary of one line."""
        assert isinstance(info, INFO_TYPES[self.kind])
        assert re.fullmatch(r"[\w-]+", info.name), "a name is letters, digits and hyphens: -o NAME.KEY=VALUE"
        assert info.summary
        assert "\n" not in info.summary

    def test_light_import(self) -> None:
        """Neither the light module nor its hook imports a heavy module."""
        done = _import_alone(self.kind, self.module)
        assert done.returncode == 0, f"{self.module} does not import by itself:\n{done.stderr}"
        heavy = done.stdout.splitlines()[-1]
        assert heavy == "[]", f"{self.module} imports {heavy}: import it inside the factory"

    def test_options_are_described_and_round_trip(self, info: Info) -> None:
        """Every option has a description, nested ones too, and plain data gives equal options."""
        undescribed = list(_find_undescribed(info.options))
        assert not undescribed, f"options without a description: {', '.join(undescribed)}"
        options = info.options(**self.options)
        assert info.options(**json.loads(json.dumps(options.model_dump(mode="json")))) == options

    def test_unknown_options_are_refused(self, info: Info) -> None:
        """A misspelt option is an error, never ignored."""
        with pytest.raises(ValueError, match="no_such_option"):
            info.options(**{**self.options, "no_such_option": 1})

    def test_fingerprint_is_stable(self, info: Info, component: Component[Any]) -> None:
        """The fingerprint depends only on the descriptor, argument and options."""
        again = settle(info, component.options.model_dump(), component.argument)
        assert again.fingerprint == component.fingerprint


def _get_hook(kind: Kind, module: str) -> Any:
    return getattr(import_module(module), _make_hook_name(kind))


def _make_hook_name(kind: Kind) -> str:
    return f"t2i_{kind}s"


def _find_undescribed(model: type[BaseModel], known: tuple[type[BaseModel], ...] = ()) -> Iterator[str]:
    """Yield the names of options without a description; nested ones as `option.name`."""
    for name, field in model.model_fields.items():
        if not field.description:
            yield name
        for inner in _find_models(field.annotation):
            if inner not in (model, *known):  # a model may contain itself
                yield from (f"{name}.{theirs}" for theirs in _find_undescribed(inner, (model, *known)))


def _find_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models in a type, also inside types such as `tuple[Model, ...] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _find_models(part)


@cache
def _import_alone(kind: Kind, module: str) -> subprocess.CompletedProcess[str]:
    """Import a light module in its own process, call its hook, and print the heavy modules that it has loaded.

    Runs once for all components of a module.
    """
    code = (
        f"import sys, {module}; list({module}.{_make_hook_name(kind)}()); "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
