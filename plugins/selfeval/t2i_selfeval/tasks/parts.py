"""Crops of images, stored in the cache."""

from __future__ import annotations

from pathlib import Path

from PIL import Image as PILImage
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadPrompts
from t2i_core.files.digest import digest_file
from t2i_core.files.image_file import DamagedImage, decode
from t2i_core.io.prompt_images import PromptImages

from .selection import Draft


def crop_image(draft: Draft, images: PromptImages, dry: bool) -> Path:
    """Crop a sample's image to its box, and return the path of the crop.

    Args:
        draft: The sample.
        images: The cache.
        dry: Crop nothing. If the crop is not in the cache, the returned path does not exist.

    Returns:
        The path of the crop; the path of the image itself if it has no box, or if it is damaged. A damaged image
        fails later as one sample.

    Raises:
        BadPrompts: If the box lies outside the image or the file cannot be read.
    """
    if draft.part is None:
        return draft.image
    try:
        key = digest_data(["part", digest_file(draft.image), list(draft.part)])
        if (cached := images.find(key)) is not None:
            return cached
        if dry:
            return Path(key)
        pixels = decode(draft.image.read_bytes(), str(draft.image))
    except DamagedImage:
        return draft.image
    except OSError as error:
        raise BadPrompts(f"{draft.id}: cannot read {draft.image} ({error.strerror}); check the file") from error
    x, y, width, height = draft.part
    part = pixels[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)]
    if not part.size:
        raise BadPrompts(
            f"{draft.id}: the box {list(draft.part)} (x, y, width, height) lies outside of {draft.image}; correct "
            "it or remove the entry"
        )
    return images.put(key, PILImage.fromarray(part))
