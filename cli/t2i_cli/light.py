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


class DefaultGroup(TyperGroup):
    """A group whose first command is meant where none is named: `t2i runs DIR` is `t2i runs list DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the first command's name where no other stands."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def _spared(param: Any, as_they_are: tuple[type, ...]) -> Any:
    """Let values of these types through to the parameter's callback without conversion."""
    convert: Callable[[Any, Any], Any] = type(param).process_value.__get__(param)

    def process_value(ctx: Any, value: Any) -> Any:
        if param.required or not isinstance(value, as_they_are):
            return convert(ctx, value)
        return value if param.callback is None else param.callback(ctx, param, value)

    param.process_value = process_value
    return param
