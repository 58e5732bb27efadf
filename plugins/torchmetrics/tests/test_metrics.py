"""The metrics end to end, on images whose features are known."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies
from hypothesis.extra.numpy import arrays
from PIL import Image as PILImage
from t2i_core.api import ClassScores, Embedding, Features, Generated, GeneratorInfo, JudgeInfo, Options
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.api.metric_input import Sample
from t2i_core.api.prompt import Prompt
from t2i_core.engine.component import settle_component
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.files.digest import digest_files
from t2i_core.results.score_difference import select_whole_sets
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, MetricContract, StaticResolver, sample_images
from t2i_core.testing.parts import CLASSES
from t2i_torchmetrics.clipscore import clip_score
from t2i_torchmetrics.cmmd import normalise
from t2i_torchmetrics.fid import Gaussian, frechet_distance
from t2i_torchmetrics.neighbourhoods import find_radii, score_images
from t2i_torchmetrics.plugin import t2i_metrics
from t2i_torchmetrics.vectors import draw_subset, draw_uniform
from t2i_torchmetrics.vendi import vendi_score

INFOS = {info.name: info for info in t2i_metrics()}
PIXELS = 4


class Grey(Options):
    mean: float = 128.0
    spread: float = 20.0


class Noise:
    """Draws PIXELS independent normal greys: features with a mean and covariance that are known."""

    def __init__(self, setup: Any) -> None:
        self.options = setup.options

    def generate(self, requests: Any) -> Iterator[Any]:
        for r in requests:
            rng = np.random.default_rng([r.seed, int(self.options.mean), *r.prompt.text.encode()])
            yield r, Generated(drawn(rng, self.options.mean, self.options.spread))


def drawn(rng: np.random.Generator, mean: float, spread: float) -> Any:
    grey = np.clip(rng.normal(mean, spread, (1, PIXELS, 1)).round(), 1, 254).astype(np.uint8)
    return np.repeat(grey, 3, axis=2)


class Reader:
    """Says the greys of an image, which are its features."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            yield query, Features(query.images[0].pixels[0, :, 0].astype(np.float32))


NOISE = GeneratorInfo(name="noise", summary="Grey noise.", options=Grey, create=Noise)
READER = JudgeInfo(
    name="reader", summary="Greys.", capabilities={"features": frozenset()}, create=lambda setup: Reader()
)
RESOLVER = StaticResolver(READER, TEST_PROMPTS)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 images of mean 128, spread 20, in folders, with a file that is none."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "more").mkdir()
    rng = np.random.default_rng(1)
    for i in range(120):
        PILImage.fromarray(drawn(rng, 128, 20)).save(folder / ("more" if i % 2 else ".") / f"{i}.png")
    (folder / "notes.txt").write_text("no image")
    return folder


def _run(
    metric: str, tmp_path: Path, reference: Path, models: Any = NOISE, seeds: int = 60, **options: Any
) -> Any:
    return evaluate(
        INFOS[metric], models, prompts="test-prompts", seeds=seeds, out=tmp_path / "run", resolver=RESOLVER,
        options={metric: {"reference": str(reference), **options}},
    )  # fmt: skip


def _greys(folder: Path) -> Any:
    return np.stack([np.asarray(PILImage.open(f))[0, :, 0] for f in sorted(folder.rglob("*.png"))]).astype(float)


