"""Images that belong to prompts: a prompt source makes them once, and the cache keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..api.image import Truth
from ..storage.encoded_image import encode_image
from ..storage.store import Store


class PromptImages:
    """The images of prompts in the cache, each under the SHA-256 (hex) of everything that it depends on.

    Raises:
        BadFolder: If the cache cannot be used.

    Example:
        ```python
        with PromptImages() as images:
            path = images.find(key) or images.put(key, draw(scene))
        ```
    """

    def __init__(self) -> None:
        self._store = Store()

    def __enter__(self) -> PromptImages:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def find(self, key: str) -> Path | None:
        """Return the image file under a key; None if it is missing or was altered."""
        kept = self._store.image(key)
        return None if kept is None else kept.path

    def put(self, key: str, pixels: Any, truth: Truth | None = None) -> Path:
        """Keep an image as PNG, and return its file.

        Args:
            key: The hash of all that the image depends on.
            pixels: uint8 of shape (height, width, 3), or a PIL image.
            truth: Ground truth of the image, for judges that read it.
        """
        return self._store.put_image(key, encode_image(pixels, truth=truth)).path
