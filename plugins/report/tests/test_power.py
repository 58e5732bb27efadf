"""`t2i power`: designs from a stored run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from t2i_core import ModelRequest, evaluate
from t2i_core.api import (
    Measure,
    Metric,
    MetricInfo,
    Need,
    PairMetric,
    Prompt,
    PromptSourceInfo,
    Row,
    SetMetric,
    TableMetric,
)
from t2i_core.api.errors import BadOption
from t2i_core.results.run import Run, load_run
from t2i_core.statistics import paired_difference
from t2i_core.statistics.sample_size import Prices
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, StaticResolver
from t2i_report.commands.power import power_app
from t2i_report.power import needs
from t2i_report.power.needs import print_needs, read_prices
from t2i_report.power.pilots import find_needs
from t2i_report.power.sample_sizes import Goal
from typer.testing import CliRunner


def test_each_pair_of_models_has_its_designs(shared_run: Run, resolver: Any) -> None:
    needs = find_needs([shared_run], Goal(margin=0.2), resolver)
    assert [need.title for need in needs.found] == ["bright: dark against light", "broken: dark against light"]
    need = needs.found[0]
    assert (need.components.prompts, need.components.seeds) == (3, 4)  # the prompt with a failed image is left out
    best = need.cheapest
    assert best is not None
    assert f"{best.prompts:,} prompts x {best.seeds} seeds" in need.describe(Goal(margin=0.2))


def test_a_single_model_gets_the_width_of_its_interval(make_run: Any, resolver: Any) -> None:
    run = make_run(models={"dark": {"level": 60}})
    (need,) = find_needs([run], Goal(margin=0.2), resolver).found
    assert need.of == ("dark",)
    assert need.describe(Goal(margin=0.2)).startswith("for an interval of +-0.2: ")


def test_the_components_are_those_of_the_paired_test(make_run: Any, resolver: Any) -> None:
    run = make_run(seeds=8)
    (need,) = find_needs([run], Goal(), resolver).found
    rows = run.measurements().query("measure == 'bright'")
    wide = rows.pivot(index=["prompt", "seed"], columns="model", values="value").reset_index()
    found = paired_difference(wide["dark"], wide["light"], wide["prompt"].astype(str), wide["seed"])
    assert found.se is not None
    assert need.components.variance(4, 8)[0] == pytest.approx(found.se**2, rel=0.05)


def test_a_pilot_without_variation_is_left_out_in_words(make_run: Any, resolver: Any) -> None:
    run = make_run("equal", models={"dark": {"level": 20}, "darker": {"level": 10}})
    needs = find_needs([run], Goal(), resolver)
    assert needs.found == ()
    assert needs.left_out == (
        (
            "bright: dark against darker",
            "all values of the pilot are equal and show no variation; measure more prompts",
        ),
    )


def test_a_run_with_nothing_to_plan_says_why(
    make_run: Any, resolver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "installed_resolver", lambda: resolver)
    run = make_run("equal", models={"dark": {"level": 20}, "darker": {"level": 10}})
    with pytest.raises(BadOption, match="nothing to plan: bright: dark against darker: all values of the pilot"):
        print_needs([run.folder], Goal(), False, False, None)


def test_each_pair_of_several_runs_is_planned_once(make_run: Any, resolver: Any) -> None:
    models = {"dark": {"level": 60}, "light": {"level": 110}}
    runs = [make_run(name, models=models) for name in ("one", "two")]
    (need,) = find_needs(runs, Goal(), resolver).found
    assert need.of == ("dark", "light")
    alone = [make_run(name, models={"dark": {"level": 60}}) for name in ("three", "four")]
    assert len(find_needs(alone, Goal(), resolver).found) == 1


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_to_plan_is_an_error_in_both_formats(
    make_run: Any,
    resolver: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    monkeypatch.setattr(needs, "installed_resolver", lambda: resolver)
    with pytest.raises(BadOption, match="nothing to plan"):
        print_needs([make_run(seeds=8, interval="seeds").folder], Goal(), False, as_json, None)
    assert capsys.readouterr().out == ""


def test_fixed_seeds_do_not_vary(make_run: Any, resolver: Any) -> None:
    run = make_run(seeds=8, interval="prompts")
    (need,) = find_needs([run], Goal(), resolver).found
    assert need.components.seed == 0
    assert need.components.nested


def test_fixed_prompts_cannot_be_planned(make_run: Any, resolver: Any) -> None:
    needs = find_needs([make_run(seeds=8, interval="seeds")], Goal(), resolver)
    assert needs.left_out[0][1].startswith("with --interval seeds the prompts are fixed")


def test_prices_are_read() -> None:
    assert read_prices(["image=0.04", "prompt=2"]) == Prices(prompt=2, image=0.04)


@pytest.mark.parametrize("word", ["img=1", "image", "image=much", "image=-1", "image=nan", "image=inf"])
def test_a_bad_price_is_refused(word: str) -> None:
    with pytest.raises(BadOption, match=r"must be prompt=, image= or answer= with a number from 0"):
        read_prices([word])


def test_json_and_figure(
    shared_run: Run,
    resolver: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(needs, "installed_resolver", lambda: resolver)
    print_needs([shared_run.folder], Goal(margin=0.2), False, True, tmp_path / "widths.svg")
    said = json.loads(capsys.readouterr().out)
    assert said["margin"] == 0.2
    assert {row["seeds"] for row in said["needs"][0]["designs"]} == {1, 64}
    assert (tmp_path / "widths.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(BadOption, match=r"must end with \.svg or \.png"):
        print_needs([shared_run.folder], Goal(), False, True, tmp_path / "widths.pdf")


def test_text_names_the_cheapest_design(
    make_run: Any, resolver: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(needs, "installed_resolver", lambda: resolver)
    print_needs([make_run().folder], Goal(margin=0.2), False, False, None)
    said = capsys.readouterr().out
    assert "bright: dark against light\nto see a difference of 0.2 with power 0.8: " in said
    assert "cheapest" in said
    assert "1 seed: the interval would lack the variation between seeds" in said


class Hard(Metric):
    """Values that vary five times as much for hard prompts as for easy ones."""

    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        rng = np.random.default_rng(zlib.crc32(f"{unit.models}{unit.prompt.id}{unit.seed}".encode()))
        spread = 0.1 if unit.prompt.facets["kind"] == "easy" else 0.5
        yield Row("value", float(np.clip(0.5 + rng.normal(0, spread), -2, 3)))


class Together(Hard, TableMetric):
    def aggregate(self, table: pd.DataFrame, weights: Any) -> Mapping[str, float]:
        return {"value": float(np.average(table["value"], weights=weights))}


class OfSets(SetMetric):
    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        names = [f"{unit.models}{each.samples[0].prompt.id}{each.samples[0].seed}" for each in unit.observed]
        yield Row("value", float(np.mean([zlib.crc32(name.encode()) % 1000 for name in names]) / 1000))


class OfPairs(PairMetric):
    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", float(zlib.crc32(unit.prompt.id.encode()) % 2))

    def aggregate(self, table: pd.DataFrame, weights: Any) -> Mapping[str, float]:
        mean = float(np.average(table["value"], weights=weights))
        return {"a": mean, "b": 1 - mean}


MakePilot = Callable[[type[Metric]], tuple[Run, StaticResolver]]


@pytest.fixture
def make_pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakePilot:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def make(shape: type[Metric]) -> tuple[Run, StaticResolver]:
        measure = Measure("value", "V.", -2, 3, facets=("kind",))
        info = MetricInfo(name="shaped", summary="S.", create=shape, measures=(measure,))
        prompts = [Prompt(str(n), f"a cat {n}", facets={"kind": "easy" if n % 2 else "hard"}) for n in range(24)]
        source = PromptSourceInfo(name="some", summary="S.", prompts=lambda _: prompts)
        models: Any = [ModelRequest(TEST_MODEL, label) for label in "ab"]
        resolver = StaticResolver(TEST_JUDGE, source)
        run = evaluate(info, models, prompts="some", seeds=4, out=tmp_path / "run", resolver=resolver)
        return run, StaticResolver(TEST_JUDGE, source, info)

    return make


def test_levels_that_vary_more_need_more_prompts(make_pilot: MakePilot) -> None:
    run, resolver = make_pilot(Hard)
    (need,) = find_needs([run], Goal(margin=0.05), resolver).found
    needs = {each.level: each.prompts for each in need.levels}
    assert needs["easy"] is not None
    assert needs["hard"] is not None
    assert needs["hard"] > 3 * needs["easy"]
    (line,) = need.describe_levels()
    assert line.startswith("prompts of each level of kind alone, with ")


@pytest.mark.long
def test_a_mean_that_the_metric_computes_itself_needs_as_much_as_a_plain_one(make_pilot: MakePilot) -> None:
    run, resolver = make_pilot(Together)
    (need,) = find_needs([run], Goal(margin=0.2), resolver).found
    assert need.rough
    assert "(rough: not a mean over images)" in need.describe(Goal(margin=0.2))
    rows = run.measurements()
    wide = rows.pivot(index=["prompt", "seed"], columns="model", values="value").reset_index()
    exact = paired_difference(wide["a"], wide["b"], wide["prompt"], wide["seed"])
    assert exact.se is not None
    assert need.components.variance(24, 4)[0] == pytest.approx(exact.se**2, rel=0.3)


def test_a_set_needs_images(make_pilot: MakePilot) -> None:
    run, resolver = make_pilot(OfSets)
    (need,) = find_needs([run], Goal(margin=0.02), resolver).found
    assert (need.unit, need.rough) == ("images", True)
    (size,) = need.sizes
    (said,) = run.comparisons
    assert said.ci[0] is not None
    half = (said.diff or 0) - said.ci[0]
    assert size.images == pytest.approx(96 * (half * 2.8 / 2.1 / 0.02) ** 2, rel=0.25)  # t of 19 blocks: 2.1


@pytest.mark.long
def test_ratings_keep_the_number_of_seeds(make_pilot: MakePilot) -> None:
    run, resolver = make_pilot(OfPairs)
    (need,) = find_needs([run], Goal(margin=0.2), resolver).found
    assert need.rough
    assert need.of == ("a", "b")
    assert {size.seeds for size in need.sizes} <= {1, 2, 4, 8, 16, 32, 64}


def test_costs_are_the_seconds_that_runs_have_measured(make_run: Any, resolver: Any) -> None:
    run = make_run(seeds=8)
    (need,) = find_needs([run], Goal(margin=0.2), resolver).found
    assert need.price_unit == "seconds"
    seconds = [each.seconds for each in run.manifest.models.values()]
    assert all(seconds)
    size = need.sizes[0]
    assert size.cost >= size.images * min(each or 0 for each in seconds)
    (priced,) = find_needs([run], Goal(margin=0.2, prices=Prices(image=0.04)), resolver).found
    assert priced.price_unit == "cost"
    assert priced.sizes[0].cost == pytest.approx(0.04 * size.images)


def test_a_run_that_measured_no_time_counts_images(make_run: Any, resolver: Any) -> None:
    run = make_run(seeds=8)
    manifest = json.loads((run.folder / "run.json").read_text())
    for model in manifest["models"].values():
        model.pop("seconds")
    (run.folder / "run.json").write_text(json.dumps(manifest))
    (need,) = find_needs([load_run(run.folder)], Goal(margin=0.2), resolver).found
    assert need.price_unit == "images"
    assert need.sizes[0].cost == need.sizes[0].images


def test_the_needs_are_a_table_in_python(make_run: Any, resolver: Any) -> None:
    table = find_needs([make_run()], Goal(margin=0.2), resolver).table()
    assert {"metric", "models", "prompts", "seeds", "images", "cost", "cheapest"} <= set(table.columns)


@pytest.mark.parametrize("margin", ["0", "-0.1", "nan", "inf"])
def test_a_margin_that_is_not_above_0_is_refused(margin: str) -> None:
    done = CliRunner().invoke(power_app, ["run", "--margin", margin])
    assert done.exit_code == 2
    assert f"must be a number above 0 (got {margin})" in " ".join(done.output.replace("│", " ").split())
