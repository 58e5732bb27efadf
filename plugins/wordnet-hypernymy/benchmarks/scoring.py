"""Time ISP and SCS of 860 synsets x 32 images x 1000 logits, against a loop that walks the graph for each A(s).

python plugins/wordnet-hypernymy/benchmarks/scoring.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from t2i_core import ObjectClass
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns

IMAGES, CLASSES = 32, 1000
LABELS = tuple(ObjectClass(name, name) for name in imagenet_classes())
Scores = dict[str, tuple[float, float | None]]


def stored(folder: Path, synsets: int, seed: int = 0) -> np.ndarray:
    """Logits as a file on disk, float32 (synsets, IMAGES, CLASSES), written a synset at a time."""
    rng = np.random.default_rng(seed)
    path = folder / "logits.npy"
    logits = np.lib.format.open_memmap(path, "w+", np.float32, (synsets, IMAGES, CLASSES))
    for one in logits:
        one[:] = rng.normal(0, 3, one.shape)
    logits.flush()
    return np.load(path, mmap_mode="r")


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


def timed(function: Callable[..., Scores], *arguments: object) -> tuple[Scores, float]:
    """What a function gives, and the seconds of processor time that it takes."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def main() -> None:
    """Print the times, and what memory it took."""
    synsets = Leaves.of(nouns(), LABELS).evaluated
    with tempfile.TemporaryDirectory() as folder:
        logits = stored(Path(folder), len(synsets))
        logits.sum()  # into the page cache, for both alike
        ours, quick = min((timed(score, logits) for _ in range(3)), key=lambda pair: pair[1])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        theirs, slow = timed(walk, logits, synsets)
    assert ours == theirs
    print(f"{len(synsets)} synsets x {IMAGES} images x {CLASSES} logits, one core:")
    print(f"  as the metrics do it  {quick:6.2f} s, {memory:.2f} GB at most")
    print(f"  walking the graph     {slow:6.2f} s, {slow / quick:.0f} times as long; the same scores")


if __name__ == "__main__":
    main()
