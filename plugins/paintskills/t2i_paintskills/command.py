"""The command `t2i paintskills-scenes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .skills import SKILLS, Skill
from .splits import SPLITS, Split

app = typer.Typer(add_completion=False)


@app.command()
def paintskills_scenes(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")],
    skill: Annotated[Skill | None, typer.Option(help="Only this skill. Default: all four.")] = None,
    split: Annotated[Split | None, typer.Option(help="Only this split. Default: both.")] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the draw.")] = 0,
) -> None:
    """Draw PaintSkills' scenes and write DIR/SKILL/scenes/SKILL_SPLIT.json in the official format."""
    from t2i_core.api.errors import BadFolder
    from t2i_core.files.atomic_write import write_whole

    from .splits import draw_split

    for one in (skill,) if skill else SKILLS:
        for part in (split,) if split else SPLITS:
            path = out / one / "scenes" / f"{one}_{part}.json"
            drawn = draw_split(one, part, seed)
            text = drawn.to_text()
            try:
                # never overwrite other scenes: the official files have the same paths and cannot be drawn again
                if path.exists() and path.read_bytes() != text.encode():
                    raise BadFolder(f"{path}: the file has other scenes; move it, or name another folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, text.encode())
            except OSError as error:
                raise BadFolder(f"{path}: cannot write the file ({error.strerror})") from error
            print(f"{path}: {len(drawn.scenes)} scenes", file=sys.stderr)
