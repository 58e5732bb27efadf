from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import Embedding, Generated, GeneratorInfo, JudgeInfo, Prompt, PromptSourceInfo, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.evaluation import evaluate
from t2i_core.testing import StaticResolver
from t2i_paintskills import retrieval
from t2i_paintskills.options import RetrievalOptions
from t2i_paintskills.plugin import t2i_metrics
from t2i_paintskills.r_precision import RPrecision


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """Runs without ``out`` and their cache go to a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def vectors(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_nearest_wins_and_ties_are_shared():
    image, own = retrieval.unit_length(np.array([[3, 4], [4, 3]], np.float32))
    near, far = retrieval.unit_length(np.array([[3, 4], [-1, 0]], np.float32))
    others = np.array([[far, far], [far, near], [far, own], [own, own]])
    assert retrieval.nearest(image, own, others).tolist() == [1, 0, 1 / 2, 1 / 3]


@given(st.integers(2, 40), st.data())
def test_negatives_are_drawn_once_each_and_never_the_own(pool, data):
    own = data.draw(st.none() | st.integers(0, pool - 1))
    negatives = data.draw(st.integers(1, pool - (own is not None)))
    drawn = retrieval.draw(np.random.default_rng(0), pool, own, negatives, 3)
    assert drawn.shape == (3, negatives)
    for repeat in drawn.tolist():
        assert len(set(repeat)) == negatives
        assert own not in repeat
        assert 0 <= min(repeat) <= max(repeat) < pool


def test_every_other_caption_is_as_likely():
    drawn = retrieval.draw(np.random.default_rng(0), 10, 3, 4, 5000)
    shares = np.bincount(drawn.ravel(), minlength=10) / 5000
    assert shares[3] == 0
    assert np.delete(shares, 3) == pytest.approx(np.full(9, 4 / 9), abs=0.03)


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.integers(0, 50))
def test_lengths_are_nothing_to_a_cosine(of_image, of_texts, seed):
    image, texts = vectors(8, seed=seed), vectors(6, 8, seed=seed + 1)
    said = []
    for i, t in ((image, texts), (image * np.float32(of_image), texts * np.float32(of_texts))):
        own, *others = retrieval.unit_length(t)
        said.append(retrieval.nearest(i, own, np.array([others])).tolist())
    assert said[0] == said[1]


def test_the_reference_lets_a_long_caption_win():
    image, captions = np.array([1, 0], np.float32), np.array([[1, 0], [9, 9]], np.float32)
    draws = np.array([[1], [0]], np.int32)
    assert retrieval.reference_nearest(image, captions, 0, draws).tolist() == [0, 1]


class Embeds:
    """A unit vector for each text `caption n`; an image has the vector of the text that its pixels name."""

    def __init__(self, of_image, dimensions=16):
        self.of_image, self.dimensions = of_image, dimensions

    def observe(self, capability, queries):
        for query in queries:
            number = int(query.texts[0].split()[-1]) if query.texts else self.of_image(query.images[0])
            yield query, Embedding(vectors(self.dimensions, seed=number))


NUMBER = count()


def embedder(of_image):
    """A judge with a new name, so that no cached answers of another judge are used."""
    name = f"embeds-{next(NUMBER)}"
    return JudgeInfo(name=name, summary="Embeds.", capabilities={"embed": frozenset()},
                     create=lambda setup: Embeds(of_image))  # fmt: skip


CAPTIONS = [Prompt(f"c{n}", f"caption {n}") for n in range(30)]
SOURCE = PromptSourceInfo(name="captions", summary="Captions.", prompts=lambda setup: CAPTIONS)


class DrawsNumbers:
    """Draws the number at its prompt's end."""

    def generate(self, requests):
        for request in requests:
            number = int(request.prompt.text.split()[-1])
            yield request, Generated(np.full((4, 4, 3), number + 1, np.uint8))


def run(of_image, seeds=1, **options):
    model = GeneratorInfo(name="numbers", summary="Numbers.", create=lambda setup: DrawsNumbers())
    resolver = StaticResolver(embedder(of_image), SOURCE, *t2i_metrics())
    given = {"r-precision": options}
    return evaluate("r-precision", model, prompts="captions", seeds=seeds, options=given, resolver=resolver)