class _Referred(MetricContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        (tmp_path / "reference").mkdir()
        sample_images(tmp_path / "reference", 9)
        type(self).options = {"reference": str(tmp_path / "reference")}


class TestFid(_Referred):
    module = "t2i_torchmetrics.plugin"
    name = "fid"


class TestKid(_Referred):
    module = "t2i_torchmetrics.plugin"
    name = "kid"


class TestCmmd(_Referred):
    module = "t2i_torchmetrics.plugin"
    name = "cmmd"


class TestPrdc(_Referred):
    module = "t2i_torchmetrics.plugin"
    name = "prdc"


class TestVendi(MetricContract):
    module = "t2i_torchmetrics.plugin"
    name = "vendi"


class TestInceptionScore(MetricContract):
    module = "t2i_torchmetrics.plugin"
    name = "is"


class TestClipScore(MetricContract):
    module = "t2i_torchmetrics.plugin"
    name = "clipscore"


# fid ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_fid_of_known_gaussians(tmp_path: Path, reference: Path) -> None:
    models = [
        ModelRequest(NOISE, "same"),
        ModelRequest(NOISE, "shifted", {"mean": 138}),
        ModelRequest(NOISE, "narrow", {"spread": 10}),
    ]
    run = _run("fid", tmp_path, reference, models)
    # against the reference as it is, for these images are not drawn anew
    of_reference = Gaussian.of(_greys(reference))
    for result, (mean, spread) in zip(run.results, [(128, 20), (138, 20), (128, 10)], strict=True):
        truth = Gaussian(2**30, np.full(PIXELS, float(mean)), spread**2 * np.eye(PIXELS))
        expected = frechet_distance(truth, of_reference)
        assert result.n_ok == 120
        assert "block jackknife (20 blocks)" in result.interval
        lo, hi = result.ci
        bias = 25  # more than that of 120 images
        assert abs(result.score - expected) < hi - lo + bias  # four standard errors
    shifted = (c for c in run.comparisons if {c.a, c.b} == {"same", "shifted"})
    assert next(shifted).p_adjusted < 1e-4


def test_fid_is_of_these_very_images(tmp_path: Path, reference: Path) -> None:
    run = _run("fid", tmp_path, reference)
    generated = np.stack([np.asarray(PILImage.open(run.folder / f))[0, :, 0] for f in run.samples()["image"]])
    expected = frechet_distance(Gaussian.of(generated.astype(float)), Gaussian.of(_greys(reference)))
    assert run.results[0].score == pytest.approx(expected, rel=1e-9)
    blocks = select_whole_sets(run.measurements()).query("left_out != 'none'")["value"]
    assert blocks.nunique() == 20


def test_the_reference_is_seen_once(tmp_path: Path, reference: Path) -> None:
    """By the same judge as the model's images, and by a second metric not again."""
    asked = []

    class Counting(Reader):
        def observe(self, capability: str, queries: Any) -> Iterator[Any]:
            for query, answer in super().observe(capability, queries):
                asked.append(query.images[0].digest)
                yield query, answer

    judge = JudgeInfo(
        name="reader", summary="R.", capabilities={"features": frozenset()}, create=lambda setup: Counting()
    )
    options = {name: {"reference": str(reference)} for name in ("fid", "kid")}
    evaluate(
        [INFOS["fid"], INFOS["kid"]], NOISE, prompts="test-prompts", seeds=5, out=tmp_path / "run",
        resolver=StaticResolver(judge, TEST_PROMPTS), options=options,
    )  # fmt: skip
    assert len(asked) == len(set(asked)) == 10 + 120


# kid ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_kid_of_one_distribution_is_0_within_its_interval(tmp_path: Path, reference: Path) -> None:
    models = [ModelRequest(NOISE, "same"), ModelRequest(NOISE, "shifted", {"mean": 138})]
    run = _run("kid", tmp_path, reference, models, subsets=10, subset_size=100)
    same, shifted = run.results
    assert same.ci[0] < 0 < same.ci[1]
    assert shifted.ci[0] > 0
    assert run.comparisons[0].p_adjusted < 1e-4


@pytest.mark.long
def test_more_subsets_do_not_widen_the_interval(tmp_path: Path, reference: Path) -> None:
    """What is drawn for one image does not depend on the others: the jackknife sees images, not draws."""
    widths = []
    for subsets in (1, 50):
        run = _run("kid", tmp_path / str(subsets), reference, subsets=subsets, subset_size=60)
        lo, hi = run.results[0].ci
        widths.append(hi - lo)
    assert widths[1] < widths[0]
    full = _run("kid", tmp_path / "full", reference, subsets=1, subset_size=1000)
    lo, hi = full.results[0].ci
    assert widths[1] == pytest.approx(hi - lo, rel=0.35)  # as if no subsets had been drawn


def test_subsets_stay_when_images_go() -> None:
    samples = [Sample("m", Prompt(str(i), "x"), 0) for i in range(500)]
    draws = np.stack([draw_uniform(s, 0, 1) for s in samples])[:, 0]
    whole = set(draw_subset(draws, 100).tolist())
    kept = np.array([i for i in range(500) if i % 20])
    part = set(kept[draw_subset(draws[kept], 100)].tolist())
    gone = {i for i in whole if i % 20 == 0}
    assert len(whole) == len(part) == 100
    assert whole - gone <= part
    assert np.std(draws) == pytest.approx(math.sqrt(1 / 12), rel=0.1)
    assert (draw_uniform(samples[0], 1, 1) != draws[0]).all()


def test_splits_of_the_inception_score_are_drawn_at_random(tmp_path: Path) -> None:
    """Images come prompt by prompt: in that order each of two splits would hold one class, and the score be 1."""

    class Told:
        def generate(self, requests: Any) -> Iterator[Any]:
            for r in requests:
                yield r, Generated(np.full((2, 2, 3), 200 if r.prompt.id == "car" else 20, np.uint8))

    class Sure:
        def observe(self, capability: str, queries: Any) -> Iterator[Any]:
            for query in queries:
                light = query.images[0].pixels.max() > 99
                yield query, ClassScores(np.array([light, not light], np.float32) * 99, CLASSES)

    judge = JudgeInfo(
        name="sure", summary="S.", capabilities={"classify": frozenset()}, create=lambda setup: Sure(),
        labels=lambda argument, options: CLASSES,
    )  # fmt: skip
    run = evaluate(
        INFOS["is"], GeneratorInfo(name="told", summary="T.", create=lambda setup: Told()),
        prompts="test-prompts", seeds=20, out=tmp_path / "run", resolver=StaticResolver(judge, TEST_PROMPTS),
        options={"is": {"splits": 2}},
    )  # fmt: skip
    assert run.results[0].score > 1.5


def _inception_score(tmp_path: Path, seeds: int, prompts: int) -> Any:
    return evaluate(
        INFOS["is"], TEST_MODEL, prompts="test-prompts", seeds=seeds, limit=prompts, out=tmp_path / "run",
        resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS),
    )  # fmt: skip


