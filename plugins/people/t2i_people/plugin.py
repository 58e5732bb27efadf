"""The plugin: the judge `people:FILE`, whose answers people gave."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Setup, hookimpl
from t2i_core.api.options import Options

if TYPE_CHECKING:
    from .judge import PeopleJudge


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the judge's descriptor."""
    return [
        JudgeInfo(
            name="people",
            summary="What people answered about the images, from a file of the voting page or a table.",
            argument="FILE: people's answers, a database of t2i people serve or CSV",
            needs_argument=True,
            capabilities={"prefer": frozenset(), "answer": frozenset({"probs"})},
            create=_create,
            by_people=True,
            loading=Loading(weights=_list_content, check=_check),
            code=("judge.py", "answer_index.py", "question_match.py"),
            about=About(notes="Images that nobody was asked about are missing. Several people vote."),
        )
    ]


def _create(setup: Setup[Options]) -> PeopleJudge:
    from t2i_core.io.answers import read_answers

    from .judge import PeopleJudge

    return PeopleJudge(read_answers(Path(setup.argument or "")))


def _check(setup: Setup[Options]) -> None:
    from t2i_core.io.answers import read_answers

    read_answers(Path(setup.argument or ""))


def _list_content(argument: str | None, _: Options) -> Iterable[str]:
    """Return a digest of the answers that count: a database under use is more than one file."""
    from dataclasses import asdict

    from t2i_core.api.digest import digest_data
    from t2i_core.io.answers import read_answers

    return [digest_data([asdict(answer) for answer in read_answers(Path(argument or "")).answers])]
