"""Write docs/models.md, tables of all generators and judges, from descriptors: ``python docs/models.py``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import repositories
from page_tables import flat, table
from t2i_core.api.plugin_info import GeneratorInfo, Info, JudgeInfo
from t2i_registry import Registry
from t2i_registry.component_lookup import Description
from t2i_registry.discovery import Entry

ROOT = Path(__file__).parents[1]
KINDS = ("generator", "judge")
PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Models and judges

The generators and judges of this repository's plugins. `t2i info NAME` also shows all options and the paper to
cite. The tables list the settings of each preset; `-o NAME.KEY=VALUE` changes them. GB is an estimate of the GPU
memory that a model needs with these settings. `python docs/models.py` writes this page from the plugins'
descriptors."""


def page() -> str:
    """The page as it should be."""
    registry = Registry()
    presets = [d for kind in KINDS for _, found in _by_distribution(registry, kind) for d in found if d.presets]
    return "\n".join([HEAD, *_generators(registry), *_judges(registry), *repositories.section(presets)])


def _generators(registry: Registry) -> Iterator[str]:
    yield "## Generators\n"
    for dist, described in _by_distribution(registry, "generator"):
        yield f"### {dist}\n"
        yield from table(
            ("name", "what it is", "from", "settings", "GB", "licence of the weights", "notes"),
            (
                (
                    _name(d),
                    d.summary,
                    _source(d),
                    _settings(d),
                    _memory(d.info),
                    d.info.about.licence,
                    _remarks(d.info),
                )
                for d in described
                if isinstance(d.info, GeneratorInfo)
            ),
        )
        yield ""


def _judges(registry: Registry) -> Iterator[str]:
    yield "## Judges\n"
    for dist, described in _by_distribution(registry, "judge"):
        yield f"### {dist}\n"
        yield from table(
            ("name", "what it is", "from", "offers", "settings", "GB", "licence of the weights", "notes"),
            (
                (_name(d), d.summary, _source(d), _offers(d.info), _settings(d), _memory(d.info),
                 d.info.about.licence, _remarks(d.info))
                for d in described
                if isinstance(d.info, JudgeInfo)
            ),
        )  # fmt: skip
        yield ""


def _remarks(info: Info) -> str:
    return " ".join(text for text in (info.about.limits, info.about.notes) if text)


def _by_distribution(registry: Registry, kind: str) -> Iterator[tuple[str, list[Description]]]:
    """Yield the components of this repository's own plugins, in the order that their plugin lists them."""
    own = [
        tomllib.loads(file.read_text())["project"] for file in sorted((ROOT / "plugins").glob("*/pyproject.toml"))
    ]
    for project in own:
        names = list(project.get("entry-points", {}).get(f"t2i.{kind}s", {}))
        entries: list[Entry] = [registry.find(kind, name, project["name"]) for name in names]  # type: ignore[arg-type]
        if entries:
            yield project["name"], [registry.describe(entry) for entry in entries]


def _name(described: Description) -> str:
    argument = ":…" if described.argument is None and described.info.needs_argument else ""
    return f"`{described.entry.name}{argument}`"


def _source(described: Description) -> str:
    """Return the argument that a preset sets (a path within this repository), or what a user may give."""
    if described.argument is not None:
        return f"`{described.argument.removeprefix(f'{ROOT}/')}`"
    return described.info.argument or ""


def _settings(described: Description) -> str:
    return ", ".join(f"{key} {_value(value)}" for key, value in flat(described.options or {}))


def _value(value: Any) -> str:
    """Return a value as it is shown: texts with outer spaces in quotes, paths within this repository."""
    if isinstance(value, str):
        value = value.removeprefix(f"{ROOT}/")
    return f'"{value}"' if isinstance(value, str) and value.strip() != value else str(value)


def _offers(info: JudgeInfo) -> str:
    return ", ".join(
        f"{name} ({', '.join(sorted(more))})" if more else name for name, more in info.capabilities.items()
    )


def _memory(info: Any) -> str:
    return "" if info.about.memory_gb is None else f"{info.about.memory_gb:g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
