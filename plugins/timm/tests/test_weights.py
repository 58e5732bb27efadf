"""On published weights: `pytest -m weights`, with a GPU or patience, and ImageNet's validation images.

T2I_IMAGENET_VAL: a folder with one folder of images for each wnid (n01440764, ...); some thousands of images,
drawn evenly, will do.
"""

from __future__ import annotations

import math
import os
from itertools import chain
from pathlib import Path

import pytest
from t2i_core.api import JudgeInfo, Preset, Query, Setup
from t2i_core.api.image import load_image
from t2i_timm import plugin, synsets

pytestmark = pytest.mark.weights
OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("name", "argument", "published"),
    [
        # torchvision.models, "Table of all available classification weights"
        ("vit-b16", None, 81.072),
        ("convnext-b", None, 84.062),
        ("resnet50", None, 76.130),
        # timm, results/results-imagenet.csv, at its size of 224
        ("timm", "deit_base_patch16_224.fb_in1k", 81.992),
    ],
)
def test_accuracy_is_the_published_one(name: str, argument: str | None, published: float) -> None:
    if "T2I_IMAGENET_VAL" not in os.environ:
        pytest.skip("wants ImageNet's validation images: set T2I_IMAGENET_VAL")
    folder = Path(os.environ["T2I_IMAGENET_VAL"])
    offered = OFFERED[name]
    if isinstance(offered, Preset):
        argument, offered = offered.argument, OFFERED["torchvision"]
    assert isinstance(offered, JudgeInfo)
    judge = offered.create(Setup(argument, offered.options()))
    files = chain.from_iterable(sorted((folder / wnid).iterdir()) for wnid in synsets.wnids("imagenet-1k"))
    queries = (Query((load_image(file),)) for file in files)
    right = seen = 0
    for query, scores in judge.observe("classify", queries):
        wnid = query.images[0].path.parent.name
        seen += 1
        right += synsets.wnids("imagenet-1k")[int(scores.logits.argmax())] == wnid  # type: ignore[union-attr]
    share = published / 100
    error = math.sqrt(share * (1 - share) / seen) if seen < 50_000 else 0
    assert right / seen == pytest.approx(share, abs=0.002 + 3 * error)
