"""Time ISP and SCS of 860 synsets x 32 images x 1000 logits: from what a run keeps to rows of its table, and the
arithmetic alone against a loop that walks the graph for each A(s).

python plugins/wordnet-hypernymy/benchmarks/scoring.py

The store is filled first, which takes longer than all that is timed; in memory, where there is such a folder. Ends
with one line and status 1 where a time, the memory or the ratio misses its bar.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core import ModelRequest
from t2i_core.api import ClassScores, GeneratorInfo, JudgeInfo, ObjectClass
from t2i_core.api.progress import Silent
from t2i_core.engine.job import Failures, Job, keys_of_images_alone
from t2i_core.engine.measurement import measure
from t2i_core.engine.measurement_table import TableBuilder
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.storage.store import Store
from t2i_core.testing import StaticResolver
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns

IMAGES, CLASSES = 32, 1000
SECONDS, MEMORY, TIMES = 1.0, 1.0, 20.0
"""The bars: seconds of one core at most, GB at most, and how many times as long the walk takes at least."""
ROUNDS, WALKS = 20, 5
"""From the store to rows is timed so often, the others so often: the quickest counts, for other work beside makes
times longer, never shorter.
"""
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


class _Never:
    """Stands for a generator and a judge whose work is kept already."""

    def __call__(self, _: object) -> Any:
        raise AssertionError("nothing is to be made")


def jobs(synsets: int | None) -> tuple[Job, ...]:
    """What a run of both metrics measures."""
    model = GeneratorInfo(name="model", summary="Is never asked.", create=_Never(), code=())
    judge = JudgeInfo(
        name="judge",
        summary="Is never asked.",
        capabilities={"classify": frozenset()},
        create=_Never(),
        labels=lambda argument, options: LABELS,
        code=(),
    )
    request = Request(
        metrics=("isp", "scs"), models=(ModelRequest("model"),), prompts=("wordnet-imagenet",),
        seeds=tuple(range(IMAGES)), limit=synsets,
    )  # fmt: skip
    return make_plan(request, StaticResolver(model, judge, *t2i_metrics(), *t2i_prompt_sources())).jobs


def fill(store: Store, job: Job, seed: int = 0) -> None:
    """Keep an image and its logits for each sample, as a run would."""
    rng = np.random.default_rng(seed)
    judge = job.needs[0].judge_fingerprint(job.models[0])
    for number, (model, prompt, of_seed) in enumerate(job.cells()):
        pixels = np.full((2, 2, 3), 0, np.uint8)
        pixels.flat[:4] = np.array([number], "<u4").view(np.uint8)
        image = store.put_image(job.image_key(model, prompt, of_seed), pixels)
        logits = ClassScores(rng.normal(0, 3, CLASSES).astype(np.float32), LABELS)
        (key,) = keys_of_images_alone(judge, "classify", [image.digest])
        store.put(key, logits.to_bytes(LABELS))


def score_stored(store: Store, jobs: tuple[Job, ...]) -> list[TableBuilder]:
    """Measure both metrics from what is kept, as a run does."""
    tables = [TableBuilder() for _ in jobs]
    measure(jobs, store, Failures(), tables, Silent())
    return tables


def timed(function: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """What a function gives, and the seconds of processor time that it takes."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def memory() -> float:
    """What this process has taken at most, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@dataclass(frozen=True)
class Found:
    """Seconds of processor time, and what memory all of it took, in GB.

    from_store:  from what a run keeps to rows of its table
    arithmetic:  of logits in one array, A(s) among it
    walk:        the same by a loop that walks the graph
    """

    from_store: float
    arithmetic: float
    walk: float
    memory: float

    @property
    def times(self) -> float:
        """How many times as long the walk takes."""
        return self.walk / self.arithmetic

    def faults(self) -> list[str]:
        """Which bars are missed."""
        missed = {
            f"{self.from_store:.2f} s from the store to rows (at most {SECONDS:g})": self.from_store > SECONDS,
            f"{self.arithmetic:.2f} s of arithmetic (at most {SECONDS:g})": self.arithmetic > SECONDS,
            f"{self.memory:.2f} GB (at most {MEMORY:g})": self.memory > MEMORY,
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
    """Print the times, and what memory it took; say which bars are missed."""
    synsets = Leaves.of(nouns(), LABELS).evaluated
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, Store(Path(folder)) as store:
        both = jobs(None)
        fill(store, both[0])
        from_store = min(timed(score_stored, store, both)[1] for _ in range(ROUNDS))
        most = memory()
        found = Found(from_store, *compared(Path(folder), synsets), most)
    print(f"{len(synsets)} synsets x {IMAGES} images x {CLASSES} logits, one core, seconds of its time:")
    print(f"  from the store to rows   {found.from_store:6.2f}, {found.memory:.2f} GB at most")
    print(f"  the arithmetic alone     {found.arithmetic:6.2f}")
    print(f"  walking the graph        {found.walk:6.2f}, {found.times:.0f} times as long; the same scores")
    if faults := found.faults():
        raise SystemExit(f"too slow or too large: {'; '.join(faults)}")


if __name__ == "__main__":
    main()
