"""Table of the repositories from which presets fetch, and what is known of each (`repositories.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from page_tables import flat, table
from t2i_open_clip.checkpoint_files import REPOSITORIES as OPEN_CLIP
from t2i_registry.component_lookup import Description

FILE = Path(__file__).with_suffix(".yaml")
_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_KNOWN = {
    "there": "downloads without terms",
    "gated": "gated: accept the terms on its page",
    "withdrawn": "withdrawn",
    "uncertain": "uncertain: reports disagree whether it is gated",
    "unreported": "not known to be withdrawn or gated",
}
_HEAD = """## Repositories

The repositories of the Hugging Face hub from which presets fetch, and what public reports say of each, as known
on {checked}. t2i does not check this in advance: a refused download says why, and what to do. Without a source, no
report was found or looked for.

A mirror replaces a withdrawn repository. The plan says so, and `run.json` records the original's name, the mirror,
its commit and the SHA-256 of each file. For `sd2` and `sd2-ae`, the weights of the UNet must have the SHA-256 that
the original published; the mirrors' other files were not compared with the originals'.
"""


def section(presets: list[Description]) -> Iterator[str]:
    """Yield the lines of the section.

    Raises:
        ValueError: The file lacks a preset's repository, has one of no preset, or contradicts a preset.
    """
    known = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    used: dict[str, list[str]] = {}
    mirrors: dict[str, str] = {}
    for preset in presets:
        for repository in dict.fromkeys(_repositories(preset)):
            used.setdefault(repository, []).append(preset.entry.name)
        if preset.info.about.original:
            mirrors[preset.info.about.original] = preset.argument or ""
            used.setdefault(preset.info.about.original, []).append(preset.entry.name)
    said: Mapping[str, Mapping[str, Any]] = known["repositories"]
    if faults := [*_faults(said, used, mirrors), *_gated(said, presets)]:
        raise ValueError(f"{FILE.name}: {'; '.join(faults)}")
    yield _HEAD.format(checked=known["checked"])
    yield from table(
        ("repository", "presets", "what is known", "source", "date"),
        (
            (
                f"`{name}`",
                ", ".join(f"`{preset}`" for preset in used[name]),
                _KNOWN[fact["known"]] + (f"; the mirror is `{mirrors[name]}`" if name in mirrors else ""),
                _linked(fact.get("source", "")),
                str(fact.get("date", "")),
            )
            for name, fact in said.items()
        ),
    )
    yield ""


def _repositories(preset: Description) -> Iterator[str]:
    """Yield the repositories that a preset names: its own, those of further stages, that of a processor."""
    if preset.argument in OPEN_CLIP:
        yield OPEN_CLIP[preset.argument]
    elif preset.argument and _NAME.fullmatch(preset.argument):
        yield preset.argument
    for key, value in flat(preset.options or {}):
        if key.rpartition(".")[2] in ("model", "processor"):
            yield value


def _faults(said: Mapping[str, Any], used: Mapping[str, Any], mirrors: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the file and the presets name different repositories."""
    yield from (f"{name} is missing" for name in used.keys() - said.keys())
    yield from (f"no preset uses {name}" for name in said.keys() - used.keys())
    withdrawn = {name for name, fact in said.items() if fact["known"] == "withdrawn"}
    for name in withdrawn ^ mirrors.keys():
        yield f"{name} is withdrawn, or a preset mirrors it, but not both"


def _gated(said: Mapping[str, Mapping[str, Any]], presets: list[Description]) -> Iterator[str]:
    """Yield presets whose notes and repositories disagree whether there are terms to accept."""
    for preset in presets:
        gated = any(said[name]["known"] == "gated" for name in _repositories(preset) if name in said)
        if gated != preset.info.about.notes.startswith("Gated"):
            yield f"{preset.entry.name} and its repositories disagree whether they are gated"


def _linked(source: str) -> str:
    return f"[{source.removeprefix('https://github.com/')}]({source})" if source.startswith("https://") else source
