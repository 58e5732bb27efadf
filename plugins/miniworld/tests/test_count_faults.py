"""Every fault rate and law is recovered from annotations, and a program that errs otherwise is found out."""

from dataclasses import replace

import numpy as np
import pytest
from count_cases import CASES
from count_faults import ALARM, run
from count_rows import CountRow, alike, mean, share, spread

RATES = ("drop", "wrong_object", "wrong_color", "swap_colors", "extra", "flip_relation")


def failed(rows):
    rows = list(rows)
    return {row.case for row in rows if row.p <= ALARM / 150}


def erring(factor):
    """The cases, whose fault rates are drawn ``factor`` times as often as the table expects."""
    scaled = []
    for case in CASES:
        rates = {name: rate * factor for name, rate in case.options.items() if name in RATES}
        if "skew" in case.options:
            attribute, value, rate = case.options["skew"].split(":")
            rates = {"skew": f"{attribute}:{value}:{float(rate) * factor}"}
        if rates:
            scaled.append(replace(case, options={**case.options, **rates}))
    return scaled


@pytest.mark.long
def test_hundreds_of_scenes_agree_with_all_rates_and_laws():
    """The count itself draws some scenes as well; here that is left to the slow test."""
    rows = list(run(400, layouts=10, drawn=0))
    assert {row.case for row in rows} == {case.name for case in CASES} | {"all faults at 0.3"}
    assert [row.line(ALARM / len(rows)) for row in rows if row.p <= ALARM / len(rows)] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_thousands_of_scenes_agree_with_all_rates_and_laws():
    rows = list(run())
    assert [row.line(ALARM / len(rows)) for row in rows if row.p <= ALARM / len(rows)] == []


@pytest.mark.slow
def test_some_more_scenes_find_out_who_errs_half_as_often():
    """Half of those where no places matter, which take time; of laws and effects the next tests take care."""
    cases = [case for case in erring(0.5) if not case.laid][::2]
    assert len(cases) > 4
    assert failed(run(800, layouts=1, drawn=0, cases=cases)) >= {case.name for case in cases}


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0, 0.5])
def test_the_model_with_fewer_faults_wins_in_every_setting(factor):
    cases = erring(factor)
    assert failed(run(800, layouts=10, drawn=0, cases=cases)) >= {case.name for case in cases}


@pytest.mark.slow
@pytest.mark.parametrize("effect", ["seed_sd", "prompt_sd"])
def test_effects_that_are_missing_are_found_out(effect):
    cases = [replace(c, options={**c.options, effect: 0.0}) for c in CASES if effect in c.options]
    assert failed(run(3000, layouts=10, drawn=0, cases=cases)) >= {case.name for case in cases}


@pytest.mark.long
def test_another_law_is_found_out():
    by_name = {case.options["hyponyms"]: case for case in CASES if "hyponyms" in case.options}
    for law, drawn in (("uniform", "skewed"), ("skewed", "uniform"), ("fixed", "uniform")):
        case = replace(by_name[law], options={"hyponyms": drawn})
        assert failed(run(400, layouts=1, drawn=0, cases=[case])) >= {case.name}


def test_rows_fail_where_they_should():
    yes, no = [True], [False]
    assert share("", "", 0.3, yes * 100 + no * 233).p > 0.01
    assert share("", "", 0.3, yes * 33 + no * 300).p < 1e-9
    assert share("", "", 1, yes * 332 + no).p == 0
    assert share("", "", 0, no * 332).p == 1
    assert spread("", "", [0.5, 0.5], [50, 60]).p > 0.01
    assert spread("", "", [0.5, 0.5], [20, 90]).p < 1e-9
    rng = np.random.default_rng(1)
    values, coin = rng.normal(size=600), rng.random(600) < 0.3
    assert alike("", "", values, coin.tolist()).p > 0.001
    assert alike("", "", values, (values > 0.5).tolist()).p < 1e-9
    assert mean("", "", 0, values).p > 0.001
    assert mean("", "", 1, values).p < 1e-9


def test_rows_of_nothing_fail():
    rows = [share("", "", 0.3, []), share("", "", 0, []), spread("", "", [0.5, 0.5], [0, 0]), mean("", "", 0, [])]
    rows += [alike("", "", [1.0, 2.0], [True, True]), alike("", "", [1.0, 2.0], [False, False])]
    assert [row.p for row in rows] == [0] * 6


def test_a_row_says_whether_it_passes():
    assert (
        CountRow("set", "what", "0.3", "0.2", 10, 0.5).line(0.1) == "| set | what | 0.3 | 0.2 | 10 | 0.5 | yes |"
    )
    assert CountRow("set", "what", "0.3", "0.2", 10, 0.05).line(0.1).endswith("| NO |")
