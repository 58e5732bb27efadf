"""Sources of verdicts: runs, files of battles, and people's answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from t2i_core.io.answers import PREFERENCE, HumanAnswer, read_answers

from .battle_files import is_battle_file, list_human_battles, read_battles
from .battles import Battles
from .runs import battles_of_run


@dataclass(frozen=True)
class VoteSource:
    """Verdicts and answers of one file or folder.

    Attributes:
        name: Path of the file or folder.
        battles: Verdicts on two models' images, each with its judge.
        answers: People's answers to other questions.
        left_out: Number of answers that do not count, by reason.
    """

    name: str
    battles: Battles
    answers: tuple[HumanAnswer, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def read_source(path: Path) -> VoteSource:
    """Read people's answers, a file of battles, or a run of `elo`.

    Raises:
        BadFolder: If the folder is not a run of `elo`.
        BadOption: If the file cannot be read, or has nothing that counts.
    """
    if path.is_dir():
        return VoteSource(str(path), battles_of_run(path))
    if is_battle_file(path):
        return VoteSource(str(path), read_battles(path))
    found = read_answers(path)
    others = tuple(answer for answer in found.answers if answer.question != PREFERENCE)
    battles = Battles.of(list_human_battles(found.answers))
    return VoteSource(str(path), battles, others, tuple(sorted(found.left_out.items())))
