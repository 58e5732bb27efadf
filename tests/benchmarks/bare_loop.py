"""The work of one evaluation without t2i: the least that its products cost."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from null_world import PROMPTS, paint
from PIL import Image


def run_bare_loop(samples: int, folder: Path) -> None:
    """Make, keep, judge and measure the null world's images.

    It encodes each image as PNG, hashes and writes it, inserts a row for the image and one for the observation,
    each in its own transaction, reads both back and writes a line in each of two CSV files.

    Args:
        samples: Number of samples.
        folder: An empty folder.
    """
    images = folder / "images"
    images.mkdir()
    with closing(sqlite3.connect(folder / "store.sqlite", isolation_level=None)) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("pragma synchronous=normal")
        database.execute("create table images (key blob primary key, size integer, record text) without rowid")
        database.execute("create table observations (key blob primary key, value blob)")
        keys = []
        for number in range(samples):
            data = _png(number)
            digest = hashlib.sha256(data)
            (images / f"{digest.hexdigest()}.png").write_bytes(data)
            keys.append(digest.digest())
            database.execute("begin immediate")
            database.execute("insert into images values (?, ?, ?)", (keys[-1], len(data), "{}"))
            database.execute("commit")
        for key in keys:
            database.execute("begin immediate")
            database.execute("insert into observations values (?, ?)", (key, json.dumps(0.5).encode()))
            database.execute("commit")
        with (
            (folder / "samples.csv").open("w", newline="") as listed,
            (folder / "measurements.csv").open("w", newline="") as measured,
        ):
            samples_csv, measurements_csv = csv.writer(listed), csv.writer(measured)
            for number, key in enumerate(keys):
                seed, prompt = divmod(number, PROMPTS)
                size, record = database.execute("select size, record from images where key = ?", (key,)).fetchone()
                (value,) = database.execute("select value from observations where key = ?", (key,)).fetchone()
                samples_csv.writerow(("null", prompt, f"prompt {prompt}", seed, "ok", key.hex(), size, record))
                measurements_csv.writerow(("null", "null", prompt, seed, "reward", float(json.loads(value))))


def _png(number: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(paint(number)).save(file, "PNG", compress_level=1)
    return file.getvalue()
