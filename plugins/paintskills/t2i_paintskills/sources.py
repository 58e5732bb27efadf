"""The prompt sources: the distinct texts of one skill or all four, or the texts of a scene file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_record import make_id

from .options import SourceOptions
from .scene_file import read_scenes
from .skills import NAMES, SHAPES, Skill, items


def prompts_of(skills: Sequence[Skill], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    """Yield the prompts of these skills.

    With several skills, prompts have only the facet `skill`, so that a sample of the prompts (`--limit`) is spread
    evenly over the skills.

    Raises:
        BadPrompts: The scene file is not valid, is for another skill, or has none of the requested objects.
    """
    for prompt in _prompts(skills, setup):
        yield prompt if len(skills) == 1 else replace(prompt, facets={"skill": prompt.facets["skill"]})


def _prompts(skills: Sequence[Skill], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    wanted = [NAMES[name] for name in setup.options.objects]
    if setup.options.scenes is not None:
        yield from _read_prompts(setup.options.scenes, skills, wanted)
        return
    shapes = [shape for shape in SHAPES if shape in wanted]
    for skill in skills:
        yield from (item.prompt() for item in items(skill, shapes))


def _read_prompts(path: Path, skills: Sequence[Skill], shapes: Iterable[str]) -> Iterator[Prompt]:
    """Yield each text of a scene file once, in the order of the file."""
    seen: dict[str, Prompt] = {}
    known = set(shapes)
    for number, scene in enumerate(read_scenes(path).scenes):
        item = scene.item
        if item.skill not in skills:
            raise BadPrompts(
                f"{path}: scene {number} ({scene.id!r}): skill: must be {' or '.join(skills)} "
                f"(got {item.skill!r}); use --prompts paintskills-{item.skill}"
            )
        if not known.issuperset(item.shapes):
            continue
        prompt = item.prompt()
        if scene.text != item.text:
            prompt = replace(prompt, text=scene.text, id=f"{item.skill}-{make_id(scene.text)}")
        first = seen.setdefault(scene.text, prompt)
        if first.scene != prompt.scene:
            raise BadPrompts(
                f"{path}: scene {number} ({scene.id!r}): text: an earlier scene with the same text shows "
                "something else; change one of the texts"
            )
        if first is prompt:
            yield prompt
    if not seen:
        raise BadPrompts(f"{path}: no scene shows {', '.join(SHAPES[shape].name for shape in shapes)}")
