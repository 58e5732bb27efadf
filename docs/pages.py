"""Write the pages of the documentation's site, as Markdown: ``python docs/pages.py``.

``zensical build`` makes the site of them. Every document of the repository is one page, or several, as it stands
but for its links, which lead to pages, and to copies of other files. The reference is made of docstrings and
descriptors.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from page_reference import hook_pages, plugin_reference

ROOT = Path(__file__).parents[1]
OUT = ROOT / ".site"
TUTORIALS = {
    "Write a plugin in a quarter of an hour": "tutorials/index.md",
    "Tutorial: a metric": "tutorials/metric.md",
    "Tutorial: a generator": "tutorials/generator.md",
    "Tutorial: a judge": "tutorials/judge.md",
    "Tutorial: a prompt source": "tutorials/prompt-source.md",
    "Tests, waivers, publishing": "tutorials/publishing.md",
    "The smallest plugin": "tutorials/least.md",
}
"""Headings of docs/write-a-plugin.md, each of which begins a page."""

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


class BrokenLink(Exception):
    """A link of a document that leads nowhere."""


@dataclass(frozen=True)
class Page:
    """One page: where it goes in the site, its Markdown, and the document that it comes from, if any."""

    path: str
    text: str
    document: Path | None = None

    def anchors(self) -> set[str]:
        """The anchors of its headings, as forges make them."""
        return anchors(self.text)


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a Markdown text, as forges make them."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-") for _, words in HEADING.findall(prose)
    }


def links(text: str) -> list[str]:
    """The relative links of a Markdown text, those in code left out."""
    found = LINK.findall(CODE.sub("", text))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def documents() -> Iterator[Path]:
    """Every Markdown document of the repository; texts that a package shows, such as instructions, are none."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    for name in sorted(subprocess.check_output(asked, cwd=ROOT, text=True).splitlines()):
        if not any(part.startswith("t2i_") for part in Path(name).parts):
            yield ROOT / name


def pages() -> list[Page]:
    """All pages, with links that lead to pages and copies."""
    written = [page for document in documents() for page in _pages_of(document)]
    homes: dict[Path, list[Page]] = {}
    for page in written:
        if page.document is not None:
            homes.setdefault(page.document, []).append(page)
    return [linked(page, homes) for page in written] + [Page(*made) for made in hook_pages()]


def _pages_of(document: Path) -> Iterator[Page]:
    text = document.read_text(encoding="utf-8")
    name = document.relative_to(ROOT)
    if name.as_posix() == "docs/write-a-plugin.md":
        yield from _split(document, text)
    elif name.name == "README.md" and name.parts[0] == "plugins":
        yield Page(_path(name), text + plugin_reference(document.parent), document)
    else:
        yield Page(_path(name), text, document)


def _path(name: Path) -> str:
    """Return the place of a document on the site: README.md under its folder's name, docs/ at the top."""
    if name.name == "README.md":
        return "index.md" if name.parent == Path() else f"{name.parent.as_posix()}.md"
    if name == Path("CONTRIBUTING.md"):
        return "contributing.md"
    return name.as_posix().removeprefix("docs/")


def _split(document: Path, text: str) -> Iterator[Page]:
    """A page for each of the headings, which becomes its title."""
    path, part = "", ""
    for piece in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        heading = piece.partition("\n")[0].lstrip("#").strip()
        if heading in TUTORIALS:
            if part:
                yield Page(path, _raised(part), document)
            path, part = TUTORIALS[heading], ""
        part += piece
    yield Page(path, _raised(part), document)


def _raised(text: str) -> str:
    """The text with its first heading on the first level, those below as much higher."""
    first = HEADING.search(text)
    assert first is not None
    return "".join(
        piece
        if piece.startswith("`")
        else re.sub(rf"^#{{{len(first[1]) - 1}}}(?=#)", "", piece, flags=re.MULTILINE)
        for piece in CODE.split(text)
    )


def linked(page: Page, homes: dict[Path, list[Page]]) -> Page:
    """The page with links as the site has them. Raises BrokenLink."""
    assert page.document is not None
    document = page.document

    def led(match: re.Match[str]) -> str:
        link = match[1]
        return match[0] if re.match(r"[a-z]+:", link) else f"]({_target(link, page, document, homes)})"

    pieces = (piece if piece.startswith("`") else LINK.sub(led, piece) for piece in CODE.split(page.text))
    return Page(page.path, "".join(pieces), document)


def _target(link: str, page: Page, document: Path, homes: dict[Path, list[Page]]) -> str:
    place, _, anchor = link.partition("#")
    file = (document.parent / place).resolve() if place else document
    if file.is_dir():
        file = file / "README.md"
    if not file.is_file() or not file.is_relative_to(ROOT):
        raise BrokenLink(f"{document.relative_to(ROOT)}: {link}: there is no such file")
    if file not in homes:
        copy = f"files/{file.relative_to(ROOT).as_posix()}"
        (OUT / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, OUT / copy)
        return relpath(copy, Path(page.path).parent)
    with_anchor = [each for each in homes[file] if not anchor or anchor in each.anchors()]
    if not with_anchor:
        raise BrokenLink(f"{document.relative_to(ROOT)}: {link}: there is no such heading")
    return relpath(with_anchor[0].path, Path(page.path).parent) + (f"#{anchor}" if anchor else "")


def write() -> None:
    """Write all pages anew."""
    shutil.rmtree(OUT, ignore_errors=True)
    for page in pages():
        file = OUT / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.text, encoding="utf-8")


if __name__ == "__main__":
    write()
