"""`t2i doctor` says what a user in trouble needs, quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from t2i_cli import machine
from t2i_core.engine import gpus

HEAVY = (
    "torch",
    "diffusers",
    "transformers",
    "open_clip",
    "timm",
    "torchvision",
    "pandas",
    "scipy",
    "ultralytics",
)


@pytest.mark.long
def test_no_heavy_library_is_imported(tmp_path):
    """They take seconds each. This is the real installation with all its plugins."""
    code = (
        "import sys; from t2i_cli.doctor import examine; examine(True); "
        f"print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    said = json.loads(done.stdout)
    assert said["plugins"]["found"] > 100
    assert "mini" in said["weights"]["here"]
    assert said["packages"]["t2i-core"]
    assert said["packages"]["t2i-diffusers"]


@pytest.fixture
def torch_build(tmp_path, monkeypatch):
    """Install a torch of which only the build is there."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('torch was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr("platform.system", lambda: "Linux")

    def write(cuda):
        text = f"__version__ = '2.9'\ncuda: str | None = {cuda!r}\nhip: str | None = None\n"
        (tmp_path / "torch" / "version.py").write_text(text)

    return write


def install_driver(folder: Path, monkeypatch, body):
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


ONE_GPU = "echo '0, GPU-1a2b, NVIDIA H100, 81559, 81000, 570.1'"


@pytest.mark.skipif(sys.platform == "win32", reason="the driver's tool is a script")
def test_devices_are_those_of_the_driver_that_torch_is_built_for(torch_build, tmp_path, monkeypatch):
    install_driver(tmp_path, monkeypatch, ONE_GPU)
    torch_build("12.8")
    assert machine.list_devices() == ["cuda:0 NVIDIA H100, 85.5GB, 84.9GB free (driver 570.1)", "cpu"]
    torch_build(None)
    assert machine.list_devices() == ["cpu (1 GPUs are not used: the installed torch is built for cpu only)"]


@pytest.mark.skipif(sys.platform == "win32", reason="the driver's tool is a script")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 9", "nvidia-smi fails"),
        ("echo 'No devices were found'", "nvidia-smi fails"),
        ("exec sleep 30", "does not answer within 0.2 s"),
    ],
)
def test_a_driver_that_fails_is_told(torch_build, tmp_path, monkeypatch, body, said):
    monkeypatch.setattr(gpus, "_SECONDS", 0.2 if "sleep" in body else 5)
    install_driver(tmp_path, monkeypatch, body)
    torch_build("12.8")
    (cpu,) = machine.list_devices()
    assert said in cpu


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert machine.list_devices() == ["cpu (torch is not installed)"]


@pytest.mark.long
def test_secrets_are_not_shown(toy, t2i, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:word@proxy:3128")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = t2i("doctor")
    assert said.exit_code == 0, said.stderr
    assert "a token" in said.stdout
    assert "HTTPS_PROXY=http://***@proxy:3128" in said.stdout
    assert "HF_HUB_OFFLINE=1" in said.stdout
    assert not {"secret", "word"} & set(said.stdout.replace("_", " ").replace(":", " ").split())
    found = json.loads(t2i("doctor", "--json").stdout)
    assert found["hub"]["token"] is True
    assert found["terminal"]["is_terminal"] in (True, False)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("me:word@proxy:3128", "***@proxy:3128"),
        ("http://me:word@proxy:3128", "http://***@proxy:3128"),
        ("SOCKS5h://me:word@proxy", "SOCKS5h://***@proxy"),
        ("//me:word@proxy", "***@proxy"),
        ("http:me:word@proxy", "***@proxy"),
        ("me:word://word@proxy", "***@proxy"),
        ("http://me:w@word/word?#word@proxy", "http://***@proxy"),
        ("http://me:word@[proxy", "http://***@[proxy"),
        ("word@proxy", "***@proxy"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("proxy:3128", "proxy:3128"),
    ],
)
@pytest.mark.parametrize("name", ["HTTPS_PROXY", "all_proxy", "HF_ENDPOINT"])
def test_no_address_is_shown_with_a_password(monkeypatch, name, address, shown):
    monkeypatch.setenv(name, address)
    assert machine.list_variables()[name] == shown


def test_folders_are_shown_as_they_are(monkeypatch):
    monkeypatch.setenv("HF_HOME", "/data/me@work/hub")
    assert machine.list_variables()["HF_HOME"] == "/data/me@work/hub"


@pytest.mark.long
def test_missing_packages_are_named_with_the_way_to_install_them(toy, install, t2i, site):
    install("x-needy", {"t2i.metrics": {"needy": "x_needy"}}, {"x_needy": ""})
    (metadata,) = site.glob("x_needy-*.dist-info/METADATA")
    with metadata.open("a") as file:
        file.write("Requires-Dist: nowhere-at-all>=2\nRequires-Dist: numpy<1\n")
        file.write("Provides-Extra: more\nRequires-Dist: optional-thing; extra == 'more'\n")
        file.write("Requires-Dist: not-here; sys_platform == 'plan9'\n")
    found = json.loads(t2i("doctor", "--json").stdout)["lacking"]
    ours = [line for line in found if "x-needy" in line]
    assert len(ours) == 3
    assert "pip install 'nowhere-at-all>=2'" in ours[0]
    assert "does not fit x-needy: pip install 'numpy<1'" in ours[1]
    assert "optional-thing is not installed (optional): pip install 'x-needy[more]'" in ours[2]
