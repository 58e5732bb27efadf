"""Render training scenes to disk: ``python training_data.py FOLDER --purpose generator``.

A shard is an .npz file with 100 scenes: ``image`` (N, S, S, 3) uint8; ``truth``, the joined bytes of their ground
truth (`t2i_core.api.Truth`); and ``ends`` (N,), the end of each one's bytes. Existing shards are kept, so the same
command resumes.
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
from t2i_miniworld.vocabulary import SYNSETS
from t2i_miniworld.workers import map_ordered
from training_scenes import SAMPLERS

NAMES = tuple(SYNSETS)
PER_SHARD = 100
#: Names of the random streams of layouts. The segmenter's must not change, because its weights were trained with
#: it.
_KEYS = {
    "segmenter": "training-scene",
    "generator": "generator-scene",
    "single": "single-scene",
    "people": "people-scene",
    "classifier": "classifier-scene",
    "detector": "detector-scene",
}


@dataclass(frozen=True)
class Shard:
    """A shard to render.

    Attributes:
        purpose: The model that will be trained on it: a key of `SAMPLERS`.
        split: Name of the random streams.
        number: Number within the split, from 0.
        size: Side of the pictures in pixels.
        path: The file.
        samples: Light paths per pixel. Half of those of the simulator's pictures are enough, because training adds
            noise.
    """

    purpose: str
    split: str
    number: int
    size: int
    path: Path
    samples: int = 8


@dataclass(frozen=True)
class DrawnScenes:
    """Rendered scenes: images (N, S, S, 3) uint8, and their ground truth."""

    images: NDArray[np.uint8]
    truths: tuple[Truth, ...]


def draw_shard(shard: Shard) -> Path:
    """Render a shard to disk unless it exists, and return its path."""
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
    """Write scenes to a temporary file, and rename it when it is complete."""
    part, truths = path.with_suffix(".part.npz"), [truth.to_bytes() for truth in drawn.truths]
    joined, ends = np.frombuffer(b"".join(truths), dtype=np.uint8), np.cumsum([len(truth) for truth in truths])
    np.savez_compressed(part, image=drawn.images, truth=joined, ends=ends)
    part.rename(path)


def shards(folder: Path, split: str) -> list[Path]:
    """Return the paths of a split's shards on disk, in order."""
    return sorted(folder.glob(f"{split}-[0-9][0-9][0-9][0-9].npz"))


def read_shard(path: Path) -> DrawnScenes:
    """Read a shard that `write_shard` wrote."""
    with np.load(path) as arrays:
        images, ends, data = arrays["image"], arrays["ends"].tolist(), arrays["truth"].tobytes()
    starts = [0, *ends[:-1]]
    return DrawnScenes(
        images, tuple(Truth.from_bytes(data[start:end]) for start, end in zip(starts, ends, strict=True))
    )


def load(folder: Path, split: str, most: int | None = None) -> Iterator[DrawnScenes]:
    """Load a split's shards from disk, in order, with at most ``most`` scenes.

    Raises:
        SystemExit: If there is no shard to read.
    """
    paths = shards(folder, split)[: None if most is None else most // PER_SHARD]
    if not paths:
        few = f" within {most} scenes (a shard has {PER_SHARD})" if most is not None else ""
        raise SystemExit(f"{folder}: no {split} shards{few}; draw some with python training_data.py FOLDER")
    return map(read_shard, paths)


def labels(truth: Truth) -> NDArray[np.uint8]:
    """Return the class of each pixel (H, W): 0 for background, otherwise 1 + index into `NAMES`."""
    width, height = truth.size
    found = np.zeros((height, width), dtype=np.uint8)
    for instance in truth.instances:
        found[instance.mask.unpack()] = 1 + NAMES.index(instance.cls.name)
    return found


def main() -> None:
    """Render all missing shards, and print the rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--purpose", choices=SAMPLERS, default="segmenter")
    parser.add_argument("--scenes", type=int, default=10_000)
    parser.add_argument(
        "--split", default="train", help="name of the random streams; another split has other scenes"
    )
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
