"""Self-contained HTML pages: templates, style, script and content security policy."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup
from t2i_core.results.figures.look import PAGE_STYLE
from t2i_core.results.html_parts import embed_json, make_policy
from t2i_core.results.output_file import write_atomically
from t2i_web_support.templates import make_environment, read_style

SCRIPTS = ("hover.js", "copy.js", "pictures.js", "gallery.js", "side_by_side.js")
"""Scripts of a page, in the order in which they run. Each does nothing on a page without its elements."""

STYLES = ("page.css", "pictures.css")

_STATIC = files(__package__) / "static"


def _read_static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def embed(data: Any) -> Markup:
    """Return data as JSON for a script element, as markup."""
    return Markup(embed_json(data))


def write_page(target: Path, template: str, **known: Any) -> None:
    """Render a page and write it atomically, while it is rendered.

    Args:
        target: The file.
        template: Name of the template.
        known: Variables of the template.

    Raises:
        BadFolder: If the file cannot be written.
    """
    style = PAGE_STYLE + read_style() + "".join(map(_read_static, STYLES))
    script = "".join(map(_read_static, SCRIPTS))
    known |= {
        "style": Markup(style),
        "script": Markup(script),
        "policy": make_policy(style, script),
        "embed": embed,
    }
    with (
        write_atomically(target) as part,
        part.open("w", encoding="utf-8", newline="\n", errors="backslashreplace") as file,
    ):
        for text in make_environment(__package__).get_template(template).generate(known):
            file.write(text)
