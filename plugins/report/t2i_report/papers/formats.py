"""Tables for papers in LaTeX (booktabs), Markdown and Typst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from t2i_core.results.markup import escape_latex, escape_markdown, join_latex_cells, quote_typst

from .table import PaperCell, PaperNote, PaperTable

PaperFormat = Literal["latex", "markdown", "typst"]


def format_paper_table(table: PaperTable, how: PaperFormat) -> str:
    """Return a table as a text: LaTeX that needs booktabs and no other package, Markdown, or Typst."""
    return {"latex": _write_latex, "markdown": _write_markdown, "typst": _write_typst}[how](table)


def _write_latex(table: PaperTable) -> str:
    def cell(own: PaperCell) -> str:
        value = escape_latex(own.value)
        value = f"\\textbf{{{value}}}" if own.is_best else value
        return f"{value} {{\\footnotesize {escape_latex(own.interval)}}}" if own.interval else value

    def line(cells: Sequence[str]) -> str:
        return f"    {join_latex_cells(cells)}"

    def note(own: PaperNote) -> str:
        text = f"    \\textbf{{{escape_latex(own.title)}}}: {escape_latex(own.text)}"
        if own.signature is None:
            return text
        signature = "\\textbar\\allowbreak ".join(map(escape_latex, own.signature.split("|")))
        return f"{text} Signature: \\texttt{{{signature}}}"

    notes = [
        "",
        "  \\smallskip",
        "  \\begin{minipage}{\\linewidth}",
        "    \\footnotesize\\raggedright",
        "\\par\n".join(map(note, table.notes)),
        "  \\end{minipage}",
    ]
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            "\\begin{table}",
            "  \\centering",
            f"  \\caption{{{escape_latex(table.caption)}}}",
            f"  \\begin{{tabular}}{{@{{}}l{'r' * (len(table.head) - 1)}@{{}}}}",
            "    \\toprule",
            line([escape_latex(title) for title in table.head]),
            "    \\midrule",
            *(line([escape_latex(name), *map(cell, cells)]) for name, cells in table.rows),
            "    \\bottomrule",
            "  \\end{tabular}",
            *(notes if table.notes else []),
            "\\end{table}",
            "",
        ]
    )


def _write_markdown(table: PaperTable) -> str:
    def cell(own: PaperCell) -> str:
        value = escape_markdown(own.value)
        value = f"**{value}**" if own.is_best else value
        return f"{value} {escape_markdown(own.interval)}" if own.interval else value

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def note(own: PaperNote) -> str:
        signature = "" if own.signature is None else f" Signature: {_quote_code(own.signature)}"
        return f"- **{escape_markdown(own.title)}**: {escape_markdown(own.text)}{signature}"

    return "\n".join(
        [
            line(list(map(escape_markdown, table.head))),
            f"|---|{'---:|' * (len(table.head) - 1)}",
            *(line([escape_markdown(name), *map(cell, cells)]) for name, cells in table.rows),
            "",
            escape_markdown(table.caption),
            "",
            *map(note, table.notes),
            "",
        ]
    )


def _quote_code(text: str) -> str:
    """Return a text as code of Markdown, between more backticks than it has in a row."""
    fence = "`"
    while fence in text:
        fence += "`"
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _write_typst(table: PaperTable) -> str:
    def cell(own: PaperCell) -> str:
        value = quote_typst(own.value)
        value = f"strong({value})" if own.is_best else value
        if not own.interval:
            return value
        return f"{{ {value} + h(0.3em) + text(size: 0.8em, {quote_typst(own.interval)}) }}"

    def line(cells: Sequence[str]) -> str:
        return f"    {', '.join(cells)},"

    def note(own: PaperNote) -> str:
        text = f"  #strong({quote_typst(own.title)}): #{quote_typst(own.text)}"
        return f"{text} Signature: #raw({quote_typst(own.signature)})" if own.signature is not None else text

    return "\n".join(
        [
            "#figure(",
            f"  caption: {quote_typst(table.caption)},",
            "  table(",
            f"    columns: {len(table.head)},",
            "    stroke: none,",
            f"    align: (left{', right' * (len(table.head) - 1)}),",
            "    table.hline(),",
            f"    table.header({', '.join(map(quote_typst, table.head))}),",
            "    table.hline(stroke: 0.5pt),",
            *(line([quote_typst(name), *map(cell, cells)]) for name, cells in table.rows),
            "    table.hline(),",
            "  ),",
            ")",
            *(["#text(size: 0.8em)[", "\n\n".join(map(note, table.notes)), "]"] if table.notes else []),
            "",
        ]
    )
