"""The names that a function's bytecode refers to."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def list_loaded_names(code: CodeType) -> Iterator[tuple[str, ...]]:
    """Yield each global that code loads, with the attributes that it takes of it at once.

    `np.random.normal(size=3)` gives `("np", "random", "normal")`. Functions, classes and comprehensions inside the
    code count too.
    """
    for each in _iterate_nested(code):
        found: list[str] = []
        for step in _list_instructions(each):
            if found and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                found.append(step.argval)
                continue
            if found:
                yield tuple(found)
            found = [step.argval] if step.opname in _LOADS else []
        if found:
            yield tuple(found)


def list_imported_names(code: CodeType) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield each import statement in code: level, module and members.

    `from ..tools import draw` gives `(2, "tools", ("draw",))`.
    """
    for each in _iterate_nested(code):
        steps = _list_instructions(each)
        for level, members, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":
                yield level.argval, step.argval, tuple(members.argval or ())


def _iterate_nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _iterate_nested(constant)


def _list_instructions(code: CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
