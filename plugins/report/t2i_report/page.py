"""One HTML file that needs nothing else: templates, style, script, and who may run in it."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from t2i_core.api.text import escape_control_characters
from t2i_core.results.number_format import format_interval, format_number, format_p_value

from .files import written_whole

_STATIC = files(__package__) / "static"


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=lambda value: escape_control_characters(value) if type(value) is str else value,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "number": format_number,
        "interval": format_interval,
        "p_value": format_p_value,
        "cell": _cell,
        "whole": _whole,
    }
    return made


def _cell(value: Any) -> str:
    """A cell of an analysis."""
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)


def _whole(text: str) -> Markup:
    """A text of several lines, each made fit to be shown."""
    return Markup("\n").join(escape_control_characters(line) for line in text.split("\n"))


def embedded(data: Any) -> Markup:
    """Plain data inside a script element: nothing in it can end the element."""
    said = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        said = said.replace(sign, code)
    return Markup(said)


def write_page(target: Path, template: str, **known: Any) -> None:
    """Write a page as it is rendered, whole or not at all. Raises BadFolder where it cannot be written."""
    style, script = ((_STATIC / name).read_text(encoding="utf-8") for name in ("page.css", "gallery.js"))
    known |= {
        "style": Markup(style),
        "script": Markup(script),
        "policy": f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        "embedded": embedded,
    }
    with (
        written_whole(target) as part,
        part.open("w", encoding="utf-8", newline="\n", errors="backslashreplace") as file,
    ):
        for text in _environment().get_template(template).generate(known):
            file.write(text)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
