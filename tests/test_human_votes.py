"""People's votes go from the arena's page to selfeval's analysis as they are."""

from __future__ import annotations

from pathlib import Path

from t2i_arena_elo.battle_files import write_battles
from t2i_arena_elo.battles import VERDICTS, Battle
from t2i_selfeval.votes import VERDICTS as READ
from t2i_selfeval.votes import read_votes


def test_selfeval_reads_what_the_arena_exports(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    write_battles(
        file,
        [
            Battle("one", "new", "old", "left", judge="ann", human=True, seed=0, time=1.5),
            Battle("one", "old", "new", "left", judge="bob", human=True, seed=0),
            Battle("two", "old", "new", "both-bad", subset="colour", judge="ann", human=True),
            Battle("two", "old", "new", "left", judge="a model"),
        ],
    )
    assert read_votes(file).to_numpy().tolist() == [
        ["one", "new", "old", 1],
        ["one", "old", "new", 1],
        ["two", "old", "new", 0],
    ]
    assert tuple(READ) == VERDICTS
