"""Where verdicts come from: runs, files of battles, and people's votes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .battle_files import KINDS, read_battles
from .battles import Battles
from .page.export import read_votes
from .runs import battles_of_run


@dataclass(frozen=True)
class VoteSource:
    """What one file or folder brings.

    battles:  verdicts on two models' images, each with its judge
    answers:  what people saw in one model's images: model, prompt, annotator, question, answer
    left_out: how many answers do not count, by why
    """

    name: str
    battles: Battles
    answers: tuple[tuple[str, str, str, str, str], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


def read_source(path: Path) -> VoteSource:
    """Read votes of the page, a file of battles, or a run of `elo`. Raises BadFolder or BadOption."""
    if path.is_dir():
        return VoteSource(str(path), battles_of_run(path))
    if path.suffix.lower() in KINDS:
        return VoteSource(str(path), read_battles(path))
    votes = read_votes(path)
    left_out = tuple(sorted(votes.left_out.items()))
    if votes.pairs:
        return VoteSource(str(path), Battles.of(votes.battles()), left_out=left_out)
    return VoteSource(str(path), Battles.of(()), tuple(votes.answers()), left_out)
