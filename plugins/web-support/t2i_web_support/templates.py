"""Templates of pages, and the style sheet that they share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup
from t2i_core.api.text import escape_control_characters
from t2i_core.results.number_format import format_interval, format_number, format_p_value


@cache
def make_environment(package: str) -> jinja2.Environment:
    """Return the environment of a package's templates, which show every text as it is.

    It is the same for all pages, because it compiles each template once. HTML is escaped, and control characters
    are written out. The filters are `number`, `interval`, `p_value`, and `whole`, which keeps line ends.

    Args:
        package: The package with the folder `templates`.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=lambda value: escape_control_characters(value) if type(value) is str else value,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "number": format_number,
        "interval": format_interval,
        "p_value": format_p_value,
        "whole": _escape_lines,
    }
    return environment


def _escape_lines(text: str) -> Markup:
    """Return a text with control characters escaped, except line ends."""
    return Markup("\n").join(escape_control_characters(line) for line in text.split("\n"))


def read_style() -> str:
    """Return the style sheet that all pages share: colours in light and dark, text, tables, notes and forms."""
    return (files(__package__) / "static" / "style.css").read_text(encoding="utf-8")
