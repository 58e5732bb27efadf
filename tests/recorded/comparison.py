"""Comparison of what two evaluations gave: results, comparisons and measured tables, as plain data."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "expected"
REQUIRED = {
    "results": {
        *("metric", "model", "as", "settings", "judge", "judges", "prompts", "score", "ci", "interval"),
        *("n_prompts", "n_prompts_ok", "n_seeds", "n_ok", "n_failed", "n_missing", "n_excluded", "n_truncated"),
        *("upper_bound", "notes", "scores", "facets"),
    },
    "comparisons": {"metric", "a", "b", "diff", "ci", "p_adjusted", "p_unadjusted", "n", "interval"},
}
"""Fields that stay (docs: `eval --json`); any other is compared where both sides have it."""
WORDS = {"why", "notes", "signature"}
"""Fields of sentences, which may be worded anew, and of digests of code; of notes, the numbers are compared."""
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d*\.)?\d+")


def differences(before: Mapping[str, Any], after: Mapping[str, Any], tolerance: float) -> list[str]:
    """Return what differs, a line each; floats by more than the tolerance, relative to the larger."""
    found: list[str] = []
    for part, required in REQUIRED.items():
        was, now = before[part], after[part]
        if len(was) != len(now):
            found.append(f"{part}: {len(was)} before, {len(now)} after")
        for n, (a, b) in enumerate(zip(was, now, strict=False)):
            where = f"{part}[{n}] {_name(a)}"
            found += [f"{where}: has no {key!r} {side}" for side, one in (("before", a), ("after", b))
                      for key in sorted(required - one.keys())]  # fmt: skip
            for key in sorted(a.keys() & b.keys() - WORDS):
                found += _values(f"{where}.{key}", a[key], b[key], tolerance)
            if "notes" in a.keys() & b.keys() and _numbers(a["notes"]) != _numbers(b["notes"]):
                found.append(f"{where}.notes: {a['notes']!r} before, {b['notes']!r} after")
    return [*found, *_tables(before["table"], after["table"], tolerance)]


def _numbers(notes: Sequence[str]) -> list[str]:
    """Return the numbers in notes, as they are written, sorted."""
    return sorted(number for note in notes for number in _NUMBER.findall(note))


def _name(result: Mapping[str, Any]) -> str:
    return "/".join(str(result[key]) for key in ("metric", "as", "a", "b") if key in result)


def _values(where: str, a: Any, b: Any, tolerance: float) -> Iterator[str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted((a.keys() | b.keys()) - WORDS):
            if key not in a or key not in b:
                yield f"{where}.{key}: only {'before' if key in a else 'after'}"
            else:
                yield from _values(f"{where}.{key}", a[key], b[key], tolerance)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for n, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _values(f"{where}[{n}]", x, y, tolerance)
    elif not _same(a, b, tolerance):
        yield f"{where}: {a!r} before, {b!r} after"


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=tolerance)
    return type(a) is type(b) and a == b


def _tables(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], tolerance: float) -> Iterator[str]:
    """Compare tables row by row, sorted; columns that only the later one has are left out."""
    if not before or not after:
        if before or after:
            yield f"measurements: only {'before' if before else 'after'}"
        return
    head = before[0]
    lost = [column for column in head if column not in after[0]]
    if lost:
        yield f"measurements: without the columns {', '.join(lost)}"
        return
    places = [after[0].index(column) for column in head]
    was = sorted(before[1:])
    now = sorted([row[place] for place in places] for row in after[1:])
    if len(was) != len(now):
        yield f"measurements: {len(was)} rows before, {len(now)} after"
        return
    value = head.index("value")
    for a, b in zip(was, now, strict=True):
        where = f"measurements, {' '.join(cell for n, cell in enumerate(a) if cell and n != value)}"
        for column, x, y in zip(head, a, b, strict=True):
            if not (x == y or _same(_number(x), _number(y), tolerance)):
                yield f"{where}: {column}: {x} before, {y} after"


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def write_found(folder: Path, name: str, found: Mapping[str, Any]) -> None:
    """Write what an entry gave: a JSON file and a table."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {part: found[part] for part in REQUIRED}
    text = json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        head, *rows = found["table"]
        csv.writer(file, lineterminator="\n").writerows([head, *sorted(rows)])


def read_found(folder: Path, name: str) -> dict[str, Any]:
    """Read what `write_found` wrote."""
    found = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return {**found, "table": list(csv.reader(file))}
