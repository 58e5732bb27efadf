from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from t2i_core.api import Setup, Study
from t2i_core.api.errors import BadOption
from t2i_core.results.images import find_images
from t2i_core.testing.figures import check_figure
from t2i_wordnet_hypernymy import analyses
from t2i_wordnet_hypernymy import stability as stability_module
from t2i_wordnet_hypernymy.metrics import Isp, Scs
from t2i_wordnet_hypernymy.mosaic import find_pictures, show_pictures
from t2i_wordnet_hypernymy.options import IspOptions, ScsOptions
from t2i_wordnet_hypernymy.stability import read_columns, stability

SYNSETS = ["bird.n.01", "oscine.n.01", "dog.n.01", "fruit.n.01"]
#: per model and synset, the value under seeds 0 and 1
VALUES = {
    "a": [(0.1, 0.3), (0.5, 0.5), (0.9, 0.7), (0.4, 0.4)],
    "b": [(0.6, 0.6), (0.2, 0.2), (0.7, 0.7), (0.5, 0.3)],
}


def study(tmp_path, models=("a", "b")):
    rows = [
        {"measure": "isp", "model": m, "prompt": s, "seed": seed, "value": value}
        for m in models
        for s, pair in zip(SYNSETS, VALUES[m], strict=True)
        for seed, value in enumerate(pair)
    ]
    samples = pd.DataFrame(rows).assign(status="ok", image=lambda t: t["model"] + t["prompt"] + ".png")
    for name in samples["image"].unique():
        Image.fromarray(np.full((8, 8, 3), 200, np.uint8)).save(tmp_path / name)
    digests = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in samples["image"]}
    samples = samples.assign(digest=samples["image"].map(digests))
    table = pd.DataFrame(rows).astype(dict.fromkeys(("measure", "model", "prompt", "seed"), "category"))
    return Study(table, samples, tmp_path, find_images=partial(find_images, samples, tmp_path))


def of_concepts(tmp_path):
    """The same of a user's own concepts: ids other than synsets, and rows that name their concept."""
    own = study(tmp_path)
    ids = {synset: f"my {i} ({synset})" for i, synset in enumerate(SYNSETS)}
    table = own.table.assign(synset=own.table["prompt"], prompt=own.table["prompt"].map(ids).astype("category"))
    others = pd.DataFrame(
        [
            {"metric": "clipscore", "measure": "clipscore", "model": m, "prompt": ids[s], "value": value}
            for m in "ab"
            for s, value in zip(SYNSETS, (0.3, 0.2, 0.1, 0.4), strict=True)
        ]
    )
    samples = own.samples.assign(prompt=own.samples["prompt"].map(ids))
    return Study(table, samples, tmp_path, others, find_images=partial(find_images, samples, tmp_path))


@pytest.fixture
def found(tmp_path):
    metric = Isp(Setup(None, IspOptions(roots=("bird.n.01", "fruit.n.01", "lizard.n.01"))))
    return {a.name: a for a in metric.analyses(study(tmp_path))}


def test_the_lowest_synsets_of_each_model_and_of_all(found):
    table = found["lowest"].table
    assert list(table["synset"]) == ["oscine.n.01", "bird.n.01", "fruit.n.01", "dog.n.01"]
    np.testing.assert_allclose(table["isp"], [0.35, 0.4, 0.4, 0.75])
    np.testing.assert_allclose(table["a"], [0.5, 0.2, 0.4, 0.8])
    assert found["lowest of a"].table["synset"].iloc[0] == "bird.n.01"


def test_a_mean_of_models_is_of_synsets_that_all_of_them_have(tmp_path):
    wide = pd.DataFrame({"a": [0.5, 0.1, 0.9], "b": [0.6, np.nan, 0.4]}, SYNSETS[:3])
    table = analyses.lowest(study(tmp_path), "isp", wide, ["a", "b"]).table
    assert list(table["synset"]) == ["bird.n.01", "dog.n.01"]


def test_differences_are_ranked(found):
    table = found["a and b"].table
    assert list(table["synset"]) == ["oscine.n.01", "dog.n.01", "fruit.n.01", "bird.n.01"]
    np.testing.assert_allclose(table["difference"], [0.3, 0.1, 0, -0.4], atol=1e-12)


