"""Progress of a run under way, as its folder tells it to those who follow the run."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import Field, ValidationError

from ..api.cache_folder import find_cache_folder
from ..api.errors import BadFolder
from ..api.image import Image
from ..files.regular_file import read_regular
from ..storage.run_files import PROGRESS
from ..storage.store import IMAGES, make_image_name
from .typed import Count, Number, Seed, Typed

_MOST_BYTES = 1 << 20


class StageProgress(Typed):
    """A stage of a run's work, or all stages with the same title, as at each look of a growing run."""

    title: str = Field(description="what is done: `images of mini`")
    unit: str = Field(description="what is counted, in the plural: `images`")
    total: Count = Field(description="number of items")
    done: Count = Field(description="number of items that are done, the failed ones among them")
    failed: Count = Field(description="number of items that failed")
    seconds: Number = Field(ge=0, description="time that the stage has taken so far")
    is_open: bool = Field(description="whether it goes on")

    @property
    def rate(self) -> float | None:
        """Items per second; None before the first."""
        return self.done / self.seconds if self.done and self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """Time that the rest of the stage takes at this rate; None if it is not known, or the stage has ended."""
        if not self.is_open or self.rate is None:
            return None
        return max(self.total - self.done, 0) / self.rate


class NewImage(Typed):
    """An image that a run has generated."""

    model: str = Field(description="label of the model")
    text: str = Field(description="the prompt as sent; the first 500 characters")
    seed: Seed = Field(description="the seed")
    digest: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the image's file")


class RunProgress(Typed):
    """Progress of a run under way: the content of `.progress` in its folder."""

    written: Number = Field(description="when this was written, in seconds since 1970")
    stages: list[StageProgress] = Field(description="the stages so far, in their order")
    images: list[NewImage] = Field([], description="the images that were generated last, the newest first")
    failures: dict[str, Count] = Field({}, description="number of samples and queries that failed, by the reason")


def read_progress(folder: Path) -> RunProgress | None:
    """Return the progress of a run under way, or that of an interrupted run; None if it has written none yet.

    Raises:
        BadFolder: If the file cannot be read or is not valid.
    """
    file = folder / PROGRESS
    try:
        return RunProgress.model_validate(json.loads(read_regular(file, _MOST_BYTES, folder)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFolder(f"{file}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadFolder(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise BadFolder(f"{file}: not valid JSON") from error


def find_new_image(digest: str) -> Image:
    """Return an image of this user's cache.

    Args:
        digest: SHA-256 (hex) of its file. Reading the pixels raises `DamagedImage` if the cache has no such file.
    """
    folder = find_cache_folder() / IMAGES
    return Image(digest, folder / make_image_name(digest), within=folder)
