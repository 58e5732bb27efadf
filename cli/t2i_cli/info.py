"""`t2i info NAME`: the full description of a component or a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from t2i_core.api.errors import T2IError, UnknownName
from t2i_core.api.options import Options
from t2i_core.api.plugin_guard import guard_plugin
from t2i_core.api.plugin_info import (
    Defaults,
    GeneratorInfo,
    JudgeInfo,
    MetricInfo,
    PromptSourceInfo,
    SelfJudgingInfo,
    Setup,
)
from t2i_core.api.terminal import print_json, write_line
from t2i_core.engine.component import Component
from t2i_core.files.byte_size import format_size
from t2i_registry import Registry
from t2i_registry.options import describe_options
from t2i_registry.suite import describe_suite, has_suite

if TYPE_CHECKING:
    from t2i_core.api.metric_input import Need
    from t2i_registry.component_lookup import Description
    from t2i_registry.discovery import Entry


_NOT_MEASURED = "not measured; `t2i people validate` compares it with people's answers about your images"
_UNSET = object()
_LABELS = {"memory_gb": "memory", "original": "mirror of", "needs_not_known": "needs"}


def show_info(name: str, as_json: bool) -> None:
    """Print the description of every component and suite of a name."""
    registry = Registry()
    suites = [describe_suite(name, registry)] if has_suite(name, registry) else []
    try:
        found = registry.find_any(name)
    except UnknownName:
        if not suites:
            raise
        found = []
    described = [describe_component(_describe_entry(*each, registry), registry) for each in found]
    if as_json:
        print_json([*described, *suites])
        return
    for number, each in enumerate([*described, *suites]):
        if number:
            write_line()
        (_print_suite if each["kind"] == "suite" else _print)(each)


def _describe_entry(entry: Entry, argument: str | None, registry: Registry) -> Description:
    """Return a component's description, under its argument if that decides a metric's measures."""
    found = registry.describe(entry)
    if not isinstance(found.info, MetricInfo) or found.info.describe is None or argument is None or found.presets:
        return found
    metric = registry.settle(entry, f"{entry.full_name}:{argument}", {})
    return replace(found, info=metric.info, argument=metric.argument)


def describe_component(described: Description, registry: Registry) -> dict[str, Any]:
    """Return the description of a component as plain data."""
    entry, info = described.entry, described.info
    data: dict[str, Any] = {
        "name": entry.name,
        "kind": entry.kind,
        "summary": described.summary,
        "dist": entry.dist,
        "version": entry.version,
        "module": entry.module,
    }
    if described.presets:
        base = described.presets[-1].of
        data["preset"] = {"of": base, "argument": described.argument, "options": dict(described.options or {})}
    elif info.argument or info.needs_argument:
        data["argument"] = {"meaning": info.argument or "", "required": info.needs_argument}
    data |= _describe_own(described)
    data |= {name: value for name, value in vars(info.about).items() if name != "original" or value}
    data["options"] = list(_list_options(described, registry.name_option(entry)))
    return data


def _list_options(described: Description, prefix: str) -> Iterator[dict[str, Any]]:
    """Yield each option with its key, type, default, and the preset's value if there is one."""
    for option in describe_options(described.info.options):
        value: Any = described.options or {}
        for part in option.name.split("."):
            value = value.get(part, _UNSET) if isinstance(value, Mapping) else _UNSET
        set_here = {} if value is _UNSET else {"preset": repr(value)}
        yield {"key": f"{prefix}.{option.name}", **vars(option), **set_here}


def _describe_own(described: Description) -> dict[str, Any]:
    """Return the fields that only components of this kind have."""
    info = described.info
    if isinstance(info, GeneratorInfo):
        return {
            "domain": info.domain.name,
            "capabilities": sorted(info.capabilities) if isinstance(info, SelfJudgingInfo) else [],
            "reads_scene": info.reads_scene,
        }
    if isinstance(info, JudgeInfo):
        return {
            "domain": info.domain.name,
            "capabilities": {name: sorted(gives) for name, gives in info.capabilities.items()},
            "reads_truth": info.reads_truth,
            "by_people": info.by_people,
        }
    if isinstance(info, MetricInfo):
        return {
            "metric_version": info.version,
            "measures": {m.name: m.summary for m in info.measures},
            **_describe_needs(described.made_by, info, None if described.presets else described.argument),
            "defaults": _describe_defaults(info.defaults),
        }
    return {"reads_labels": info.reads_labels} if isinstance(info, PromptSourceInfo) else {}


def _describe_needs(entry: Entry, info: MetricInfo, argument: str | None) -> dict[str, Any]:
    """Return what a metric needs under its default options, with the alternatives, or why that is not known.

    The needs are empty if an option has no default.
    """
    metric = Component(
        "metric", entry.name, info, Options(), dist=entry.dist, version=entry.version, module=entry.module
    )
    try:
        with guard_plugin(metric, "to say what it needs"):
            try:
                options = info.options()
            except ValidationError:  # one has no default
                return {"needs": {}}
            needs = info.create(Setup(argument, options)).needs
            ways = {need.name: [_format_way(way) for way in need.ways] for need in needs}
    except T2IError as error:
        return {"needs": {}, "needs_not_known": str(error)}
    return {"needs": ways}


