"""Sources of verdicts: runs, files of battles, and files of people's votes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .battle_files import KINDS, read_battles
from .battles import Battles
from .page.export import read_votes
from .runs import battles_of_run


@dataclass(frozen=True)
class VoteSource:
    """Verdicts and answers of one file or folder.

    Attributes:
        name: Path of the file or folder.
        battles: Verdicts on two models' images, each with its judge.
        answers: Answers about one model's images: model, prompt, annotator, question, answer.
        left_out: Number of answers that do not count, by reason.
    """

    name: str
    battles: Battles
    answers: tuple[tuple[str, str, str, str, str], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def read_source(path: Path) -> VoteSource:
    """Read a file of votes, a file of battles, or a run of `elo`.

    Raises:
        BadFolder: If the folder is not a run of `elo`, or the file has no votes.
        BadOption: If a file of battles cannot be read.
    """
    if path.is_dir():
        return VoteSource(str(path), battles_of_run(path))
    if path.suffix.lower() in KINDS:
        return VoteSource(str(path), read_battles(path))
    votes = read_votes(path)
    left_out = tuple(sorted(votes.left_out.items()))
    if votes.pairs:
        return VoteSource(str(path), Battles.of(votes.battles()), left_out=left_out)
    return VoteSource(str(path), Battles.of(()), tuple(votes.answers()), left_out)
