"""A test with a file: does a worker see the driver's cache folder?"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path


class Probe:
    """A file that the driver writes; a worker that sees it answers with another one beside it.

    Attributes:
        file: The driver's file. Its name cannot be guessed, so another machine's folder of the same path lacks it.
            `t2i cache clean` removes files with such names, which killed runs leave.
    """

    def __init__(self, cache: Path) -> None:
        self.file = cache / f"shared-{secrets.token_hex(8)}.probe"

    def write(self) -> Path | None:
        """Write the driver's file; return it, or None if the folder cannot be written."""
        try:
            self.file.write_text(self.file.name)
        except OSError:
            return None
        return self.file

    def was_answered(self) -> bool:
        """Return whether the worker's file has arrived. Both files are removed."""
        answer = get_answer_file(self.file)
        found = False
        with suppress(OSError):
            found = answer.read_text() == self.file.name
        for each in (self.file, answer):
            with suppress(OSError):
                each.unlink(missing_ok=True)
        return found


def get_answer_file(probe: Path) -> Path:
    """Return the file that a worker writes."""
    return probe.with_suffix(".answer")


def answer_probe(probe: Path | None) -> None:
    """Answer the driver's file, if it is here."""
    if probe is not None:
        with suppress(OSError):
            get_answer_file(probe).write_text(probe.read_text())
