"""Scenes for training, drawn once to disk: ``python -m t2i_miniworld.training_data FOLDER --purpose generator``.

A shard is an .npz of 100 scenes: ``image`` (N, S, S, 3) uint8; ``truth``, the bytes of all that is true of them
(`t2i_core.Truth`), and ``ends`` (N,), where each one's end. Shards that exist are left alone, so a stopped run
goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Truth

from t2i_miniworld.layout import plan
from t2i_miniworld.scene import PlacedScene
from t2i_miniworld.simulator import instances
from t2i_miniworld.training_scenes import SAMPLERS
from t2i_miniworld.vocabulary import SYNSETS
from t2i_miniworld.workers import map_ordered

NAMES = tuple(SYNSETS)
PER_SHARD = 100
#: What names the random streams of layouts; the segmenter's is as it was when its weights were trained.
_KEYS = {
    "segmenter": "training-scene",
    "generator": "generator-scene",
    "people": "people-scene",
    "classifier": "classifier-scene",
    "detector": "detector-scene",
}


@dataclass(frozen=True)
class Shard:
    """Which scenes to draw, and where to.

    number   counts from 0 within the ``split``
    size     side of the pictures in pixels
    samples  light paths per pixel: half of those of a picture to be judged are enough, training adds noise anyway
    """

    purpose: str
    split: str
    number: int
    size: int
    path: Path
    samples: int = 8


@dataclass(frozen=True)
class DrawnScenes:
    """Scenes that were drawn: images (N, S, S, 3) uint8, and what is true of each."""

    images: NDArray[np.uint8]
    truths: tuple[Truth, ...]


def draw_shard(shard: Shard) -> Path:
    """Draw a shard to disk and return its path; a shard that is there is kept."""
    from t2i_miniworld.render import draw

    if shard.path.exists():
        return shard.path
    images, truths = [], list[Truth]()
    for index in range(shard.number * PER_SHARD, (shard.number + 1) * PER_SHARD):
        wanted = SAMPLERS[shard.purpose](shard.split, index)
        key = _KEYS[shard.purpose], shard.split, index
        planned = plan(wanted.things, *key, ties=wanted.ties, extra=wanted.extra)
        more = (planned.extra,) if planned.extra else ()
        scene = PlacedScene(planned.scene.stage, (*planned.scene.placed, *more))
        picture = draw(scene, shard.size, shard.samples)
        images.append(picture.image)
        truths.append(Truth((shard.size, shard.size), instances(scene, picture)))
    write_shard(shard.path, DrawnScenes(np.stack(images), tuple(truths)))
    return shard.path


def write_shard(path: Path, drawn: DrawnScenes) -> None:
    """Write scenes whole, or not at all."""
    part, truths = path.with_suffix(".part.npz"), [truth.to_bytes() for truth in drawn.truths]
    joined, ends = np.frombuffer(b"".join(truths), dtype=np.uint8), np.cumsum([len(truth) for truth in truths])
    np.savez_compressed(part, image=drawn.images, truth=joined, ends=ends)
    part.rename(path)


def shards(folder: Path, split: str) -> list[Path]:
    """The shards of a split that are on disk, in order."""
    return sorted(folder.glob(f"{split}-[0-9][0-9][0-9][0-9].npz"))


def read_shard(path: Path) -> DrawnScenes:
    """Read what `write_shard` wrote."""
    with np.load(path) as arrays:
        images, ends, data = arrays["image"], arrays["ends"].tolist(), arrays["truth"].tobytes()
    starts = [0, *ends[:-1]]
    return DrawnScenes(
        images, tuple(Truth.from_bytes(data[start:end]) for start, end in zip(starts, ends, strict=True))
    )


def load(folder: Path, split: str, most: int | None = None) -> Iterator[DrawnScenes]:
    """The shards of a split that are on disk, in order, of at most so many scenes. SystemExit where none is."""
    paths = shards(folder, split)[: None if most is None else most // PER_SHARD]
    if not paths:
        few = f", and {PER_SHARD} scenes are the fewest that are read" if most is not None else ""
        raise SystemExit(
            f"{folder}: no {split} shards{few}; draw some with python -m t2i_miniworld.training_data FOLDER"
        )
    return map(read_shard, paths)


def labels(truth: Truth) -> NDArray[np.uint8]:
    """Class per pixel (H, W): 0 for none, otherwise 1 + index into `NAMES`."""
    width, height = truth.size
    found = np.zeros((height, width), dtype=np.uint8)
    for instance in truth.instances:
        found[instance.mask.unpack()] = 1 + NAMES.index(instance.cls.name)
    return found


def main() -> None:
    """Draw all shards that are missing, and say how fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--purpose", choices=SAMPLERS, default="segmenter")
    parser.add_argument("--scenes", type=int, default=10_000)
    parser.add_argument("--split", default="train", help="names the random streams: another split, other scenes")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--samples", type=int, default=8, help="light paths per pixel")
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    paths = [given.folder / f"{given.split}-{number:04d}.npz" for number in range(given.scenes // PER_SHARD)]
    jobs = [
        Shard(given.purpose, given.split, number, given.size, path, given.samples)
        for number, path in enumerate(paths)
    ]
    jobs = [job for job in jobs if not job.path.exists()]
    begun = time.monotonic()
    for done, (_, path) in enumerate(map_ordered(draw_shard, jobs, given.workers), start=1):
        rate = done * PER_SHARD / (time.monotonic() - begun)
        print(f"{path.name}: {done} of {len(jobs)} shards, {rate:.1f} scenes/s", flush=True)


if __name__ == "__main__":
    main()
