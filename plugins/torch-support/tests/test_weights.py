"""Files of weights: damage is told from the bytes, and nobody is told to read a pickle without care."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import check_file, explain_load_error, find_damage


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    file = tmp_path / "model.safetensors"
    save_file({"a": torch.zeros(3, 4), "b": torch.ones(5)}, file, {"format": "pt"})
    return file


def test_a_whole_file_is_taken(whole: Path, tmp_path: Path) -> None:
    assert find_damage(whole) is None
    assert check_file(whole, None, "judge:x") == whole
    save_file({}, tmp_path / "empty.safetensors")
    assert find_damage(tmp_path / "empty.safetensors") is None


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda data: data[:-1], r"it has \d+ bytes and should have \d+$"),
        (lambda data: data[:30], r"it is cut off, or not safetensors \(30 bytes\)"),
        (lambda data: b"", r"\(0 bytes\)"),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\n" + data, "not safetensors"),
        (lambda data: data[:8] + b"!" + data[9:], "its header cannot be read"),
    ],
)
def test_a_damaged_one_is_told_before_it_is_loaded(
    spoil: Callable[[bytes], bytes], problem: str, whole: Path
) -> None:
    whole.write_bytes(spoil(whole.read_bytes()))
    with pytest.raises(BadModel, match=f"^judge:x: cannot be loaded from {whole}: .*{problem}"):
        check_file(whole, None, "judge:x")


class _Evil:
    def __reduce__(self) -> Any:
        return (os.system, ("true",))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_Evil(), r"its pickle contains \w+\.system, which does not belong in weights"),
        (None, "cannot be read with care: "),
    ],
)
def test_why_a_pickle_is_refused(content: Any, said: str, tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    if content is None:
        file.write_bytes(b"x\n")
    else:
        torch.save({"a": content}, file)
    with pytest.raises(Exception, match="weights_only") as error:
        torch.load(file, weights_only=True)
    line = explain_load_error(error.value)
    assert re.search(said, line)
    assert "weights_only" not in line
    assert "\n" not in line


def test_other_errors_say_what_they_say() -> None:
    assert explain_load_error(ValueError("another size")) == "ValueError: another size"
