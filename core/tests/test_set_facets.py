"""Sets by facet: the same value and interval as a run of that level's prompts alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Derive,
    Failure,
    Generated,
    GeneratorInfo,
    Measure,
    MetricInfo,
    Need,
    Prompt,
    Row,
    SetMetric,
    Unit,
)
from t2i_core.api.errors import BrokenPlugin
from t2i_core.engine import estimates, unit_reader
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.unit_reader import find_block
from t2i_core.results.score_difference import select_whole_sets
from t2i_core.testing import StaticResolver

SUBSETS = ("easy", "hypo", "easy | hypo")
PROMPTS = [Prompt(str(n), f"text {n}", facets={"subset": SUBSETS[n % 3], "size": n // 20}) for n in range(24)]


class Grey:
    salt = 0

    def generate(self, requests: Any) -> Iterator[Any]:
        for r in requests:
            rng = np.random.default_rng([r.seed, int(r.prompt.id), self.salt])
            yield r, Generated(np.full((2, 2, 3), rng.integers(20, 230), np.uint8))


class OtherGrey(Grey):
    salt = 1


def read_grey(pixels: Any, _: Any) -> dict[str, Any]:
    return {"grey": np.array([pixels.mean()])}


class Spread(SetMetric):
    """Says the variance of greys, which is not a mean over images; a set of fewer than five images has none."""

    needs = (Need("pixels", "pixels", derive=Derive("grey", read_grey)),)

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        greys = [float(observed.derived("pixels")["grey"][0]) for observed in unit.observed]
        yield Row("spread", float(np.var(greys))) if len(greys) > 4 else Failure("too few")


class OfPrompts(Spread):
    whole_prompts = True


class Faceted(Spread):
    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        yield Row("spread", 1.0, {"own": "facet"})


GREY = GeneratorInfo(name="grey", summary="Greys.", create=lambda setup: Grey())


def describe(metric: type[SetMetric], facets: tuple[str, ...] = ("*",)) -> MetricInfo:
    return MetricInfo(
        name="spread",
        summary="S.",
        create=metric,
        measures=(Measure("spread", "Variance.", low=0, facets=facets),),
    )


def measure(prompts: list[Prompt], out: Path, metric: MetricInfo, seeds: int = 3) -> Any:
    return evaluate(metric, GREY, prompts=prompts, seeds=seeds, out=out, resolver=StaticResolver())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.long
@pytest.mark.parametrize("metric", [Spread, OfPrompts])
def test_a_level_has_the_score_and_interval_of_a_run_of_this_level_alone(
    tmp_path: Path, metric: type[SetMetric]
) -> None:
    (result,) = measure(PROMPTS, tmp_path / "all", describe(metric)).results
    levels = result.facets["spread"]["subset"]
    assert set(levels) == {"easy", "hypo"}  # a prompt with both levels counts in each
    for level, found in levels.items():
        own = [prompt for prompt in PROMPTS if level in str(prompt.facets["subset"]).split(" | ")]
        (alone,) = measure(own, tmp_path / level, describe(metric, ())).results
        assert len(own) == 16
        assert (found.value, found.ci) == (alone.score, alone.ci)
        assert alone.facets == {}
    (plain,) = measure(PROMPTS, tmp_path / "plain", describe(metric, ())).results
    assert (result.score, result.ci, result.n_ok) == (plain.score, plain.ci, 72)


def test_a_level_without_a_value_is_absent_and_loses_no_sample(tmp_path: Path) -> None:
    run = measure(PROMPTS, tmp_path / "run", describe(Spread), seeds=1)
    (result,) = run.results
    assert set(result.facets["spread"]["size"]) == {"0"}  # the other level has four images
    assert (result.n_ok, result.n_failed, result.n_excluded) == (24, 0, 0)
    table = run.measurements()
    assert set(table["size"].dropna().astype(str)) == {"0"}
    whole = select_whole_sets(table)
    assert len(whole) == 1 + len({find_block(prompt, 0) for prompt in PROMPTS})
    assert whole.query("left_out == 'none'")["value"].item() == result.score


def test_blocks_of_whole_prompts_resample_prompts(tmp_path: Path) -> None:
    (images,) = measure(PROMPTS[:2], tmp_path / "images", describe(Spread)).results
    (prompts,) = measure(PROMPTS[:2], tmp_path / "prompts", describe(OfPrompts)).results
    assert images.score == prompts.score
    assert None not in images.ci
    assert "new images" in images.interval
    assert prompts.ci == [None, None]  # each set without a block has the three images of a single prompt
    assert any("too few prompts" in note for note in prompts.notes)


def compare_sets(other: type[Grey], out: Path) -> Any:
    info = GeneratorInfo(name="other", summary="Greys.", create=lambda setup: other())
    return evaluate(describe(Spread), [GREY, info], prompts=PROMPTS, seeds=2, out=out, resolver=StaticResolver())


def test_two_models_are_compared_on_whole_sets(tmp_path: Path) -> None:
    run = compare_sets(OtherGrey, tmp_path / "run")
    (comparison,) = run.comparisons
    blocks = {find_block(prompt, seed) for prompt in PROMPTS for seed in range(2)}
    first, second = (result.score for result in run.results)
    assert comparison.diff == pytest.approx(first - second)
    assert comparison.n == len(blocks)


def test_two_models_that_never_differ_are_not_compared(tmp_path: Path) -> None:
    assert compare_sets(Grey, tmp_path / "run").comparisons == []


def test_a_facet_of_too_many_levels_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (unit_reader, estimates):
        monkeypatch.setattr(module, "MOST_LEVELS", 1)
    (result,) = measure(PROMPTS, tmp_path / "run", describe(Spread)).results
    assert result.facets == {}
    assert sum("2 levels" in note for note in result.notes) == 2


def test_a_row_of_a_set_must_not_have_facets(tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin) as error:
        measure(PROMPTS, tmp_path / "run", describe(Faceted))
    assert "own" in str(error.value)
