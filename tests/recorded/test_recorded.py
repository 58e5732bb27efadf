"""What was recorded is still measured, scored and compared as it was, with no model at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded.comparison import EXPECTED, differences, read_found
from recorded.entries import ENTRIES, NAMES, NOT_RECORDED, Entry
from recorded.recording import ANSWERS, HERE, IMAGES, Answers, read_image
from recorded.replay import installed_metrics, player, run_entry

EXACT = os.environ.get("T2I_RECORDED_EXACT") == "1"

TAKE_LONG = {
    *("elo", "elo-oracle", "elo-share", "tiam-new-prompts", "tiam-new-seeds", "bias", "bias-person"),
    *("captions", "kid", "fid", "selfeval", "several"),
}
"""Entries whose intervals take seconds; others cover the same code in the default suite."""


@pytest.fixture(scope="module")
def answers() -> Answers:
    return Answers.read()


@pytest.mark.parametrize(
    "entry",
    [pytest.param(each, marks=[pytest.mark.long] if each.name in TAKE_LONG else []) for each in ENTRIES],
    ids=lambda entry: entry.name,
)
def test_nothing_has_changed(
    entry: Entry, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(HERE)
    found = run_entry(entry, player(answers), tmp_path / "run")
    different = differences(read_found(EXPECTED, entry.name), found, 0 if EXACT else entry.tolerance)
    assert not different, "\n".join([f"{len(different)} values of {entry.name} changed:", *different[:20]])


def test_every_metric_is_recorded() -> None:
    recorded = {metric.partition(":")[0] for entry in ENTRIES for metric in entry.metrics}
    assert recorded == set(installed_metrics()) - NOT_RECORDED.keys()


def test_every_entry_has_expected_values_and_no_file_is_left_over(answers: Answers) -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == NAMES
    told = ANSWERS.name, *map(str, answers.by_question), *map(str, answers.by_question.values())
    assert [path.name for path in IMAGES.iterdir() if not any(path.stem in text for text in told)] == []


def test_the_recording_is_small() -> None:
    files = [path for path in HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 6_000_000


@pytest.mark.long
def test_no_model_library_is_needed(tmp_path: Path) -> None:
    """A replay imports neither torch nor the renderer."""
    code = (
        "import sys; from pathlib import Path; from recorded.entries import ENTRIES; "
        "from recorded.recording import Answers; from recorded.replay import player, run_entry; "
        "names = ('tiam-colour-share', 'selfeval-empty', 'calibration'); "
        "[run_entry(e, player(Answers.read()), Path(sys.argv[1], e.name)) for e in ENTRIES if e.name in names]; "
        "print(sorted({'torch', 'mitsuba', 'diffusers', 'timm', 'open_clip', 'transformers'} & set(sys.modules)))"
    )
    environment = {**os.environ, "T2I_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=HERE, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


# the comparison itself


def test_a_change_of_any_part_is_found() -> None:
    before = read_found(EXPECTED, "tiam")
    assert differences(before, read_found(EXPECTED, "tiam"), 0) == []
    for part, key in (("results", "score"), ("results", "n_ok"), ("comparisons", "p_adjusted")):
        after = read_found(EXPECTED, "tiam")
        after[part][0][key] *= 1.0001
        (different,) = differences(before, after, 1e-11)
        assert different.startswith(f"{part}[0]")
    after = read_found(EXPECTED, "tiam")
    after["table"][5][-1] = str(1 - float(after["table"][5][-1]))
    assert differences(before, after, 1e-11)
    after = read_found(EXPECTED, "tiam")
    del after["table"][5], after["results"][0]["facets"]["tiam"]["seed"], after["comparisons"][-1]
    assert len(differences(before, after, 1e-11)) == 3


def test_last_bits_may_differ_unless_asked_for() -> None:
    before, after = read_found(EXPECTED, "tiam"), read_found(EXPECTED, "tiam")
    after["results"][0]["ci"][0] *= 1 + 1e-14
    assert differences(before, after, 1e-11) == []
    assert len(differences(before, after, 0)) == 1


def test_another_answer_to_the_same_question_is_refused() -> None:
    answers = Answers()
    answers.put("observation", {"judge": "a"}, "1")
    answers.put("observation", {"judge": "a"}, "1")
    with pytest.raises(ValueError, match="two different answers"):
        answers.put("observation", {"judge": "a"}, "2")
    with pytest.raises(LookupError):
        answers.get("observation", {"judge": "b"})


def test_pictures_of_the_recording_are_as_their_names_say() -> None:
    from recorded.recording import pixel_digest

    assert all(pixel_digest(read_image(path)) == path.stem for path in IMAGES.iterdir())
