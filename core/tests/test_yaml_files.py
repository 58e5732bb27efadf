"""Entries by name from YAML, and errors about other files."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError, field_validator
from t2i_core.api.errors import BadOption
from t2i_core.io.yaml_file import find_first_fault
from t2i_core.io.yaml_lines import read_located_yaml


def test_named_entries_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes("\ufeffa: [1, ü]\nb:\n".encode())
    assert read_located_yaml(path, BadOption, "things").data == {"a": [1, "ü"], "b": None}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, ": no such file"),
        (b"", ": must contain things by name"),
        (b"[a]", ": must contain things by name"),
        (b"a: [", ": not YAML (while parsing"),
        (b"a: 2026-13-45", ": not YAML (month must be in 1..12"),
        (b"[" * 500, ": line 1: lists and mappings are nested more than 50 deep"),
        (b"a: 1\n\xff", ", line 2: not UTF-8 (byte 0xff)"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "t.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadOption) as error:
        read_located_yaml(path, BadOption, "things by name")
    assert str(error.value).startswith(f"{path}{said}")
    assert "\n" not in str(error.value)


def bomb(first: str, more: str) -> str:
    """A text of 12 lines, each of which stands for ten of the one above."""
    lines = [first, *(more.format(name=f"a{n}", ten=", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 12))]
    return "\n".join(lines)


EXPLODING = {
    "lists": bomb("a0: &a0 [x]", "{name}: &{name} [{ten}]"),
    "mappings": bomb("a0: &a0 {k: x}", "{name}: &{name} {{k: [{ten}]}}"),
    "merged mappings": bomb("a0: &a0 {k: x}", "{name}: &{name} {{<<: [{ten}]}}"),
    "lists as keys": f'a: &a "{"x" * 500_000}"\n? [{"*a, " * 9_000}]\n: 0',
    "a value that holds itself": "a: &a [*a]",
    "levels by aliases": "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 3000))]),
    "levels": "a: " + "[" * 100_000,
    "block levels": "- " * 100_000,
    "values": "[" + "1, " * 11_000 + "]",
    "a number to base 60": "a: " + "1:" * 20_000 + "1",
    "a number": "a: " + "1" * 20_000,
    "characters": "a: " + "x" * 2_000_000,
}


@pytest.mark.long
@pytest.mark.parametrize("text", EXPLODING.values(), ids=EXPLODING)
def test_a_text_that_stands_for_too_much_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(BadOption) as error:
            read_located_yaml(path, BadOption, "things by name")
        seconds, (_, most) = time.process_time() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    assert seconds < 60
    assert most < 200 << 20


def test_anchors_that_stay_small_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("base: &base {steps: 25}\nmodels:\n- {<<: *base, guidance: 1}\n- {<<: *base, guidance: 7}\n")
    assert read_located_yaml(path, BadOption, "things").data["models"] == [
        {"steps": 25, "guidance": 1},
        {"steps": 25, "guidance": 7},
    ]


class Thing(BaseModel):
    """Something with parts."""

    parts: list[int] = []

    @field_validator("parts")
    @classmethod
    def _few(cls, parts: list[int]) -> list[int]:
        if len(parts) > 2:
            raise ValueError("must be two at most")
        return parts


@pytest.mark.parametrize(
    ("parts", "said"),
    [([1, "x"], "parts.1: must be a whole number (got 'x')"), ([1, 2, 3], "parts: must be two at most")],
)
def test_the_first_fault_has_its_place(parts: list[object], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        Thing.model_validate({"parts": parts})
    assert find_first_fault(error.value).startswith(said)