def test_subtrees_are_means_over_their_synsets(found):
    table = found["subtrees"].table.set_index("root")
    assert list(table.index) == ["bird.n.01", "fruit.n.01", "all"]  # nothing is known of lizards
    assert list(table["synsets"]) == [2, 1, 4]
    np.testing.assert_allclose(table["a"], [0.35, 0.4, 0.475])
    assert (table["a low"] <= table["a"]).all()
    assert (table["a high"] >= table["a"]).all()
    assert table.loc["all", "a low"] < table.loc["all", "a high"]


def test_roots_that_are_nowhere_are_refused(tmp_path):
    metric = Isp(Setup(None, IspOptions(roots=("brid.n.01",))))
    with pytest.raises(BadOption, match=r"roots: 'brid.n.01' is not in the taxonomy: did you mean .*bri"):
        list(metric.analyses(study(tmp_path)))
    own = tmp_path / "own.csv"
    own.write_text("bird.n.01,animal\ndog.n.01,animal\n")
    metric = Isp(Setup(None, IspOptions(taxonomy=own)))  # the paper's roots are not all of other taxonomies
    (found,) = (a.table for a in metric.analyses(study(tmp_path)) if a.name == "subtrees")
    assert found["root"].tolist() == ["bird.n.01", "all"]


def test_facts_about_synsets_are_found_for_users_concepts(tmp_path):
    """And for lists of the plugin's, whose ids are synsets, alike."""
    counts, votes = tmp_path / "counts.csv", tmp_path / "votes.csv"
    counts.write_text("synset,captions\n" + "".join(f"{s},{i}\n" for i, s in enumerate(SYNSETS)))
    votes.write_text(
        "synset,model_a,model_b,annotator,choice\n"
        + "".join(f"{s},a,b,ann,{choice}\n" for s, choice in zip(SYNSETS, "baab", strict=True))
    )
    options = IspOptions(roots=("bird.n.01",), frequency=counts, preferences=votes)
    for of in (study, of_concepts):
        tables = {a.name: a.table for a in Isp(Setup(None, options)).analyses(of(tmp_path))}
        assert tables["subtrees"]["synsets"].tolist() == [2, 4]
        synsets = tables["synsets"].set_index(["model", "synset"])["captions"]
        named = of(tmp_path).table["prompt"].unique()
        assert [synsets["a", name] for name in named] == [0, 1, 2, 3]
        scores = tables["preferences and scores"].set_index("measure")
        # of a: bird -.4, oscine .3, dog .1, fruit 0; preferred: oscine and dog
        assert scores.loc["isp", "n"] == 4
        assert scores.loc["isp", "rho"] == pytest.approx(np.corrcoef([1.5, 3.5, 3.5, 1.5], [1, 4, 3, 2])[0, 1])
        assert tables["preferences"].loc[0, ["share", "votes"]].tolist() == [0.5, 4]


def run_of(folder, table, monkeypatch, own):
    """Have a run of this table stand in a folder, and the study's own in its folder."""
    results = [SimpleNamespace(metric="isp", by=None, label="b", judge=SimpleNamespace(name="judge"))]
    known = {folder: table, own.folder: own.table}
    monkeypatch.setattr(
        stability_module,
        "load_run",
        lambda path: SimpleNamespace(
            folder=path, path=path, results=results, measurements=lambda: known.get(path)
        ),
    )


def test_a_run_of_concepts_is_set_beside_one_of_synsets(tmp_path, monkeypatch):
    own, other = of_concepts(tmp_path), tmp_path / "other"
    run_of(other, study(tmp_path, ("b",)).table, monkeypatch, own)
    found = list(Isp(Setup(None, IspOptions(beside=(other,)))).analyses(own))
    (table,) = (a.table for a in found if a.name == "stability between runs")
    names = [f"{tmp_path.name}: a ()", f"{tmp_path.name}: b (judge)", "other: b (judge)"]
    assert table["run"].tolist() == names
    assert table[names[1]].tolist()[2] == pytest.approx(1)  # the same b
    assert table[names[0]].tolist()[2] == table[names[0]].tolist()[1] < 1


def test_a_run_that_shares_nothing_is_not_set_beside(tmp_path, monkeypatch):
    other = tmp_path / "other"
    metric = Isp(Setup(None, IspOptions(beside=(other,))))
    table = study(tmp_path).table
    run_of(other, table.assign(prompt=table["prompt"].astype(str) + "x"), monkeypatch, study(tmp_path))
    with pytest.raises(BadOption, match="other: the run has isp for none of this run's synsets"):
        list(metric.analyses(study(tmp_path)))
    for without in (table.assign(measure="scs"), pd.DataFrame()):  # a run that measured nothing has no columns
        run_of(other, without, monkeypatch, study(tmp_path))
        with pytest.raises(BadOption, match="other: the run has no values of isp"):
            list(metric.analyses(study(tmp_path)))


