from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from t2i_core.api.errors import MissingDependency, UnknownName
from t2i_registry import Catalogue, Registry, scan


def mine(catalogue: Catalogue) -> list[tuple[str, str, str]]:
    return [(e.kind, e.name, e.dist) for e in catalogue.entries if e.dist.startswith("x-")]


def test_an_entry_says_all_that_metadata_know(install):
    install(
        "x-one",
        {"t2i.metrics": {"m": "x_one.plugin"}},
        version="1.2",
        summary="One metric.",
    )
    (entry,) = (e for e in scan().entries if e.dist == "x-one")
    assert (entry.kind, entry.name, entry.version) == ("metric", "m", "1.2")
    assert (entry.module, entry.summary) == ("x_one.plugin", "One metric.")


def test_a_judge_appears_once_with_its_capabilities(install):
    install(
        "x-one",
        {"t2i.judges": {"j": "x_one"}, "t2i.judges.segment": {"j": "x_one"}, "t2i.judges.detect": {"j": "x_one"}},
    )
    (entry,) = (e for e in scan().entries if e.dist == "x-one")
    assert entry.capabilities == ("detect", "segment")


def test_nothing_is_imported(install, tmp_path):
    install("x-one", {"t2i.metrics": {"m": "x_one"}}, {"x_one": "raise SystemExit(3)"})
    assert mine(scan()) == [("metric", "m", "x-one")]
    assert "x_one" not in sys.modules


def test_bad_lines_and_files_harm_only_themselves(install, tmp_path: Path):
    install("x-good", {"t2i.metrics": {"m": "x_good"}})
    install("x-lines", "[t2i.metrics]\nno equals sign\nempty =\nspace = a b\nfine = x_lines\n")
    install("x-bytes", {})
    (tmp_path / "x_bytes-1.0.dist-info/entry_points.txt").write_bytes(b"[t2i.metrics]\nm = \xff\xfe\n")
    install("x-nameless", {"t2i.metrics": {"n": "n"}})
    (tmp_path / "x_nameless-1.0.dist-info/METADATA").write_text("")
    catalogue = scan()
    assert mine(catalogue) == [("metric", "fine", "x-lines"), ("metric", "m", "x-good")]
    problems = "\n".join(catalogue.problems)
    assert problems.count("x-lines 1.0: [t2i.metrics]") == 3
    assert "x_bytes-1.0.dist-info: entry_points.txt cannot be read" in problems
    assert "x_nameless-1.0.dist-info: its metadata cannot be read: it has no name" in problems


def test_a_capability_without_a_judge_is_a_problem(install):
    install("x-one", {"t2i.judges.segment": {"j": "x_one"}})
    assert any("not in t2i.judges" in problem for problem in scan().problems)


def test_the_first_distribution_on_the_path_counts(install, tmp_path: Path, monkeypatch):
    install("x-one", {"t2i.metrics": {"old": "x_one"}}, version="1.0")
    from t2i_core.testing.fake_dists import fake_dist

    nearer = tmp_path / "nearer"
    fake_dist(nearer, "X.One", {}, version="2.0")
    monkeypatch.syspath_prepend(str(nearer))
    assert mine(scan()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("", ["a", "b", "c"]),
        ("all", []),
        ("x_one", ["c"]),
        ("a, c", ["b"]),
        ("x-one/b,metric:c", ["a"]),
        ("generator:a", ["a", "b", "c"]),
    ],
)
def test_disabled_plugins_are_left_out(install, monkeypatch, words, left):
    install("x-one", {"t2i.metrics": {"a": "x_one", "b": "x_one"}})
    install("x-two", {"t2i.metrics": {"c": "x_two"}})
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", words)
    catalogue = scan()
    assert [name for _, name, _ in mine(catalogue)] == left
    if left:
        assert len([e for e in catalogue.disabled if e.dist.startswith("x-")]) == 3 - len(left)


def test_scanning_imports_nothing_heavy():
    code = (
        "import json, sys; from t2i_registry import scan; scan();"
        "print(json.dumps([m for m in ('torch', 'numpy', 'pydantic', 'pandas', 'yaml', 'pluggy', 'rich') "
        "if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_distribution_of_commands_alone_is_there(install):
    install("x-all", {"t2i.elsewhere": {"act": "x_acts", "far": "x_far"}})
    install("x-acts", {"t2i.commands": {"act": "x_acts:app"}})
    registry = Registry(scan())
    assert registry.find_missing_dist("act") is None
    assert registry.find_missing_dist("far") == "x-far"


def test_a_distribution_of_an_executor_alone_is_there(install):
    install("x-all", {"t2i.elsewhere": {"act": "x_acts"}})
    install("x-acts", {"t2i.executors": {"act": "x_acts:INFO"}})
    assert Registry(scan()).find_missing_dist("act") is None


def test_distributions_of_missing_components_are_named(install):
    install("x-all", {"t2i.elsewhere": {"far": "x_far", "near": "x_near.plugin"}})
    install("x-near", {"t2i.judges": {"other": "x_near"}})
    assert scan().elsewhere == {"far": "x-far", "near": "x-near"}
    registry = Registry(scan())
    for ask in (
        lambda: registry.find("judge", "far"),
        lambda: registry.find("judge", "far", "X_Far"),
        lambda: registry.find_any("far:argument"),
    ):
        with pytest.raises(
            MissingDependency, match="'far' comes with x-far, which is not installed: install x-far"
        ):
            ask()
    with pytest.raises(UnknownName):  # its distribution is there, and does not offer it
        registry.find("judge", "near")


def test_a_licence_is_said_in_one_line(install, tmp_path):
    for name, field, said in [
        ("x-new", "License-Expression: MIT", "MIT"),
        ("x-old", "License: The X Licence\n        |        You may do this.", "The X Licence"),
        ("x-none", "Keywords: none", ""),
    ]:
        install(name, {"t2i.judges": {name: "x"}})
        with (tmp_path / f"{name.replace('-', '_')}-1.0.dist-info" / "METADATA").open("a") as file:
            file.write(f"{field}\n")
        (entry,) = scan().find_entries("judge", name)
        assert entry.licence == said
