"""GenAI-Bench's prompts with their skills (`genai-bench:FILE`).

References:
    linzhiqiu/t2v_metrics: dataset.py, genai_bench/evaluate.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import join_levels

from ..options import GenAiBenchOptions
from .records import SourceRecord, is_on_hub, read_json, read_source

IMAGES, SKILLS = "genai_image.json", "genai_skills.json"
ADVANCED = ("counting", "comparison", "differentiation", "negation", "universal")
LEVELS, EVERY = ("basic", "advanced"), "all"
_ON_HUB = ("id", "index", "prompt_id")


def read_genai(setup: Setup[GenAiBenchOptions]) -> Iterator[Prompt]:
    """Yield the prompts; their skills are the levels of the facet `skill`."""
    argument = setup.argument or ""
    if is_on_hub(argument):
        yield from _read_hub(setup)
        return
    place = Path(argument).expanduser()
    file = place / IMAGES if place.is_dir() else place
    skills_file = setup.options.skills or file.with_name(SKILLS)
    if setup.options.skills is not None and not skills_file.is_file():
        raise BadPrompts(f"{skills_file}: no such file")
    skills, has_levels = _read_skills(skills_file) if skills_file.is_file() else ({}, False)
    data = read_json(file)
    if not isinstance(data, dict) or not data:
        raise BadPrompts(f'{file}: must be an object of prompts: {{"00000": {{"prompt": ..., "models": ...}}}}')
    for id, entry in data.items():
        record = SourceRecord(f"{file}: {id}", entry if isinstance(entry, dict) else {})
        yield Prompt(id, record.text("prompt"), facets=_list_facets(skills.get(_number(id), []), has_levels))


def _read_hub(setup: Setup[GenAiBenchOptions]) -> Iterator[Prompt]:
    skills, has_levels = _read_skills(setup.options.skills) if setup.options.skills else ({}, False)
    seen: set[str] = set()
    for number, record in enumerate(read_source(setup, ("prompt",))):
        own = next((name for name in _ON_HUB if record.fields.get(name) is not None), None)
        id = record.text(own) if own else f"{number:05d}"
        if id in seen:
            continue  # one row for each image of a prompt
        seen.add(id)
        tags = _read_tags(record, record.fields.get("skills") or record.fields.get("tags") or [])
        facets = (
            _list_facets(tags, _have_levels(tags))
            if tags
            else _list_facets(skills.get(_number(id), []), has_levels)
        )
        yield Prompt(id, record.text("prompt"), facets=facets)


def _read_tags(record: SourceRecord, tagged: Any) -> list[str]:
    tags = [tagged] if isinstance(tagged, str) else tagged
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        record.fail("skills: must be a list of texts")
    return tags


def _read_skills(file: Path) -> tuple[Mapping[int | str, list[str]], bool]:
    """Return the skills of each prompt by its number, and whether the file has the levels among them."""
    data = read_json(file)
    if not isinstance(data, dict) or not all(isinstance(each, list) for each in data.values()):
        raise BadPrompts(f"{file}: must be an object of skills, each with a list of prompt numbers")
    found: dict[int | str, list[str]] = {}
    for skill, numbers in data.items():
        for number in numbers:
            found.setdefault(_number(str(number)), []).append(str(skill))
    return found, _have_levels(map(str, data))


def _have_levels(skills: Iterable[str]) -> bool:
    return any(skill.lower() in LEVELS for skill in skills)


def _number(id: str) -> int | str:
    return int(id) if id.isdecimal() else id


def _list_facets(skills: list[str], has_levels: bool) -> dict[str, str | int | float]:
    """Return the skills of a prompt and whether they are basic or advanced.

    Args:
        skills: The skills, possibly with `basic`, `advanced` and `all` among them.
        has_levels: True if the level is the one among the skills; False if it follows from the other skills.
    """
    own = [skill for skill in skills if skill.lower() not in (*LEVELS, EVERY)]
    if has_levels:
        levels = [skill.lower() for skill in skills if skill.lower() in LEVELS]
    else:
        levels = ["advanced" if skill.lower() in ADVANCED else "basic" for skill in own]
    facets = {"skill": join_levels(own), "level": join_levels(levels)}
    return {name: value for name, value in facets.items() if value}
