"""Our scores against pycocoevalcap's own scorers, on drawn captions."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, strategies
from t2i_captioning.bleu import compute_bleu, count_matches
from t2i_captioning.cider import compute_cider
from t2i_captioning.references import InverseFrequencies
from t2i_captioning.rouge import compute_rouge_l

original_bleu = pytest.importorskip("pycocoevalcap.bleu.bleu")
original_cider = pytest.importorskip("pycocoevalcap.cider.cider")
original_rouge = pytest.importorskip("pycocoevalcap.rouge.rouge")

WORDS = ["a", "the", "cat", "dog", "red", "on", "mat", "'s", "two"]
CAPTIONS = strategies.lists(strategies.sampled_from(WORDS), max_size=9).map(" ".join)
IMAGES = strategies.lists(
    strategies.tuples(CAPTIONS, strategies.lists(CAPTIONS, min_size=1, max_size=5)), min_size=2, max_size=6
)


def own_cider(images: list[tuple[str, list[str]]]) -> list[float]:
    idf = InverseFrequencies(tuple(own) for _, own in images)
    return [compute_cider(caption, own, idf) for caption, own in images]


@given(IMAGES)
def test_scores_equal_pycocoevalcap(images: list[tuple[str, list[str]]]) -> None:
    truths = {n: own for n, (_, own) in enumerate(images)}
    captions = {n: [caption] for n, (caption, _) in enumerate(images)}
    with contextlib.redirect_stdout(io.StringIO()):
        bleu, each_bleu = original_bleu.Bleu(4).compute_score(truths, captions, 0)
    rouge, each_rouge = original_rouge.Rouge().compute_score(truths, captions)
    counts = [count_matches(caption, own) for caption, own in images]
    sums = (np.sum([getattr(c, name) for c in counts], axis=0) for name in ("matches", "guesses"))
    lengths = (sum(c.length for c in counts), sum(c.reference_length for c in counts))
    assert compute_bleu(*sums, *lengths) == pytest.approx(bleu, abs=1e-10)
    for n, c in enumerate(counts):
        own = compute_bleu(np.array(c.matches), np.array(c.guesses), c.length, c.reference_length)
        assert own == pytest.approx([scores[n] for scores in each_bleu], abs=1e-10)
    found = [compute_rouge_l(*image) for image in images]
    assert found == pytest.approx(each_rouge.tolist(), abs=1e-10)
    assert np.mean(found) == pytest.approx(rouge, abs=1e-10)
    # the original counts equal references twice, and fails if no reference has a word
    if len({tuple(own) for _, own in images}) == len(images) and any("".join(own) for _, own in images):
        cider, each = original_cider.Cider().compute_score(truths, captions)
        assert own_cider(images) == pytest.approx(each.tolist(), abs=1e-10)
        assert np.mean(own_cider(images)) == pytest.approx(cider, abs=1e-10)


@given(IMAGES, strategies.randoms(use_true_random=False))
def test_the_order_of_images_and_references_does_not_matter(
    images: list[tuple[str, list[str]]], rng: object
) -> None:
    mixed = [(caption, list(own)) for caption, own in images]
    for _, own in mixed:
        rng.shuffle(own)  # type: ignore[attr-defined]
    rng.shuffle(mixed)  # type: ignore[attr-defined]
    assert sum(compute_rouge_l(*image) for image in mixed) == pytest.approx(
        sum(compute_rouge_l(*i) for i in images)
    )
    if len({tuple(sorted(own)) for _, own in images}) == len(images):
        assert sum(own_cider(mixed)) == pytest.approx(sum(own_cider(images)))


@given(strategies.lists(CAPTIONS.filter(lambda text: len(text.split()) > 3), min_size=1, max_size=5))
def test_a_caption_that_is_a_reference_has_bleu_1(own: list[str]) -> None:
    counts = count_matches(own[0], own)
    score = compute_bleu(
        np.array(counts.matches), np.array(counts.guesses), counts.length, counts.reference_length
    )
    assert score == pytest.approx(np.ones(4), abs=1e-8)
    assert compute_rouge_l(own[0], own) == pytest.approx(1)
