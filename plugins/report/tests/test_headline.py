"""The words of titles and paragraphs: nothing that is not sure is said as sure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.results.correction import CorrectedDifference, Correction, LabelScore
from t2i_core.results.looks import StoppedComparison
from t2i_core.results.pair_verdict import LEVEL
from t2i_core.results.result import Comparison, Result, Score
from t2i_core.results.sample_need import SampleNeed
from t2i_report.citation import Citation, _list_signatures
from t2i_report.metric_results import MetricResults, group_results
from t2i_report.plots.forest import draw_forests
from t2i_report.words.answers import answer
from t2i_report.words.headline import Headline, write_headline

MEASURE = SettledMeasure("share", "A share.", low=0, high=1)


def result(label: str, score: float | None, metric: str = "share", **more: Any) -> Result:
    ci = [None, None] if score is None else [round(score - 0.1, 3), round(score + 0.1, 3)]
    base: dict[str, Any] = {
        "metric": metric, "model": label, "as": label, "settings": {}, "judge": None, "judges": [],
        "prompts": "listed", "score": score, "ci": ci, "higher_is_better": True, "interval": "t; new prompts",
        "n_prompts": 20, "n_prompts_ok": 20, "n_seeds": 2, "n_ok": 40, "n_failed": 0, "n_missing": 0,
        "n_excluded": 0, "scores": {metric: Score(value=score, ci=ci)}, "facets": {},
    }  # fmt: skip
    return Result.model_validate(base | more)


def comparison(a: str, b: str, diff: float | None, p: float, metric: str = "share", **more: Any) -> Comparison:
    ci = [None, None] if diff is None else [round(diff - 0.1, 3), round(diff + 0.1, 3)]
    base: dict[str, Any] = {
        "metric": metric, "a": a, "b": b, "diff": diff, "ci": ci, "p_adjusted": p, "p_unadjusted": p / 2, "n": 40,
        "interval": "paired t; new prompts of this kind and new seeds",
    }  # fmt: skip
    return Comparison.model_validate(base | more)


def write(
    results: list[Result],
    comparisons: list[Comparison] | None = None,
    tasks: dict[str, frozenset[str]] | None = None,
    **how: Any,
) -> Headline:
    names = dict.fromkeys(each.metric for each in results)
    measures = {
        name: (
            SettledMeasure(name, "A share.", low=0, high=1, higher_is_better=first.higher_is_better),
            *(SettledMeasure(task, "A task.", low=0, high=1) for task in (tasks or {}).get(name, ())),
        )
        for name in names
        for first in [next(each for each in results if each.metric == name)]
    }
    return write_headline(group_results(results, comparisons or [], measures, {}, tasks or {}), **how)


NEED = {"needed": SampleNeed(margin=0.05, power=0.8, prompts=220, seeds=None, reached=False)}
PAIR = [result("new", 0.7), result("old", 0.4)]
FACETS = {
    "share": {"kind": {"one": Score(value=0.9, ci=[0.8, 0.95]), "two objects": Score(value=0.1, ci=[0.05, 0.2])}}
}


def test_the_better_of_two_models() -> None:
    found = write(PAIR, [comparison("new", "old", 0.3, 0.01)])
    assert found.title == "new is better than old on share"
    assert found.sentences == ["new is better than old on share by 0.300 [0.200, 0.400]."]


def test_the_better_one_may_be_the_second() -> None:
    found = write(PAIR[::-1], [comparison("old", "new", -0.3, 0.01)])
    assert found.sentences == ["new is better than old on share by 0.300 [0.200, 0.400]."]


def test_undecided_with_the_number_of_prompts() -> None:
    found = write(PAIR, [comparison("new", "old", 0.04, 0.4, **NEED)])
    assert found.title == "No sure difference between new and old on share"
    assert found.sentences == [
        "share is undecided: new minus old is 0.040 [-0.060, 0.140]; about 200 more prompts would show a "
        "difference of 0.05."
    ]


def test_no_prompts_are_asked_for_where_the_interval_holds_them_fixed() -> None:
    fixed = comparison("new", "old", 0.04, 0.4, **NEED, interval="paired t; these prompts, new seeds")
    assert write(PAIR, [fixed]).sentences == ["share is undecided: new minus old is 0.040 [-0.060, 0.140]."]


def test_one_model_and_its_weak_spot() -> None:
    found = write([result("new", 0.7, facets=FACETS)])
    assert found.title == "new scores 0.700 on share, weakest at kind: two objects"
    assert found.sentences == [
        "new scores 0.700 [0.600, 0.800] on share.",
        "new is weakest at kind: two objects 0.100 [0.050, 0.200] on share.",
    ]


def test_a_weak_spot_whose_interval_is_wide_is_not_in_the_title() -> None:
    facets = {"share": {"kind": {"one": Score(value=0.9, ci=[0.2, 1]), "two": Score(value=0.1, ci=[0, 0.8])}}}
    assert write([result("new", 0.7, facets=facets)]).title == "new scores 0.700 on share"


def test_a_model_that_scores_the_same_everywhere_has_no_weak_spot() -> None:
    facets = {"share": {"kind": {"one": Score(value=1, ci=[0.8, 1]), "two": Score(value=1, ci=[0.2, 1])}}}
    assert write([result("new", 1.0, facets=facets)]).sentences == ["new scores 1.000 [0.900, 1.100] on share."]


def test_a_level_at_which_both_models_are_weakest() -> None:
    found = write(
        [result("new", 0.7, facets=FACETS), result("old", 0.4, facets=FACETS)],
        [comparison("new", "old", 0.3, 0.01)],
    )
    assert found.sentences[-1] == (
        "Both are weakest at kind: two objects on share: new 0.100 [0.050, 0.200] and old 0.100 [0.050, 0.200]."
    )


def test_a_task_counts_as_a_level_and_a_variant_of_the_score_does_not() -> None:
    scores = {
        "share": Score(value=0.7, ci=[0.6, 0.8]),
        "two objects": Score(value=0.1, ci=[0, 0.2]),
        "colors": Score(value=0.9, ci=[0.8, 1]),
        "strict": Score(value=0.0, ci=[0, 0.1]),
    }
    found = write([result("new", 0.7, scores=scores)], tasks={"share": frozenset({"two objects", "colors"})})
    assert found.title == "new scores 0.700 on share, weakest at two objects"


def test_a_lower_score_is_better() -> None:
    results = [result("new", 0.2, higher_is_better=False), result("old", 0.5, higher_is_better=False)]
    found = write(results, [comparison("new", "old", -0.3, 0.01)])
    assert found.title == "new is better than old on share"
    assert found.sentences == ["new is better than old on share by 0.300 [0.200, 0.400]."]


def test_without_a_direction_no_model_is_better() -> None:
    results = [result("new", 0.2, higher_is_better=None), result("old", 0.5, higher_is_better=None)]
    found = write(results, [comparison("new", "old", -0.3, 0.01)])
    assert found.title == "old scores higher than new on share"
    assert found.sentences == ["old scores higher than new on share by 0.300 [0.200, 0.400]."]


def test_several_metrics_say_what_is_sure_first() -> None:
    results = [each for m in ("share", "tiam", "fid") for each in (result("new", 0.7, m), result("old", 0.4, m))]
    found = write(
        results,
        [
            comparison("new", "old", 0.05, 0.3, "share"),
            comparison("new", "old", 0.3, 0.01, "tiam"),
            comparison("new", "old", 0.2, 0.02, "fid"),
        ],
    )
    assert found.title == "new is better than old on tiam and fid; no sure difference on share"
    assert found.sentences == [
        "new is better than old on tiam by 0.300 [0.200, 0.400] and on fid by 0.200 [0.100, 0.300].",
        "share is undecided: new minus old is 0.050 [-0.050, 0.150].",
    ]


def test_metrics_that_contradict_each_other() -> None:
    results = [each for m in ("share", "tiam") for each in (result("new", 0.7, m), result("old", 0.4, m))]
    found = write(results, [comparison("new", "old", 0.3, 0.01), comparison("new", "old", -0.2, 0.01, "tiam")])
    assert found.title == "new is better than old on share; old is better than new on tiam"


def test_the_best_of_several_models() -> None:
    results = [result("a", 0.9), result("b", 0.5), result("c", 0.4)]
    pairs = [comparison("a", "b", 0.4, 0.001), comparison("a", "c", 0.5, 0.001), comparison("b", "c", 0.1, 0.4)]
    found = write(results, pairs)
    assert found.title == "a is the best of 3 models on share"
    assert found.sentences == [
        "On share, a has the best score, 0.900 [0.800, 1.000]; it is surely better than all 2 others.",
        "1 of 3 pairs are undecided.",
    ]


def test_several_models_may_be_the_best() -> None:
    results = [result("a", 0.9), result("b", 0.85), result("c", 0.4)]
    pairs = [comparison("a", "b", 0.05, 0.4), comparison("a", "c", 0.5, 0.001), comparison("b", "c", 0.45, 0.001)]
    assert write(results, pairs).title == "a or b is the best of 3 models on share"


def test_settings_of_one_model_are_named_by_their_labels_as_everywhere_on_the_page() -> None:
    results = [
        result(f"sd2 steps=20 guidance={g}", s, model="sd2", settings={"steps": 20, "guidance": g})
        for g, s in ((3, 0.4), (5, 0.9), (9, 0.5))
    ]
    labels = [each.label for each in results]
    pairs = [comparison(labels[1], labels[0], 0.5, 0.001), comparison(labels[1], labels[2], 0.4, 0.001)]
    assert write(results, pairs).title == "sd2 steps=20 guidance=5 is the best of 3 settings of sd2 on share"


def test_a_model_is_not_the_best_while_a_pair_of_it_is_open() -> None:
    """a is surely better than b, and b than c, but a and c are undecided."""
    results = [result("a", 0.9), result("b", 0.8), result("c", 0.7)]
    pairs = [comparison("a", "b", 0.1, 0.01), comparison("b", "c", 0.1, 0.01), comparison("a", "c", 0.2, 0.06)]
    found = write(results, pairs)
    assert found.title == "a may be the best of 3 models on share"
    assert "surely better than 1 of the 2 others" in found.sentences[0]
    (line,) = answer(group_results(results, pairs, {}, {}, {}), [], Citation("t2i")).best
    assert (line.who, line.is_sure) == ("a", False)


def test_several_models_that_are_not_compared() -> None:
    results = [result("a", 0.9), result("b", 0.8), result("c", 0.7)]
    found = write(results)
    assert found.title == "3 models are not compared on share"
    assert found.sentences[0].endswith("0.900 [0.800, 1.000]; it is not compared with the other 2.")
    (line,) = answer(group_results(results, [], {}, {}, {}), [], Citation("t2i")).best
    assert (line.who, line.is_sure) == ("not compared", False)


def test_prompts_that_are_still_needed_count_from_those_that_both_models_share() -> None:
    (group,) = group_results(PAIR, [comparison("new", "old", 0.04, 0.4, **NEED)], {}, {}, {})
    assert "about 200 more prompts" in write_headline([group]).sentences[0]
    assert "about 210 more prompts" in write_headline([replace(group, shared_prompts=10)]).sentences[0]


def test_scores_that_people_correct_ask_for_no_prompts() -> None:
    results = [result("new", 0.7, correction=corrected(0.6)), result("old", 0.4, correction=corrected(0.5))]
    difference = corrected(0.1, CorrectedDifference, p_adjusted=0.3, p_unadjusted=0.3)
    pairs = [comparison("new", "old", 0.04, 0.3, correction=difference, **NEED)]
    (own,) = draw_forests(group_results(results, pairs, {}, {}, {}), [])
    assert own.group.is_corrected
    assert own.need is None
    (judged,) = draw_forests(group_results(PAIR, [comparison("new", "old", 0.04, 0.3, **NEED)], {}, {}, {}), [])
    assert "220 prompts" in (judged.need or "")


def test_no_sure_difference_between_several_models() -> None:
    results = [result("a", 0.5), result("b", 0.5), result("c", 0.4)]
    found = write(results, [comparison("a", "b", 0.0, 1.0), comparison("a", "c", 0.1, 0.4)])
    assert found.title == "No sure difference between 3 models on share"
    assert "no difference from the other 2 is sure" in found.sentences[0]


def test_a_failed_run_says_so_first() -> None:
    results = [result("new", 0.7, n_ok=30, n_failed=10), result("old", 0.4)]
    found = write(
        results,
        [comparison("new", "old", 0.3, 0.01)],
        failed="10 of 80 samples failed; failures.csv says why: 10 x /a/b.png: gone",
    )
    assert found.is_failed
    assert found.title == "The run failed; on what it measured: new is better than old on share"
    assert found.sentences[:2] == [
        "The run failed: 10 of 80 samples failed; see Failures below.",
        "The scores are those of the samples that have a value.",
    ]
    assert found.sentences[-1] == "10 of 80 samples have no value on share."


def test_a_run_without_scores() -> None:
    assert write([result("new", None)]).title == "No scores"
    assert write([result("new", None)], failed="all samples failed").title == "The run failed"


def corrected(value: float | None, kind: type[Any] = Correction, **more: Any) -> Any:
    ci = None if value is None else [round(value - 0.2, 3), round(value + 0.2, 3)]
    reason = None if value is not None else "too few labels"
    labels = LabelScore(value=value, ci=ci)
    return kind(people="people:f", value=value, ci=ci, reason=reason, labels=labels, n_labels=9, **more)


def test_peoples_corrections_replace_the_judges_scores() -> None:
    results = [result("new", 0.7, correction=corrected(0.6)), result("old", 0.4, correction=corrected(0.5))]
    difference = corrected(0.1, CorrectedDifference, p_adjusted=0.3, p_unadjusted=0.3)
    found = write(results, [comparison("new", "old", 0.3, 0.001, correction=difference)])
    assert found.title == "No sure difference between new and old on share (corrected by people)"
    assert found.sentences == [
        "share (corrected by people) is undecided: new minus old is 0.100 [-0.100, 0.300]."
    ]  # fmt: skip


def test_levels_of_a_corrected_score_are_the_judges() -> None:
    facets = {"share": {"kind": {"cat": Score(value=0.1, ci=[0.0, 0.2]), "dog": Score(value=0.9, ci=[0.8, 1.0])}}}
    scores = {"share": Score(value=0.7, ci=[0.6, 0.8])}
    only = result("new", 0.7, scores=scores, facets=facets, correction=corrected(0.6))
    said = "The levels of share are scored by the judge alone, not corrected by people."
    assert said in write([only]).sentences
    assert said not in write([only.model_copy(update={"correction": None})]).sentences


def test_labels_that_do_not_suffice_leave_the_judges_scores_and_it_is_said() -> None:
    results = [result("new", 0.7, correction=corrected(0.6)), result("old", 0.4, correction=corrected(None))]
    found = write(results, [comparison("new", "old", 0.3, 0.001)])
    assert found.title == "new is better than old on share"
    assert found.sentences[-1] == "People's labels do not suffice to correct share; these are the judge's scores."


def test_a_run_that_stopped_early_and_found_models_close() -> None:
    stopped = StoppedComparison(look=2, prompts=10, seeds=2, decision="close", margin=0.1, plain_diff=0.01)
    close = comparison("new", "old", 0.01, 0.8, stopped=stopped)
    found = write(
        PAIR, [close], stopped="decided after look 2 of 5 (80 images): new and old differ by less than 0.1"
    )
    assert found.title == "new and old differ by less than the margin on share"
    assert found.sentences == [
        "new and old differ by less than 0.1 on share: 0.010 [-0.090, 0.110].",
        "Stopping rule: decided after look 2 of 5 (80 images): new and old differ by less than 0.1.",
    ]


def test_models_that_are_not_compared() -> None:
    found = write(PAIR)
    assert found.title == "new and old are not compared"
    assert found.sentences == ["new and old are not compared on share."]


@pytest.mark.parametrize("direction", [True, False, None])
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.none() | st.floats(0, 1)), min_size=1, max_size=4),
    st.integers(2, 4),
)
def test_no_pair_is_better_without_a_small_adjusted_p(
    direction: bool | None, pairs: list[tuple[float, float, float | None]], n: int
) -> None:
    """For each metric: the difference, its adjusted p, and that of the correction by people, if there is one."""
    results, comparisons, sure = [], [], set()
    for number, (diff, p, p_corrected) in enumerate(pairs):
        metric = f"m{number}"
        for model in range(n):
            fixed = {} if p_corrected is None else {"correction": corrected(0.5)}
            results.append(result(f"model-{model}", 0.5, metric, higher_is_better=direction, **fixed))
        for other in range(1, n):
            more = {}
            if p_corrected is not None:
                more = {"correction": corrected(diff, CorrectedDifference, p_adjusted=p_corrected)}
            comparisons.append(comparison("model-0", f"model-{other}", diff, p, metric, **more))
        if (p if p_corrected is None else p_corrected) < LEVEL:
            sure.add(metric)
    found = write(results, comparisons)
    claims = ("is better", "surely", "scores higher", "is the best", "is the highest")
    for text in (*found.title.split(";"), *found.sentences):
        if any(claim in text for claim in claims):
            named = {metric for metric in (f"m{i}" for i in range(len(pairs))) if metric in text}
            assert named, text
            assert named <= sure, text
    if not sure:
        whole = " ".join((found.title, *found.sentences))
        assert "better" not in whole.replace("no difference from", "")
        assert "surely" not in whole
    elif direction is None:
        assert "better" not in found.title


def test_a_comparison_of_other_metrics_counts_for_none() -> None:
    """A sure difference under one metric says nothing about another."""
    results = [each for m in ("share", "tiam") for each in (result("new", 0.7, m), result("old", 0.4, m))]
    found = write(results, [comparison("new", "old", 0.3, 0.001, "tiam"), comparison("new", "old", 0.3, 0.05)])
    assert found.title == "new is better than old on tiam; no sure difference on share"


def test_groups_keep_the_bounds_apart() -> None:
    bound = result("oracle", 1.0, model="oracle")
    own = result("new", 0.7, upper_bound={"model": "oracle", "value": 1.0, "ci": [0.9, 1.0]})
    (group,) = group_results([own, bound], [], {"share": (MEASURE,)}, {}, {})
    assert isinstance(group, MetricResults)
    assert group.labels == ["new"]
    assert write([own, bound]).title == "new scores 0.700 on share"


def test_settings_that_may_be_best_are_counted_in_words() -> None:
    results = [
        result(f"s={n}", score, model="simulator", settings={"s": n}) for n, score in enumerate((0.8, 0.7, 0.2))
    ]
    found = (("s=0", "s=1", 0.1, 0.4), ("s=0", "s=2", 0.6, 0.001), ("s=1", "s=2", 0.5, 0.001))
    pairs = [comparison(*each) for each in found]
    groups = group_results(results, pairs, {"share": (MEASURE,)}, {}, {})
    (line,) = answer(groups, [], Citation("t2i eval")).best
    assert line.who == "2 of 3 settings of simulator may be best"


def test_a_corrected_score_is_cited_with_its_own_signature() -> None:
    fixed = corrected(0.5).model_copy(update={"signature": "metric:share|corrected:f#1"})
    results = [
        result("a", 0.4, signature="metric:share", correction=fixed),
        result("b", 0.3, signature="metric:share"),
    ]
    assert list(_list_signatures(results)) == [
        ("share (corrected by people)", "metric:share|corrected:f#1"),
        ("share", "metric:share"),
    ]
