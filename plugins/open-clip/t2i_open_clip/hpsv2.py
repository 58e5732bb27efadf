"""The judges `hpsv2` and `hpsv21`: Human Preference Score v2 with its published weights, on open_clip's ViT-H/14.

References:
    Wu et al.: Human Preference Score v2: A Solid Benchmark for Evaluating Human Preferences of Text-to-Image
    Synthesis. 2023.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from PIL.Image import Image as PILImage
from t2i_core.api import Failure, Query, Reward, Setup
from t2i_core.files.digest import digest_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.functional import normalize, pad, resize, to_tensor

from t2i_open_clip import hpsv2_files
from t2i_open_clip.embedder import Embedder
from t2i_open_clip.options import Hpsv2Options

SIZE = 224
"""Width and height of the images that the network sees."""
_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def preprocess(image: PILImage, antialias: bool = True, size: int = SIZE) -> torch.Tensor:
    """Return an image as HPSv2's network sees it.

    The long side is resized to `size` (bicubic on the tensor), and the image is centred on black. If the padding
    is odd, right and bottom get the pixel more.

    Returns:
        Normalised by CLIP's mean and standard deviation, shape (3, size, size).
    """
    pixels = to_tensor(image.convert("RGB"))
    height, width = pixels.shape[1:]
    scale = size / max(height, width)
    new = [max(1, round(height * scale)), max(1, round(width * scale))]
    pixels = resize(pixels, new, InterpolationMode.BICUBIC, antialias=antialias)
    left, top = (size - new[1]) // 2, (size - new[0]) // 2
    pixels = pad(pixels, [left, top, size - new[1] - left, size - new[0] - top])
    return normalize(pixels, list(_CLIP_MEAN), list(_CLIP_STD))


class Hpsv2Rewarder(Embedder):
    """Scores an image for a text: the cosine of their embeddings, without the model's scale."""

    def __init__(self, setup: Setup[Hpsv2Options]) -> None:
        options = setup.options
        file = hpsv2_files.fetch(setup.argument, options, setup.offline)
        source = hpsv2_files.describe_source(file, setup.argument, options)
        super().__init__(
            hpsv2_files.make_clip_setup(setup),
            source,
            partial(preprocess, antialias=options.antialias),
        )
        how = "with antialiasing" if options.antialias else "without antialiasing"
        self._fixed.update(
            version=options.version,
            sha256=digest_file(file),
            preprocessing=f"long side {SIZE}, bicubic {how}, centred on black",
        )

    def _answers(self, queries: list[Query]) -> list[Any]:
        asked = [query for query in queries if _is_pair(query)]
        first = {query.images[0].identity: query for query in asked}
        texts = list(dict.fromkeys(query.texts[0] for query in asked))
        of_image = dict(zip(first, self._images(list(first.values())), strict=True))
        of_text = dict(zip(texts, self._texts(texts), strict=True))
        answers: list[Reward | Failure] = []
        for query in queries:
            if _is_pair(query):
                image, text = of_image[query.images[0].identity].double(), of_text[query.texts[0]]
                cosine = torch.cosine_similarity(image, torch.from_numpy(text.values).double(), dim=0, eps=0)
                answers.append(Reward(float(cosine), text.cut_to))
            else:
                shape = f"{len(query.images)} images and {len(query.texts)} texts"
                answers.append(Failure(f"a reward is of one image for one text, not of {shape}", final=True))
        return answers


def _is_pair(query: Query) -> bool:
    return len(query.images) == len(query.texts) == 1
