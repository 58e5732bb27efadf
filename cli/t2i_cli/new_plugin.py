"""`t2i new-plugin KIND NAME`: a plugin that works at once, to be changed into the one that is wanted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import typer
from jinja2 import Environment, StrictUndefined
from t2i_core.api.errors import AmbiguousName, BadFolder
from t2i_core.api.terminal import write_line
from t2i_core.version import __version__
from t2i_registry import Catalogue, scan
from t2i_registry.discovery import EntryKind

from .kinds import read_kind

TEMPLATES = Path(__file__).parent / "template"
"""Files of all kinds in `common`, of one in a folder of its name. Names and contents are Jinja2's."""

CORE = f"t2i-core~={__version__}"
"""The requirement of a plugin that is written for the t2i-core that is installed."""

LONGEST = 30
"""Characters of a name: longer ones would break the template's lines."""


@dataclass(frozen=True)
class Example:
    """What the template of one kind makes.

    offers:    how the distribution says what it is
    summary:   one line about the component
    module:    where the work is
    groups:    of entry points
    needs:     distributions that it depends on
    evaluate:  the command that evaluates with it in the mini world
    """

    offers: str
    summary: str
    module: str
    groups: tuple[str, ...]
    needs: tuple[str, ...]
    evaluate: str


EXAMPLES: dict[EntryKind, Example] = {
    "generator": Example(
        "A generator",
        "Draws each prompt as noise around a colour of its own.",
        "generator",
        ("t2i.generators",),
        (CORE, "numpy>=2", "pydantic>=2.10"),
        "t2i eval --metric tiam --model {name} --judge mini-segmenter --prompts tiam-5-1 --seeds 4",
    ),
    "judge": Example(
        "A judge",
        "Rewards images for their brightness.",
        "judge",
        ("t2i.judges", "t2i.judges.reward"),
        (CORE, "numpy>=2", "pydantic>=2.10"),
        "t2i eval --metric reward --model mini --judge {name} --prompts tiam-5-1 --seeds 4",
    ),
    "metric": Example(
        "A metric",
        "Which share of the objects that a prompt asks for is found in the image?",
        "metric",
        ("t2i.metrics",),
        (CORE, "numpy>=2", "pydantic>=2.10"),
        "t2i eval --metric {name} --model mini --prompts tiam-5-2 --limit 5 --seeds 4",
    ),
    "prompt_source": Example(
        "Prompts",
        "A car, a dog and a giraffe in colours.",
        "prompts",
        ("t2i.prompt_sources",),
        (CORE, "pydantic>=2.10"),
        "t2i eval --metric tiam --model mini --prompts {name} --seeds 4",
    ),
}


def new_plugin(word: str, name: str, out: Path | None) -> None:
    """Write a new plugin's folder, and say what to do next.

    Raises BadParameter for what is no kind or no name, AmbiguousName for a name that is taken, and BadFolder where
    the folder is not empty or cannot be written.
    """
    kind = read_kind(word, "KIND")
    if kind not in EXAMPLES:
        raise typer.BadParameter(
            f"no template makes a plugin's {kind}: its target is a typer.Typer", param_hint="KIND"
        )
    _check_name(name)
    _check_free(name, scan())
    folder = out if out is not None else Path(f"t2i-{name}")
    files = render(kind, name)
    _write(files, folder)
    example = EXAMPLES[kind]
    place = shlex.quote(str(folder))
    write_line(f"{folder}: a {kind.replace('_', ' ')} that works, in {len(files)} files. Try it:")
    write_line(f"  pip install -e {place}")
    write_line(f"  pytest {place}")
    write_line(f"  {example.evaluate.format(name=name)}")
    work = folder / name_package(name) / f"{example.module}.py"
    write_line(f"Then change {work}; its README.md says the rest.")


def render(kind: EntryKind, name: str) -> dict[Path, str]:
    """Return a new plugin's files by their paths in its folder."""
    example = EXAMPLES[kind]
    given = {
        **asdict(example),
        "kind": kind,
        "name": name,
        "dist": f"t2i-{name}",
        "package": name_package(name),
        "title": "".join(part.capitalize() for part in name.split("-")),
        "evaluate": example.evaluate.format(name=name),
    }
    jinja = Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    return {
        Path(jinja.from_string(place).render(given)): jinja.from_string(source).render(given)
        for place, source in _list_templates(kind)
    }


def name_package(name: str) -> str:
    """Return the name of the package that is imported."""
    return f"t2i_{name.replace('-', '_')}"


def _list_templates(kind: EntryKind) -> Iterator[tuple[str, str]]:
    """Yield the path and the content of each file, as templates."""
    for folder in (TEMPLATES / "common", TEMPLATES / kind):
        for file in sorted(folder.rglob("*.jinja")):
            place = file.relative_to(folder).as_posix().removesuffix(".jinja")
            yield place, file.read_text(encoding="utf-8")


def _check_name(name: str) -> None:
    """Refuse a name that is none, with the nearest that is one."""
    if _is_name(name):
        return
    near = re.sub("[^a-z0-9]+", "-", name.lower()).lstrip("-0123456789").removeprefix("t2i-")[:LONGEST].strip("-")
    raise typer.BadParameter(
        f"{name!r} is no plugin's name: want words of lower-case letters and digits with hyphens between them, a "
        f"letter first, {LONGEST} characters at most, without the t2i- of the distribution"
        f"{f': {near}' if _is_name(near) else ''}",
        param_hint="NAME",
    )


def _is_name(name: str) -> bool:
    words = re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
    return words is not None and len(name) <= LONGEST and not name.startswith("t2i-")


def _check_free(name: str, catalogue: Catalogue) -> None:
    """Refuse a name that a component or distribution has, be it of another kind: readers would be misled."""
    dist = f"t2i-{name}"
    for entry in (*catalogue.entries, *catalogue.commands):
        if entry.name == name:
            kind = entry.kind.replace("_", " ")
            raise AmbiguousName(
                f"the name {name!r} is taken, by a {kind} of {entry.dist} {entry.version}: choose another"
            )
    if (offers := catalogue.elsewhere.get(name)) is not None:
        raise AmbiguousName(f"the name {name!r} is taken, by {offers}, which is not installed: choose another")
    if dist in catalogue.elsewhere.values() or _is_installed(dist):
        raise AmbiguousName(f"there is a distribution {dist} already: choose another name")
    # keywords and names of other modules do no harm: what is imported begins with t2i_
    if find_spec(name_package(name)) is not None:
        raise AmbiguousName(f"there is a module {name_package(name)} already: choose another name")


def _is_installed(dist: str) -> bool:
    try:
        distribution(dist)
    except PackageNotFoundError:
        return False
    return True


def _write(files: dict[Path, str], folder: Path) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadFolder(f"{folder} is there already, and not empty: remove it, or name another with --out")
        for place, content in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(content, encoding="utf-8")
    except OSError as error:
        raise BadFolder(f"{folder} cannot be written ({error.strerror or error})") from error
