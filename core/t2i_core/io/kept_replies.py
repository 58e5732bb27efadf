"""Replies of a language model, kept in a file as they arrive, so that a command can be resumed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..api.digest import digest_data
from ..api.errors import BadFolder
from ..api.options import select_result_options
from ..api.resolver import ResolvedComponent


@dataclass
class KeptReplies:
    """A file of JSON lines: an answer, the message that it answers, and a key of all that it depends on.

    A line that a killed process left incomplete counts as missing.

    Attributes:
        path: The file.
        model: What the answers depend on beside the message: the model's name and options.
        kept: Answers by key.
    """

    path: Path
    model: Any
    kept: dict[str, str] = field(default_factory=dict)

    @classmethod
    def beside(cls, out: Path, model: ResolvedComponent[Any]) -> KeptReplies:
        """Return the file of answers beside an output file, with the answers that it holds.

        Raises:
            BadFolder: The output file cannot be written, or the file of answers cannot be read.
        """
        if not out.parent.is_dir():
            raise BadFolder(f"{out}: the folder {out.parent} does not exist; create it or name another --out")
        if out.is_dir():
            raise BadFolder(f"{out}: is a folder; name a file with --out")
        path = out.with_name(f"{out.name}.answers.jsonl")
        found = cls(path, [model.spec, select_result_options(model.options)])
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        except OSError as error:
            raise BadFolder(f"{path}: cannot be read ({error.strerror})") from error
        for line in lines:
            try:
                entry = json.loads(line)
                found.kept[str(entry["key"])] = str(entry["answer"])
            except (ValueError, TypeError, KeyError):
                continue
        return found

    def find(self, message: str) -> str | None:
        """Return the answer to a message; None if it has none yet."""
        return self.kept.get(self._key(message))

    def add(self, message: str, answer: str) -> None:
        """Keep an answer, on the disk when this returns.

        Raises:
            BadFolder: The file cannot be written.
        """
        key = self._key(message)
        line = json.dumps({"key": key, "message": message, "answer": answer}, ensure_ascii=False)
        try:
            with self.path.open("ab+") as file:
                if file.tell() and not self._ends_with_newline():
                    file.write(b"\n")  # an incomplete line of a killed process
                file.write(f"{line}\n".encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BadFolder(f"{self.path}: cannot be written ({error.strerror})") from error
        self.kept[key] = answer

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _key(self, message: str) -> str:
        return digest_data([self.model, message])
