"""Imports one plugin's module in isolation and asks its hook for descriptors.

Each module has a plugin manager of its own: `load_setuptools_entrypoints` would key on an entry point's name
whatever its group, stop at the first failure and let the first of two same-named plugins win silently, and
`check_pending` would make everybody answer for one misspelt hook.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BrokenPlugin, MissingDependency, did_you_mean
from t2i_core.version import __version__

from .discovery import Entry, normalize_name

if TYPE_CHECKING:
    from t2i_core.api.plugin_info import Info, Preset

CORE = "t2i-core"
HOOKS = {
    "generator": "t2i_generators",
    "judge": "t2i_judges",
    "metric": "t2i_metrics",
    "prompt_source": "t2i_prompt_sources",
}


def load(entry: Entry) -> Info | Preset:
    """Import the entry's module and return the descriptor of the entry's name.

    Raises BrokenPlugin, or MissingDependency where the module needs one that is not installed. What the plugin
    prints goes to standard error.
    """
    plugin = load_target(entry)
    offered = _call_hook(entry, plugin)
    named = [d for d in offered if d.name == entry.name]
    if not named:
        names = ", ".join(repr(d.name) for d in offered) or "nothing"
        raise _make_error(entry, f"its hook {HOOKS[entry.kind]} offers {names}, not {entry.name!r}")
    if len(named) > 1:
        raise _make_error(entry, f"its hook {HOOKS[entry.kind]} offers {entry.name!r} {len(named)} times")
    _check_descriptor(entry, named[0])
    return named[0]


def load_target(entry: Entry) -> Any:
    """Import what an entry points at.

    Raises:
        BrokenPlugin: If its distribution requires another t2i-core than the installed one, or the import fails.
        MissingDependency: If the module needs one that is not installed.
    """
    _check_core(entry)
    with _guard(entry, "does not import"):
        return EntryPoint(entry.name, entry.module, "").load()


def _check_core(entry: Entry) -> None:
    """Refuse a distribution whose requirement on t2i-core excludes the installed version."""
    for text in _list_requirements(entry.dist):
        if _read_requirement_name(text) != CORE:
            continue
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise _make_error(entry, f"its requirement {text!r} cannot be read: {error}") from error
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and not requirement.specifier.contains(__version__, prereleases=True):
            raise _make_error(
                entry,
                f"it requires {CORE} {requirement.specifier}, but {CORE} {__version__} is installed: "
                f"pip install --upgrade {entry.dist} {CORE}",
            )


def _call_hook(entry: Entry, plugin: Any) -> list[Info | Preset]:
    """Call the hook of the entry's kind; everything it returns must be a descriptor of that kind."""
    import pluggy
    from t2i_core.api import hookspecs
    from t2i_core.api.plugin_info import INFO_TYPES, Preset

    hook = HOOKS[entry.kind]
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    with _guard(entry, "cannot be registered"):
        manager.register(plugin)
    for caller in manager.get_hookcallers(plugin) or ():
        if not caller.has_spec() and not all(impl.optionalhook for impl in caller.get_hookimpls()):
            raise _make_error(entry, f"unknown hook {caller.name!r}{did_you_mean(caller.name, HOOKS.values())}")
    if not getattr(manager.hook, hook).get_hookimpls():
        raise _make_error(entry, f"it implements no hook {hook} (is it decorated with @hookimpl?)")
    with _guard(entry, f"fails in its hook {hook}"):
        answers = [list(answer) if _is_collection(answer) else answer for answer in getattr(manager.hook, hook)()]
    info_type = INFO_TYPES[entry.kind]  # type: ignore[index]  # commands have no hook
    offered: list[Info | Preset] = []
    for answer in answers or [None]:
        for item in answer if isinstance(answer, list) else [answer]:
            if not isinstance(item, info_type | Preset):
                what = "returned" if item is answer else "returned a collection with"
                raise _make_error(
                    entry, f"its hook {hook} {what} {_format_value(item)}, want {info_type.__name__} or Preset"
                )
            offered.append(item)
    return offered


