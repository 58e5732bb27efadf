"""The contract of generators: each request is answered with an image or a failure."""

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
    """One image to generate.

    Attributes:
        prompt: The prompt.
        seed: The sample's seed, as the user counts it.
        noise_seed: Seed of the starting noise: `seed` itself (policy `shared`, so that all prompts start from the
            same noise) or one derived from prompt and seed (policy `per-prompt`). Starting noise must depend on it
            and on the image's shape alone, and be drawn on the CPU.
    """

    prompt: Prompt
    seed: int
    noise_seed: int


@dataclass(frozen=True)
class Generated:
    """One generated image.

    Attributes:
        image: uint8 array of shape (height, width, 3), a PIL image, or the path of an existing file, which stays
            there.
        record: Facts about this image for samples.csv, beyond the model's settings (such as lost tokens).
        truth: The objects that were really drawn, if the generator knows them.
        rules: Rules for decoding an image that is a path. If None, PNG, JPEG and WebP of at most 100 megapixels.
    """

    image: np.ndarray | PILImage | Path
    record: Mapping[str, Any] = field(default_factory=dict)
    truth: Truth | None = None
    rules: DecodingRules | None = None


class Generator(Protocol):
    """A model that generates images.

    It may also have `settings`, a mapping for the manifest (steps, guidance, size, scheduler, precision, weights
    revision), and `close()`.
    """

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request, the same object, with its image or the reason why it has none, in any order.

        If it raises or leaves requests out, t2i tries them again one by one; then only that request fails.

        Args:
            requests: The requests. Take them lazily, one batch at a time.
        """
        ...
