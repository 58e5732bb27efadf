from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api.errors import BadOption
from t2i_core.testing.figures import check_figure
from t2i_wordnet_hypernymy.preferences import alpha, preferences, read_preferences

HEAD = "synset,model_a,model_b,annotator,choice\n"
VOTES = (
    HEAD
    + """dog.n.01,x,y,ann,a
dog.n.01,x,y,bob,a
cat.n.01,x,y,ann,b
cat.n.01,y,x,bob,a
cow.n.01,x,y,ann,tie
cow.n.01,x,y,bob,a
hen.n.01,x,y,ann,a
"""
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "votes.csv"
    file.write_text(VOTES)
    return file


@pytest.fixture
def wide():
    index = pd.MultiIndex.from_product([["x", "y"], ["cat.n.01", "cow.n.01", "dog.n.01", "hen.n.01"]])
    return pd.DataFrame({"isp": [0.1, 0.6, 0.7, 0.8, 0.5, 0.5, 0.5, 0.5]}, index.set_names(["model", "synset"]))


def test_shares_leave_ties_out_and_know_no_order(path, wide):
    shares, scores = preferences(path, wide)
    (line,) = shares.table.to_dict("records")
    assert (line["a"], line["b"], line["votes"], line["ties"], line["annotators"]) == ("x", "y", 6, 1, 2)
    assert line["share"] == pytest.approx(4 / 6)
    assert line["low"] < line["share"] < line["high"]
    # shares of x: cat 0, cow 1, dog 1, hen 1; differences -.4, .1, .2, .3
    ranks = np.corrcoef([1, 3, 3, 3], [1, 2, 3, 4])[0, 1]
    assert scores.table["rho"].tolist() == pytest.approx([ranks])
    assert scores.table["low"].isna().all()  # 4 synsets are too few
    assert scores.table["p"].tolist() == [0.5]  # of the 4 ranks of the first share


def test_a_shares_interval_is_over_synsets(tmp_path, wide):
    """Ten people who agree on a synset say no more of other synsets than one does."""
    synsets = ("cat.n.01", "cow.n.01", "dog.n.01", "hen.n.01")
    widths = []
    for people in (1, 10):
        lines = [f"{s},x,y,p{p},{'a' if i else 'b'}\n" for i, s in enumerate(synsets) for p in range(people)]
        (tmp_path / "votes.csv").write_text(HEAD + "".join(lines))
        (line,) = next(iter(preferences(tmp_path / "votes.csv", wide))).table.to_dict("records")
        assert (line["share"], line["votes"]) == (0.75, 4 * people)
        widths.append(line["high"] - line["low"])
    assert widths[1] == pytest.approx(widths[0])


def test_alpha_is_krippendorffs(path):
    # units with two answers: aa, bb, (tie, a). Coincidences: a-a 2, b-b 2, tie-a 1 + 1; n = 6, of a 3, b 2, tie 1
    observed = 2 / 6
    expected = (3 * 2 + 3 * 1 + 2 * 1) * 2 / (6 * 5)
    found = alpha(read_preferences(path))
    assert found.value == pytest.approx(1 - observed / expected)
    assert found.lo < found.value < found.hi < 1
    without = alpha(read_preferences(path), ties=False)  # two units, aa and bb
    assert (without.value, without.hi, without.n_clusters) == (1, 1, 2)
    assert without.lo == max(-1, 1 - (1 - 0.025**0.5) / (2 / 3))


def frame(choices):
    lines = [
        {"synset": f"s{unit}", "item": "", "annotator": f"p{person}", "choice": choice}
        for unit, said in enumerate(choices)
        for person, choice in enumerate(said)
    ]
    return pd.DataFrame(lines)


CHOICES = st.lists(st.tuples(*[st.sampled_from(["a", "b", "tie"])] * 3), min_size=2, max_size=12)


@pytest.mark.long
@settings(deadline=None, max_examples=30)  # pandas takes as long as it likes where others work beside it
@given(CHOICES)
def test_alpha_knows_no_names_and_is_one_where_all_agree(choices):
    found = alpha(frame(choices)).value
    assert np.isnan(found) == (len({c for said in choices for c in said}) == 1)
    other = {"a": "tie", "tie": "b", "b": "a"}
    assert alpha(frame([[other[c] for c in said] for said in choices])).value == pytest.approx(found, nan_ok=True)
    assert alpha(frame([said[::-1] for said in choices])).value == pytest.approx(found, nan_ok=True)
    agreed = [(said[0],) * 3 for said in choices]
    if len(set(agreed)) > 1:
        assert alpha(frame(agreed)).value == 1


def test_one_annotator_agrees_with_nobody():
    assert np.isnan(alpha(frame([("a",), ("b",)])).value)


def test_the_figure_is_drawn(path, wide):
    assert ">x over y</text>" in check_figure(next(iter(preferences(path, wide))))


def test_ties_alone_prefer_nothing(tmp_path, wide):
    file = tmp_path / "votes.csv"
    synset = wide.index.get_level_values("synset")[0]
    file.write_text(HEAD + f"{synset},x,y,ann,tie\n")
    shares, scores = preferences(file, wide)
    assert np.isnan(shares.table.loc[0, "share"])
    assert shares.table.loc[0, ["votes", "ties"]].tolist() == [0, 1]
    assert scores.table["n"].tolist() == [0] * len(scores.table)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "no such file"),
        (HEAD, "no answers"),
        (HEAD + "dog.n.01,x,y,ann,c\n", "line 2: a preference must be left"),
        (HEAD + "dog.n.01,x,x,ann,a\n", "line 2: left and right must be two different models"),
        (HEAD + "dog.n.01,x,y,ann,a\ndog.n.01,y,x,ann,b\n", "line 3: ann answers 'preference' twice"),
        ("rater,question,answer,prompt,left\nann,human,yes,p,m\n", "has no answers to preference, only to human"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path, text, fault):
    file = tmp_path / "votes.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(BadOption, match=fault) as caught:
        read_preferences(file)
    assert "\n" not in str(caught.value)


def test_a_file_about_other_models_is_refused(path, wide):
    with pytest.raises(BadOption, match=r"no preference compares two of the run's models \(x\), only x, y"):
        list(preferences(path, wide.loc[["x"]]))


def test_a_file_about_other_synsets_is_refused(tmp_path, wide):
    file = tmp_path / "votes.csv"
    file.write_text(HEAD + "dog,x,y,ann,a\n")
    with pytest.raises(BadOption, match=r"has none of the run's synsets; write synsets as bird\.n\.01"):
        list(preferences(file, wide))
