"""Scenes for training, drawn once to disk: ``python -m t2i_miniworld.training_data FOLDER``.

A shard is an .npz of 100 scenes: ``image`` (N, S, S, 3) uint8, ``owner`` (N, S, S) int8 (index of the thing,
-1 none), ``kind`` (N, 4) int8 and ``paint`` (N, 4) int8 (index into `NAMES` and `PAINT_NAMES`, -1 none). Shards
that exist are left alone, so a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld.classes import KINDS
from t2i_miniworld.layout import MOST, lay_out
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Thing
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import SYNSETS
from t2i_miniworld.workers import map_ordered

NAMES = tuple(SYNSETS)
PAINT_NAMES = tuple(PAINTS)
PER_SHARD = 100
#: Half the light paths of a picture to be judged: training adds noise anyway.
_SAMPLES = 8


@dataclass(frozen=True)
class Shard:
    """Which scenes to draw, and where to: ``number`` counts from 0 within the ``split``."""

    split: str
    number: int
    size: int
    path: Path


def random_things(split: str, index: int) -> list[Thing]:
    """One to four things, half of them painted; a third of the scenes of several hold two or more of one kind."""
    rng = stream("training-scene", split, index)
    count = int(rng.choice(MOST, p=(0.22, 0.28, 0.25, 0.25))) + 1
    kinds = [str(kind) for kind in rng.choice(list(KINDS), size=count, replace=False)]
    if count > 1 and rng.random() < 1 / 3:
        alike = int(rng.integers(2, count + 1))
        kinds[:alike] = [kinds[0]] * alike
        kinds = [str(kind) for kind in rng.permutation(kinds)]
    paints = [str(rng.choice(PAINT_NAMES)) if rng.random() < 0.5 else None for _ in kinds]
    return [Thing(kind, paint) for kind, paint in zip(kinds, paints, strict=True)]


def draw_shard(shard: Shard) -> Path:
    """Draw a shard to disk and return its path; a shard that is there is kept."""
    from t2i_miniworld.render import draw

    if shard.path.exists():
        return shard.path
    images, owners = [], []
    kinds, paints = np.full((2, PER_SHARD, MOST), -1, dtype=np.int8)
    for row in range(PER_SHARD):
        index = shard.number * PER_SHARD + row
        things = random_things(shard.split, index)
        picture = draw(lay_out(things, "training-scene", shard.split, index), shard.size, _SAMPLES)
        images.append(picture.image)
        owners.append(picture.owner)
        for slot, thing in enumerate(things):
            kinds[row, slot] = NAMES.index(thing.kind)
            paints[row, slot] = PAINT_NAMES.index(thing.paint) if thing.paint else -1
    part = shard.path.with_suffix(".part.npz")
    np.savez_compressed(part, image=np.stack(images), owner=np.stack(owners), kind=kinds, paint=paints)
    part.rename(shard.path)
    return shard.path


def labels(owner: NDArray[np.int8], kind: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Class per pixel from owners (N, H, W) and kinds (N, 4): 0 for none, otherwise 1 + index into `NAMES`."""
    table = np.concatenate([kind + 1, np.zeros((len(kind), 1), dtype=np.int8)], axis=1)
    flat = np.take_along_axis(table, owner.reshape(len(owner), -1).astype(int), axis=1)
    return flat.reshape(owner.shape).astype(np.uint8)


def load(folder: Path, split: str) -> Iterator[dict[str, NDArray[Any]]]:
    """The shards of a split that are on disk, in order."""
    for path in sorted(folder.glob(f"{split}-[0-9]*[0-9].npz")):
        with np.load(path) as arrays:
            yield {name: arrays[name] for name in arrays.files}


def main() -> None:
    """Draw all shards that are missing, and say how fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenes", type=int, default=10_000)
    parser.add_argument("--split", default="train", help="names the random streams: another split, other scenes")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    jobs = [
        Shard(arguments.split, number, arguments.size, arguments.folder / f"{arguments.split}-{number:04d}.npz")
        for number in range(arguments.scenes // PER_SHARD)
    ]
    begun = time.monotonic()
    for done, (_, path) in enumerate(map_ordered(draw_shard, jobs, arguments.workers), start=1):
        rate = done * PER_SHARD / (time.monotonic() - begun)
        print(f"{path.name}: {done} of {len(jobs)} shards, {rate:.1f} scenes/s", flush=True)


if __name__ == "__main__":
    main()
