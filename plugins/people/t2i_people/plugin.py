"""The plugin: the judge `people:FILE`, whose answers people gave."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field
from t2i_core.api import About, JudgeInfo, Loading, Setup, hookimpl
from t2i_core.api.options import Options
from t2i_core.io.majority import MajorityRule

if TYPE_CHECKING:
    from t2i_core.io.answers import AnswerFile

    from .judge import PeopleJudge


class PeopleOptions(Options):
    """Options of the judge `people`."""

    majority: MajorityRule = Field(
        "most",
        description="Which answer of several people is the judge's choice. most: the most frequent one; none if "
        "two are equally frequent, or if most cannot tell. half: the answer of more than half of them. "
        "Preferences between two images do not depend on it.",
    )


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the judge's descriptor."""
    return [
        JudgeInfo(
            name="people",
            summary="People's answers about the images, from a file of the voting page or a table.",
            argument="FILE: people's answers, a database of t2i people serve or CSV",
            needs_argument=True,
            options=PeopleOptions,
            capabilities={"prefer": frozenset(), "answer": frozenset({"probs"})},
            create=_create,
            by_people=True,
            loading=Loading(weights=_list_content, check=_check),
            code=("judge.py", "answer_index.py", "question_match.py"),
            about=About(notes="Images that nobody was asked about are missing. Several people vote."),
        )
    ]


def _create(setup: Setup[PeopleOptions]) -> PeopleJudge:
    from .judge import PeopleJudge

    return PeopleJudge(_read(setup.argument), setup.options.majority)


def _check(setup: Setup[PeopleOptions]) -> None:
    _read(setup.argument)


def _list_content(argument: str | None, _: Options) -> Iterable[str]:
    """Return a digest of the answers that count: a database in use is more than one file."""
    path = Path(argument or "")
    return [_digest_state(path, _find_state(path))]


def _read(argument: str | None) -> AnswerFile:
    """Return the answers of a file, read again only if it has changed: a plan asks for them again and again."""
    path = Path(argument or "")
    return _read_state(path, _find_state(path))


@lru_cache(maxsize=4)
def _read_state(path: Path, _: object) -> AnswerFile:
    from t2i_core.io.answers import read_answers

    return read_answers(path)


@lru_cache(maxsize=4)
def _digest_state(path: Path, state: object) -> str:
    from hashlib import sha256

    digest = sha256()
    for answer in _read_state(path, state).answers:
        digest.update(f"{answer!r}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _find_state(path: Path) -> object:
    """Return what changes when the file, or the log of its database, does."""
    found = []
    for each in (path, Path(f"{path}-wal")):
        try:
            stat = each.stat()
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except (OSError, ValueError):
            found.append((0, 0, 0))
    return tuple(found)
