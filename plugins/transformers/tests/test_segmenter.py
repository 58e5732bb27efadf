"""Judge `transformers-segmenter`, on small Mask2Formers that transformers itself saves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from t2i_core.api import Query
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract

NAME = "transformers-segmenter"


class TestContract(JudgeContract):
    module = "t2i_transformers.plugin"
    name = NAME

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_mask2former: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_mask2former))


class TestPairs(TestContract):
    options: ClassVar = {"pairs": True}


def segmented(tiny: Any, judge: Any, images: list[Image]) -> list[Any]:
    found: list[Any] = tiny.ask(judge, "segment", [Query((image,)) for image in images])
    return found


def test_sure_segments_are_the_librarys_own(tiny: Any, tiny_mask2former: Path, images: list[Image]) -> None:
    """Above one half a query can be of one class only, so that the library gives what the judge gives."""
    from transformers import Mask2FormerForUniversalSegmentation, Mask2FormerImageProcessor

    network = Mask2FormerForUniversalSegmentation.from_pretrained(tiny_mask2former).eval()
    processor = Mask2FormerImageProcessor.from_pretrained(tiny_mask2former)
    compared = 0
    for image, ours in zip(images, segmented(tiny, tiny.made(NAME, tiny_mask2former, 5), images), strict=True):
        with torch.inference_mode():
            out = network(**processor(images=image.pil(), return_tensors="pt"))
        (theirs,) = processor.post_process_instance_segmentation(
            out, threshold=0.5, target_sizes=[image.pil().size[::-1]], return_binary_maps=True
        )
        sure = np.flatnonzero(ours.scores >= 0.5)
        assert len(sure) == len(theirs["segments_info"])
        by_score = sorted(range(len(sure)), key=lambda n: theirs["segments_info"][n]["score"])
        for ours_at, theirs_at in zip(sure[np.argsort(ours.scores[sure])], by_score, strict=True):
            info = theirs["segments_info"][theirs_at]
            assert ours.scores[ours_at] == pytest.approx(info["score"], abs=1e-4)
            assert ours.classes[ours_at] == info["label_id"]
            mask = theirs["segmentation"][theirs_at].numpy() == 1
            assert (ours.mask(ours_at) != mask).mean() < 1e-3
            rows, columns = np.nonzero(ours.mask(ours_at))
            box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            np.testing.assert_array_equal(ours.boxes[ours_at], box)
            compared += 1
    assert compared > 3


def test_class_probabilities_are_of_the_same_query(tiny: Any, tiny_mask2former: Path, images: list[Image]) -> None:
    for found in segmented(tiny, tiny.made(NAME, tiny_mask2former, floor=0.01), images):
        assert len(found) > 1
        np.testing.assert_array_equal(found.class_probs.argmax(axis=1), found.classes)
        best = found.class_probs.max(axis=1)
        assert (found.scores <= best + 1e-5).all()  # a mask's own probability is at most 1
        assert (found.scores >= best / 2 - 1e-5).all()  # and at least one half where it is
        assert (found.class_probs.sum(axis=1) < 1).all()


@pytest.mark.parametrize("size", [{"height": 64, "width": 64}, {"shortest_edge": 48, "longest_edge": 80}])
def test_company_changes_nothing(tiny: Any, tmp_path: Path, images: list[Image], size: dict[str, int]) -> None:
    folder = tiny.save_mask2former(tmp_path / "tiny", size)
    together = segmented(tiny, tiny.made(NAME, folder, 5), images)
    alone = segmented(tiny, tiny.made(NAME, folder, 1), images)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a.class_probs, b.class_probs, atol=1e-4)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-4)
        for n in range(len(a)):
            assert (a.mask(n) != b.mask(n)).mean() < 1e-3


def test_masks_lie_where_the_network_puts_them(tiny: Any, tmp_path: Path, images: list[Image]) -> None:
    """An image by itself fills what the network sees: the left half of that is the image's left half."""
    judge = tiny.made(NAME, tiny.save_mask2former(tmp_path / "tiny", {"shortest_edge": 40, "longest_edge": 60}))

    def left_half(pixel_mask: torch.Tensor, **_: Any) -> Any:
        assert pixel_mask.all()
        masks = torch.full((len(pixel_mask), 1, 64, 64), -9.0)
        masks[..., :32] = 9
        classes = torch.tensor([[[6.0, 3, 0, 0, 1]]]).log().repeat(len(pixel_mask), 1, 1)
        return SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks)

    judge.loaded.network.forward = left_half
    for image, found in zip(images, segmented(tiny, judge, images), strict=True):
        width, height = image.pil().size
        expected = np.zeros((height, width), bool)
        expected[:, : width // 2] = True
        assert (found.mask(0) != expected).mean() < 0.5 / width + 1e-6 + width % 2 / width
        np.testing.assert_allclose(found.class_probs, [[0.6, 0.3, 0, 0]], atol=1e-6)
        assert found.scores[0] == pytest.approx(0.6, abs=1e-3)


def test_pairs_are_those_of_mmdetection(tiny: Any, tiny_mask2former: Path, images: list[Image]) -> None:
    """One query may be of several classes, and masks are cut after they are enlarged."""
    from transformers import Mask2FormerForUniversalSegmentation, Mask2FormerImageProcessor

    network = Mask2FormerForUniversalSegmentation.from_pretrained(tiny_mask2former).eval()
    processor = Mask2FormerImageProcessor.from_pretrained(tiny_mask2former)
    judge = tiny.made(NAME, tiny_mask2former, floor=0.02, pairs=True)
    shared = 0
    for image, ours in zip(images, segmented(tiny, judge, images), strict=True):
        with torch.inference_mode():
            out = network(**processor(images=image.pil(), return_tensors="pt"))
        probabilities = out.class_queries_logits[0].softmax(-1)[:, :-1].numpy()
        size = image.pil().size[::-1]
        masks = torch.nn.functional.interpolate(out.masks_queries_logits, size, mode="bilinear")[0]
        expected = []
        for query, number in np.ndindex(probabilities.shape):
            mask = masks[query].numpy() > 0
            if mask.any():
                score = probabilities[query, number] * masks[query].sigmoid().numpy()[mask].mean()
                expected.append((score, number, mask))
        best = sorted((each for each in expected if each[0] >= 0.02), key=lambda each: -each[0])
        order = np.argsort(-ours.scores)
        assert len(order) == len(best) < 100
        for at, (score, number, mask) in zip(order, best, strict=True):
            assert ours.scores[at] == pytest.approx(score, abs=1e-4)
            assert ours.classes[at] == number
            assert (ours.mask(at) != mask).mean() < 1e-3
            rows, columns = np.nonzero(mask)
            np.testing.assert_allclose(
                ours.boxes[at], [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], atol=1
            )
        shared += len(ours) - len({id(mask) for mask in ours.masks})
    assert shared > 3


def test_at_most_a_hundred_pairs_are_kept(tiny: Any, tiny_mask2former: Path, images: list[Image]) -> None:
    judge = tiny.made(NAME, tiny_mask2former, floor=0.0, pairs=True)

    def many(pixel_mask: torch.Tensor, **_: Any) -> Any:
        classes = torch.linspace(3, 0, 200).repeat(len(pixel_mask), 1).reshape(len(pixel_mask), 40, 5)
        return SimpleNamespace(
            class_queries_logits=classes, masks_queries_logits=torch.ones(len(pixel_mask), 40, 16, 16)
        )

    judge.loaded.network.forward = many
    (found,) = segmented(tiny, judge, images[:1])
    assert len(found) == 100
    np.testing.assert_allclose(found.scores, np.sort(found.scores)[::-1])
