"""Ways to damage files and rows of the database; the random generator makes a failure repeatable."""

from __future__ import annotations

import io
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image

PAGE = 8192
"""Size of the pages of the store's database."""

DamageFile = Callable[[Path, random.Random], None]


def truncate(file: Path, rng: random.Random) -> None:
    """Cut off at any byte."""
    os.truncate(file, rng.randrange(max(1, file.stat().st_size)))


def empty(file: Path, rng: random.Random) -> None:
    """Leave no byte."""
    file.write_bytes(b"")


def zero(file: Path, rng: random.Random) -> None:
    """Make all bytes zero."""
    file.write_bytes(bytes(file.stat().st_size))


def garble(file: Path, rng: random.Random) -> None:
    """Replace all bytes by random ones."""
    file.write_bytes(rng.randbytes(file.stat().st_size))


def delete(file: Path, rng: random.Random) -> None:
    """Remove the file."""
    file.unlink()


def alter(file: Path, rng: random.Random) -> None:
    """Change one byte."""
    _alter(file, rng, 1)


def alter_unnoticed(file: Path, rng: random.Random) -> None:
    """Change one byte and restore the file's time."""
    stat = file.stat()
    _alter(file, rng, 1)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def repaint_unnoticed(file: Path, rng: random.Random) -> None:
    """Put another valid PNG there, with the old file's size and time."""
    stat, other = file.stat(), io.BytesIO()
    PIL.Image.open(file).point(lambda value: value // 64 * 64).save(other, "png")
    content = other.getvalue()
    assert len(content) <= stat.st_size
    file.write_bytes(content.ljust(stat.st_size, b"\0"))  # decoders ignore what follows the image
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def replace(file: Path, rng: random.Random) -> None:
    """Put another file of the same size there, which shares no link with the old one."""
    other = file.with_name("other")
    other.write_bytes(rng.randbytes(file.stat().st_size))
    other.replace(file)


def scatter(file: Path, rng: random.Random) -> None:
    """Change up to 64 bytes anywhere."""
    _alter(file, rng, rng.choice((1, 2, 8, 64)))


def alter_head(file: Path, rng: random.Random) -> None:
    """Change up to 8 bytes of a database's first page, which holds the header and the schema."""
    places = rng.choices(rng.choice((range(100), range(100, PAGE), range(2 * PAGE // 3, PAGE))), k=8)
    data = bytearray(file.read_bytes())
    for place in (p for p in places[: rng.choice((1, 2, 8))] if p < len(data)):
        data[place] ^= rng.randrange(1, 256)
    file.write_bytes(data)


def zero_page(file: Path, rng: random.Random) -> None:
    """Make one page of a database zero."""
    _write_page(file, rng, bytes(PAGE))


def repeat_page(file: Path, rng: random.Random) -> None:
    """Write one page of a database over another."""
    data = file.read_bytes()
    start = rng.randrange(max(1, len(data) // PAGE)) * PAGE
    _write_page(file, rng, data[start : start + PAGE])


IMAGE_DAMAGE: tuple[DamageFile, ...] = (truncate, alter, empty, delete, replace)
FILE_DAMAGE: tuple[DamageFile, ...] = (truncate, alter, empty, zero, garble, delete)
DATABASE_DAMAGE: tuple[DamageFile, ...] = (
    *(truncate, scatter, alter_head, zero_page, repeat_page),
    *(delete, empty, zero, garble),
)


def change_rows(file: Path, rng: random.Random) -> str:
    """Change a column of some rows, exchange two rows' contents or delete rows, by SQL; return what was done."""
    with sqlite3.connect(file) as database:
        tables = [t for (t,) in database.execute("select name from sqlite_master where type = 'table'")]
        filled = [t for t in tables if database.execute(f"select 1 from {t}").fetchone()]
        if not filled:
            return "nothing: no table has a row"
        table = rng.choice(filled)
        columns = [row[1] for row in database.execute(f"pragma table_info({table})") if row[1] != "key"]
        keys = [key for (key,) in database.execute(f"select key from {table} order by key")]
        return rng.choice((_set_column, _exchange_rows, _delete_rows))(database, table, columns, keys, rng)


def _set_column(
    database: sqlite3.Connection, table: str, columns: list[str], keys: list[Any], rng: random.Random
) -> str:
    column, changed = rng.choice(columns), rng.sample(keys, rng.randint(1, len(keys)))
    others = f"(select {column} from {table} where key = ?2)"
    value = rng.choice(("''", "'x'", "x'00ff'", "0", "1e308", f"{column} || 'x'", f"{column} + 1", others))
    change = f"update or ignore {table} set {column} = {value} where key = ?1 and ?2 is not null"
    database.executemany(change, [(key, rng.choice(keys)) for key in changed])
    return f"{change}, {len(changed)} of {len(keys)} rows"


def _exchange_rows(
    database: sqlite3.Connection, table: str, columns: list[str], keys: list[Any], rng: random.Random
) -> str:
    one, other = rng.choices(keys, k=2)
    names, places = ", ".join(columns), ", ".join("?" * len(columns))
    row = database.execute(f"select {names} from {table} where key = ?", (other,)).fetchone()
    database.execute(f"update {table} set ({names}) = ({places}) where key = ?", (*row, one))
    return f"a row of {table} under another row's key"


def _delete_rows(
    database: sqlite3.Connection, table: str, columns: list[str], keys: list[Any], rng: random.Random
) -> str:
    deleted = rng.sample(keys, rng.randint(1, len(keys)))
    database.executemany(f"delete from {table} where key = ?", [(key,) for key in deleted])
    return f"{len(deleted)} of {len(keys)} rows of {table} deleted"


def _alter(file: Path, rng: random.Random, count: int) -> None:
    data = bytearray(file.read_bytes())
    for place in rng.choices(range(len(data)), k=count) if data else ():
        data[place] ^= rng.randrange(1, 256)
    with file.open("r+b") as opened:
        opened.write(data)


def _write_page(file: Path, rng: random.Random, page: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(rng.randrange(max(1, file.stat().st_size // PAGE)) * PAGE)
        opened.write(page)
