"""Small copies of images, to stand in a page."""

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
from t2i_core.api.image import Image
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.images import describe_left_out

QUALITY = 72
"""Of WebP, 0 to 100: at this one a picture of 128 x 128 pixels takes three or four kilobytes."""

CHUNK = 64
"""Pictures in one part of a page, which is read when one of them comes into view."""


@dataclass
class Thumbnails:
    """Pictures as texts, a part of the page at a time, so that memory does not grow with their number.

    side:    of the longer side, in pixels; smaller pictures stay as they are
    damaged: by place, why a picture cannot be shown; filled while it is iterated
    """

    pictures: Sequence[Image | None]
    side: int
    damaged: dict[int, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        """Yield parts of `CHUNK` lines, each a WebP file in base64, or empty where there is no picture."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow lets go of the interpreter while it works
            done = _ahead(pool, self._text, range(len(self.pictures)))
            while part := list(islice(done, CHUNK)):
                yield "\n".join(part)

    @property
    def left_out(self) -> str | None:
        """A note on the pictures that may not be shown, if there are any."""
        return describe_left_out(self.pictures)

    def tell(self, warn: Callable[[str], None]) -> None:
        """Say how many pictures are left out or could not be read, and why the first could not."""
        if (note := self.left_out) is not None:
            warn(note)
        unread = [why for place, why in sorted(self.damaged.items()) if self._may_be_shown(place)]
        if unread:
            warn(f"{len(unread)} images cannot be read; the first: {unread[0]}")

    def _may_be_shown(self, place: int) -> bool:
        picture = self.pictures[place]
        return picture is not None and picture.refused is None

    def _text(self, place: int) -> str:
        picture = self.pictures[place]
        if picture is None:
            return ""
        try:
            return base64.b64encode(_small(picture, self.side)).decode()
        except DamagedImage as error:
            self.damaged[place] = str(error)
            return ""


def _ahead(pool: ThreadPoolExecutor, function: Callable[[int], str], places: Iterable[int]) -> Iterator[str]:
    """Results in order, some of them worked out ahead, never all."""
    waiting = iter(places)
    begun = deque(pool.submit(function, place) for place in islice(waiting, 4 * CHUNK))
    while begun:
        yield begun.popleft().result()
        begun.extend(pool.submit(function, place) for place in islice(waiting, 1))


def _small(picture: Image, side: int) -> bytes:
    image = replace(picture).pil()  # a copy, which lets go of the pixels
    image.thumbnail((side, side), PILImage.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "webp", quality=QUALITY, method=2)
    return buffer.getvalue()
