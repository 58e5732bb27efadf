"""Verdicts say of each metric what its scores and comparisons show, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.results.needed_sample import make_sample_need
from t2i_core.results.result import Comparison, Result, Score
from t2i_core.results.sample_need import FIXED_PROMPTS, SampleNeed
from t2i_core.results.verdict import describe_need, describe_verdicts, rank_models
from t2i_core.statistics import paired_difference
from t2i_core.statistics.design import QUESTIONS

SURE, UNSURE = 0.01, 0.2
SEEN = "a difference of 0.05 with power 0.8"
OTHERS = "t2i power RUN has other designs"


def make_result(label: str, score: float | None, *, better: bool | None = True, **more: Any) -> Result:
    return Result.model_validate(
        {
            "metric": "tiam", "model": label, "as": label, "settings": {}, "judge": None, "judges": [],
            "prompts": "p", "score": score, "ci": None if score is None else [score - 0.1, score + 0.1],
            "interval": "t", "higher_is_better": better, "n_prompts": 1, "n_prompts_ok": 1, "n_seeds": 1,
            "n_ok": 1, "n_failed": 0, "n_missing": 0, "n_excluded": 0, "scores": {}, "facets": {}, **more,
        }
    )  # fmt: skip


def compare(a: str, b: str, diff: float, p: float | None) -> Comparison:
    return Comparison(
        metric="tiam",
        a=a,
        b=b,
        diff=diff,
        ci=[diff - 0.05, diff + 0.05],
        p_adjusted=p,
        p_unadjusted=p,
        n=9,
        interval="t",
    )


def test_one_model_has_its_score() -> None:
    assert describe_verdicts([make_result("mini", 0.5)], []) == ["mini scores 0.500 [0.400, 0.600] on tiam"]
    assert describe_verdicts([make_result("mini", None)], []) == []


@pytest.mark.parametrize(
    ("metric", "measure", "expected"),
    [
        ("prdc", "precision", "prdc (precision)"),
        ("tiam", "tiam", "tiam"),
        ("t2i-tiam/tiam", "tiam", "t2i-tiam/tiam"),
        ("yaml:my.yaml", "score", "yaml:my.yaml"),
    ],
)
def test_a_headline_names_its_measure_if_that_says_more(metric: str, measure: str, expected: str) -> None:
    score = Score(value=0.5, ci=[0.4, 0.6])
    result = make_result("mini", 0.5).model_copy(update={"metric": metric, "scores": {measure: score}})
    assert result.headline == expected


@pytest.mark.parametrize(
    ("better", "diff", "p", "expected"),
    [
        (True, 0.25, SURE, "a is better than b on tiam by 0.250 [0.200, 0.300], p 0.010"),
        (True, -0.25, SURE, "b is better than a on tiam by 0.250 [0.200, 0.300], p 0.010"),
        (False, 0.25, SURE, "b is better than a on tiam by 0.250 [0.200, 0.300], p 0.010"),
        (None, -0.25, SURE, "b scores higher than a on tiam by 0.250 [0.200, 0.300], p 0.010"),
        (True, 0.02, UNSURE, "no significant difference between a and b on tiam: 0.020 [-0.030, 0.070], p 0.200"),
        (True, 0.02, None, "no significant difference between a and b on tiam: 0.020 [-0.030, 0.070], p -"),
    ],
)
def test_two_models_are_told_apart_only_if_it_is_sure(
    better: bool | None, diff: float, p: float | None, expected: str
) -> None:
    results = [make_result("a", 0.5, better=better), make_result("b", 0.5 - diff, better=better)]
    assert describe_verdicts(results, [compare("a", "b", diff, p)])[0] == expected


def test_models_without_a_comparison_are_not_compared() -> None:
    results = [make_result("a", 0.5), make_result("b", 0.2)]
    assert describe_verdicts(results, []) == ["a and b are not compared on tiam"]


def test_a_sweep_has_its_best_setting_and_ranks() -> None:
    results = [make_result(f"m={n}", n / 10, model="m", settings={"m": n}) for n in (1, 3, 2)]
    pairs = [
        compare("m=1", "m=3", -0.2, SURE),
        compare("m=1", "m=2", -0.1, SURE),
        compare("m=3", "m=2", 0.1, UNSURE),
    ]
    assert describe_verdicts(results, pairs)[:2] == [
        "best of 3 settings of m on tiam: m=3, 0.300 [0.200, 0.400]; significantly better than 1 of the other 2",
        "ranks on tiam: 1-2 m=3, 1-2 m=2, 3 m=1",
    ]


def test_labels_of_one_model_without_settings_are_models() -> None:
    results = [make_result(label, 0.3, model="battles") for label in "abc"]
    pairs = [compare(a, b, 0.0, UNSURE) for a, b in ("ab", "ac", "bc")]
    assert describe_verdicts(results, pairs)[0].startswith("best of 3 models on tiam: ")


def test_the_upper_bounds_model_is_not_compared() -> None:
    bound = {"model": "truth", "value": 1.0, "ci": None}
    results = [make_result("a", 0.5, upper_bound=bound), make_result("truth", 1.0)]
    assert describe_verdicts(results, []) == ["a scores 0.500 [0.400, 0.600] on tiam"]


def test_each_judge_of_a_metric_has_its_own_verdict() -> None:
    results = [make_result("a", 0.5, by="x"), make_result("a", 0.7, by="y")]
    assert [line.partition(" on ")[2] for line in describe_verdicts(results, [])] == ["tiam by x", "tiam by y"]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(-5, 5), min_size=1),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_ranks_agree_with_the_comparisons(scores: Mapping[str, float], better: bool, random: Any) -> None:
    results: Sequence[Result] = [make_result(label, score, better=better) for label, score in scores.items()]
    pairs = [
        compare(a, b, scores[a] - scores[b], random.choice([SURE, UNSURE])) for a, b in combinations(scores, 2)
    ]
    standings = rank_models(results, pairs)
    sign = 1 if better else -1
    assert [each.score * sign for each in standings] == sorted((s * sign for s in scores.values()), reverse=True)
    sure = [each for each in pairs if each.p_adjusted == SURE and each.diff]
    for place, each in enumerate(standings, start=1):
        better_ones = sum((p.diff or 0) * sign > 0 if p.b == each.label else (p.diff or 0) * sign < 0
                          for p in sure if each.label in (p.a, p.b))  # fmt: skip
        worse_ones = sum(each.label in (p.a, p.b) for p in sure) - better_ones
        assert (each.first, each.last) == (1 + better_ones, len(scores) - worse_ones)
        assert each.first <= place <= each.last


MEASURE = SettledMeasure("tiam", "S.", 0, 1)


def make_need(prompts: int | None, seeds: int | None = 4, *, reached: bool = False) -> SampleNeed:
    return SampleNeed(margin=0.05, power=0.8, prompts=prompts, seeds=seeds, reached=reached)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ([make_need(210)], f"to see {SEEN}: about 210 prompts x 4 seeds (840 images a model); {OTHERS}"),
        (
            [make_need(1210, None), make_need(10, None, reached=True)],
            f"to see {SEEN}: about 1,210 prompts, with as many seeds as here; {OTHERS}",
        ),
        (
            [make_need(210, reached=True)],
            f"these images suffice to see {SEEN}; for a smaller one: t2i power RUN --margin NUMBER",
        ),
        (
            [make_need(20), make_need(None, None)],
            f"no design within reach shows {SEEN}; try a larger one with t2i power RUN --margin NUMBER",
        ),
        ([None], "t2i power RUN --margin NUMBER tells how many prompts would show a difference of NUMBER"),
    ],
)
def test_comparisons_without_a_verdict_say_how_many_prompts_would_show_a_difference(
    needs: list[SampleNeed | None], expected: str
) -> None:
    labels = "abcd"[: len(needs) + 1]
    pairs = [
        compare(labels[0], other, 0.02, UNSURE).model_copy(update={"needed": need})
        for other, need in zip(labels[1:], needs, strict=True)
    ]
    assert describe_verdicts([make_result(label, 0.5) for label in labels], pairs)[-1] == expected


def test_a_comparison_that_holds_the_prompts_fixed_needs_no_other_prompts() -> None:
    pair = compare("a", "b", 0.02, UNSURE).model_copy(update={"interval": f"t; {QUESTIONS['seeds']}"})
    assert describe_need([pair]) is None
    assert describe_need([compare("a", "b", 0.3, SURE)]) is None


def test_the_question_of_fixed_prompts_is_that_of_the_statistics() -> None:
    assert QUESTIONS["seeds"] == FIXED_PROMPTS


def test_images_suffice_only_if_their_own_prompts_and_seeds_do() -> None:
    """Few seeds that differ much need more seeds, however many prompts there are."""
    rng, shape = np.random.default_rng(0), (1000, 4)
    value = rng.normal(0, 0.1, (1000, 1)) + np.array([-0.06, -0.03, 0.03, 0.06]) + rng.normal(0, 0.22, shape)
    prompt, seed = np.indices(shape).reshape(2, -1)
    few_seeds = paired_difference(value.ravel(), np.zeros(value.size), prompt, seed)
    need = make_sample_need(few_seeds, MEASURE)
    assert need is not None
    assert need.prompts is not None
    assert need.seeds is not None
    assert need.prompts * need.seeds < value.size
    assert not need.reached
    alike = paired_difference((value - value.mean(axis=0)).ravel(), np.zeros(value.size), prompt, seed)
    enough = make_sample_need(alike, MEASURE)
    assert enough is not None
    assert enough.reached
