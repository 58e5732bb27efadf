from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api import Study
from t2i_core.api.errors import BadOption
from t2i_core.testing.figures import check_figure
from t2i_wordnet_hypernymy.synsets import join_measures, read_frequency, side_by_side, spearman

SYNSETS = ("a.n.01", "b.n.01", "c.n.01", "d.n.01")


def rows(metric, measure, values, model="m"):
    return [
        {"metric": metric, "measure": measure, "model": model, "prompt": synset, "value": value}
        for synset, value in zip(SYNSETS, values, strict=True)
        if value is not None
    ]


@pytest.fixture
def study(tmp_path):
    own = [*rows("scs", "scs", (0.1, 0.2, 0.3, 0.4)), *rows("scs", "marginal-entropy", (4, 3, 2, 1)),
           *rows("scs", "uniform", (1, 1, 1, 1))]  # fmt: skip
    others = [*rows("clipscore", "clipscore", (0.3, 0.1, 0.2, None)), *rows("clipscore", "norm", (1, 2, 3, 4))]
    return Study(pd.DataFrame(own), pd.DataFrame(), tmp_path, pd.DataFrame(others))


def test_a_runs_metrics_stand_side_by_side(study):
    wide = join_measures(study, "scs")
    assert list(wide.columns) == ["scs", "clipscore", "marginal-entropy"]
    assert wide.loc[("m", "a.n.01")].tolist() == [0.1, 0.3, 4]
    assert np.isnan(wide.loc[("m", "d.n.01"), "clipscore"])


def test_correlations_are_of_ranks_over_what_both_have(study, tmp_path):
    counts = tmp_path / "frequency.csv"
    counts.write_text("synset,captions\na.n.01,7\nb.n.01,0\nc.n.01,100\nd.n.01,9\nother.n.01,1\n")
    synsets, found = side_by_side(study, "scs", counts)
    assert synsets.table["captions"].tolist() == [7, 0, 100, 9]
    table = found.table.set_index("with")
    assert table.loc["marginal-entropy", ["rho", "n"]].tolist() == [-1, 4]
    assert table.loc["marginal-entropy", "p"] == pytest.approx(2 / 24)
    assert table.loc["clipscore", "n"] == 3
    assert table.loc["clipscore", "rho"] == pytest.approx(1 - 6 * (4 + 1 + 1) / (3 * 8))
    assert table.loc["captions", "rho"] == pytest.approx(1 - 6 * (1 + 1 + 1 + 1) / (4 * 15))


def test_figures_show_ranks_and_their_correlations(study):
    synsets, found = side_by_side(study, "scs", None)
    ranks = synsets.figure.data.pivot(index="measure", columns="synset", values="rank")
    np.testing.assert_allclose(
        ranks.loc[["scs", "clipscore", "marginal-entropy"], list(SYNSETS)],
        [[0.25, 0.5, 0.75, 1], [1, 1 / 3, 2 / 3, np.nan], [1, 0.75, 0.5, 0.25]],
    )
    assert re.findall(r">(scs|clipscore|marginal-entropy)</text>", check_figure(synsets)) == [
        "scs",
        "clipscore",
        "marginal-entropy",
    ]
    svg = check_figure(found)
    assert all(f"rho: {rho:.3f}" in svg for rho in found.table["rho"])


def test_a_metric_alone_has_nothing_beside_it(study, tmp_path):
    alone = study.table[study.table["measure"] == "scs"]
    assert list(side_by_side(Study(alone, pd.DataFrame(), tmp_path), "scs", None)) == []


PAIRS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30)


@settings(deadline=None)
@given(PAIRS)
def test_ranks_know_no_scale_and_no_order(pairs):
    a, b = np.array(pairs, float).T
    found = spearman(a, b)
    for x, y in ((b, a), (a[::-1], b[::-1]), (np.exp(a / 50), 3 * b - 1)):
        assert spearman(x, y)["rho"] == pytest.approx(found["rho"], nan_ok=True)
    assert spearman(a, -b)["rho"] == pytest.approx(-found["rho"], nan_ok=True)
    assert np.isnan(found["rho"]) == (len(set(a)) == 1 or len(set(b)) == 1)
    assert np.isnan(found["rho"]) or -1 <= round(found["rho"], 12) <= 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "no such file"),
        ("", "line 1: no column 'synset'"),
        ("synset\na\n", "line 1: no column with counts"),
        ("captions\n1\n", "line 1: no column 'synset'"),
        ("synset,laion,coyo\na.n.01,1,\n", "line 2: the line must have a synset"),
        ("synset,captions\n", "no synsets"),
        ("synset,captions\na.n.01,many\n", "line 2: the line must have a synset"),
        ("synset,captions\na.n.01,1\nb.n.01,-1\n", "line 3: the line must have a synset"),
        ("synset,captions\na.n.01,nan\n", "line 2: the line must have a synset"),
        ("synset,captions\na.n.01\n", "line 2: the line must have a synset"),
        ("synset,captions\na.n.01,1\na.n.01,2\n", "line 3: a.n.01 appears twice"),
    ],
)
def test_a_wrong_file_of_frequencies_gets_one_line(tmp_path, text, fault):
    path = tmp_path / "f.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadOption, match=fault):
        read_frequency(path)


def test_a_file_of_other_synsets_is_refused(study, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("synset,captions\nz.n.01,1\n")
    with pytest.raises(BadOption, match="none of the run's synsets"):
        list(side_by_side(study, "scs", path))


def test_several_corpora_are_correlated_at_once(study, tmp_path):
    counts = tmp_path / "frequency.csv"
    counts.write_text("synset,laion,coyo\na.n.01,1,9\nb.n.01,2,8\nc.n.01,3,7\nd.n.01,4,6\n")
    synsets, correlations = side_by_side(study, "scs", counts)
    assert synsets.table["captions of laion"].tolist() == [1, 2, 3, 4]
    table = correlations.table.set_index("with")
    assert table.loc["captions of laion", ["rho", "n"]].tolist() == [1, 4]
    assert table.loc["captions of coyo", "rho"] == -1
