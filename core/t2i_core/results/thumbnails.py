"""Thumbnails of images for a page."""

from __future__ import annotations

import base64
import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice

from PIL import Image as PILImage

from ..api.image import Image
from ..files.image_file import DamagedImage
from .images import describe_left_out

QUALITY = 72
"""WebP quality, 0 to 100. With this value a picture of 128 x 128 pixels takes three or four kilobytes."""

CHUNK = 64
"""Number of pictures in one part of a page. The page reads a part when one of its pictures comes into view."""


@dataclass
class Thumbnails:
    """Pictures encoded as text, one part of the page at a time, so that memory does not grow with their number.

    Attributes:
        pictures: The images; None for each missing one.
        side: Maximum length of the longer side in pixels; smaller pictures keep their size.
        damaged: Why a picture cannot be shown, by its index. Filled during iteration.
    """

    pictures: Sequence[Image | None]
    side: int
    damaged: dict[int, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        """Yield parts of `CHUNK` lines. Each line is a WebP file in base64, or empty without a picture."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow releases the interpreter lock while it works
            done = _map_ahead(pool, self.encode, range(len(self.pictures)))
            while part := list(islice(done, CHUNK)):
                yield "\n".join(part)

    @property
    def left_out(self) -> str | None:
        """Note on the pictures that may not be shown, if there are any."""
        return describe_left_out(self.pictures)

    def report_missing(self, warn: Callable[[str], None]) -> None:
        """Warn about pictures that are left out or cannot be read, with the reason of the first."""
        if (note := self.left_out) is not None:
            warn(note)
        unread = [why for place, why in sorted(self.damaged.items()) if self._may_be_shown(place)]
        if unread:
            warn(f"{len(unread)} images cannot be read; the first: {unread[0]}")

    def _may_be_shown(self, place: int) -> bool:
        picture = self.pictures[place]
        return picture is not None and picture.refused is None

    def encode(self, place: int) -> str:
        """Return a picture as a WebP file in base64; empty without one, or if it cannot be read."""
        picture = self.pictures[place]
        if picture is None:
            return ""
        try:
            return base64.b64encode(_small(picture, self.side)).decode()
        except DamagedImage as error:
            self.damaged[place] = str(error)
            return ""


def _map_ahead(pool: ThreadPoolExecutor, function: Callable[[int], str], places: Iterable[int]) -> Iterator[str]:
    """Yield results in order, computing a limited number of them ahead."""
    waiting = iter(places)
    begun = deque(pool.submit(function, place) for place in islice(waiting, 4 * CHUNK))
    while begun:
        yield begun.popleft().result()
        begun.extend(pool.submit(function, place) for place in islice(waiting, 1))


def _small(picture: Image, side: int) -> bytes:
    image = replace(picture).pil()  # a copy, so that the picture does not cache its pixels
    image.thumbnail((side, side), PILImage.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "webp", quality=QUALITY, method=2)
    return buffer.getvalue()
