"""Commands that start quickly because their values need no conversion.

Typer converts every value through pydantic, even for options that are not given. Importing pydantic takes longer
than `t2i list-plugins`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

from typer.core import TyperCommand, TyperGroup


class QuickCommand(TyperCommand):
    """A command whose options are flags and strings."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; they leave flags and strings unconverted."""
        return [_skip_conversion(param) for param in super().get_params(ctx)]


class QuickGroup(TyperGroup):
    """A group whose own options are flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; they leave flags unconverted."""
        return [_skip_conversion(param) for param in super().get_params(ctx)]


def _skip_conversion(param: Any) -> Any:
    """Make a parameter pass flags, strings and missing values to its callback without conversion."""
    convert: Callable[[Any, Any], Any] = type(param).process_value.__get__(param)

    def process_value(ctx: Any, value: Any) -> Any:
        if param.required or not isinstance(value, NoneType | bool | str):
            return convert(ctx, value)
        return value if param.callback is None else param.callback(ctx, param, value)

    param.process_value = process_value
    return param
