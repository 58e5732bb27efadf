"""Answers that are read in bulk: what is measured from them is what is measured one by one."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    ClassScores,
    Embedding,
    Excluded,
    Failure,
    Features,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Row,
    Rows,
    StackedMetric,
    TableMetric,
)
from t2i_core.api.errors import BadFolder, BrokenPlugin
from t2i_core.results.measurement_table import TableBuilder
from t2i_core.results.score_difference import select_shared
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import DATABASE, Store
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver
from t2i_core.testing.parts import CLASSES

NEEDS = (Need("classes", "classify"), Need("features", "features"))


def value(logits, features):
    return logits[..., 0] + features.sum(axis=-1)


class OneByOne(Metric):
    needs = NEEDS

    def measure(self, unit):
        observed = unit.one()
        yield Row("value", value(observed.one("classes").logits, observed.one("features").values), {"f": "x"})


class Stacked(StackedMetric):
    needs = NEEDS

    def measure(self, unit):
        assert unit.observed == ()
        classes, features = unit.stacked["classes"], unit.stacked["features"]
        assert classes.logits.shape == (len(unit.seeds), len(classes.labels)) == (len(unit.seeds), 2)
        yield Rows("value", value(classes.logits, features.values), {"f": "x"})
        yield Row("images", len(unit.seeds))


def info(cls, name="metric"):
    return MetricInfo(name=name, summary="x", create=cls, measures=(Measure("value", "x"), Measure("images", "x")))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def evaluated(metric, *, model=TEST_MODEL, judge=TEST_JUDGE, seeds=6, **others):
        resolver = StaticResolver(judge, TEST_PROMPTS)
        out = tmp_path / f"run-{len(list(tmp_path.glob('run-*')))}"
        asked = {"prompts": "test-prompts", "seeds": seeds, "out": out, "resolver": resolver, "max_failed": 1.0}
        return evaluate(metric, model, **{**asked, **others})

    return evaluated


def values(run, metric="metric"):
    table = run.measurements()
    own = table[(table["metric"] == metric) & (table["measure"] == "value")]
    return own.set_index(["prompt", "seed"])["value"].sort_index()


def test_bulk_reads_equal_single_reads(run):
    one, bulk = run(info(OneByOne)), run(info(Stacked))
    pd.testing.assert_series_equal(values(one), values(bulk))
    first, second = (found.results[0] for found in (one, bulk))
    for key in ("score", "ci", "interval", "n_ok", "n_prompts"):
        assert getattr(first, key) == getattr(second, key), key
    assert second.scores["images"].value == 6


class Mean(TableMetric, Stacked):
    """One whose own score is made of what each image gives."""

    def aggregate(self, table, weights):
        own = (table["measure"] == "value").to_numpy()
        return {"value": float(np.average(table["value"][own], weights=weights[own]))}


@pytest.mark.long
def test_seeds_are_resampled_where_what_is_aggregated_has_them(run):
    alone = type("Alone", (Mean,), {"aggregates": frozenset({"value"})})
    first, second = (run(info(cls)).results[0] for cls in (Mean, alone))
    assert first.score == pytest.approx(second.score)
    assert "over prompts," in first.interval  # rows of whole prompts are among those that it may read
    assert "over prompts x seeds," in second.interval


def test_values_that_hang_together_are_compared_where_models_have_the_same_samples(run):
    together = type("T", (Stacked,), {"measure": lambda self, unit: [
        Rows("value", np.arange(len(unit.seeds), dtype=float), together=True)]})  # fmt: skip
    tables = [run(info(together), seeds=seeds).measurements() for seeds in (6, 6, 4)]
    two, other = (
        pd.concat([table.assign(model=name) for name, table in zip("ab", pair, strict=True)])
        for pair in (tables[:2], tables[1:])
    )
    assert len(select_shared(two, "a", "b")) == len(two) == 24
    assert select_shared(other, "a", "b").empty  # though each has the seeds 0 to 3


def test_metrics_that_read_alike_give_what_each_gives_alone(run):
    alone = values(run(info(Stacked)))
    both = run([info(Stacked, "a"), info(OneByOne, "b"), info(Stacked, "c")])
    for name in "abc":
        pd.testing.assert_series_equal(values(both, name), alone)
    assert [r.n_ok for r in both.results] == [12, 12, 12]


class Judge:
    """Answers by the seed that an image was made with; none for those that it is told to fail."""

    def __init__(self, classes=lambda index: CLASSES):
        self.classes, self.seen = classes, 0

    def observe(self, capability, queries):
        for query in queries:
            self.seen += 1
            if query.images[0].pixels[0, 0, 0] % 3 == 0:
                yield query, Failure("a third fail")
            elif capability == "features":
                yield query, Features(np.ones(2 + (self.seen > 3), np.float32))
            else:
                yield query, ClassScores(np.arange(2, dtype=np.float32), self.classes(self.seen))


def test_samples_without_an_answer_are_counted_and_left_out(run):
    class Ones(Stacked):
        needs = NEEDS[:1]

        def measure(self, unit):
            yield Rows("value", unit.stacked["classes"].logits[:, 1])

    class OnesOneByOne(OneByOne):
        needs = NEEDS[:1]

        def measure(self, unit):
            yield Row("value", unit.one().one("classes").logits[1])

    judge = replace(TEST_JUDGE, name="failing", create=lambda setup: Judge())
    found, one = run(info(Ones), judge=judge), run(info(OnesOneByOne), judge=judge)
    pd.testing.assert_series_equal(values(found), values(one))
    (result,) = found.results
    assert 0 < result.n_failed == 12 - result.n_ok == one.results[0].n_failed
    assert set(found.failures()["reason"]) == {"a third fail"}


def test_answers_that_do_not_fit_each_other_are_the_judges_fault(run):
    judge = replace(TEST_JUDGE, name="growing", create=lambda setup: Judge())
    with pytest.raises(BrokenPlugin, match="judge 'growing' gave vectors of several lengths"):
        run(info(Stacked), judge=judge)
    undeclared = replace(
        TEST_JUDGE,
        name="changing",
        create=lambda setup: Judge(lambda seen: CLASSES[:: 1 if seen % 2 else -1]),
        labels=None,
    )
    with pytest.raises(BrokenPlugin, match="judge 'changing' gave scores of other classes than before"):
        run(info(type("Classes", (Stacked,), {"needs": NEEDS[:1]})), judge=undeclared)


def test_classes_that_are_kept_with_the_answers_are_read_with_them():
    scores = [ClassScores(np.array([i, -i], np.float32), CLASSES) for i in range(3)]
    stacked = ClassScores.stacked([s.to_bytes() for s in scores], None)
    assert stacked.labels == CLASSES
    np.testing.assert_array_equal(stacked.logits, [[0, 0], [1, -1], [2, -2]])


def test_vectors_of_cut_texts_are_not_taken_for_numbers():
    cut = Embedding(np.ones(2, np.float32), cut_to=7).to_bytes()
    with pytest.raises(ValueError, match="cut texts"):
        Embedding.stacked([cut, cut], None)
    whole = Embedding(np.ones(2, np.float32)).to_bytes()
    np.testing.assert_array_equal(Embedding.stacked([whole, whole], None).values, np.ones((2, 2)))


def said(*what):
    return type("Said", (Stacked,), {"measure": lambda self, unit: what})


@pytest.mark.parametrize(
    ("metric", "fault"),
    [
        (said(Rows("value", np.ones(3))), r"values of shape \(3,\) for 'value' of 6 samples"),
        (said(Rows("value", np.array([1, 1, np.nan, 1, 1, 1]))), "gave nan for 'value'"),
        (said(Rows("other", np.ones(6))), "a row 'other'"),
        (said(Rows("value", np.ones(6)), Rows("value", np.ones(6))), "two rows of 'value'"),
        (type("M", (Mean,), {"aggregates": frozenset({"other"})}), "aggregates 'other'"),
        (
            type("M", (Stacked,), {"needs": (Need("boxes", "detect"),)}),
            "its need 'boxes' is not a vector of each generated image alone",
        ),
        (
            type("M", (Stacked,), {"needs": (Need("text", "embed", queries=lambda samples: []),)}),
            "its need 'text' is not a vector",
        ),
    ],
)
def test_impossible_scores_are_errors_of_the_metric(run, metric, fault):
    with pytest.raises(BrokenPlugin, match=fault):
        run(info(metric))


def test_a_unit_without_a_value_counts_with_all_its_samples(run):
    found = run(info(said(Excluded("nothing to see"))))
    assert found.results[0].n_excluded == 12
    label = found.results[0].label
    assert (
        f"{label}: no score, because the metric excludes all 12 samples (nothing to see)" in found.results[0].notes
    )


def alter(store, sql, *values):
    with contextlib.closing(sqlite3.connect(store.folder / DATABASE, isolation_level=None)) as database:
        database.execute(sql, values)


def test_the_store_gives_many_as_it_gives_each(tmp_path):
    with Store(tmp_path) as store:
        keys = [f"{i:064x}" for i in range(200)]
        for key in keys[::2]:
            store.put(key, key.encode())
            store.put_image(key, encode_image(np.full((2, 2, 3), int(key, 16), np.uint8)))
        assert store.get_many(keys) == [store.get(key) for key in keys]
        images = [store.image(key) for key in keys]
        assert store.images(keys) == images
        assert store.identities(keys) == [image and image.identity for image in images]
        assert images[0] is not None
        images[0].path.write_bytes(b"x")
        alter(store, "update observations set value = x'78' where key = ?", bytes.fromhex(keys[2]))
        assert store.image(keys[0]) is None
        assert store.images(keys, look=False) == images  # answers about an image are found, whatever its file is
        alter(store, "update images set value = x'78' where key = ?", bytes.fromhex(keys[2]))
        assert store.images(keys[:3], look=False) == [images[0], None, None]
        assert store.get_many(keys[:3]) == [keys[0].encode(), None, None]
    with Store(tmp_path, fresh=True) as fresh:
        assert set(fresh.get_many(keys) + fresh.identities(keys)) == {None}


def test_an_altered_index_leads_to_nothing_that_is_another_keys(tmp_path):
    a, b = "a" * 64, "b" * 64
    with Store(tmp_path) as store:
        store.put(a, b"one")
        store.put(b, b"two")
        alter(store, "pragma wal_checkpoint(truncate)")
    file = tmp_path / DATABASE
    data = file.read_bytes()
    places = [i for i in range(len(data)) if data.startswith(bytes.fromhex(a), i)]
    assert len(places) == 2  # in the table and in its index
    for place in places:
        altered = data[:place] + bytes.fromhex(b) + data[place + 32 :]
        file.write_bytes(altered)
        with Store(tmp_path) as store:
            for key, value in ((a, b"one"), (b, b"two")):
                assert store.get(key) in (value, None)
                assert store.get_many([key])[0] in (value, None)


def test_files_that_disappear_during_measuring_stop_the_run(run, tmp_path):
    class Thief(Stacked):
        def measure(self, unit):
            for path in (tmp_path / "cache" / "images").rglob("*.png"):
                path.unlink()
            yield from super().measure(unit)

    with pytest.raises(BadFolder, match="was removed or changed during the run"):
        run(info(Thief))


def test_a_table_takes_many_rows_as_it_takes_each():
    one, many = TableBuilder(), TableBuilder()
    for rows in (one, many):
        rows.append(0.5, {"model": "m", "kind": "a"})
    for number, seed in enumerate((3, 5)):
        one.append(number, {"model": "m", "leaves": 2, "seed": seed, **({} if number else {"because": "a"})})
    many.extend(np.arange(2.0), {"model": "m", "leaves": 2}, {"seed": (3, 5), "because": ("a", None)})
    one.append(1, {"seed": 3})
    many.append(1, {"seed": 3})
    pd.testing.assert_frame_equal(one.build(), many.build(), check_like=True)
