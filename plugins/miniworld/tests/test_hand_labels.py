import csv
import sys
from pathlib import Path

import hand_labels
import pytest
from PIL import Image
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.corrected_run import correct_run
from t2i_core.statistics.correction import NO_GAIN
from t2i_registry import Registry


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two prompts with two seeds each; every object is the wrong one, so the judge sees none of them."""
    folder = tmp_path_factory.mktemp("labels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return evaluate(
            "tiam", "simulator", prompts="tiam-5-1", judge="oracle", seeds=2, limit=2, out=folder / "run",
            options={"simulator": {"size": 64, "spp": 1, "wrong_object": 1.0}}, resolver=Registry(),
        )  # fmt: skip


def filled(file, answers):
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "shown": answer} for row, answer in zip(rows, answers, strict=True))


def called(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["hand_labels", *map(str, arguments)])
    hand_labels.main()


@pytest.mark.long
def test_answers_are_compared_with_the_judges(run, tmp_path, monkeypatch, capsys):
    file = tmp_path / "labels.csv"
    called(monkeypatch, "blank", run.folder, file)
    filled(file, ["no", "no", "no", "yes"])
    called(monkeypatch, "compare", run.folder, file)
    assert capsys.readouterr().out.splitlines() == [
        "agree on 3 of 4, 0.750 (0.301 to 0.954)",
        "the judge misses 1 of 1 that are shown",
        "and sees 0 of 3 that are not",
    ]


def test_the_sheet_has_a_row_for_each_prompt(run, tmp_path, monkeypatch):
    called(monkeypatch, "sheet", run.folder, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as page:
        width, height = page.size
        first = page.getpixel((hand_labels.LEFT + 50, hand_labels.TOP + 50))
    assert width == hand_labels.LEFT + 2 * (hand_labels.TILE + hand_labels.GAP)
    assert height == hand_labels.TOP + 2 * (hand_labels.TILE + hand_labels.GAP)
    assert first != (255, 255, 255)


def test_missing_answers_and_answers_about_other_images_are_refused(run, tmp_path):
    file = tmp_path / "labels.csv"
    hand_labels.write_blank(run, file)
    with pytest.raises(SystemExit, match="line 2: 'shown' must be yes or no"):
        hand_labels.read_labels(file)
    filled(file, ["yes"] * 4)
    first, *others = hand_labels.read_labels(file)
    other = hand_labels.Label(first.prompt, first.seed, "0" * 64, shown=True)
    with pytest.raises(SystemExit, match="another picture"):
        hand_labels.agreement(run, [other, *others])


def test_labels_are_written_as_answers_of_people(run, tmp_path, monkeypatch):
    file, answers = tmp_path / "labels.csv", tmp_path / "answers.csv"
    called(monkeypatch, "blank", run.folder, file)
    filled(file, ["no", "no", "no", "yes"])
    called(monkeypatch, "answers", run.folder, file, "--to", answers)
    scored = evaluate(
        "tiam", "simulator", prompts="tiam-5-1", judge=f"people:{answers}", seeds=2, limit=2, out=tmp_path / "run",
        options={"simulator": {"size": 64, "spp": 1, "wrong_object": 1.0}}, resolver=Registry(),
    )  # fmt: skip
    assert (scored.results[0].score, scored.results[0].n_ok) == (0.25, 4)
    with pytest.raises(SystemExit):
        called(monkeypatch, "answers", run.folder, file)


@pytest.mark.slow
def test_the_labels_of_mini_early_do_not_correct_its_judge(tmp_path, monkeypatch):
    """The judge agrees with the person on 54 of 104 pictures, so it tells nothing, and that is what is said."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    root = Path(__file__).parents[3]
    kinds = f"tiam-template:{root / 'examples' / 'mini-kinds.yaml'}"
    run = evaluate("tiam", "mini-early", prompts=kinds, seeds=5, out=tmp_path / "run", resolver=Registry())
    labels, answers = Path(__file__).parents[1] / "training" / "mini-early-labels.csv", tmp_path / "answers.csv"
    called(monkeypatch, "answers", run.folder, labels, "--to", answers)
    (result,) = correct_run(run, f"people:{answers}", Registry()).results
    correction = result.correction
    assert correction.n_labels == 104
    assert correction.labels.value == pytest.approx(59 / 104)
    assert result.score > 0.65
    assert correction.value == pytest.approx(59 / 104, abs=0.02)
    assert correction.lam < 0.1
    assert correction.gain == pytest.approx(1, abs=0.1)
    assert NO_GAIN in correction.notes
