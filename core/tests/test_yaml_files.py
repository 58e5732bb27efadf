"""Things by name from YAML, and what is said of files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, field_validator
from t2i_core.errors import BadOption
from t2i_core.yaml_files import first_fault, read_mapping


def test_what_is_named_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes("\ufeffa: [1, ü]\nb:\n".encode())
    assert read_mapping(path, BadOption, "things") == {"a": [1, "ü"], "b": None}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ": no such file"),
        (b"", ": want things by name"),
        (b"[a]", ": want things by name"),
        (b"a: [", ": not YAML (while parsing"),
        (b"a: 2026-13-45", ": not YAML (month must be in 1..12"),
        (b"[" * 500, ": not YAML ("),
        (b"a: 1\n\xff", ", line 2: not UTF-8 (byte 0xff)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "t.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadOption) as error:
        read_mapping(path, BadOption, "things by name")
    assert str(error.value).startswith(f"{path}{said}")
    assert "\n" not in str(error.value)


class Thing(BaseModel):
    """Something with parts."""

    parts: list[int] = []

    @field_validator("parts")
    @classmethod
    def _few(cls, parts: list[int]) -> list[int]:
        if len(parts) > 2:
            raise ValueError("want two at most")
        return parts


@pytest.mark.parametrize(
    ("parts", "said"),
    [([1, "x"], "parts.2: Input should be a valid integer"), ([1, 2, 3], "parts: want two at most")],
)
def test_the_first_fault_has_its_place(parts: list[object], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        Thing.model_validate({"parts": parts})
    assert first_fault(error.value).startswith(said)
