"""Write what every entry gives now, played from the recording, to a folder: `dump.py FOLDER [ENTRY...]`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from recorded.comparison import write_found  # noqa: E402
from recorded.entries import ENTRIES, NAMES  # noqa: E402
from recorded.recording import Answers  # noqa: E402


def main(folder: Path, names: list[str]) -> None:
    """Play the entries of these names, or all."""
    if unknown := sorted(set(names) - NAMES):
        sys.exit(f"dump.py: no such entry: {', '.join(unknown)}; they are in entries.py")
    os.chdir(HERE)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["T2I_CACHE_DIR"] = f"{scratch}/cache"
        from recorded.replay import player, run_entry  # after the cache's place is settled

        answers = Answers.read()
        for entry in ENTRIES:
            if not names or entry.name in names:
                out = Path(scratch, entry.name, "run")
                write_found(folder, entry.name, run_entry(entry, player(answers), out))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: dump.py FOLDER [ENTRY...]")
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
