"""Texts in Markdown, LaTeX and Typst show as they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from t2i_core.results.markup import escape_latex, escape_markdown, join_latex_cells, quote_typst

SIGNS = st.text(st.sampled_from("ab1 _%&#$~^\\|*`[]<>{}!?-,.\"'+=@/()"), min_size=1, max_size=12)


@given(SIGNS)
def test_a_cell_of_markdown_shows_its_text(text: str) -> None:
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    page = reader.parse(f"| head |\n|---|\n| x{escape_markdown(text)}x |\n")
    (_, cell) = (token for token in page if token.type == "inline")
    assert cell.children is not None
    assert {child.type for child in cell.children} <= {"text"}
    assert "".join(child.content for child in cell.children) == f"x{text}x"


@given(SIGNS)
def test_latex_has_no_sign_left_that_acts(text: str) -> None:
    escaped = escape_latex(text)
    plain = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]|\{\}", "", escaped)
    assert not set(plain) & set('&%$#_{}~^\\<>|"`')
    assert "--" not in escaped


@pytest.mark.parametrize("sign", "[*")
def test_a_row_of_latex_does_not_start_with_an_argument(sign: str) -> None:
    assert join_latex_cells([f"{sign}x", f"{sign}y"]) == f"{{{sign}x}} & {sign}y \\\\"


@given(SIGNS)
def test_a_string_of_typst_ends_where_its_text_does(text: str) -> None:
    quoted = quote_typst(text)
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', quoted)
    assert re.sub(r"\\(.)", r"\1", quoted[1:-1]) == text