def named(image):
    return int(image.pixels[0, 0, 0]) - 1


def test_images_that_are_their_captions_find_them():
    for reference in (False, True):
        found = run(named, candidates=20, reference=reference).results[0]
        # in the reference's way a caption is found where no drawn one is longer in the image's direction
        assert found.score == 1 if not reference else found.score > 0.5
        assert found.n_ok == 30


def test_images_that_are_nothing_find_their_captions_by_chance():
    found = run(lambda image: 1000 + named(image), candidates=5, repeats=20).results[0]
    assert found.ci[0] <= 1 / 5 <= found.ci[1]


def test_an_image_of_another_caption_says_which_one_is_nearer():
    for reference in (False, True):
        table = run(lambda image: (named(image) + 1) % 30, candidates=30, reference=reference).measurements()
        wrong = table[table["value"] < 1]
        assert len(wrong) > 0
        for _, row in wrong.iterrows():
            assert row["because"].startswith('nearest caption: "caption ')
            twin = (int(row["prompt"][1:]) + 1) % 30
            assert reference or row["because"] == f'nearest caption: "caption {twin}"'
        assert table.loc[table["value"] == 1, "because"].isna().all()


def test_an_image_of_another_caption_finds_its_own_only_where_that_one_is_not_drawn():
    table = run(lambda image: (named(image) + 1) % 30, candidates=11, repeats=40).measurements()
    # 10 of 29 others are drawn: 19/29 is the probability that the image's twin is not among them, and then the own
    # caption is one of 11 that have nothing to do with it
    assert table["value"].mean() == pytest.approx(19 / 29 / 11, abs=0.03)


def test_negatives_from_a_file(tmp_path):
    file = tmp_path / "others.txt"
    file.write_text("\n".join(f"other {n}" for n in range(100, 140)))
    found = run(named, captions=str(file), candidates=41)
    assert found.results[0].score == 1
    other = run(lambda image: 100 + named(image), captions=str(file), candidates=41)
    assert other.results[0].score == 0  # each image is one of the file's captions, and all are drawn


def test_draws_depend_on_prompt_seed_and_option_alone():
    def values(**options):
        table = run(lambda image: 1000 + named(image), seeds=2, candidates=4, repeats=2, **options).measurements()
        return table.set_index(["prompt", "seed"])["value"]

    first = values()
    assert (first == values()).all()
    assert not (first == values(seed=1)).all()
    assert not (first.xs(0, level="seed") == first.xs(1, level="seed")).all()


def test_the_reference_on_a_run_is_the_reference_on_arrays():
    found = run(lambda image: 1000 + named(image), candidates=4, repeats=5, reference=True).measurements()
    images = [vectors(16, seed=1000 + n) for n in range(30)]
    texts = np.stack([vectors(16, seed=n) for n in range(30)])
    draws = retrieval.reference_draws(30, 3, 5)
    expected = [retrieval.reference_nearest(images[n], texts, n, draws[:, n]).mean() for n in range(30)]
    assert found["value"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {},
            "99 negatives need as many other captions, but the run's prompts have 29; set -o",
        ),
        ({"captions": "few.txt"}, "99 negatives need as many other captions, but few.txt have 2"),
        ({"captions": "few.txt", "reference": True}, "reference uses the run's own prompts as captions"),
    ],
)
def test_too_few_captions_are_said_before_anything_runs(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text("a\nb\n")
    with pytest.raises(BadPrompts) as caught:
        RPrecision(Setup(None, RetrievalOptions(**options))).check(CAPTIONS)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_captions_that_stand_twice_count_once():
    metric = RPrecision(Setup(None, RetrievalOptions(candidates=30)))
    metric.check(CAPTIONS)
    twice = [*CAPTIONS[:29], Prompt("again", CAPTIONS[0].text)]
    with pytest.raises(
        BadPrompts, match="29 negatives need as many other captions, but the run's prompts have 28"
    ):
        metric.check(twice)


def test_only_candidates_from_the_runs_own_prompts_make_rows_depend_on_them() -> None:
    own, others = RetrievalOptions(), RetrievalOptions(captions="captions.txt")
    assert [RPrecision(Setup(None, each)).rows_depend_on_prompts for each in (own, others)] == [True, False]
