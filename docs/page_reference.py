"""Reference pages: of each hook from docstrings, of each plugin from its descriptors."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from page_tables import flat, table
from t2i_cli.info import describe_component
from t2i_core import testing
from t2i_core.api import generator, hookspecs, judge, metric, plugin_info, sink
from t2i_registry import Registry

ROOT = Path(__file__).parents[1]
HOOKS: dict[str, tuple[type, type | None, type]] = {
    "generator": (plugin_info.GeneratorInfo, generator.Generator, testing.GeneratorContract),
    "judge": (plugin_info.JudgeInfo, judge.Judge, testing.JudgeContract),
    "metric": (plugin_info.MetricInfo, metric.Metric, testing.MetricContract),
    "prompt_source": (plugin_info.PromptSourceInfo, None, testing.PromptSourceContract),
    "sink": (plugin_info.SinkInfo, sink.Sink, testing.SinkContract),
}
"""Of each kind the descriptor that its hook returns, what that makes, and the conformance suite."""


def hook_pages() -> Iterator[tuple[str, str]]:
    """Path and text of the page of each hook."""
    for kind, (info, made, suite) in HOOKS.items():
        hook = f"t2i_{kind}s"
        parts = [
            f"# {hook}",
            markdown(inspect.getdoc(getattr(hookspecs, hook))),
            *_class(info, "What it returns"),
            *(_class(made, "What that makes") if made else ()),
            f"## The suite\n\n`t2i_core.testing.{suite.__name__}`",
            markdown(inspect.getdoc(suite)),
            "\n".join(table(("check", "what holds"), _checks(suite))),
        ]
        yield f"reference/{hook}.md", "\n\n".join(parts) + "\n"


def _class(cls: type, heading: str) -> Iterator[str]:
    yield f"## {heading}"
    yield f"`t2i_core.{cls.__name__}`"
    yield markdown(inspect.getdoc(cls))
    for base in cls.__mro__[1:-1]:  # what all descriptors have
        if base.__module__ == cls.__module__ and base.__doc__:
            yield markdown(inspect.getdoc(base))
    for name, function in vars(cls).items():
        if inspect.isfunction(function) and not name.startswith("_") and function.__doc__:
            yield f"### {name}"
            yield f"```python\n{name}{inspect.signature(function)}\n```"
            yield markdown(inspect.getdoc(function))


def _checks(suite: type) -> Iterator[tuple[str, str]]:
    """The suite's tests, by the names under which they are waived."""
    for name in dir(suite):
        if name.startswith("test_"):
            yield f"`{name.removeprefix('test_')}`", inspect.getdoc(getattr(suite, name)) or ""


def markdown(docstring: str | None) -> str:
    """Return a docstring in Google style as Markdown: examples as code, lists of `name: meaning` as tables."""
    blocks = re.split(r"\n{2,}", docstring or "")
    return "\n\n".join(_block(block) for block in blocks)


SECTION = re.compile(r"^(Attributes|Args|Returns|Yields|Raises|References|Example):$")
FIELD = re.compile(r"^(\w+):\s+(.*)$")


def _block(block: str) -> str:
    lines = block.splitlines()
    if len(lines) > 1 and (section := SECTION.match(lines[0])):
        return f"**{section[1]}**\n\n{_block(inspect.cleandoc(block.partition(chr(10))[2]))}"
    if lines[0].startswith(">>> "):
        return f"```pycon\n{block}\n```"
    if lines[0].startswith("    "):
        return f"```text\n{inspect.cleandoc(block)}\n```"
    if FIELD.match(lines[0]) and all(FIELD.match(line) or line.startswith("  ") for line in lines):
        rows: list[list[str]] = []
        for line in lines:
            if named := FIELD.match(line):
                rows.append([f"`{named[1]}`", named[2]])
            else:
                rows[-1][1] += f" {line.strip()}"
        return "\n".join(table(("name", "meaning"), rows))
    return block


def plugin_reference(folder: Path) -> str:
    """Return the descriptors of a plugin as the end of its page."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    registry = Registry()
    parts: list[str] = []
    for kind in plugin_info.KINDS:
        for name in project.get("entry-points", {}).get(f"t2i.{kind}s", {}):
            described = registry.describe(registry.find(kind, name, project["name"]))
            parts += _component(describe_component(described, registry))
    return "\n\n".join(["\n## Reference", "What `t2i info NAME` says of each.", *parts, ""]) if parts else ""


def _component(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {data['kind'].replace('_', ' ')} {data['name']}"
    yield data["summary"]
    yield "\n".join(table(("", "what it says"), _facts(data)))
    if "preset" not in data and data["options"]:
        yield "\n".join(table(("option", "type", "default", "meaning"), map(_option, data["options"])))


def _facts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if preset := data.get("preset"):
        argument = f":{preset['argument'].removeprefix(f'{ROOT}/')}" if preset["argument"] else ""
        yield "preset of", f"`{preset['of']}{argument}`, whose options it has"
        if preset["options"]:
            yield "sets", ", ".join(f"{key} {value}" for key, value in flat(preset["options"]))
    if argument := data.get("argument"):
        yield "argument", f"{argument['meaning']} ({'required' if argument['required'] else 'optional'})"
    for measure, summary in data.get("measures", {}).items():
        yield f"measures `{measure}`", summary
    for need, ways in data.get("needs", {}).items():
        yield f"needs `{need}`", ", or ".join(ways)
    if defaults := data.get("defaults"):
        yield "defaults", ", ".join(f"{key} {value}" for key, value in flat(defaults))
    if capabilities := data.get("capabilities"):
        yield "capabilities", ", ".join(capabilities)
    if data.get("memory_gb") is not None:
        yield "memory", f"about {data['memory_gb']:g} GB"
    for key in ("domain", "meaning", "limits", "quality", "licence", "citation", "notes"):
        if data.get(key):
            yield key, data[key]


def _option(option: Mapping[str, Any]) -> list[str]:
    kind = f"`{option['type']}`" + (f", {option['constraint']}" if option["constraint"] else "")
    default = "required" if option["default"] is None else f"`{option['default']}`"
    return [f"`{option['key']}`", kind, default, option["description"]]
