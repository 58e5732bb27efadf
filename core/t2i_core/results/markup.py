"""Texts escaped for Markdown, LaTeX and Typst, where they show as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_MARKDOWN: Mapping[int, str] = str.maketrans({sign: f"\\{sign}" for sign in "\\|`*_[]<>~#$"} | {"&": "&amp;"})
"""Characters that would end a cell, start a tag, an entity, a heading or a formula, or act as markup."""

_LATEX: Mapping[int, str] = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}"}
    | {"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
)

_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)")

_TYPST: Mapping[int, str] = str.maketrans({"\\": "\\\\", '"': '\\"'})


def escape_markdown(text: str) -> str:
    """Return a text for a cell or a line of Markdown (CommonMark with the tables of GitHub)."""
    return text.translate(_MARKDOWN)


def escape_latex(text: str) -> str:
    """Return a text for LaTeX with its standard packages. Scripts other than Latin need LuaLaTeX or XeLaTeX."""
    return _LIGATURE.sub("{}", text.translate(_LATEX))


def join_latex_cells(cells: Sequence[str]) -> str:
    """Return the line of a table of LaTeX, from cells that are LaTeX already."""
    # LaTeX would read a bracket or a star after the end of a line as its argument
    first = f"{{{cells[0]}}}" if cells[0].startswith(("[", "*")) else cells[0]
    return f"{' & '.join([first, *cells[1:]])} \\\\"


def quote_typst(text: str) -> str:
    """Return a text as a string of Typst, with its quotes. Strings have no markup."""
    return f'"{text.translate(_TYPST)}"'
