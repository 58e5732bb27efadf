"""`t2i new-plugin KIND NAME`: write a working plugin that its author then changes."""

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
"""Jinja2 templates: the folder `common` for all kinds, and a folder for each kind. Paths are templates too."""

CORE = f"t2i-core~={__version__}"
"""Requirement on t2i-core, for the installed version."""

LONGEST = 30
"""Maximum number of characters of a name, so that the template's lines stay short."""


@dataclass(frozen=True)
class Example:
    """Texts for the template of one kind.

    Attributes:
        offers: What the distribution offers, for its README.
        summary: One line about the component.
        module: Name of the module with the component's code.
        groups: Entry-point groups.
        needs: Requirements of the distribution.
        evaluate: Command that evaluates with the component in the mini world.
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
        "Draws each prompt as noise around its own colour.",
        "generator",
        ("t2i.generators",),
        (CORE, "numpy>=2", "pydantic>=2.12.5"),
        "t2i eval --metric tiam --model {name} --judge mini-segmenter --prompts tiam-5-1 --seeds 4",
    ),
    "judge": Example(
        "A judge",
        "Rewards images for their brightness.",
        "judge",
        ("t2i.judges", "t2i.judges.reward"),
        (CORE, "numpy>=2", "pydantic>=2.12.5"),
        "t2i eval --metric reward --model mini --judge {name} --prompts tiam-5-1 --seeds 4",
    ),
    "metric": Example(
        "A metric",
        "Which share of the objects that a prompt asks for is found in the image?",
        "metric",
        ("t2i.metrics",),
        (CORE, "numpy>=2", "pydantic>=2.12.5"),
        "t2i eval --metric {name} --model mini --prompts tiam-5-2 --limit 5 --seeds 4",
    ),
    "prompt_source": Example(
        "Prompts",
        "A car, a dog and a giraffe in colours.",
        "prompts",
        ("t2i.prompt_sources",),
        (CORE, "pydantic>=2.12.5"),
        "t2i eval --metric tiam --model mini --prompts {name} --seeds 4",
    ),
    "sink": Example(
        "A sink",
        "Writes the scores of a run as Markdown.",
        "sink",
        ("t2i.sinks",),
        (CORE, "pydantic>=2.12.5"),
        "t2i eval --metric tiam --model mini --prompts tiam-5-1 --seeds 4 --sink {name}",
    ),
}


def new_plugin(word: str, name: str, out: Path | None) -> None:
    """Write the folder of a new plugin, and print the next steps.

    Args:
        word: Kind of the component.
        name: Name of the component.
        out: Folder to write; by default `t2i-NAME` in the working directory.

    Raises:
        typer.BadParameter: The kind or the name is not valid.
        AmbiguousName: The name is taken.
        BadFolder: The folder is not empty or cannot be written.
    """
    kind = read_kind(word, "KIND")
    if kind not in EXAMPLES:
        raise typer.BadParameter(
            f"no template exists for a {kind}; its entry point refers to a typer.Typer", param_hint="KIND"
        )
    _check_name(name)
    _check_free(name, scan())
    folder = out if out is not None else Path(f"t2i-{name}")
    files = render(kind, name)
    _write(files, folder)
    example = EXAMPLES[kind]
    place = shlex.quote(str(folder))
    write_line(f"{folder}: a working {kind.replace('_', ' ')} in {len(files)} files. Try it:")
    write_line(f"  pip install -e {place}")
    write_line(f"  pytest {place}")
    write_line(f"  {example.evaluate.format(name=name)}")
    work = folder / name_package(name) / f"{example.module}.py"
    write_line(f"Then edit {work}; README.md describes the other files.")


def render(kind: EntryKind, name: str) -> dict[Path, str]:
    """Return the contents of a new plugin's files by their paths in its folder."""
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
    """Return the name of the plugin's import package."""
    return f"t2i_{name.replace('-', '_')}"


def _list_templates(kind: EntryKind) -> Iterator[tuple[str, str]]:
    """Yield the path and the content of each template."""
    for folder in (TEMPLATES / "common", TEMPLATES / kind):
        for file in sorted(folder.rglob("*.jinja")):
            place = file.relative_to(folder).as_posix().removesuffix(".jinja")
            yield place, file.read_text(encoding="utf-8")


def _check_name(name: str) -> None:
    """Raise BadParameter if a name is not valid, and suggest a valid one."""
    if _is_name(name):
        return
    near = re.sub("[^a-z0-9]+", "-", name.lower()).lstrip("-0123456789").removeprefix("t2i-")[:LONGEST].strip("-")
    raise typer.BadParameter(
        f"{name!r} is not a valid name; use lower-case letters and digits with hyphens between words, a letter "
        f"first, at most {LONGEST} characters, without the distribution's prefix t2i-"
        f"{f': {near}' if _is_name(near) else ''}",
        param_hint="NAME",
    )


def _is_name(name: str) -> bool:
    words = re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name)
    return words is not None and len(name) <= LONGEST and not name.startswith("t2i-")


def _check_free(name: str, catalogue: Catalogue) -> None:
    """Raise AmbiguousName if a component of any kind, a distribution or a module has the name."""
    dist = f"t2i-{name}"
    for entry in (*catalogue.entries, *catalogue.commands):
        if entry.name == name:
            kind = entry.kind.replace("_", " ")
            raise AmbiguousName(
                f"the name {name!r} is taken by a {kind} of {entry.dist} {entry.version}; choose another"
            )
    if (offers := catalogue.elsewhere.get(name)) is not None:
        raise AmbiguousName(f"the name {name!r} is taken by {offers}, which is not installed; choose another")
    if dist in catalogue.elsewhere.values() or _is_installed(dist):
        raise AmbiguousName(f"a distribution {dist} exists already; choose another name")
    # Python keywords and names of other modules are fine: the package's name begins with t2i_
    if find_spec(name_package(name)) is not None:
        raise AmbiguousName(f"a module {name_package(name)} exists already; choose another name")


def _is_installed(dist: str) -> bool:
    try:
        distribution(dist)
    except PackageNotFoundError:
        return False
    return True


def _write(files: dict[Path, str], folder: Path) -> None:
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadFolder(f"{folder} exists and is not an empty folder; remove it, or choose another with --out")
        for place, content in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(content, encoding="utf-8")
    except OSError as error:
        raise BadFolder(f"{folder} cannot be written ({error.strerror or error})") from error
