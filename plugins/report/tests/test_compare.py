"""Two models of stored runs: what an evaluation of both would have said, and what cannot be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from rich.console import Console
from t2i_core.api import ExistingImagesInfo, Generated
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run, load_finished_run, load_run
from t2i_core.results.verdict import describe_need, describe_verdicts
from t2i_core.testing import StaticResolver
from t2i_report.commands.compare import compare_app
from t2i_report.compare import ModelComparison, compare, print_comparison
from t2i_report.compare_page import write_comparison
from typer.testing import CliRunner

MakeRun = Callable[..., Run]


@pytest.fixture
def compared(resolver: StaticResolver) -> Callable[..., ModelComparison]:
    return lambda first, second, a=None, b=None: compare(first, second, (a, b), resolver)


def as_text(found: ModelComparison, most: int) -> str:
    screen = Console(file=StringIO(), width=200)
    print_comparison(found, screen, most)
    assert isinstance(screen.file, StringIO)
    return screen.file.getvalue()


def test_two_models_of_one_run_differ_as_the_run_says(compared: Any, shared_run: Run) -> None:
    found = compared(shared_run, shared_run, "dark", "light")
    table = found.differences().set_index("metric")
    for said in shared_run.comparisons:
        row = table.loc[said.metric]
        assert (row["a"], row["b"], row["n"]) == ("dark", "light", said.n)
        assert [row["diff"], row["low"], row["high"]] == pytest.approx([said.diff, *said.ci])
        assert row["p_unadjusted"] == pytest.approx(said.p_unadjusted)
        assert row["interval"] == said.interval


def test_models_of_two_runs_differ_as_in_one(compared: Any, make_run: MakeRun) -> None:
    both = make_run("both", models={"dark": {"level": 60}, "light": {"level": 110}})
    dark = make_run("one", models={"dark": {"level": 60}})
    light = make_run("two", models={"light": {"level": 110}}, seeds=5)  # a seed more, which is not shared
    (said,) = both.comparisons
    (row,) = compared(dark, light).differences().itertuples()
    assert (row.diff, row.low, row.high, row.p_unadjusted) == pytest.approx(
        (said.diff, *said.ci, said.p_unadjusted)
    )
    assert row.n == said.n == 16


def test_seeds_that_images_do_not_name_are_not_crossed(
    compared: Any, resolver: StaticResolver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def model(name: str, why: str | None) -> ExistingImagesInfo:
        class Model:
            def generate(self, requests: Any) -> Any:
                for request in requests:
                    file = tmp_path / f"{name}-{request.prompt.id}-{request.seed}.png"
                    rng = np.random.default_rng(list(file.name.encode()))
                    PILImage.fromarray(rng.integers(1, 256, (2, 2, 3), dtype=np.uint8)).save(file)
                    yield request, Generated(file)

        return ExistingImagesInfo(
            name=name, summary="S.", create=lambda setup: Model(), unshared_seeds=lambda setup: why
        )

    def run(out: str, *models: ExistingImagesInfo, **how: Any) -> Run:
        evaluate("bright", models, prompts="listed", seeds=4, out=tmp_path / out, resolver=resolver, **how)
        return load_finished_run(tmp_path / out)

    why = "16 of 16 images name no seed"
    one, two = model("one", None), model("two", why)
    both = run("both", one, two)
    first, second = run("first", one), run("second", two)
    (said,) = both.comparisons
    for found in (compared(both, both, "one", "two"), compared(first, second)):
        (row,) = found.differences().itertuples()
        assert (row.diff, row.low, row.high, row.p_unadjusted) == pytest.approx(
            (said.diff, *said.ci, said.p_unadjusted)
        )
        assert row.interval == said.interval
        assert "x seeds" not in row.interval
        assert f"note: two: {why}, so seeds are not crossed with prompts" in as_text(found, 1)
    # a run from before seeds could be unshared: its noise alone decides
    manifest = json.loads((second.folder / "run.json").read_text())
    assert manifest["models"]["two"].pop("unshared_seeds") == why
    (second.folder / "run.json").write_text(json.dumps(manifest))
    old = compared(first, load_finished_run(second.folder))
    assert "x seeds" in old.differences().loc[0, "interval"]
    assert "name no seed" not in as_text(old, 1)
    # where the noise is each prompt's own, it is the reason
    per_prompt = compared(run("third", one, noise="per-prompt"), run("fourth", two, noise="per-prompt"))
    (row,) = per_prompt.differences().itertuples()
    assert [row.low, row.high] == pytest.approx(said.ci)
    assert row.interval == said.interval
    assert "name no seed" not in as_text(per_prompt, 1)


def test_prompt_by_prompt_only_what_both_have_counts(compared: Any, shared_run: Run) -> None:
    prompts = compared(shared_run, shared_run, "dark", "light").prompts()
    own = prompts[prompts["metric"] == "bright"].set_index("prompt")
    assert own["diff"].is_monotonic_increasing
    assert dict(own["n"]) == {"plain": 3, "script": 4, "template": 4, "lines": 4}  # one image of plain failed
    table = shared_run.measurements()
    rows = table[(table["metric"] == "bright") & (table["measure"] == "bright") & (table["prompt"] == "plain")]
    dark = rows[(rows["model"] == "dark") & (rows["seed"] != 1)]["value"].mean()
    assert own.loc["plain", "a"] == pytest.approx(dark)


def test_one_model_measured_twice_is_told_apart_by_its_runs(compared: Any, make_run: MakeRun) -> None:
    one, two = (make_run(name, models={"m": {"level": 60}}) for name in ("one", "two"))
    found = compared(one, two)
    assert (found.a.name, found.b.name) == ("m (one)", "m (two)")
    assert found.differences()["diff"].tolist() == [0]


def test_metrics_measured_differently_are_left_out_with_a_reason(compared: Any, make_run: MakeRun) -> None:
    dark = make_run("dark", models={"dark": {"level": 60}})
    more = make_run("more", models={"light": {"level": 110}}, metrics=["bright", "broken"])
    found = compared(dark, more)
    assert [pair.metric for pair in found.pairs] == ["bright"]
    assert found.left_out == [("broken", "only one of the runs has it")]
    compared_row, left_out_row = found.differences().itertuples()
    assert compared_row.n == 16
    assert (left_out_row.metric, left_out_row.note) == ("broken", "only one of the runs has it")
    assert pd.isna(left_out_row.n)
    assert "only one of the runs has it" in found._repr_html_()
    seeds = make_run("seeds", models={"light": {"level": 110}}, interval="seeds")
    assert compared(dark, seeds).left_out == [("bright", "the runs' --interval differ (new, seeds)")]
    strict = make_run("strict", models={"light": {"level": 110}}, options={"bright": {"over": 0.7}})
    assert compared(dark, strict).left_out == [("bright", "the metric's options differ (over)")]


def test_rows_that_depend_on_all_prompts_of_a_run_need_the_same_prompts(
    compared: Any, make_run: MakeRun, resolver: StaticResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    dark = make_run("dark", models={"dark": {"level": 60}})
    light = make_run("light", models={"light": {"level": 110}})
    fewer = make_run("fewer", models={"light": {"level": 110}}, limit=3)
    assert not compared(dark, fewer).left_out
    monkeypatch.setattr(resolver.component("metric", "bright", {}).info.create, "rows_depend_on_prompts", True)
    assert not compared(dark, light).left_out
    why = (
        "the runs' prompts differ (1 of 4), and the metric's values depend on all prompts of a run; measure both "
        "models with the same prompts"
    )
    assert compared(dark, fewer).left_out == [("bright", why)]
    (fewer.folder / "prompts.jsonl").unlink()
    assert "prompts.jsonl" in compared(dark, load_run(fewer.folder)).left_out[0][1]


def test_runs_of_two_versions_of_a_metric_are_not_compared(
    compared: Any, make_run: MakeRun, resolver: StaticResolver
) -> None:
    raised = replace(resolver.component("metric", "bright", {}).info, version=2)
    dark = make_run("dark", models={"dark": {"level": 60}})
    light = make_run("light", metrics=raised, models={"light": {"level": 110}})
    assert compared(dark, light).left_out == [("bright", "the metric's versions differ (1, 2)")]
    pale = make_run("pale", metrics=raised, models={"pale": {"level": 200}})
    assert [pair.metric for pair in compared(light, pale).pairs] == ["bright"]


def test_a_run_from_before_metrics_had_versions_has_the_first(compared: Any, make_run: MakeRun) -> None:
    dark = make_run("dark", models={"dark": {"level": 60}})
    light = make_run("light", models={"light": {"level": 110}})
    parts = [
        part if part.kind != "metric" else part.model_copy(update={"metric_version": None})
        for part in dark.manifest.components
    ]
    unversioned = replace(dark, manifest=dark.manifest.model_copy(update={"components": parts}))
    assert compared(unversioned, light).left_out == []


def test_rows_that_do_not_give_their_score_again_are_not_compared(
    shared_run: Run, resolver: StaticResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = resolver.component("metric", "bright", {}).info.create
    monkeypatch.setattr(metric, "aggregate", lambda self, table, weights: {"bright": 0.125})
    found = compare(shared_run, shared_run, ("dark", "light"), resolver)
    assert found.pairs == []  # both metrics are made of the one that was altered
    assert [why for _, why in found.left_out] == [
        "the rows of dark give the score 0.125, but its run records 0.25; was the metric changed?"
    ] * 2


def test_which_models_must_be_clear(compared: Any, shared_run: Run, make_run: MakeRun) -> None:
    run = make_run(models={name: {"level": 60} for name in ("one", "two", "three")}, seeds=1)
    with pytest.raises(BadOption, match="has 3 models; name one with --a: one, two, three"):
        compared(run, run)
    with pytest.raises(BadOption, match="with itself"):
        compared(shared_run, shared_run, "dark", "dark")
    with pytest.raises(UnknownName, match="did you mean 'light'"):
        compared(shared_run, shared_run, "dark", "ligth")


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ((None, None), ("dark", "light")),
        (("light", None), ("light", "dark")),
        ((None, "dark"), ("light", "dark")),
    ],
)
def test_a_run_of_two_models_compares_these_two(
    compared: Any, shared_run: Run, labels: tuple[str | None, str | None], wanted: tuple[str, str]
) -> None:
    found = compared(shared_run, shared_run, *labels)
    assert (found.a.label, found.b.label) == wanted


def test_prompts_are_shown_by_their_texts(
    compared: Any, resolver: StaticResolver, shared_run: Run, tmp_path: Path
) -> None:
    write_comparison(compared(shared_run, shared_run), tmp_path / "page.html", resolver, 16, lambda message: None)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert '<th scope="row">a red dog</th>' in text
    assert '<th scope="row">plain</th>' not in text


def test_the_terminal_shows_differences_and_prompts(compared: Any, shared_run: Run) -> None:
    text = as_text(compared(shared_run, shared_run, "dark", "light"), most=1)
    said = shared_run.comparisons[0]
    low, high = said.ci
    lines = text.splitlines()
    verdicts = describe_verdicts(
        shared_run.results[:2], [said.model_copy(update={"p_adjusted": said.p_unadjusted})]
    )
    assert lines[2].startswith(verdicts[0][:60])
    assert re.search(r"  p \(unadjusted\)  n *\n", text)
    assert re.search(rf"bright +{said.diff:.3f} +\[{low:.3f}, {high:.3f}\] +{said.p_unadjusted:.3f} +15 *\n", text)
    assert "bright: the 1 lowest and 1 highest of 4 prompts" in text
    assert "interval of bright: paired, " in text


def test_a_difference_that_is_not_significant_names_the_number_of_prompts_that_would_show_one(
    compared: Any, resolver: StaticResolver, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(models={"dark": {"level": 100}, "light": {"level": 104}}, seeds=8)
    (said,) = run.comparisons
    assert said.needed is not None
    found = compared(run, run, "dark", "light")
    assert as_text(found, 10).splitlines()[3] == describe_need(run.comparisons)
    write_comparison(found, tmp_path / "page.html", resolver, 16, print)
    assert describe_need(run.comparisons) in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_has_the_notes_and_the_interval_of_each_comparison(
    compared: Any, resolver: StaticResolver, shared_run: Run, tmp_path: Path
) -> None:
    found = compared(shared_run, shared_run, "dark", "light")
    write_comparison(found, tmp_path / "page.html", resolver, 16, lambda message: None)
    text = (tmp_path / "page.html").read_text("utf-8")
    for pair in found.pairs:
        assert any("10" in note for note in pair.notes)  # few prompts
        assert pair.found is not None
        for note in (*pair.notes, f"interval: {pair.found.method}; {pair.found.question}"):
            assert f'<p class="note">{pair.metric}: {note}</p>' in text


def test_the_page_has_the_signature_that_both_models_share(
    compared: Any, resolver: StaticResolver, make_run: MakeRun, tmp_path: Path
) -> None:
    dark = make_run("dark", models={"dark": {"level": 60}})
    same, more = (make_run(f"{n}", models={"light": {"level": 110}}, seeds=n) for n in (4, 5))
    (line,) = {result.signature for result in (*dark.results, *same.results)}
    assert line is not None
    pages = []
    for name, other in (("same", same), ("more", more)):
        write_comparison(compared(dark, other), tmp_path / name, resolver, 16, print)
        text = (tmp_path / name).read_text("utf-8")
        pages.append(text[text.index('id="answer-repeat"') : text.index('id="models"')])
    assert line in pages[0]
    assert "metric:bright" not in pages[1]


def test_the_page_has_both_pictures_of_each_pair(
    compared: Any, resolver: StaticResolver, shared_run: Run, tmp_path: Path
) -> None:
    target = tmp_path / "c.html"
    write_comparison(compared(shared_run, shared_run, "light", "dark"), target, resolver, 160, pytest.fail)
    text = target.read_text()
    assert '<th scope="col">p</th>' in text  # one comparison by metric needs no adjustment
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    lines = [
        line
        for part in re.findall(r'id="pictures-\d+">(.*?)</script>', text, re.DOTALL)
        for line in part.split("\n")
    ]
    assert len(data["model"]) == 16
    assert [line == "" for line in lines].count(True) == 1
    (failed,) = data["why"]
    assert lines[2 * int(failed)] == "" != lines[2 * int(failed) + 1]
    titles = [measure["title"] for measure in data["measures"]]
    assert titles[:3] == ["bright: a - b", "bright: light", "bright: dark"]
    apart, light, dark = (measure["values"] for measure in data["measures"][:3])
    for x, y, z in zip(apart, light, dark, strict=True):
        assert x == (None if y is None or z is None else y - z)


def test_the_command_prints_and_exports(
    shared_run: Run, resolver: StaticResolver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2i_core.api.resolver.installed_resolver", lambda: resolver)
    words = [str(shared_run.folder), str(shared_run.folder), "--a", "dark", "--b", "light"]
    printed = CliRunner().invoke(compare_app, [*words, "--out", str(tmp_path / "c.html")])
    assert (printed.exit_code, (tmp_path / "c.html").exists()) == (0, True), printed.output
    assert printed.stdout.startswith("a: dark\nb: light\n")
    table = CliRunner().invoke(compare_app, [*words, "--format", "json", "--table", "prompts"])
    assert [row["metric"] for row in json.loads(table.stdout)] == ["bright"] * 4 + ["broken"] * 4


@pytest.fixture
def told(resolver: StaticResolver, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Call the command as `t2i compare` does, but for its errors."""
    monkeypatch.setattr("t2i_core.api.resolver.installed_resolver", lambda: resolver)
    return lambda *words: CliRunner().invoke(compare_app, list(map(str, words)))


