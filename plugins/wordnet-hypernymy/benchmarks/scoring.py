"""Time the arithmetic of ISP and SCS, 860 synsets x 32 images x 1000 logits, and of a walk of the graph.

python plugins/wordnet-hypernymy/benchmarks/scoring.py

Ends with one line and status 1 where the time or the ratio misses its bar. What a run adds, from what it keeps to
rows of its table, is timed by tests/benchmarks/hypernymy_rows.py.
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
"""The bars: seconds of one core at most, and how many times as long the walk takes at least."""
WALKS = 5
"""Number of rounds. The quickest counts, because other work beside makes times longer, never shorter."""
LABELS = tuple(ObjectClass(name, name) for name in imagenet_classes())
Scores = dict[str, tuple[float, float | None]]


def stored(folder: Path, synsets: int, images: int = IMAGES, seed: int = 0) -> np.ndarray:
    """Logits as a file on disk, float32 (synsets, images, CLASSES), written a synset at a time."""
    rng = np.random.default_rng(seed)
    path = folder / "logits.npy"
    logits = np.lib.format.open_memmap(path, "w+", np.float32, (synsets, images, CLASSES))
    for one in logits:
        one[:] = rng.normal(0, 3, one.shape)
    logits.flush()
    # a plain array, as the store's are: each operation on a memmap costs more
    return np.asarray(np.load(path, mmap_mode="r"))


def score(logits: np.ndarray, synsets: tuple[str, ...] | None = None) -> Scores:
    """ISP and SCS (in nats) of each synset, as the metrics compute them; A(s) is found once for all, and timed."""
    leaves = Leaves.of(nouns(), LABELS)
    found = {}
    for synset, own in zip(synsets or leaves.evaluated, logits, strict=True):
        below = leaves.below[synset]
        found[synset] = isp(own, below), scs(own, below)
    return found


def isp(logits: np.ndarray, below: np.ndarray) -> float:
    """A synset's ISP."""
    return float(scores.in_subtree(logits, below).mean())


def scs(logits: np.ndarray, below: np.ndarray) -> float | None:
    """A synset's SCS in nats; none where it has a single class."""
    return scores.coverage(logits, below) if len(below) > 1 else None


def walk(logits: np.ndarray, synsets: tuple[str, ...]) -> Scores:
    """The same by a loop that goes down every path of the graph for A(s), once for each synset and metric."""
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


def timed(function: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """What a function gives, and the seconds of processor time that it takes."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


@dataclass(frozen=True)
class Found:
    """Seconds of processor time.

    arithmetic:  of logits in one array, A(s) among it
    walk:        the same by a loop that walks the graph
    """

    arithmetic: float
    walk: float

    @property
    def times(self) -> float:
        """How many times as long the walk takes."""
        return self.walk / self.arithmetic

    def faults(self) -> list[str]:
        """Which bars are missed."""
        missed = {
            f"{self.arithmetic:.2f} s of arithmetic (at most {SECONDS:g})": self.arithmetic > SECONDS,
            f"walking takes {self.times:.0f} times as long (at least {TIMES:g})": self.times < TIMES,
        }
        return [fault for fault, is_so in missed.items() if is_so]


def compared(folder: Path, synsets: tuple[str, ...], images: int = IMAGES) -> tuple[float, float]:
    """Seconds of the arithmetic and of the walk over the same logits, by turns; their scores must be the same."""
    logits = stored(folder, len(synsets), images)
    logits.sum()  # into the page cache, for both alike
    rounds = [(timed(score, logits, synsets), timed(walk, logits, synsets)) for _ in range(WALKS)]
    assert all(ours == theirs for (ours, _), (theirs, _) in rounds)
    return min(quick for (_, quick), _ in rounds), min(slow for _, (_, slow) in rounds)


def main() -> None:
    """Print the times; say which bars are missed."""
    synsets = Leaves.of(nouns(), LABELS).evaluated
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        found = Found(*compared(Path(folder), synsets))
    print(f"{len(synsets)} synsets x {IMAGES} images x {CLASSES} logits, one core, seconds of its time:")
    print(f"  the arithmetic alone     {found.arithmetic:6.2f}")
    print(f"  walking the graph        {found.walk:6.2f}, {found.times:.0f} times as long; the same scores")
    if faults := found.faults():
        raise SystemExit(f"too slow: {'; '.join(faults)}")


if __name__ == "__main__":
    main()
