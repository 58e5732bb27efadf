"""The list of samples in a run's folder: samples.csv, the images' links, and failures.csv."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..api.failure import Failure
from ..api.plugin_info import ExistingImagesInfo
from ..files.slug import make_slug
from ..storage.run_folder import RunFolder
from ..storage.store import Store
from .outcomes import LostSample
from .query_index import make_gone_error
from .sample_images import SampleImage

SAMPLE_COLUMNS = (
    *("model", "prompt", "text", "seed", "noise_seed", "status", "reason"),
    *("image", "digest", "width", "height", "record"),
)
LOST_COLUMNS = ("metric", "model", "prompt", "seed", "kind", "reason")

SENT = "sent"
"""Key of `record`: the text that the generator got, if it is not the prompt's own."""


@dataclass(frozen=True)
class LinkedImage:
    """A sample whose image is linked into the run's folder.

    Attributes:
        of: The sample with its image, or with the reason why it has none.
        path: Path of the image within the run's folder; absolute if it existed already, empty without an image.
    """

    of: SampleImage
    path: str


def link_image(each: SampleImage, folder: RunFolder, places: Mapping[str, str], store: Store) -> LinkedImage:
    """Link a sample's image into the run's folder, and return it with its path.

    Args:
        each: The sample with its image.
        folder: The run's folder.
        places: The name of each model's folder, by its label.
        store: The cache.

    Raises:
        BadFolder: If the image has disappeared, or the folder cannot be written.
    """
    sample, kept = each.sample, each.image
    place = places[sample.model.label]
    if isinstance(kept, Failure):
        if not isinstance(sample.model.component.info, ExistingImagesInfo):
            folder.drop_image(place, each.prompt_number, sample.seed)
        return LinkedImage(each, "")
    image = kept.image
    if not store.holds(image):
        return LinkedImage(each, kept.path)
    try:
        path = folder.link_image(place, each.prompt_number, sample.seed, image)
    except FileNotFoundError as error:
        raise make_gone_error(store, (sample,)) from error
    return LinkedImage(each, path)


def make_sample_row(linked: LinkedImage) -> tuple[Any, ...]:
    """Return a row of samples.csv."""
    sample, kept = linked.of.sample, linked.of.image
    head = (sample.model.label, sample.prompt.id, sample.prompt.text, sample.seed, sample.noise_seed)
    sent = {} if sample.sent is sample.prompt else {SENT: sample.sent.text}
    facts = {**sent, **({} if isinstance(kept, Failure) else kept.record)}
    record = json.dumps(facts, ensure_ascii=False) if facts else ""
    if isinstance(kept, Failure):
        return (*head, "missing" if kept.missing else "failed", kept.reason, "", "", "", "", record)
    return (*head, "ok", "", linked.path, kept.digest, *kept.size, record)


def make_lost_row(metric: str, lost: LostSample) -> tuple[Any, ...]:
    """Return a row of failures.csv."""
    return metric, " | ".join(lost.models), lost.prompt, lost.seed, lost.kind, lost.reason


def name_model_folders(labels: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each label; labels that look alike get different names."""
    places: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        name, count = make_slug(label), 1
        while name in places.values():
            count += 1
            name = f"{make_slug(label)}-{count}"
        places[label] = name
    return places