def test_runs_with_nothing_to_compare_are_refused_and_why(
    told: Any, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("one", models={"m": {"level": 60}}, seeds="0-1")
    make_run("two", models={"m": {"level": 60}}, seeds="2-3")
    why = "one and two: m (one) and m (two) have nothing to compare: bright: they share no prompts with the same"
    for words in ((), ("--format", "csv"), ("--out", "c.html")):
        refused = told("one", "two", *words)
        assert isinstance(refused.exception, BadFolder)
        assert why in str(refused.exception)
        assert refused.stdout == ""
    assert not (tmp_path / "c.html").exists()


def test_pictures_alone_are_shown_side_by_side(told: Any, make_run: MakeRun, tmp_path: Path) -> None:
    for name, level in (("dark", 60), ("light", 110)):
        make_run(name, metrics=[], models={name: {"level": level}})
    words = (tmp_path / "dark", tmp_path / "light")
    refused = told(*words)
    assert isinstance(refused.exception, BadFolder)
    assert "have nothing to compare: no metric has measured them" in str(refused.exception)
    done = told(*words, "--out", tmp_path / "c.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "c.html").read_text()
    assert len(json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])["model"]) == 16


def test_a_metric_without_images_is_compared_too(
    compared: Any, told: Any, make_run: MakeRun, tmp_path: Path
) -> None:
    runs = [
        make_run(name, metrics="own", models={name: {"level": level}})
        for name, level in (("dark", 60), ("light", 9))
    ]
    assert not list((tmp_path / "dark").rglob("*.png"))
    (row,) = compared(*runs).differences().itertuples()
    assert row.diff == 51
    done = told(*(run.folder for run in runs), "--out", tmp_path / "c.html")
    assert done.exit_code == 0, done.output
    assert "51.0" in (tmp_path / "c.html").read_text()
