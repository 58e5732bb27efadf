"""Parts of images: cut out once, and kept in the cache."""

from __future__ import annotations

from pathlib import Path

from PIL import Image as PILImage
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadPrompts
from t2i_core.files.digest import digest_file
from t2i_core.files.image_file import DamagedImage, decode
from t2i_core.io.prompt_images import PromptImages

from .picking import Draft


def cut(draft: Draft, images: PromptImages, dry: bool) -> Path:
    """Return the path of the part of an image that is shown.

    dry: cut nothing; a part that is not kept yet has a path of its own then, where nothing is

    An image that is none is given back as it is: it fails where it is opened, as one sample. Raises BadPrompts
    where the part lies outside, or the image cannot be read at all.
    """
    if draft.part is None:
        return draft.image
    try:
        key = digest_data(["part", digest_file(draft.image), list(draft.part)])
        if (kept := images.find(key)) is not None:
            return kept
        if dry:
            return Path(key)
        pixels = decode(draft.image.read_bytes(), str(draft.image))
    except DamagedImage:
        return draft.image
    except OSError as error:
        raise BadPrompts(f"{draft.id}: {draft.image} cannot be read ({error.strerror})") from error
    x, y, width, height = draft.part
    part = pixels[max(0, y) : max(0, y + height), max(0, x) : max(0, x + width)]
    if not part.size:
        raise BadPrompts(f"{draft.id}: the box {list(draft.part)} lies outside of {draft.image}")
    return images.put(key, PILImage.fromarray(part))
