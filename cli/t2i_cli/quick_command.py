"""Commands that start quickly: their flags and words need no conversion.

Typer converts every value through pydantic, even of an option that is not given. Importing pydantic takes longer
than a listing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

from typer.core import TyperCommand, TyperGroup


class QuickCommand(TyperCommand):
    """A command whose options are flags and words."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, which leave flags and words as they are."""
        return [_skip_conversion(param) for param in super().get_params(ctx)]


class QuickGroup(TyperGroup):
    """A group whose own options are flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, which leave flags as they are."""
        return [_skip_conversion(param) for param in super().get_params(ctx)]


def _skip_conversion(param: Any) -> Any:
    """Pass flags, words and values that are not given to the parameter's callback without conversion."""
    convert: Callable[[Any, Any], Any] = type(param).process_value.__get__(param)

    def process_value(ctx: Any, value: Any) -> Any:
        if param.required or not isinstance(value, NoneType | bool | str):
            return convert(ctx, value)
        return value if param.callback is None else param.callback(ctx, param, value)

    param.process_value = process_value
    return param
