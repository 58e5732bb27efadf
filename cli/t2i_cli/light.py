"""Commands that start quickly: Typer converts every value through pydantic, even a flag that was not given.

Importing pydantic takes longer than all that a listing does, so values that need no conversion are spared it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

from typer.core import TyperCommand, TyperGroup


class LightCommand(TyperCommand):
    """A command whose options are flags and words, taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, spared what they do not need."""
        return [_spared(param, (NoneType, bool, str)) for param in super().get_params(ctx)]


class LightGroup(TyperGroup):
    """A group whose own flags are taken as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, spared what they do not need."""
        return [_spared(param, (NoneType, bool)) for param in super().get_params(ctx)]


def _spared(param: Any, as_they_are: tuple[type, ...]) -> Any:
    """Let values of these types through to the parameter's callback without conversion."""
    convert: Callable[[Any, Any], Any] = type(param).process_value.__get__(param)

    def process_value(ctx: Any, value: Any) -> Any:
        if param.required or not isinstance(value, as_they_are):
            return convert(ctx, value)
        return value if param.callback is None else param.callback(ctx, param, value)

    param.process_value = process_value
    return param
