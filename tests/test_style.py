"""Wording of documents, help, messages, docstrings, comments and tests' names: phrases with plainer ones."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("*.md", ":!CHANGELOG.md", "tests/golden/messages.txt")
SOURCES = ("*.py", ":!tests", ":!*/tests/*", ":!conftest.py")

Phrases = dict[str, str]
"""Better wording by the regular expression of a phrase; a space matches any white space."""

COMPARATIVE = "longer|more|less|fewer|later|earlier|sooner|larger|smaller|greater|higher|lower|better|worse"
AFTER = "above|and|are|as|by|for|from|has|have|if|in|is|on|or|so|that|to|under|which|with"
PHRASES: Phrases = {
    rf"(?<!\bthere\s)(is|are|was|were) no (?!({COMPARATIVE})\b)[\w`'{{]+": "'is not a X', 'are not X'",
    "there (is|are|was|were) none": "'it has none', 'X is missing', 'without X'",
    "so many": "'that many', or the number's name",
    "(said|told) of": "'reported for', 'described', 'applies to'",
    "of one's own": "'your own X', 'its own X'",
    rf"[\w-]+ of (its|their|your|his|her) own(?=[^\s\w-]|\Z| ({AFTER})\b)": "'its own X', 'your own X'",
    "mend(s|ed|ing)?": "'fix', 'repair'",
    "(befall(s|en|ing)?|befell)": "'happen to'",
    "heed(s|ed|ing)?": "'follow', 'use', 'apply'",
    ", for (it|they|there|he|she|nobody|nothing)": "', because it'",
}
HEADLESS: Phrases = {
    "(What|Who|Whose|Whom|How|Whether)": "an imperative ('Return ...') or a noun phrase that names the thing"
}
"""Phrases with which summaries must not begin: docstrings' first lines, and help and summaries of components."""

HEADLESS_TESTS: Phrases = {
    "(what|who|whose|whom)": "a noun phrase that names the thing ('missing images', 'a judge', 'votes')"
}
"""Phrases with which names of tests, read as words, must not begin."""

SUMMARIES = ("help", "short_help", "summary")
"""Arguments in source whose texts are summaries."""

LEFT = (
    "plugins/diffusers/t2i_diffusers/likelihood_params.py",
    "plugins/diffusers/t2i_diffusers/noise.py",
    "plugins/diffusers/t2i_diffusers/schedules.py",
    "plugins/miniworld/t2i_miniworld/phrases.py",
    "plugins/open-clip/t2i_open_clip/sources.py",
    "plugins/people/t2i_people/question_match.py",
)
"""Files in the fingerprints of models and judges: new wording would discard users' cached images and answers."""


@pytest.mark.parametrize(
    "text", ["a.b is no file", "so\n    many", "It heeds", "a name of its own", "x, for it is"]
)
def test_phrases_are_found(text: str) -> None:
    assert list(find_phrases(text, PHRASES))


@pytest.mark.parametrize(
    "source",
    ['raise Bad("a.b is no "\n    f"file")', 'def f():\n    """\n    Whose turn it is."""', "x = 1  # it heeds"],
)
def test_sources_with_phrases_are_searched(source: str) -> None:
    assert may_have_phrases(source)


@pytest.mark.parametrize(
    "text",
    ["there is no judge", "it is no longer read", "are no more than 3", "its own name", "amended", "What is t2i?"],
)
def test_plain_english_is_not_found(text: str) -> None:
    assert not list(find_phrases(text, PHRASES))


def test_documents_and_messages_are_in_plain_english() -> None:
    found = [
        f"{name}, line {line}: {phrase!r}: better {better}"
        for name in list_files(*DOCUMENTS)
        for line, phrase, better in find_phrases((ROOT / name).read_text(encoding="utf-8"), PHRASES)
    ]
    assert not found, "\n".join(found)


def test_help_docstrings_and_comments_are_in_plain_english() -> None:
    sources = set(list_files(*SOURCES))
    found = [
        f"{name}, line {first + line - 1}: {phrase!r}: better {better}"
        for name in list_files("*.py", ":!tests/test_style.py")
        for source in [(ROOT / name).read_text(encoding="utf-8")]
        if may_have_phrases(source)
        for first, text, is_summary in (*list_texts(source, strings=name in sources), *list_comments(source))
        for line, phrase, better in (
            *find_phrases(text, PHRASES),
            *(find_phrases(text, HEADLESS, at_start=True) if is_summary else ()),
        )
    ]
    left = {name for name in LEFT if any(line.startswith(f"{name}, ") for line in found)}
    assert left == set(LEFT), "files of LEFT without such a phrase"
    found = [line for line in found if line.partition(", ")[0] not in LEFT]
    assert not found, "\n".join(found)


def test_names_of_tests_are_in_plain_english() -> None:
    found = [
        f"{name}, line {line}: {phrase!r}: better {better}"
        for name in list_files("test_*.py", "*/test_*.py")
        for line, words in list_test_names((ROOT / name).read_text(encoding="utf-8"))
        for _, phrase, better in (
            *find_phrases(words, PHRASES),
            *find_phrases(words, HEADLESS_TESTS, at_start=True),
        )
    ]
    assert not found, "\n".join(found)


def list_files(*patterns: str) -> list[str]:
    """Return the files of the repository that match git's patterns."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def find_phrases(text: str, phrases: Phrases, at_start: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and better wording of each phrase in a text, or of each that begins it."""
    if not compile_phrases(tuple(phrases), at_start).search(text):
        return
    for pattern, better in phrases.items():
        for match in compile_phrases((pattern,), at_start).finditer(text):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), better


@cache
def compile_phrases(patterns: tuple[str, ...], at_start: bool) -> re.Pattern[str]:
    """Return a regular expression of any of some phrases."""
    either = "|".join(f"(?:{pattern})" for pattern in patterns).replace(" ", r"\s+")
    if at_start:
        return re.compile(rf"\A\s*(?:{either})\b")
    return re.compile(rf"(?:(?<!\w)|(?=,))(?:{either})(?!\w)", re.I)


def may_have_phrases(source: str) -> bool:
    """Return whether a source has a phrase anywhere, be it in its code. To parse all sources takes much longer."""
    joined = re.sub(r"""["']\s*\n\s*[fr]*["']""", "", source)  # strings that continue on the next line
    begun = compile_phrases(tuple(HEADLESS), at_start=True).pattern.removeprefix(r"\A")
    return any(find_phrases(joined, PHRASES)) or re.search(rf"[\"']{begun}", source) is not None


def list_texts(source: str, strings: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and whether it is a summary of each docstring, and of all strings if wanted."""
    tree = ast.parse(source)
    inner: set[int] = set()
    docstrings: set[int] = set()
    summaries: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add(id(node.value))
        elif isinstance(node, ast.keyword) and node.arg in SUMMARIES:
            summaries.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            if strings:
                yield node.lineno, "".join(map(str, parts)), False
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inner
            and (strings or id(node) in docstrings)
        ):
            yield node.lineno, node.value, strings and (id(node) in docstrings or id(node) in summaries)


def list_comments(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line, text and that it is not a summary of each comment, if some line with a comment has a phrase.

    Few files have one, and to tell comments from strings takes longer than everything else here.
    """
    if not any(find_phrases("\n".join(line for line in source.splitlines() if "#" in line), PHRASES)):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def list_test_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and words of the name of each test."""
    for number, line in enumerate(source.splitlines(), 1):
        if found := re.match(r"\s*(?:async )?def test_(\w+)", line):
            yield number, found[1].replace("_", " ")
