"""Time the arithmetic of ISP and SCS, 860 synsets x 32 images x 1000 logits, and of a walk of the graph.

python plugins/wordnet-hypernymy/benchmarks/scoring.py

Exits with one line and status 1 if the time or the ratio misses its limit. tests/benchmarks/hypernymy_rows.py
times what a run adds, from stored answers to rows of its table.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api import ObjectClass
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns

IMAGES, CLASSES = 32, 1000
SECONDS, TIMES = 1.0, 20.0
"""Limits: maximum seconds of one core, and minimum ratio of the walk's time to it."""
WALKS = 5
"""Number of rounds. The quickest counts, because other work on the machine only makes times longer."""
LABELS = tuple(ObjectClass(name, name) for name in imagenet_classes())
Scores = dict[str, tuple[float, float | None]]


def store_logits(folder: Path, synsets: int, images: int = IMAGES, seed: int = 0) -> np.ndarray:
    """Write random logits to a file and return them mapped, float32 of shape (synsets, images, CLASSES)."""
    rng = np.random.default_rng(seed)
    path = folder / "logits.npy"
    logits = np.lib.format.open_memmap(path, "w+", np.float32, (synsets, images, CLASSES))
    for one in logits:
        one[:] = rng.normal(0, 3, one.shape)
    logits.flush()
    # a plain array, as the store returns, because each operation on a memmap costs more
    return np.asarray(np.load(path, mmap_mode="r"))


def score(logits: np.ndarray, synsets: tuple[str, ...] | None = None) -> Scores:
    """Return ISP and SCS (in nats) of each synset, as the metrics compute them, with A(s) found once for all."""
    leaves = Leaves.of(nouns(), LABELS)
    found = {}
    for synset, own in zip(synsets or leaves.evaluated, logits, strict=True):
        below = leaves.below[synset]
        found[synset] = isp(own, below), scs(own, below)
    return found


def isp(logits: np.ndarray, below: np.ndarray) -> float:
    """Return the ISP of a synset."""
    return float(scores.in_subtree(logits, below).mean())


def scs(logits: np.ndarray, below: np.ndarray) -> float | None:
    """Return the SCS of a synset in nats; None if it has a single class."""
    return scores.coverage(logits, below) if len(below) > 1 else None


def walk(logits: np.ndarray, synsets: tuple[str, ...]) -> Scores:
    """Return the same scores from a loop that follows every path of the graph for each synset and metric."""
    index = {name: i for i, name in enumerate(imagenet_classes())}

    def classes(node: str) -> set[int]:
        own = {index[node]} if node in index else set()
        return own.union(*(classes(below) for below in nouns().hyponyms(node)))

    def subtree(synset: str) -> np.ndarray:
        return np.array(sorted(classes(synset)))

    return {
        synset: (isp(own, subtree(synset)), scs(own, subtree(synset)))
        for synset, own in zip(synsets, logits, strict=True)
    }


def measure(function: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """Return the result of a function, and the processor time that it takes in seconds."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


@dataclass(frozen=True)
class Times:
    """Processor times in seconds.

    Attributes:
        arithmetic: Time of the arithmetic, including A(s).
        walk: Time of the same scores from a loop that walks the graph.
    """

    arithmetic: float
    walk: float

    @property
    def ratio(self) -> float:
        """The time of the walk, divided by that of the arithmetic."""
        return self.walk / self.arithmetic

    def find_missed(self) -> list[str]:
        """Return the limits that are missed."""
        missed = {
            f"{self.arithmetic:.2f} s of arithmetic (at most {SECONDS:g})": self.arithmetic > SECONDS,
            f"walking takes {self.ratio:.0f} times as long (at least {TIMES:g})": self.ratio < TIMES,
        }
        return [limit for limit, is_missed in missed.items() if is_missed]


def compare(folder: Path, synsets: tuple[str, ...], images: int = IMAGES) -> tuple[float, float]:
    """Return the times of the arithmetic and of the walk over the same logits; check that scores are equal."""
    logits = store_logits(folder, len(synsets), images)
    logits.sum()  # load the file into the page cache, for both
    rounds = [(measure(score, logits, synsets), measure(walk, logits, synsets)) for _ in range(WALKS)]
    assert all(ours == theirs for (ours, _), (theirs, _) in rounds)
    return min(quick for (_, quick), _ in rounds), min(slow for _, (_, slow) in rounds)


def main() -> None:
    """Print the times, and exit with status 1 if a limit is missed."""
    synsets = Leaves.of(nouns(), LABELS).evaluated
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        times = Times(*compare(Path(folder), synsets))
    print(f"{len(synsets)} synsets x {IMAGES} images x {CLASSES} logits, seconds of one core:")
    print(f"  arithmetic               {times.arithmetic:6.2f}")
    print(f"  walking the graph        {times.walk:6.2f}, {times.ratio:.0f} times as long; the same scores")
    if missed := times.find_missed():
        raise SystemExit(f"too slow: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