def _format_way(way: Need) -> str:
    return f'{way.capability}: "{way.question}"' if way.question else way.capability


def _describe_defaults(defaults: Defaults) -> dict[str, Any]:
    found = {
        "prompts": defaults.prompts,
        "seeds": defaults.seeds,
        "judges": dict(defaults.judges),
        "options": dict(defaults.options),
    }
    return {name: value for name, value in found.items() if value}


def _print(data: dict[str, Any]) -> None:
    write_line(f"{data['name']}", bold=True, nl=False)
    write_line(f"  {data['kind'].replace('_', ' ')} of {data['dist']} {data['version']} ({data['module']})")
    write_line(data["summary"])
    for fact in _format_facts(data):
        for line in fact.split("\n"):  # a citation may have several lines
            write_line(line)
    write_line()
    if not data["options"]:
        write_line("No options.")
        return
    write_line("Options (-o KEY=VALUE)", bold=True)
    for line in _format_options(data["options"]):
        write_line(line)


def _print_suite(data: Mapping[str, Any]) -> None:
    write_line(f"{data['name']}", bold=True, nl=False)
    write_line(f"  suite of {data['dist']} {data['version']} ({data['file']})")
    for key, value in data["values"].items():
        label = f"  {key.replace('_', ' ') + ':':<18}"
        write_line(f"{label}{', '.join(map(str, value)) if isinstance(value, list) else _format_value(value)}")
    write_line()
    write_line(f"t2i eval --suite {data['name']} --model MODEL --dry-run shows what a model would be measured by.")


def _format_options(options: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines that describe each option; list only the keys of an optional table that is not set."""
    there = {option["name"] for option in options if "preset" in option}
    for option in options:
        if option["table"] and option["table"] not in there:
            continue
        default = "required" if option["default"] is None else f"default {option['default']}"
        if "preset" in option:
            default = f"this preset: {option['preset']}, {default}"
        constraint = f", {option['constraint']}" if option["constraint"] else ""
        yield f"  {option['key']}: {option['type']} ({default}{constraint})"
        if option["description"]:
            yield f"      {option['description']}"
        keys = [below["name"].rpartition(".")[2] for below in options if below["table"] == option["name"]]
        if keys and option["name"] not in there:
            yield f"      {option['key']}.KEY: {', '.join(keys)}"
        elif option["type"].startswith("dict["):
            yield f"      {option['key']}.KEY: one entry"


def _format_facts(data: dict[str, Any]) -> Iterator[str]:
    """Yield one line for each fact about a component."""
    for name in (
        "preset",
        "original",
        "argument",
        "domain",
        "capabilities",
        "reads_scene",
        "reads_truth",
        "by_people",
        "reads_labels",
        "measures",
        "needs",
        "needs_not_known",
        "defaults",
        "meaning",
        "limits",
        "quality",
        "citation",
        "licence",
        "memory_gb",
        "notes",
    ):
        value = data.get(name)
        if name == "quality" and data["kind"] == "judge":
            value = value or _NOT_MEASURED
        if not value:
            continue
        label = f"  {_LABELS.get(name, name.replace('_', ' ')) + ':':<14}"
        if name == "preset":
            of = f"{value['of']}:{value['argument']}" if value["argument"] else value["of"]
            settings = ", ".join(f"{k}={v}" for k, v in value["options"].items())
            yield f"{label}of {of}{f' with {settings}' if settings else ''}"
        elif name == "argument":
            need = "required" if value["required"] else "optional"
            yield f"{label}{data['name']}:{(value['meaning'] or 'ARGUMENT')} ({need})"
        elif name == "capabilities" and isinstance(value, dict):
            yield f"{label}{', '.join(_format_capability(*item) for item in value.items())}"
        elif name == "measures":
            for measure, summary in value.items():
                yield f"{label}{measure}: {summary}"
                label = " " * len(label)
        elif name == "needs":
            for need, ways in value.items():
                yield f"{label}{need}: {', or '.join(ways)}"
                label = " " * len(label)
        elif name == "needs_not_known":
            yield f"{label}not known: {value}"
        elif name == "memory_gb":
            yield f"{label}about {format_size(round(value * 1e9))}"
        elif isinstance(value, dict):
            yield f"{label}{', '.join(f'{k} {_format_value(v)}' for k, v in value.items())}"
        elif isinstance(value, list):
            yield f"{label}{', '.join(value)}"
        else:
            yield f"{label}{'yes' if value is True else value}"


def _format_value(value: Any) -> str:
    """Return a value as a command line writes it; a mapping becomes `segment=yolov8x-seg`."""
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def _format_capability(capability: str, gives: list[str]) -> str:
    return f"{capability} (with {', '.join(gives)})" if gives else capability
