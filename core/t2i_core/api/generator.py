"""The generator's contract: requests in, each out again with its image or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .failure import Failure
from .prompt import Prompt

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as PILImage

    from ..files.decoding_rules import DecodingRules
    from .image import Truth


@dataclass(frozen=True)
class ImageRequest:
    """One image to make.

    seed:        the sample's seed, as the user counts it
    noise_seed:  seed of the starting noise: `seed` itself (policy `shared`, so that all prompts start from the
                 same noise) or one drawn from prompt and seed (policy `per-prompt`). Starting noise must depend
                 on it and on the image's shape alone, and be drawn on the CPU.
    """

    prompt: Prompt
    seed: int
    noise_seed: int


@dataclass(frozen=True)
class Generated:
    """One image that was made.

    image:   uint8 array of shape (height, width, 3), a PIL image, or the path of a file that exists already and
             stays where it is
    record:  what this image's making adds to the manifest beyond the model's settings (tokens lost, say)
    truth:   what is really drawn, where the generator knows it
    rules:   which files are decoded, for an image that is a path.
             If None, PNG, JPEG and WebP of at most 100 megapixels
    """

    image: np.ndarray | PILImage | Path
    record: Mapping[str, Any] = field(default_factory=dict)
    truth: Truth | None = None
    rules: DecodingRules | None = None


class Generator(Protocol):
    """A model that makes images.

    It may also have `settings`, a mapping for the manifest (steps, guidance, size, scheduler, precision, weights
    revision), and `close()`.
    """

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request, the same object, with its image or why there is none; in any order.

        The requests are taken lazily: take as many at a time as are worked on together. What is raised, and what
        is left out, is tried again alone, and then is a failure of that request only.
        """
        ...
