"""The prompt sources: the distinct texts of one skill or of all four, or those of a scene file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_file import make_id

from .options import SourceOptions
from .scene_file import read_scenes
from .skills import NAMES, SHAPES, Skill, items


def prompts_of(skills: Sequence[Skill], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    """Yield the prompts of these skills. Raises BadPrompts where a scene file has none of them.

    Of several skills only the skill is a facet, so that a sample of the prompts is spread evenly over them.
    """
    for prompt in _prompts(skills, setup):
        yield prompt if len(skills) == 1 else replace(prompt, facets={"skill": prompt.facets["skill"]})


def _prompts(skills: Sequence[Skill], setup: Setup[SourceOptions]) -> Iterator[Prompt]:
    wanted = [NAMES[name] for name in setup.options.objects]
    if setup.options.scenes is not None:
        yield from _of_file(setup.options.scenes, skills, wanted)
        return
    shapes = [shape for shape in SHAPES if shape in wanted]
    for skill in skills:
        yield from (item.prompt() for item in items(skill, shapes))


def _of_file(path: Path, skills: Sequence[Skill], shapes: Iterable[str]) -> Iterator[Prompt]:
    """Each text of a scene file once, in its order."""
    seen: dict[str, Prompt] = {}
    known = set(shapes)
    for number, scene in enumerate(read_scenes(path).scenes):
        item = scene.item
        if item.skill not in skills:
            raise BadPrompts(
                f"{path}: scene {number} ({scene.id!r}): skill: {item.skill!r} is not {' or '.join(skills)}; take "
                f"--prompts paintskills-{item.skill}"
            )
        if not known.issuperset(item.shapes):
            continue
        prompt = item.prompt()
        if scene.text != item.text:
            prompt = replace(prompt, text=scene.text, id=f"{item.skill}-{make_id(scene.text)}")
        first = seen.setdefault(scene.text, prompt)
        if first.scene != prompt.scene:
            raise BadPrompts(
                f"{path}: scene {number} ({scene.id!r}): text: an earlier scene has the same text and shows "
                "something else"
            )
        if first is prompt:
            yield prompt
    if not seen:
        raise BadPrompts(f"{path}: holds no scene of {', '.join(SHAPES[shape].name for shape in shapes)}")
