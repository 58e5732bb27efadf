"""Colours of objects, read by CLIP from what is cut out of the image.

References:
    djghosh13/geneval: evaluation/evaluate_images.py; LAION-AI/CLIP_benchmark:
    clip_benchmark/metrics/zeroshot_classification.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

TEMPLATES = (
    "a photo of a {colour} {name}",
    "a photo of a {colour}-colored {name}",
    "a photo of a {colour} object",
)
"""Texts for a colour of a class."""
GREY = (0x99, 0x99, 0x99)
"""The colour of what does not belong to the object."""


def write_texts(name: str, colours: Sequence[str]) -> list[str]:
    """Return the texts for each colour of a class, colour by colour."""
    return [template.format(colour=colour, name=name) for colour in colours for template in TEMPLATES]


def combine_texts(embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return one direction for each colour: the normalised mean of its texts' normalised embeddings.

    Args:
        embeddings: Embeddings of the texts, shape (colours, texts for each, d).

    Returns:
        float64 of shape (colours, d).
    """
    return _normalise(_normalise(embeddings.astype(np.float64)).mean(axis=1))


def measure_fit(image: NDArray[np.floating], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of an image's embedding with each colour's direction.

    Args:
        image: The embedding, shape (d,).
        directions: The directions, shape (colours, d).
    """
    return np.asarray(directions @ _normalise(image.astype(np.float64)))


def _normalise(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
