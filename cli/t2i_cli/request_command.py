"""Commands whose options are the fields of core's request; the options are built when the command runs."""

from __future__ import annotations

from functools import cached_property
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from .arguments import complete_names

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


PANELS = {
    "Metrics and judges": ("metrics", "skip_unavailable", "judges", "correct", "interval", "max_failed"),
    "Models, prompts and seeds": (
        *("models", "prompts", "default_prompts", "scenes", "seeds", "limit"),
        *("common_prompts", "noise", "options"),
    ),
    "Stopping early": ("until", "margin", "max_images"),
    "Machine": (
        *("device", "batch_size", "executor", "address", "workers", "gpus_per_worker"),
        *("offline", "shard", "fresh"),
    ),
}
"""Fields of the request by the panel of the help that shows their options; `OTHER_PANEL` shows the others."""

OTHER_PANEL = "Recipe and output"


class RequestCommand(TyperCommand):
    """A command that takes fields of core's request as options, before its own; `ctx.obj` holds their values.

    The request needs pydantic. `t2i --help` and `t2i list-plugins` build no options, so they import neither.
    """

    @cached_property
    def options(self) -> list[Any]:
        """The options that are fields of the request."""
        return make_options(str(self.name))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, those of one panel of the help next to each other."""
        own: list[Any] = super().get_params(ctx)
        for parameter in own:
            if parameter.param_type_name == "option":
                parameter.rich_help_panel = OTHER_PANEL
        return sorted([*self.options, *own], key=_rank_panel)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; pass only its own parameters to its function."""
        ctx.obj = {option.name: ctx.params.pop(option.name) for option in self.options}
        return super().invoke(ctx)


def make_options(command: str) -> list[Any]:
    """Return Typer options for the request's fields that a command (a name or `PLUGIN_COMMAND`) takes."""
    from t2i_core.engine.request import Request
    from t2i_core.engine.request_field import find_option, list_fields

    parameters = []
    for name, field in list_fields(Request).items():
        option = find_option(field)
        if option is None or command not in option.commands:
            continue
        kind: Any = list[str] if option.repeated else _find_type(field)
        flag = option.write_flag(name)
        default = typer.Option(
            None,
            f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
            *([option.short] if option.short else []),
            metavar=option.metavar or "|".join(map(str, get_args(kind))) or None,
            help=describe_field(field),
            autocompletion=complete_names(option.completes) if option.completes else None,
            rich_help_panel=next((panel for panel, names in PANELS.items() if name in names), OTHER_PANEL),
        )
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind | None))

    def take(**values: Any) -> None: ...

    take.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(take)
    return list(typer.main.get_command(app).params)


def describe_field(field: FieldInfo) -> str:
    """Return a field's help text, with its default and a note if the option may be repeated."""
    from t2i_core.engine.request_field import find_option

    option = find_option(field)
    texts = [field.description or ""]
    if option and option.repeated:
        texts.append("May be repeated.")
    if isinstance(field.default, str | int | float) and not isinstance(field.default, bool):
        texts.append(f"Default: {field.default}.")
    return " ".join(texts)


def _rank_panel(parameter: Any) -> int:
    """Return the rank of a parameter's panel in the help; arguments come first."""
    panels = (None, *PANELS, OTHER_PANEL)
    return panels.index(parameter.rich_help_panel)


def _find_type(field: FieldInfo) -> Any:
    """Return the type that a command line converts a field's text to; `str` if the field parses text itself."""
    from t2i_core.engine.request_field import ReadBy

    types = [part for part in get_args(field.annotation) if part is not NoneType] or [field.annotation]
    if get_origin(field.annotation) is Literal:
        return field.annotation
    plain = len(types) == 1 and (types[0] in (bool, int, float, Path) or get_origin(types[0]) is Literal)
    return types[0] if plain and not any(isinstance(item, ReadBy) for item in field.metadata) else str
