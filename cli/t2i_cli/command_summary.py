"""One-line summaries of plugins' commands, read from their source: `t2i --help` imports no plugin."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path


def read_summary(target: str) -> str | None:
    """Return the summary of the Typer application at an entry point's target.

    Args:
        target: `module:attribute`.

    Returns:
        The application's help text, or that of its callback or its only command (the first line of the docstring);
        None if the source has none.
    """
    module, _, attribute = target.partition(":")
    source = _find_source(module)
    try:
        tree = ast.parse(source.read_bytes()) if source else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):  # running the command reports what is wrong
        return None
    summaries = dict(_list_summaries(tree, attribute))
    commands = [text for role, text in summaries.items() if role not in ("Typer", "callback")]
    found = summaries.get("Typer") or summaries.get("callback") or (commands[0] if len(commands) == 1 else None)
    return " ".join(found.strip().partition("\n")[0].split()) if found else None


def _find_source(module: str) -> Path | None:
    """Return the source file of a module without importing the packages that hold it."""
    top, *below = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    name = top
    for part in below:
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = f"{name}.{part}"
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    return Path(spec.origin) if spec and spec.origin else None


def _list_summaries(tree: ast.Module, attribute: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of an application, each with its role: "Typer", "callback", or a command's function."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id == attribute for each in targets):
                yield "Typer", _get_help(node.value)
        elif isinstance(node, ast.FunctionDef):
            for call in node.decorator_list:
                match call:
                    case ast.Call(ast.Attribute(ast.Name(owner), role)) if owner == attribute:
                        yield (
                            "callback" if role == "callback" else node.name,
                            _get_help(call) or ast.get_docstring(node) or "",
                        )


def _get_help(call: ast.Call) -> str:
    """Return the argument `help` of a call if it is a text, else an empty text."""
    texts = (each.value for each in call.keywords if each.arg == "help")
    return next(
        (each.value for each in texts if isinstance(each, ast.Constant) and isinstance(each.value, str)), ""
    )