def test_no_split_of_the_inception_score_is_a_single_image(tmp_path: Path) -> None:
    """In as many splits as images the score would be 1 for any model, and its interval of no width."""
    run = _inception_score(tmp_path, seeds=5, prompts=2)
    (result,) = run.results
    assert result.score > 1
    assert result.ci[0] < result.ci[1]
    said = _notes(run)
    assert "is: 5 splits in place of 10: 10 images give no more of two images each" in said
    assert "is: 10 images in 5 splits, published" in said


def test_a_single_image_has_no_inception_score(tmp_path: Path) -> None:
    run = _inception_score(tmp_path, seeds=1, prompts=1)
    (result,) = run.results
    assert result.score is None
    assert result.n_excluded == 1


# sets by facet, and repetitions -------------------------------------------------------------------------------


SUBSETS = ("easy", "hypo", "easy | hypo")
IN_SUBSETS = [Prompt(f"p{n}", f"text {n}", facets={"subset": SUBSETS[n % 3]}) for n in range(30)]


class Light:
    """Says of two classes by how light an image is."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            light = float(query.images[0].pixels.mean()) / 20
            yield query, ClassScores(np.array([light, 6.4], np.float32), CLASSES)


LIGHT = JudgeInfo(
    name="light", summary="L.", capabilities={"classify": frozenset()}, create=lambda setup: Light(),
    labels=lambda argument, options: CLASSES,
)  # fmt: skip
SETS = ("fid", "kid", "is", "cmmd", "prdc", "vendi")


def _measure_sets(prompts: list[Prompt], out: Path, reference: Path, **options: Any) -> Any:
    of_distance = {"reference": str(reference), **options}
    return evaluate(
        [INFOS[name] for name in SETS], ModelRequest(NOISE, "noise", {"spread": 60}), prompts=prompts, seeds=2,
        out=out, resolver=StaticResolver(READER, LIGHT),
        options={
            "fid": of_distance, "kid": {**of_distance, "subset_size": 30}, "is": {"splits": 2, **options},
            "cmmd": {**of_distance, "sigma": 0.5}, "prdc": of_distance, "vendi": options,
        },
    )  # fmt: skip


@pytest.mark.long
def test_subsets_have_the_scores_and_intervals_of_runs_of_one_subset(tmp_path: Path, reference: Path) -> None:
    results = _measure_sets(IN_SUBSETS, tmp_path / "all", reference).results
    for level in ("easy", "hypo"):
        prompts = [prompt for prompt in IN_SUBSETS if level in str(prompt.facets["subset"]).split(" | ")]
        assert len(prompts) == 20  # of two subsets counts in both
        alone = _measure_sets(prompts, tmp_path / level, reference).results
        for result, own in zip(results, alone, strict=True):
            (headline, *_) = result.scores
            found = result.facets[headline]["subset"][level]
            # cmmd computes parts of a set from sums over the whole set
            assert found.value == pytest.approx(own.score, rel=1e-9)
            assert found.ci == pytest.approx(own.ci, rel=1e-7)
            assert None not in own.ci
            assert found.value != result.score


@pytest.mark.long
def test_repetitions_count_once_if_asked(tmp_path: Path, reference: Path) -> None:
    """Prompts of one text have one image under a seed, which the model draws from the text."""
    again = [Prompt(f"again {n}", f"text {n}") for n in range(0, 30, 3)]
    every = [Prompt(prompt.id, prompt.text) for prompt in IN_SUBSETS]
    doubled = tmp_path / "reference"
    shutil.copytree(reference, doubled)
    shutil.copytree(reference, doubled / "again")
    runs = {
        "unique": _measure_sets(every, tmp_path / "unique", reference),
        "counted": _measure_sets([*every, *again], tmp_path / "counted", doubled),
        "left out": _measure_sets([*every, *again], tmp_path / "left out", doubled, repetitions=False),
    }
    for unique, counted, left_out in zip(*(run.results for run in runs.values()), strict=True):
        # splits and subsets are drawn by prompt, and the same prompts are kept
        assert left_out.score == pytest.approx(unique.score, rel=1e-9)
        assert counted.score != pytest.approx(unique.score, rel=1e-6)
        assert any("20 left out" in note for note in left_out.notes)
        assert not any("repeat" in note for note in counted.notes)
        assert left_out.n_ok == 80


def test_byte_equal_images_of_other_texts_are_repetitions(tmp_path: Path, reference: Path) -> None:
    class Same:
        def generate(self, requests: Any) -> Iterator[Any]:
            for r in requests:
                rng = np.random.default_rng([r.seed, int(r.prompt.id[1:]) // 2])  # as found for two concepts
                yield r, Generated(drawn(rng, 128, 60))

    retrieval = GeneratorInfo(name="retrieval", summary="R.", create=lambda setup: Same())
    run = evaluate(
        INFOS["is"], retrieval, prompts=IN_SUBSETS, seeds=1, out=tmp_path / "run", resolver=StaticResolver(LIGHT),
        options={"is": {"repetitions": False}},
    )  # fmt: skip
    assert any("15 left out" in note for note in run.results[0].notes)


@pytest.mark.parametrize("name", SETS)
def test_repetitions_are_a_choice(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption):
        evaluate(
            INFOS[name], NOISE, prompts="test-prompts", out=tmp_path / "run", resolver=RESOLVER,
            options={name: {"reference": str(tmp_path), "repetitions": "some"}},
        )  # fmt: skip


# cmmd, prdc, fid at infinity ------------------------------------------------------------------------------------


def _replay(run: Any) -> tuple[Any, Any]:
    """Return the features of a run's images, and the rows of its sets without one block each."""
    greys = np.stack([np.asarray(PILImage.open(run.folder / f))[0, :, 0] for f in run.samples()["image"]])
    return greys.astype(float), select_whole_sets(run.measurements()).query("left_out != 'none'")


