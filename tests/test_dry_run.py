"""`--dry-run` of real components: no network, no weights, nothing written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_cli.app import app
from typer.testing import CliRunner

_WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.move"}
_NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_seen: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what Python tells of writing and of the network (PEP 578) while `_seen` is a list."""
    if _seen is None:
        return
    if event == "open":
        path, _, flags = arguments
        # compiled modules are not the command's
        ours = isinstance(path, str) and "__pycache__" not in path and path != os.devnull
        if ours and isinstance(flags, int) and flags & _FLAGS:
            _seen.append(f"open {path}")
    elif event in _WRITES and not any(name in str(arguments) for name in ("__pycache__", "torchinductor")):
        _seen.append(f"{event} {arguments}")
    elif event in _NETWORK:
        _seen.append(f"{event} {arguments[1:]}")


sys.addaudithook(_watch)


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a command writes and whom it calls, on a machine without any weights."""
    import torch  # now, because importing it writes to temporary folders
    from huggingface_hub import constants

    global _seen
    assert torch
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    _seen = []
    yield _seen
    _seen = None


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "missing", "unknown"),
    [
        ("--metric tiam --model simulator --judge oracle --prompts tiam-5-1", (), False),
        ("--metric tiam --model sd2", ("sd2", "yolov8x-seg"), True),
        (
            "--metric clipscore --model diffusers:o/none --prompts tiam-5-1",
            ("diffusers:o/none", "clip-vit-b32"),
            True,
        ),
        ("--metric tiam --model simulator --judge mask2former-swin-small", ("mask2former-swin-small",), True),
        # pinned: their keys are known
        ("--metric isp --model sd15", ("sd15", "vit-b16"), False),
        ("--metric is --model simulator --judge inception-v3 --prompts tiam-5-1", ("inception-v3",), False),
    ],
)
def test_no_network_no_weights_and_nothing_is_written(
    seen: list[str], tmp_path: Path, words: str, missing: tuple[str, ...], unknown: bool
) -> None:
    before = len(seen)
    done = CliRunner().invoke(app, ["eval", *words.split(), "--device", "cpu", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert seen[before:] == []
    assert not list(tmp_path.iterdir())
    text = " ".join(done.stdout.split())
    for name in missing:
        assert f"{name}: " in text
    assert text.count("is not on this machine; the run downloads it first") == len(missing)
    assert ("not known (weights are not here)" in text) == unknown
