"""The looks of a run that stops early, in the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from t2i_core.results.figures import make_spec
from t2i_core.results.looks import (
    LookRecord,
    ModelAtLook,
    PairAtLook,
    PlannedLook,
    StoppedComparison,
    StoppingRecord,
)
from t2i_core.results.run import Run
from t2i_core.testing import StaticResolver
from t2i_report.compare import compare
from t2i_report.compare_page import write_comparison
from t2i_report.plots.looks import analyze_looks
from t2i_report.report import write_report


def make_pair(look: int, decision: Any = None) -> PairAtLook:
    return PairAtLook(
        a="mini",
        b="early",
        diff=0.2,
        ci=[0.2 - 0.4 / look, 0.2 + 0.4 / look],
        information=look / 3,
        statistic=-1.5 * look,
        boundary=12.0 if look == 1 else 2.5,
        p_adjusted=0.04 if decision else 1.0,
        decision=decision,
    )


PLAN = [PlannedLook(prompts=10 * number, seeds=8) for number in (1, 2, 3)]
STOPPING = StoppingRecord(
    until="verdict",
    margin=0.05,
    plan=PLAN,
    looks=[
        LookRecord(
            prompts=10 * number,
            seeds=8,
            images=160 * number,
            models=["mini", "early"],
            left=[] if number == 2 else ["mini", "early"],
            pairs=[make_pair(number, "higher" if number == 2 else None)],
        )
        for number in (1, 2)
    ],
    verdict="decided after look 2 of 3 (320 images): mini is higher than early",
)


def test_looks_have_their_intervals_and_boundaries() -> None:
    looks, boundaries = analyze_looks(STOPPING)
    assert list(looks.table["images"]) == [160, 320]
    assert list(looks.table["decision"]) == ["open", "higher"]
    assert list(boundaries.table["statistic"]) == [-1.5, -3.0]
    assert boundaries.figure is not None
    drawn = boundaries.figure.data  # type: ignore[union-attr]
    assert drawn is not None
    assert sorted(drawn[["line", "images"]].itertuples(index=False, name=None)) == [
        ("boundary", 320),  # the first one cannot be reached
        ("statistic", 160),
        ("statistic", 320),
    ]
    for each in (looks, boundaries):
        assert each.figure is not None
        assert make_spec(each.figure, each.table)


def test_widths_have_the_score_of_each_model() -> None:
    score = ModelAtLook(model="mini", score=0.5, ci=[0.4, 0.6], narrow=False)
    look = LookRecord(prompts=10, seeds=8, images=80, models=["mini"], left=["mini"], scores=[score])
    (shown,) = analyze_looks(StoppingRecord(until="width=0.1", plan=PLAN, looks=[look]))
    assert list(shown.table.loc[0, ["images", "score", "low", "high"]]) == [80, 0.5, 0.4, 0.6]
    assert list(analyze_looks(None)) == []


def test_the_report_draws_the_looks(shared_run: Run, resolver: Any, tmp_path: Path) -> None:
    manifest = shared_run.manifest.model_copy(update={"stopping": STOPPING})
    run = Run(shared_run.folder, manifest)
    target = tmp_path / "report.html"
    write_report([run], target, resolver, 160, lambda message: None)
    text = target.read_text(encoding="utf-8")
    assert "decided after look 2 of 3 (320 images): mini is higher than early" in text
    section = re.search(r"<h3>[^<]*looks</h3>.*?</article>", text, re.DOTALL)
    assert section is not None
    assert "<svg" in section[0]


def test_a_stored_comparison_of_a_run_that_stopped_early_counts_one_look(shared_run: Run, resolver: Any) -> None:
    def list_notes(*looks: LookRecord, plan: list[PlannedLook] = PLAN, other: Run | None = None) -> set[str]:
        stopping = STOPPING.model_copy(update={"looks": list(looks), "plan": plan})
        run = Run(shared_run.folder, shared_run.manifest.model_copy(update={"stopping": stopping}))
        pairs = compare(run, other or run, ("dark", "light"), resolver).pairs
        return {note for pair in pairs if pair.found for note in pair.found.notes if "one look only" in note}

    pair = make_pair(2, "higher").model_copy(update={"a": "dark", "b": "light"})
    tested = STOPPING.looks[1].model_copy(update={"pairs": [pair]})
    score = ModelAtLook(model="dark", score=0.5, ci=[0.4, 0.6], narrow=True)
    assert len(list_notes(STOPPING.looks[0], tested)) == 1
    assert not list_notes(STOPPING.looks[0], tested, plan=PLAN[:2])  # the planned end
    assert not list_notes(tested.model_copy(update={"pairs": [], "scores": [score]}))  # a width tests nothing
    assert not list_notes()


def test_a_run_whose_size_depends_on_differences_is_compared_with_others_with_a_remark(
    shared_run: Run, make_run: Any, resolver: Any
) -> None:
    other = make_run("other", models={"light": {"level": 110}})

    def list_notes(stopping: StoppingRecord | None) -> str:
        run = Run(shared_run.folder, shared_run.manifest.model_copy(update={"stopping": stopping}))
        table = compare(run, other, ("dark", None), resolver).differences()
        return str(table.set_index("metric").loc["bright", "note"])

    assert "depends on its differences" in list_notes(STOPPING)
    assert "depends on its differences" not in list_notes(None)
    width = STOPPING.model_copy(update={"until": "width=0.1", "margin": None})
    assert "depends on its differences" not in list_notes(width)


def test_a_comparison_page_shows_the_own_difference_of_a_run_that_stopped_early(
    shared_run: Run, resolver: StaticResolver, tmp_path: Path
) -> None:
    said = next(each for each in shared_run.comparisons if each.metric == "bright")
    stopped = StoppedComparison(look=2, prompts=4, seeds=4, decision="lower", margin=0.05, plain_diff=-0.375)
    own = said.model_copy(
        update={
            "diff": -0.25,
            "ci": [-0.5, -0.125],
            "p_adjusted": 0.01,
            "interval": "stage-wise",
            "stopped": stopped,
        }
    )
    pair_at_look = make_pair(2, "lower").model_copy(update={"a": "dark", "b": "light"})
    looks = [STOPPING.looks[0], STOPPING.looks[1].model_copy(update={"pairs": [pair_at_look]})]
    stopping = STOPPING.model_copy(update={"looks": looks})
    changed = {"stopping": stopping, "comparisons": [own]}
    run = Run(shared_run.folder, shared_run.manifest.model_copy(update=changed))
    found = compare(run, run, ("light", "dark"), resolver)
    bright, broken = found.pairs
    shown = bright.to_comparison("light", "dark")
    assert shown is not None
    assert (shown.a, shown.b, shown.diff, shown.ci) == ("light", "dark", 0.25, [0.125, 0.5])
    assert (shown.p_adjusted, shown.interval) == (0.01, "stage-wise")
    assert shown.stopped is not None
    assert (shown.stopped.decision, shown.stopped.plain_diff) == ("higher", 0.375)
    write_comparison(found, tmp_path / "page.html", resolver, 16, lambda message: None)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert '<p class="note">bright: interval: stage-wise</p>' in text
    (note,) = bright.notes
    assert "0.375" in note
    assert note in text
    assert any("one look only" in note for note in broken.notes)  # the run did not compare under it
    assert text.count("one look only") == 1
