"""Loading of a plugin's descriptors: import its module in isolation and call its hook.

Each module gets its own plugin manager. pluggy's `load_setuptools_entrypoints` ignores the entry point's group,
stops at the first failure and silently takes the first of two plugins with one name. Its `check_pending` would let
one misspelt hook break all plugins.
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
    "sink": "t2i_sinks",
}


def load(entry: Entry) -> Info | Preset:
    """Import an entry's module and return the descriptor of the entry's name.

    Prints of the plugin go to standard error.

    Raises:
        BrokenPlugin: The module does not import, or its hook is not valid or offers no such name.
        MissingDependency: The module needs a module that is not installed.
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
    """Import the object that an entry refers to.

    Raises:
        BrokenPlugin: The distribution requires another version of t2i-core, or the import fails.
        MissingDependency: The module needs a module that is not installed.
    """
    _check_core(entry)
    with _guard(entry, "does not import"):
        return EntryPoint(entry.name, entry.module, "").load()


def _check_core(entry: Entry) -> None:
    """Raise BrokenPlugin if the distribution's requirement on t2i-core excludes the installed version."""
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
    """Return the descriptors that the hook of the entry's kind returns. Raises BrokenPlugin for other values."""
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
                    entry,
                    f"its hook {hook} {what} {_format_value(item)}; it must return {info_type.__name__} or Preset",
                )
            offered.append(item)
    return offered


def _is_collection(answer: object) -> bool:
    return isinstance(answer, Iterable) and not isinstance(answer, str | bytes)


def _check_descriptor(entry: Entry, descriptor: Info | Preset) -> None:
    """Raise BrokenPlugin for errors that would otherwise fail later with a message that names no plugin."""
    from t2i_core.api.observation import list_capabilities
    from t2i_core.api.options import Options
    from t2i_core.api.plugin_info import JudgeInfo, Preset, PromptSourceInfo, SelfJudgingInfo

    if isinstance(descriptor, Preset):
        return
    if not (isinstance(descriptor.options, type) and issubclass(descriptor.options, Options)):
        raise _make_error(
            entry,
            f"the options of {entry.name!r} must be a subclass of Options "
            f"(got {_format_value(descriptor.options)})",
        )
    factory = descriptor.prompts if isinstance(descriptor, PromptSourceInfo) else descriptor.create
    if not callable(factory):
        raise _make_error(entry, f"the factory of {entry.name!r} must be callable (got {_format_value(factory)})")
    if isinstance(descriptor, SelfJudgingInfo | JudgeInfo):
        for capability in descriptor.capabilities:
            if capability not in (known := list_capabilities()):
                near = did_you_mean(str(capability), known)
                raise _make_error(
                    entry, f"{entry.name!r} offers the unknown capability {_format_value(capability)}{near}"
                )


@contextlib.contextmanager
def _guard(entry: Entry, what: str) -> Iterator[None]:
    """Convert every exception of a plugin's code, including SystemExit, to an error that names the plugin."""
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
    """Return which module is missing and how to install it; empty if the plugin's own module is missing."""
    own = entry.module.partition(":")[0].partition(".")[0]
    module = error.name or ""
    if not module or module.partition(".")[0] == own:
        return ""
    return f"the module {module!r}: {_suggest_install(entry.dist, module.partition('.')[0])}"


def _suggest_install(dist: str, module: str) -> str:
    """Return how to install a module: by the distribution's requirement for it, if it declares one."""
    for requirement in _list_requirements(dist):
        name = _read_requirement_name(requirement)
        if name != normalize_name(module):
            continue
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", requirement)
        return f"pip install '{dist}[{extra[1]}]'" if extra else f"pip install {name}"
    return f"install the package that provides it, or install {dist} again with its dependencies"


def _list_requirements(dist: str) -> list[str]:
    """Return the requirements of a distribution; an empty list if it is not installed (in a custom catalogue)."""
    try:
        return distribution(dist).requires or []
    except PackageNotFoundError:
        return []


def _read_requirement_name(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    return normalize_name(name[0]) if name else ""


def describe_cause(error: BaseException) -> str:
    """Return an exception as one line: type, message and the line of code that raised it."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_machinery(f.filename)]
    if frames and not isinstance(error, SyntaxError):  # the message of a SyntaxError has its place
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