def test_precision_and_recall_are_of_these_very_images(tmp_path: Path, reference: Path) -> None:
    run = _run("prdc", tmp_path, reference, neighbours=3)
    generated, blocks = _replay(run)
    expected = score_images(_greys(reference), find_radii(_greys(reference), 3), generated, 3)
    found = {name: score.value for name, score in run.results[0].scores.items()}
    assert found == pytest.approx(expected._asdict())
    without = blocks[blocks["measure"] == "recall"]["value"]
    assert len(without) == 20
    assert without.mean() == pytest.approx(expected.recall, abs=0.05)


class Mirror(Reader):
    """Gives other features of the same images: the darker, the more."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query, found in super().observe(capability, queries):
            yield query, Features(np.square(255 - found.values) / 255)


MIRROR = JudgeInfo(
    name="mirror", summary="M.", capabilities={"features": frozenset()}, create=lambda setup: Mirror()
)


@pytest.mark.parametrize("metric", ["cmmd", "prdc"])
def test_two_judges_give_what_each_gives_alone(metric: str, tmp_path: Path, reference: Path) -> None:
    def measure(*judges: str) -> list[Any]:
        run = evaluate(
            INFOS[metric], NOISE, judge=list(judges), prompts="test-prompts", seeds=20,
            out=tmp_path / "-".join(judges), resolver=StaticResolver(READER, MIRROR, TEST_PROMPTS),
            options={metric: {"reference": str(reference)}},
        )  # fmt: skip
        return [[(name, each.value, each.ci) for name, each in result.scores.items()] for result in run.results]

    alone = [*measure("reader"), *measure("mirror")]
    assert alone[0] != alone[1]
    assert measure("reader", "mirror") == alone


@pytest.mark.parametrize("order", ["inf", "0", "2.5"])
def test_the_order_of_the_vendi_score(tmp_path: Path, order: str) -> None:
    run = evaluate(
        INFOS["vendi"], NOISE, prompts="test-prompts", seeds=5, out=tmp_path / "run", resolver=RESOLVER,
        options={"vendi": {"order": order}},
    )  # fmt: skip
    assert run.results[0].score == pytest.approx(vendi_score(_replay(run)[0], float(order)))


def test_few_images_are_not_extrapolated(tmp_path: Path, reference: Path) -> None:
    run = _run("fid", tmp_path, reference, seeds=10, infinity=True)
    assert run.results[0].score is None
    assert "infinity=true needs at least 50" in run.failed


def test_cmmd_is_of_these_very_images(tmp_path: Path, reference: Path) -> None:
    models = [ModelRequest(NOISE, "same"), ModelRequest(NOISE, "spread", {"spread": 60})]
    run = _run("cmmd", tmp_path, reference, models, sigma=0.5)
    same, spread = (result.score for result in run.results)
    x, y = normalise(_replay(run)[0][:120]), normalise(_greys(reference))
    distances = [np.square(a[:, None] - b).sum(-1) for a, b in ((x, x), (y, y), (x, y))]
    within, of_reference, crossed = (np.exp(-each / 0.5).mean() for each in distances)
    assert same == pytest.approx(1000 * (within + of_reference - 2 * crossed), rel=1e-6)
    assert spread > 3 * same


@pytest.mark.long
def test_a_distance_at_infinity_is_nearer_the_truth(tmp_path: Path, reference: Path) -> None:
    """Of images with the reference's distribution: what remains is the chance of the reference's own images."""
    finite, infinite = (
        _run("fid", tmp_path / str(infinity), reference, seeds=200, infinity=infinity).results[0]
        for infinity in (False, True)
    )
    truth = frechet_distance(
        Gaussian(2**30, np.full(PIXELS, 128.0), 20.0**2 * np.eye(PIXELS)), Gaussian.of(_greys(reference))
    )
    assert abs(infinite.score - truth) < abs(finite.score - truth)
    assert any("FD-infinity" in note for note in infinite.notes)


# clipscore ----------------------------------------------------------------------------------------------------


class Angles:
    """Embeds images at 0 degrees and texts at as many as they are long."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            angle = math.radians(len(query.texts[0])) if query.texts else 0.0
            yield query, Embedding(3 * np.array([math.cos(angle), math.sin(angle)], np.float32))