def test_other_runs_of_the_same_name_are_told_apart(tmp_path, monkeypatch):
    wide = pd.DataFrame({"m": [0.1, 0.2, 0.3]}, SYNSETS[:3])
    paths = [tmp_path / parent / name for parent, name in (("own", "run"), ("a", "run"), ("b", "run"), ("b", "x"))]

    def load(path):
        rows = wide["m"].rename_axis("prompt").reset_index(name="value").assign(measure="isp", model="m")
        results = [SimpleNamespace(metric="isp", by=None, label="m", judge=SimpleNamespace(name="judge"))]
        return SimpleNamespace(folder=path, path=path, results=results, measurements=lambda: rows)

    monkeypatch.setattr(stability_module, "load_run", load)
    found = read_columns(paths[0], [*paths[1:], paths[1]], "isp", list(wide.index))
    assert [column.title for column in found] == [f"{path}: m (judge)" for path in paths[:3]] + ["x: m (judge)"]


def test_stability_is_a_rank_correlation(found):
    a, b = [0.2, 0.5, 0.8, 0.4], [0.6, 0.2, 0.7, 0.4]
    expected = np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]
    table = found["stability between models"].table
    assert table["others"].iloc[0] == pytest.approx(expected)
    assert list(table["model"]) == ["a", "b"]
    assert found["stability between seeds of a"].table["others"].iloc[1] == pytest.approx(1.0)


def test_figures_are_drawn(found):
    for analysis in found.values():
        assert analysis.figure is not None
        assert "<image " in check_figure(analysis) or 'class="mark-' in check_figure(analysis)


def test_mosaics_say_each_synsets_value(found):
    assert found["lowest"].figure.rows[0][0] == "oscine.n.01\n0.350"
    assert [name for name, _ in found["a and b"].figure.rows] == [
        "oscine.n.01\n+0.300", "dog.n.01\n+0.100", "fruit.n.01\n+0.000", "bird.n.01\n-0.400"
    ]  # fmt: skip


def test_images_that_failed_are_not_shown(tmp_path):
    """The next seeds' stand in their place, and where one synset has fewer than others its place stays white."""
    samples = study(tmp_path, ("a",)).samples
    samples = pd.concat([samples.assign(seed=samples["seed"] + 2 * i) for i in range(2)], ignore_index=True)
    lost = samples["seed"].isin((0, 2)) & (samples["prompt"] == "dog.n.01")
    samples = samples.assign(
        status=samples["status"].where(~lost, "failed"), image=samples["image"].where(~lost, np.nan)
    )
    shown = Study(pd.DataFrame(), samples, tmp_path, find_images=partial(find_images, samples, tmp_path))
    rows = [(name, find_pictures(shown, ["a"], name)) for name in ("dog.n.01", "fruit.n.01")]
    assert [[image.path for image in images] for images in rows[0][1]] == [[tmp_path / "adog.n.01.png"] * 2]
    (tmp_path / "abird.n.01.png").unlink()
    assert find_pictures(shown, ["a"], "bird.n.01") == [[]]  # nor are those that were taken away since
    drawn = show_pictures(rows, ["a"])
    assert [[image is not None for image in images] for _, images in drawn.rows] == [
        [True, True, False, False],
        [True, True, True, True],  # four seeds, four columns
    ]


def test_a_model_that_has_fewer_images_keeps_its_place(tmp_path):
    two = study(tmp_path)  # of two models, two seeds each
    rows = [(name, find_pictures(two, ["a", "b"], name)) for name in SYNSETS]
    drawn = show_pictures(rows, ["a", "b"])
    assert (drawn.columns, drawn.span) == (["a", "b"], 2)
    assert all(image is not None for _, images in drawn.rows for image in images)
    fewer = show_pictures([("dog.n.01", [rows[0][1][0][:1], rows[0][1][1]])], ["a", "b"])
    assert [image is not None for image in fewer.rows[0][1]] == [True, False, True, True]
    for count in (4, 8, 12):
        many = show_pictures([("dog.n.01", find_pictures(two, ["a"] * count, "dog.n.01"))], ["a"] * count)
        assert (len(many.columns), many.span, len(many.rows[0][1])) == (count, 1, count)
    none = show_pictures([("cat.n.01", find_pictures(two, ["a", "b"], "cat.n.01"))], ["a", "b"])
    assert none.rows[0][1] == [None, None]


