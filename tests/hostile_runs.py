"""Run folders that somebody has tampered with: their manifest and tables altered."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Rows = list[list[str]]


def manifest_of(run: Path) -> dict[str, Any]:
    """Return what a run's run.json says."""
    said: dict[str, Any] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return said


def write_manifest(run: Path, manifest: Mapping[str, Any]) -> None:
    """Write a run.json. A link is replaced, not followed."""
    (run / "run.json").unlink(missing_ok=True)
    (run / "run.json").write_bytes(json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def write_table(run: Path, name: str, text: str) -> None:
    """Write a table, and its digest into run.json."""
    data = text.encode("utf-8", "surrogatepass")
    (run / name).write_bytes(data)
    manifest = manifest_of(run)
    manifest["files"][name] = hashlib.sha256(data).hexdigest()
    write_manifest(run, manifest)


def rewrite_table(run: Path, name: str, change: Callable[[Rows], Rows]) -> None:
    """Write a table with its rows, the header among them, changed."""
    with (run / name).open(newline="", encoding="utf-8") as file:
        rows = change(list(csv.reader(file)))
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    write_table(run, name, text.getvalue())


def name_image(run: Path, name: str, digest: str) -> None:
    """Have the first sample of a run name another image."""

    def change(rows: Rows) -> Rows:
        header, first, *others = rows
        first[header.index("image")], first[header.index("digest")] = name, digest
        return [header, first, *others]

    rewrite_table(run, "samples.csv", change)


def copy_run(run: Path, target: Path) -> Path:
    """Copy a run's folder."""
    shutil.copytree(run, target)
    return target
