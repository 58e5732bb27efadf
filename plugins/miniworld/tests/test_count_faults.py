"""Every fault rate and law is recovered from the annotations of pictures that are really drawn."""

import pytest
from t2i_miniworld.count_faults import CASES, Row, Spread, run


def test_a_hundred_and_fifty_scenes_agree_with_all_rates_and_laws():
    rows = list(run(150))
    assert {row.case for row in rows} == {case.name for case in CASES}
    assert [str(row) for row in rows if not row.passes] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_five_thousand_scenes_agree_with_all_rates_and_laws():
    assert [str(row) for row in run(5000) if not row.passes] == []


def test_a_wrong_rate_does_not_pass():
    assert Row("", "", 0.3, 100, 333).passes
    assert not Row("", "", 0.3, 33, 333).passes
    assert not Row("", "", 1, 332, 333).passes
    assert Spread("", "", [0.5, 0.5], [50, 60]).passes
    assert not Spread("", "", [0.5, 0.5], [20, 90]).passes
