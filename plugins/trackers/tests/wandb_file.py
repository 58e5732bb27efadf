"""Records of the client's offline file, a log of LevelDB's form, as messages of the client's own schema."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as schema

_HEADER = 7
"""Bytes of the file's header, and of each part's: checksum, length, kind."""

_BLOCK = 32768
_WHOLE, _FIRST, _LAST = 1, 2, 4


def read_records(file: Path) -> Iterator[Any]:
    """Yield the records of a file `run-ID.wandb`."""
    data = file.read_bytes()
    assert data[:4] == b":W&B"
    place, record = _HEADER, b""
    while place < len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER:  # the rest of a block is empty
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", data[place : place + _HEADER])
        place += _HEADER
        record = (b"" if kind in (_WHOLE, _FIRST) else record) + data[place : place + length]
        place += length
        if kind in (_WHOLE, _LAST):
            message = schema.Record()
            message.ParseFromString(record)
            yield message