def test_one_model_has_no_differences_and_no_rows_nothing(tmp_path):
    metric = Isp(Setup(None, IspOptions()))
    names = [a.name for a in metric.analyses(study(tmp_path, ("a",)))]
    assert names == ["lowest", "random of the lowest", "stability between seeds of a", "subtrees"]
    assert list(Scs(Setup(None, ScsOptions())).analyses(study(tmp_path))) == []


def test_scores_that_are_all_equal_have_no_ranks():
    wide = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0], "flat": [0.0, 0.0, 0.0]})
    (found,) = stability(wide, "models", "model", "x")
    table = found.table.set_index("model")
    assert table.loc["a", "others"] == pytest.approx(0.5)
    assert np.isnan(table.loc["flat", "others"])


def test_levels_without_rankings_to_compare_have_no_table():
    flat = pd.DataFrame({0: [1.0, 1.0, 1.0], 1: [2.0, 2.0, 2.0]})
    assert not list(stability(flat, "seeds", "seed", "x"))
    assert not list(stability(flat.assign(varied=[1.0, 2.0, 3.0]), "seeds", "seed", "x"))


def test_a_models_ranking_is_compared_with_its_own_in_other_runs_alone(tmp_path, monkeypatch):
    """Two models under two judges: what agrees is each model with itself, not with the other."""
    own = study(tmp_path)
    table = own.table.astype({"value": float})
    noisy = table.assign(value=table["value"] + np.tile([0.0, 0.25, 0, 0.1, 0, 0.02, 0, 0], 2))
    rows = pd.concat([table.assign(by="first"), noisy.assign(by="second")]).astype({"by": "category"})
    results = [
        SimpleNamespace(metric="isp", label=label, by=by, judge=SimpleNamespace(name=by))
        for label in "ab"
        for by in ("first", "second")
    ]
    run = SimpleNamespace(folder=tmp_path, path=tmp_path, results=results, measurements=lambda: rows)
    monkeypatch.setattr(stability_module, "load_run", lambda path: run)
    metric = Isp(Setup(None, IspOptions()))
    first, second = (
        {a.name: a.table for a in metric.analyses(replace(own, table=values, by=by))}
        for by, values in (("first", table), ("second", noisy))
    )
    assert "stability between runs" not in second  # the first judge's study has it
    expected = [
        table[table["model"] == m].groupby("prompt", observed=True)["value"].mean().corr(
            noisy[noisy["model"] == m].groupby("prompt", observed=True)["value"].mean(), method="spearman"
        )
        for m in "ab"
    ]  # fmt: skip
    agreement = first["agreement of runs"].set_index("model")
    assert agreement["rho"].tolist() == pytest.approx(expected)
    assert agreement["pairs"].tolist() == [1, 1]
    by_run = first["stability between runs"].set_index("run")["others"]
    assert by_run.tolist() == pytest.approx(expected * 2)


def test_a_random_draw_is_of_the_lowest(tmp_path):
    names = [f"{i:03d}.n.01" for i in range(200)]
    wide = pd.DataFrame({"a": np.linspace(0, 1, 200)}, names)
    found = analyses.random_of_lowest(study(tmp_path, ("a",)), "isp", wide, ["a"])
    drawn = list(found.table["synset"])
    assert len(set(drawn)) == analyses.WITH_IMAGES
    assert set(drawn) <= set(names[: analyses.SHOWN])
    assert drawn != names[: analyses.WITH_IMAGES]
    assert [label.partition("\n")[0] for label, _ in found.figure.rows] == drawn


def test_sorted_differences_name_their_ends():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.random((300, 2)), [f"s{i}.n.01" for i in range(300)], ["a", "b"])
    wide.iloc[7, 0] = np.nan
    found = analyses.ranked_differences("isp", wide, "a", "b")
    assert found.table["rank"].tolist() == list(range(1, 300))
    assert (np.diff(found.table["difference"]) <= 0).all()
    drawn = check_figure(found)
    for i in (0, 1, -1, -2):
        assert f">{found.table['synset'].iloc[i]}</text>" in drawn
    assert drawn.count(".n.01</text>") <= 3 * analyses.NAMED
