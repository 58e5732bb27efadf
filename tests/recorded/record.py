"""Make the recording anew, with the real models and judges: `.venv/bin/python tests/recorded/record.py`.

Takes some minutes. Then all entries are played, and answers that no entry asks for are removed. With names of
entries, their expected values alone are written anew, and their new answers to a separate file in `answers/`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from recorded.comparison import EXPECTED, differences, read_found, write_found  # noqa: E402
from recorded.entries import ENTRIES, NAMES  # noqa: E402
from recorded.recording import ADDED, ANSWERS, IMAGES, Answers  # noqa: E402


def main(names: list[str]) -> None:
    """Run the entries of these names, or all."""
    if unknown := sorted(set(names) - NAMES):
        sys.exit(f"record.py: no such entry: {', '.join(unknown)}; they are in entries.py")
    os.chdir(HERE)
    if not names:
        shutil.rmtree(IMAGES, ignore_errors=True)
        shutil.rmtree(EXPECTED, ignore_errors=True)
    IMAGES.mkdir(exist_ok=True)
    answers = Answers.read() if names else Answers()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["T2I_CACHE_DIR"] = f"{scratch}/real"
        from recorded.replay import player, recorder, run_entry  # after the cache's place is settled

        for entry in ENTRIES:
            if not names or entry.name in names:
                print(entry.name, flush=True)
                found = run_entry(entry, recorder(answers), Path(scratch, f"real {entry.name}", "run"))
                write_found(EXPECTED, entry.name, found)
        os.environ["T2I_CACHE_DIR"] = f"{scratch}/played"
        for entry in ENTRIES:
            found = run_entry(entry, player(answers), Path(scratch, f"played {entry.name}", "run"))
            exact = not names or entry.name in names  # the others may be of another processor
            if different := differences(read_found(EXPECTED, entry.name), found, 0 if exact else entry.tolerance):
                sys.exit(f"record.py: {entry.name} is not played as it was recorded: {different[0]}")
    if names:
        answers.write(ADDED / f"{names[0]}.jsonl.xz", beyond=Answers.read())
    else:
        answers.drop_unasked()
        shutil.rmtree(ADDED, ignore_errors=True)
        answers.write()
    size = sum(p.stat().st_size for p in (ANSWERS, *ADDED.glob("*"), *IMAGES.iterdir(), *EXPECTED.iterdir()))
    print(f"{len(answers.by_question)} answers, {len(list(IMAGES.iterdir()))} images, {size / 1e6:.1f} MB in all")


if __name__ == "__main__":
    main(sys.argv[1:])