@pytest.mark.parametrize(("w", "prefix"), [(100, ""), (2.5, "A photo depicts "), (1, "x" * 90)])
def test_clipscore_of_known_angles(tmp_path: Path, w: float, prefix: str) -> None:
    judge = JudgeInfo(
        name="angles", summary="A.", capabilities={"embed": frozenset()}, create=lambda setup: Angles()
    )
    run = evaluate(
        INFOS["clipscore"], TEST_MODEL, prompts="test-prompts", seeds=2, out=tmp_path / "run",
        resolver=StaticResolver(judge, TEST_PROMPTS), options={"clipscore": {"w": w, "prefix": prefix}},
    )  # fmt: skip
    angle = len(prefix) + len("a photo of a car")
    (result,) = run.results
    assert result.score == pytest.approx(w * max(math.cos(math.radians(angle)), 0), rel=1e-6)
    assert (result.score == 0) == (angle > 90)


class Aside:
    """Embeds texts and dark images at 0 degrees, the few images with something lighter at some more."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            angle = 0.0 if query.texts else 0.5 * float(query.images[0].pixels.max() > 60)
            yield query, Embedding(np.array([math.cos(angle), math.sin(angle)], np.float32))


@pytest.mark.parametrize("w", [100, 0.01])
def test_the_interval_of_a_clipscore_near_its_greatest_stays_within(tmp_path: Path, w: float) -> None:
    judge = JudgeInfo(
        name="aside", summary="A.", capabilities={"embed": frozenset()}, create=lambda setup: Aside()
    )
    info = INFOS["clipscore"]
    for bounded in (info, replace(info, measures=(replace(info.measures[0], low=None, high=None),))):
        run = evaluate(
            bounded, ModelRequest(NOISE, "dark", {"mean": 20}), prompts="test-prompts", seeds=6,
            out=tmp_path / f"run {bounded is info}", resolver=StaticResolver(judge, TEST_PROMPTS),
            options={"clipscore": {"w": w}},
        )  # fmt: skip
        (result,) = run.results
        levels = [level for facet in result.facets["clipscore"].values() for level in facet.values()]
        ends = [hi for _, hi in (each.ci for each in [result, *levels]) if hi is not None]
        assert 0.9 * w < result.score < w
        assert (result.ci[1] <= w) == (bounded is info)
        assert (max(ends) <= w) == (bounded is info)


_VECTORS = arrays(np.float32, 3, elements=strategies.floats(-1e6, 1e6, width=32))


@given(_VECTORS, _VECTORS, strategies.floats(1e-6, 1e12))
def test_no_clipscore_leaves_0_to_w(image: Any, text: Any, w: float) -> None:
    """Nor does rounding take it out, however large w is: the score of one vector with itself is w at most."""
    for a, b in ((image, text), (image, image)):
        score = clip_score(a, b, w)
        assert math.isnan(score) or 0 <= score <= w


def test_an_embedding_of_0_has_no_score(tmp_path: Path) -> None:
    class Blank:
        def observe(self, capability: str, queries: Any) -> Iterator[Any]:
            for query in queries:
                yield query, Embedding(np.zeros(4, np.float32))

    judge = JudgeInfo(
        name="blank", summary="B.", capabilities={"embed": frozenset()}, create=lambda setup: Blank()
    )
    resolver = StaticResolver(judge, TEST_PROMPTS)
    run = evaluate(
        INFOS["clipscore"], TEST_MODEL, prompts="test-prompts", seeds=1, out=tmp_path / "run", resolver=resolver
    )
    assert run.results[0].n_failed == 2
    assert "it has no cosine" in run.failures()["reason"][0]


# notes on the images -----------------------------------------------------------------------------------------


def _notes(run: Any) -> str:
    return "\n".join(run.results[0].notes)


@pytest.mark.long
def test_few_images_are_said(tmp_path: Path, reference: Path) -> None:
    assert "fid: 120 generated images, fewer than the 10000" in _notes(_run("fid", tmp_path / "a", reference))
    said = _notes(_run("fid", tmp_path / "b", reference, seeds=2))
    assert "fid: 4 generated images for 4 features: their covariance does not have full rank, at least 5" in said
    assert "fid: 120 reference images, fewer" in said
    assert "kid: subsets of 4 images" in _notes(_run("kid", tmp_path / "c", reference, seeds=2))
    run = evaluate(
        INFOS["is"], TEST_MODEL, prompts="test-prompts", seeds=30, out=tmp_path / "d",
        resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS),
    )  # fmt: skip
    assert "is: 60 images in 10 splits, published scores are of 50000" in _notes(run)


@pytest.mark.long
def test_images_that_are_alike_are_not_remarked_on(tmp_path: Path, reference: Path) -> None:
    said = _notes(_run("kid", tmp_path, reference, subset_size=50, subsets=3))
    assert said == ""


def test_other_formats_and_sizes_are_said(tmp_path: Path) -> None:
    folder = tmp_path / "jpeg"
    folder.mkdir()
    for i in range(6):
        PILImage.new("RGB", (PIXELS, 2 if i else 1), (i * 30, 99, 99)).save(folder / f"{i}.jpg")
    said = _notes(_run("fid", tmp_path, folder, seeds=3))
    assert "the generated images are PNG, the reference images JPEG" in said
    assert "the generated images are of 4 x 1 pixels, the reference images of 4 x 2 (5), 4 x 1 (1)" in said


# bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fid", "kid"])
def test_a_reference_that_is_none_is_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    info = INFOS[name]
    for folder, why in (
        (tmp_path / "none", "does not exist"),
        (tmp_path, "holds no images, but at least two"),
    ):
        with pytest.raises(BadOption, match=why):
            info.loading.check(settle_component(info, info.options(reference=folder)).setup())


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: b"no image", lambda data: b""])
def test_a_damaged_reference_image_is_refused_before_anything_runs(tmp_path: Path, damage: Any) -> None:
    sample_images(tmp_path, 3)
    info = INFOS["fid"]
    setup = settle_component(info, info.options(reference=tmp_path)).setup()
    info.loading.check(setup)
    file = tmp_path / "1.png"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(BadOption, match=rf"^option reference: {file}: "):
        info.loading.check(setup)


def test_a_reference_image_that_only_decoding_shows_to_be_damaged_is_the_users_file(tmp_path: Path) -> None:
    """A JPEG whose end is missing has a whole head: told as soon as it is read, and not as a broken plugin."""
    folder = tmp_path / "cut"
    folder.mkdir()
    for i in range(3):
        pixels = np.random.default_rng(i).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        PILImage.fromarray(pixels).save(folder / f"{i}.jpg")
    file = folder / "1.jpg"
    file.write_bytes(file.read_bytes()[:-800])
    with pytest.raises(BadFolder, match=str(file)):
        _run("fid", tmp_path, folder, seeds=3)


def test_another_reference_is_another_metric(tmp_path: Path) -> None:
    """The manifest's fingerprint changes with the images, not with where they lie."""
    digests = {}
    for name, grey in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        for i in range(2):
            PILImage.new("RGB", (4, 4), (grey, i, i)).save(tmp_path / name / f"{i}.png")
        options = INFOS["fid"].options(reference=tmp_path / name)
        digests[name] = digest_files(INFOS["fid"].loading.weights(None, options))
    assert digests["a"] == digests["b"] != digests["c"]


def test_a_single_image_has_no_distance(tmp_path: Path, reference: Path) -> None:
    for metric, why in (("fid", "a covariance needs at least two"), ("kid", "needs at least two images")):
        run = evaluate(
            INFOS[metric], NOISE, prompts="test-prompts", limit=1, seeds=1, out=tmp_path / metric,
            resolver=RESOLVER, options={metric: {"reference": str(reference)}},
        )  # fmt: skip
        assert run.failed
        assert why in run.failures()["reason"][0]