def _is_collection(answer: object) -> bool:
    return isinstance(answer, Iterable) and not isinstance(answer, str | bytes)


def _check_descriptor(entry: Entry, descriptor: Info | Preset) -> None:
    """Refuse what would fail later with a message that names nobody."""
    from t2i_core.api.observation import list_capabilities
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import JudgeInfo, Preset, PromptSourceInfo, SelfJudgingInfo

    if isinstance(descriptor, Preset):
        return
    if not (isinstance(descriptor.options, type) and issubclass(descriptor.options, Options)):
        raise _make_error(
            entry, f"options of {entry.name!r} are {_format_value(descriptor.options)}, want a subclass of Options"
        )
    factory = descriptor.prompts if isinstance(descriptor, PromptSourceInfo) else descriptor.create
    if not callable(factory):
        raise _make_error(
            entry, f"the factory of {entry.name!r} is {_format_value(factory)}, want something to call"
        )
    if isinstance(descriptor, SelfJudgingInfo | JudgeInfo):
        for capability in descriptor.capabilities:
            if capability not in (known := list_capabilities()):
                near = did_you_mean(str(capability), known)
                raise _make_error(
                    entry, f"{entry.name!r} offers the unknown capability {_format_value(capability)}{near}"
                )


@contextlib.contextmanager
def _guard(entry: Entry, what: str) -> Iterator[None]:
    """Turn whatever a plugin's code raises, `sys.exit` too, into one error that names the plugin."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (KeyboardInterrupt, MissingDependency):
        raise
    except ModuleNotFoundError as error:
        if missing := _describe_missing(entry, error):
            raise MissingDependency(f"{entry.origin} needs {missing}") from error
        raise _make_error(entry, f"{what}: {describe_cause(error)}") from error
    except BaseException as error:
        raise _make_error(entry, f"{what}: {describe_cause(error)}") from error


def _describe_missing(entry: Entry, error: ModuleNotFoundError) -> str:
    """Say which module is missing and how to get it; empty where the plugin's own module is what is missing."""
    own = entry.module.partition(":")[0].partition(".")[0]
    module = error.name or ""
    if not module or module.partition(".")[0] == own:
        return ""
    return f"the module {module!r}: {_suggest_install(entry.dist, module.partition('.')[0])}"


def _suggest_install(dist: str, module: str) -> str:
    """Name the requirement that brings a module, where the distribution declares one that is not installed."""
    for requirement in _list_requirements(dist):
        name = _read_requirement_name(requirement)
        if name != normalize_name(module):
            continue
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", requirement)
        return f"pip install '{dist}[{extra[1]}]'" if extra else f"pip install {name}"
    return f"install what brings it, or install {dist} again with its dependencies"


def _list_requirements(dist: str) -> list[str]:
    """Return the requirements that a distribution declares; none where it is not installed (a given catalogue)."""
    try:
        return distribution(dist).requires or []
    except PackageNotFoundError:
        return []


def _read_requirement_name(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    return normalize_name(name[0]) if name else ""


def describe_cause(error: BaseException) -> str:
    """Return an exception in one line: type, message and the last line of code it came from."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_machinery(f.filename)]
    if frames and not isinstance(error, SyntaxError):  # a SyntaxError says itself where
        text += f" [{frames[-1].filename}:{frames[-1].lineno}]"
    return text


def _is_machinery(file: str) -> bool:
    return file == __file__ or file.startswith("<frozen") or file.startswith(_IMPORT_FOLDERS)


_IMPORT_FOLDERS = tuple(
    str(module.__file__).rpartition("__init__")[0] for module in (importlib, importlib.metadata)
)


def _make_error(entry: Entry, what: str) -> BrokenPlugin:
    return BrokenPlugin(f"plugin {entry.origin}: {what}")


def _format_value(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
