from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HELLO = """
    import typer
    app = typer.Typer()

    @app.command()
    def hello(name: str = "you") -> None:
        "Greet."
        print(f"hello {name}")
"""


def test_a_plugins_command_is_loaded_when_it_is_called(toy, install, t2i):
    install("x-hello", {"t2i.commands": {"hello": "x_hello:app"}}, {"x_hello": HELLO}, summary="Greetings.")
    shown = t2i("--help").stdout
    assert "hello" in shown
    assert "Greet. (x-hello)" in shown
    assert "x_hello" not in sys.modules
    assert t2i("hello", "--name", "world").stdout == "hello world\n"
    assert "Greet." in t2i("hello", "--help").stdout


def test_a_broken_command_harms_only_itself(toy, install, t2i):
    install("x-bad", {"t2i.commands": {"bad": "x_bad:app"}}, {"x_bad": "raise RuntimeError('no')"})
    install("x-odd", {"t2i.commands": {"odd": "x_odd:app"}}, {"x_odd": "app = 3"})
    assert t2i("--help").exit_code == 0
    assert t2i("list-plugins").exit_code == 0
    bad = t2i("bad")
    assert bad.exit_code == 4
    assert "plugin x-bad 1.0 (x_bad:app): does not import: RuntimeError: no" in bad.stderr
    odd = t2i("odd")
    assert odd.exit_code == 4
    assert "its command 'odd' must be a typer.Typer (got int)" in odd.stderr


def test_own_commands_come_first(toy, install, t2i):
    install("x-rude", {"t2i.commands": {"runs": "x_rude:app"}}, {"x_rude": "raise SystemExit(9)"})
    assert t2i("runs", ".").exit_code == 0


@pytest.mark.long
def test_completion_reads_metadata_only(toy, install, t2i_process, monkeypatch):
    install("x-bad", {"t2i.generators": {"green": "x_bad"}}, {"x_bad": "raise RuntimeError"})
    monkeypatch.setenv("_T2I_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "t2i eval --model gre")
    done = t2i_process()
    assert "grey" in done.stdout
    assert "green" in done.stdout
    assert "meter" not in done.stdout
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "t2i eval --judge reward=me")
    assert "reward=meter" in t2i_process().stdout


@pytest.mark.long
def test_doctor(toy, install, t2i):
    install("x-bad", {"t2i.metrics": {"bad": "x_bad"}}, {"x_bad": "raise RuntimeError('no')"})
    result = t2i("doctor")
    assert result.exit_code == 0, result.stderr
    assert "plugins:   5 components, 1 broken" in result.stdout
    assert "broken: metric bad: plugin x-bad 1.0 (x_bad): does not import: RuntimeError: no" in result.stdout
    data = json.loads(t2i("doctor", "--json").stdout)
    assert data["packages"]["t2i-core"]
    assert data["cache"]["writable"] is True
    assert data["devices"]


@pytest.mark.long
def test_doctor_tells_sizes_as_other_commands_do(toy, t2i, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kept").write_bytes(bytes(1_500_000))
    assert f"cache:     {tmp_path / 'cache'}: 1.5MB, " in t2i("doctor").stdout
    said = json.loads(t2i("doctor", "--json").stdout)
    assert said["cache"]["bytes"] == 1_500_000
    assert said["memory"]["total"] > 10**8
    monkeypatch.setenv("T2I_CACHE_DIR", "x" * 300)  # no system looks for such a name
    done = t2i("doctor")
    assert done.exit_code == 0, done.stderr
    monkeypatch.setenv("T2I_CACHE_DIR", "cache")
    monkeypatch.setattr("os.access", lambda path, how, **more: how == os.F_OK and Path(path).exists())
    assert "cache:     cache: cannot be read, " in t2i("doctor").stdout


def test_version_and_no_arguments(site, t2i):
    assert t2i("--version").stdout.startswith("t2i ")
    assert "list-plugins" in t2i().output
    misspelt = t2i("list-plugin")
    assert misspelt.exit_code == 2
    assert (
        misspelt.stderr
        == "error: No such command 'list-plugin'. Did you mean 'list-plugins', 'new-plugin'? (see `t2i --help`)\n"
    )


def test_wrong_usage_is_one_line(toy, t2i):
    for words, said in {
        ("--bogus",): "unknown option '--bogus'; choose --debug, --version, ",
        ("eval", "--metrc", "x"): "unknown option '--metrc': did you mean '--metric'? (see `t2i eval --help`)",
        ("doctor", "-q"): "unknown option '-q'; choose --json, --help (see `t2i doctor --help`)",
        ("eval", "--limit", "x"): "Invalid value for '--limit'",
        (
            "eval",
            "--noise",
            "much",
        ): "Invalid value for '--noise': 'much' is not one of 'shared', 'per-prompt' (see",
        ("eval",): "name a metric with --metric (t2i list-plugins --kind metric shows them) (see",
        ("eval", "--metric", "brightness"): "name a model with --model (t2i",
        ("cache", "clean"): "give the size to keep with --limit, or set T2I_CACHE_LIMIT (see",
        ("info",): "Missing argument 'KIND:NAME' (see `t2i info --help`)",
    }.items():
        result = t2i(*words)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {said}")
        assert result.stderr.count("\n") == 1


AT_THE_END = """
import os, signal, sys
from t2i_cli.interrupts import install_handlers

install_handlers()


class Last:
    def __del__(self, kill=os.kill, me=os.getpid()):
        kill(me, 2)


sys.kept = Last()
"""


def test_an_interrupt_after_the_work_is_done_changes_nothing():
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
