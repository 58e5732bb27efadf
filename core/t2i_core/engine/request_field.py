"""Classes whose values pydantic checks, and what messages and command lines need to know of their fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, dataclass_transform, get_args

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from ..api.errors import BadOption, did_you_mean, join_clauses
from ..api.fault_words import describe_fault
from ..api.plugin_info import Kind

Place = tuple[str | int, ...]
"""Place in the data: key, position in a list, key beneath it."""

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class CommandOption:
    """Form of a request's field on a command line.

    Attributes:
        metavar: Placeholder of the value in help texts; empty for flags and choices.
        name: Name of the option (`metric` for the field `metrics`); empty if it is the field's own.
        short: One-letter form (`-o`), or empty.
        repeated: Whether the option is given once per value.
        commands: Commands that take the option.
        completes: Kind of component whose names complete the value.
    """

    metavar: str = ""
    name: str = ""
    short: str = ""
    repeated: bool = False
    commands: tuple[str, ...] = ("eval", "generate")
    completes: Kind | None = None

    def write_flag(self, field: str) -> str:
        """Return the option for a field of this name, `--max-failed` for `max_failed`."""
        return f"--{(self.name or field).replace('_', '-')}"


@dataclasses.dataclass(frozen=True)
class ReadBy:
    """Have a function read a field's value in place of pydantic.

    Attributes:
        read: Returns the value, or raises ValueError.
        takes: Type of what may be written, for the JSON schema.
    """

    read: Callable[[Any], Any]
    takes: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        takes = handler.generate_schema(self.takes)
        return core_schema.no_info_plain_validator_function(self.read, json_schema_input_schema=takes)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, Field))
def validated(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose values pydantic checks; its constructor raises BadOption."""
    made: Any = dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
    check = made.__init__

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            check(self, *args, **kwargs)
        except ValidationError as error:
            raise BadOption(explain_problems(error, made)) from error

    made.__init__ = construct
    return made  # type: ignore[no-any-return]


def explain_problems(error: ValidationError, cls: type[Any]) -> str:
    """Return in one line what is wrong with the data of a class of pydantic."""
    problems = (_name_place(cls, *problem) for problem in describe_problems(error, cls))
    return join_clauses(dict.fromkeys(problems))


def list_fields(cls: type[Any]) -> dict[str, FieldInfo]:
    """Return the fields of a validated class by name."""
    fields: dict[str, FieldInfo] = cls.__pydantic_fields__
    return fields


def find_option(field: FieldInfo) -> CommandOption | None:
    """Return how a command line writes a field; None if no command takes it."""
    return next((item for item in field.metadata if isinstance(item, CommandOption)), None)


def describe_problems(error: ValidationError, cls: type[Any], noun: str = "option") -> Iterator[tuple[Place, str]]:
    """Yield the place of each problem in the data of a request, and what is wrong there.

    Args:
        error: What pydantic found.
        cls: Class of the data.
        noun: What messages call a name that is unknown.
    """
    for problem in error.errors(include_url=False):
        place = problem["loc"]
        if place and isinstance(place[0], int):  # an argument by position
            place = (list_keys(cls)[place[0]], *place[1:])
        if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            known = list_keys(_find_class(cls, place))
            hint = did_you_mean(str(place[-1]), known) or f"; known are {', '.join(known)}"
            yield place, f"unknown {noun} {str(place[-1])!r}{hint}"
        elif problem["type"] == "missing":
            yield place, "is required"
        elif problem["type"] == "value_error":
            yield place, problem["msg"].removeprefix("Value error, ")
        else:
            yield place, f"{_describe_limit(problem, cls)} (got {_format_input(problem['input'])})"


def _find_class(cls: type[Any], place: Place) -> type[Any]:
    """Return the validated class that the data at a place belongs to: the class itself or that of a field."""
    parts: list[Any] = [list_fields(cls)[str(place[0])].annotation] if len(place) > 1 else []
    for part in parts:
        if hasattr(part, "__pydantic_fields__"):
            found: type[Any] = part
            return found
        parts += get_args(part)
    return cls


def list_keys(cls: type[Any]) -> list[str]:
    """Return the names of a class's fields as users write them."""
    fields = list_fields(cls).items()
    return [str(getattr(field.validation_alias, "choices", [name])[0]) for name, field in fields]


def _describe_limit(problem: ErrorDetails, cls: type[Any]) -> str:
    """Return what a value must be, from the field's bounds or from pydantic's error."""
    field = list_fields(cls).get(str(problem["loc"][0])) if problem["loc"] else None
    bounds = {
        key: getattr(item, key)
        for item in getattr(field, "metadata", ())
        for key in ("ge", "le")
        if hasattr(item, key)
    }
    if problem["type"] in ("greater_than_equal", "less_than_equal") and len(bounds) == 2:
        return f"must be between {bounds['ge']} and {bounds['le']}"
    return describe_fault(problem)


def _name_place(cls: type[Any], place: Place, text: str) -> str:
    """Put the option, and the place within its value, before what is wrong there."""
    if text.startswith("unknown"):
        return text
    name, *rest = map(str, place or (cls.__name__,))
    option = find_option(list_fields(cls)[name]) if name in list_fields(cls) else None
    return " ".join([option.write_flag(name) if option else name, *filter(None, [".".join(rest)]), text])


def _format_input(value: Any) -> str:
    """Return a value as a message shows it: a whole number without decimals."""
    return f"{value:g}" if isinstance(value, float) else repr(value)
