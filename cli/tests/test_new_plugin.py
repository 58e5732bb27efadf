from __future__ import annotations

import re

import pytest
from t2i_cli.new_plugin import EXAMPLES, LONGEST, render


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "kind"), [("metric", "metric"), ("Judges", "judge"), ("prompts", "prompt_source"),
                       ("prompt-source", "prompt_source"), ("generator", "generator")]
)  # fmt: skip
def test_a_plugin_is_written_and_the_next_steps_are_said(word, kind, site, t2i, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = t2i("new-plugin", word, "two-words")
    assert result.exit_code == 0, result.output
    folder = tmp_path / "t2i-two-words"
    written = {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()}
    assert written == render(kind, "two-words").keys()
    assert "  pip install -e t2i-two-words\n" in result.stdout
    (main,) = re.findall(r"Then edit (\S+);", result.stdout)
    assert (tmp_path / main).is_file()


def test_nothing_of_the_template_is_left_over():
    for kind in EXAMPLES:
        for place, content in render(kind, "two-words").items():
            assert not re.search(r"{{|{%|}}|%}|\.jinja", f"{place}\n{content}"), place


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["metrix", "new"], 2, "unknown kind 'metrix': did you mean 'metric'?"),
        (["command", "new"], 2, "no template exists for a command"),
        (["metric", "My Metric!"], 2, "'My Metric!' is not a valid name; use .*: my-metric"),
        (["metric", "t2i-new"], 2, "without the distribution's prefix t2i-: new"),
        (["metric", "3d"], 2, "a letter first.*: d "),
        (["metric", "x" * (LONGEST + 1)], 2, f"at most {LONGEST} characters"),
        (["metric", "éé"], 2, "is not a valid name"),
        (["metric", "core"], 5, "a distribution t2i-core exists already"),
        (["judge", "grey"], 5, "the name 'grey' is taken by a generator of toy 0.7"),
        (["metric", "far"], 5, "the name 'far' is taken by t2i-away, which is not installed"),
        (["metric", "away"], 5, "a distribution t2i-away exists already"),
        (["metric", "lent"], 5, "a module t2i_lent exists already"),
    ],
)
def test_bad_and_taken_names_are_refused(words, code, said, toy, install, t2i, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install("t2i-knows", {"t2i.elsewhere": {"far": "t2i_away"}}, {"t2i_lent": ""})
    before = set(tmp_path.iterdir())
    result = t2i("new-plugin", *words)
    assert result.exit_code == code, result.output
    assert re.search(said, result.stderr)
    assert result.stderr.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_a_folder_that_holds_something_is_left_as_it_is(site, t2i, tmp_path):
    (tmp_path / "mine").mkdir()
    assert t2i("new-plugin", "metric", "new", "--out", tmp_path / "mine").exit_code == 0
    kept = (tmp_path / "mine" / "pyproject.toml").read_text()
    for folder in (tmp_path / "mine", tmp_path / "mine" / "README.md", tmp_path / "mine" / "README.md" / "below"):
        result = t2i("new-plugin", "judge", "other", "--out", folder)
        assert result.exit_code == 11
        assert result.stderr.startswith(f"error: {folder} ")
    assert (tmp_path / "mine" / "pyproject.toml").read_text() == kept
