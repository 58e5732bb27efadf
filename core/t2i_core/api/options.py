"""Options of components: pydantic models that refuse unknown names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from ..files.home_folder import expand_path
from .errors import BadOption


class Options(BaseModel):
    """Base of every component's options: frozen, and unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse `true` for a number, which pydantic would read as 1."""
        wanted = cls.model_fields[info.field_name or ""].annotation
        types = {wanted, *get_args(wanted)}
        if isinstance(value, bool) and types & {int, float} and bool not in types:
            raise ValueError(f"must be a number (got {str(value).lower()})")
        return value

    @field_validator("*", mode="after")
    @classmethod
    def _expand_home(cls, value: Any) -> Any:
        """Expand `~` in a path, or in each path of a tuple."""
        if type(value) is tuple:
            return tuple(expand_path(each) if isinstance(each, Path) else each for each in value)
        return expand_path(value) if isinstance(value, Path) else value


class ExecutionOption:
    """Marks an option that affects how work is done, never its result.

    It stays out of fingerprints, so that a change (here, of the number of workers) invalidates no results:

        workers: Annotated[int, ExecutionOption()] = 2
    """


class OtherNames:
    """Lists other names of an option, by which users know it from elsewhere; an error suggests the option.

    steps: Annotated[int, OtherNames("num_inference_steps")] = 50
    """

    def __init__(self, *names: str) -> None:
        self.names = names


class BoundedOptions(Options):
    """Options of metrics that show an upper bound: the score of images that are right, by the same judges.

    A metric whose options derive from this class needs nothing else; `Metric` reads them.
    """

    upper: Annotated[str | None, ExecutionOption()] = Field(
        None,
        description="Generator whose score, with the same prompts and judge, is reported as the upper bound: "
        "simulator, folder:DIR, or none.",
    )
    upper_settings: Annotated[dict[str, Any], ExecutionOption()] = Field(
        {}, description="Options of that generator, for example `pattern` of `folder`."
    )

    @field_validator("upper")
    @classmethod
    def _parse_upper(cls, name: str | None) -> str | None:
        return None if name in ("", "none", "null") else name

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        if self.upper_settings and self.upper is None:
            raise ValueError("upper_settings are options of a generator; name it with the option upper")
        return self


def select_result_options(options: Options) -> dict[str, Any]:
    """Return the options that results depend on, as plain JSON data."""
    silent = {
        name
        for name, field in type(options).model_fields.items()
        if any(isinstance(m, ExecutionOption) for m in field.metadata)
    }
    return options.model_dump(mode="json", exclude=silent)


def select_changed_options(options: Options) -> dict[str, Any]:
    """Return the options of `select_result_options` that differ from their defaults, sorted by name."""
    fields = type(options).model_fields
    return {
        name: value
        for name, value in sorted(select_result_options(options).items())
        if getattr(options, name) != fields[name].get_default(call_default_factory=True)
    }


def read_secret(variable: str) -> str | None:
    """Return the secret (an API key, a token) in an environment variable, without surrounding blanks.

    Returns:
        The secret; None if the variable is unset or blank.

    Raises:
        BadOption: If it has control characters or characters beyond ASCII, which HTTP headers cannot carry. The
            message does not repeat it.
    """
    secret = os.environ.get(variable, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise BadOption(
            f"the environment variable {variable} holds a line end, another control character or one beyond "
            "ASCII, so it cannot be a key; set it again"
        )
    return secret or None


def has_number(options: type[Options], name: str) -> bool:
    """Return whether options have an option, or a property, of this name."""
    return name in options.model_fields or isinstance(getattr(options, name, None), property)


def resolve_number(number: float | str | None, options: Options) -> float | None:
    """Return a number of a descriptor: itself, or the value of the option (or property of the options) it names.

    Raises:
        ValueError: If no option has this name.
    """
    if isinstance(number, str):
        if not has_number(type(options), number):
            raise ValueError(f"{number!r} is not one of its options")
        number = getattr(options, number)
    return None if number is None else float(number)
