"""Text files that users write."""

from __future__ import annotations

from pathlib import Path

from ..api.errors import T2IError


def read_text(path: Path, error: type[T2IError], max_bytes: int | None = None) -> str:
    """Return the text of a user's file in UTF-8, without a byte order mark, its line ends unchanged.

    Args:
        path: The file.
        error: The class of error to raise.
        max_bytes: Largest size that is read.

    Raises:
        T2IError: `error`, in one line that names the file, and the line if it is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read() if max_bytes is None else file.read(max_bytes + 1)
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from problem
    if max_bytes is not None and len(data) > max_bytes:
        raise error(f"{path}: larger than {max_bytes >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{path}, line {line}: not UTF-8 (byte 0x{data[problem.start]:02x})") from problem
