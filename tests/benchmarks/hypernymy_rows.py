"""Time ISP and SCS of 860 synsets x 32 images x 1000 logits, from what a run keeps to rows of its table.

python tests/benchmarks/hypernymy_rows.py

The store is filled first, which takes longer than all that is timed; in memory, where there is such a folder. Ends
with one line and status 1 where the time or the memory misses its bar.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from t2i_core import ModelRequest
from t2i_core.api import ClassScores, GeneratorInfo, JudgeInfo, ObjectClass, Query
from t2i_core.api.executor import ComponentSettings
from t2i_core.api.observation_codec import encode
from t2i_core.api.progress import Silent
from t2i_core.engine.generation import GeneratedImages
from t2i_core.engine.job import Job, observation_key, observation_key_head
from t2i_core.engine.lifecycle import Execution
from t2i_core.engine.local_executor import LocalExecutor
from t2i_core.engine.measurement import measure
from t2i_core.engine.observation import observe
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import Store
from t2i_core.testing import StaticResolver
from t2i_wordnet_hypernymy.plugin import t2i_metrics, t2i_prompt_sources
from t2i_wordnet_hypernymy.wordnet import imagenet_classes

IMAGES, CLASSES = 32, 1000
SECONDS, MEMORY = 1.0, 1.0
"""The bars: seconds of one core at most, and GB at most."""
ROUNDS = 20
"""Number of rounds. The quickest counts, because other work beside makes times longer, never shorter."""
LABELS = tuple(ObjectClass(name, name) for name in imagenet_classes())


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
    head = observation_key_head(job.needs[0].judge_fingerprint(job.models[0]), job.needs[0].asked)
    for number, sample in enumerate(job.samples()):
        pixels = np.full((2, 2, 3), 0, np.uint8)
        pixels.flat[:4] = np.array([number], "<u4").view(np.uint8)
        image = store.put_image(sample.key, encode_image(pixels))
        logits = ClassScores(rng.normal(0, 3, CLASSES).astype(np.float32), LABELS)
        query = Query(images=(image,))
        store.put(observation_key(head, query), encode(logits, "classify", LABELS, query))


def score_stored(store: Store, jobs: tuple[Job, ...]) -> list[pd.DataFrame]:
    """Measure both metrics from what is kept, as a run does."""
    images = GeneratedImages()
    observations = observe(jobs, images, store, Execution(ComponentSettings(), LocalExecutor()), Silent())
    measured = measure(jobs, images, observations, store, Silent())
    return [measured.tables[job.key] for job in jobs]


def main() -> None:
    """Print the time, and what memory it took; say which bars are missed."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    seconds = []
    with tempfile.TemporaryDirectory(dir=place) as folder, Store(Path(folder)) as store:
        both = jobs(None)
        fill(store, both[0])
        for _ in range(ROUNDS):
            start = time.process_time()
            score_stored(store, both)
            seconds.append(time.process_time() - start)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = min(seconds)
    print(f"{len(both[0].prompts)} synsets x {IMAGES} images x {CLASSES} logits, both metrics, one core:")
    print(f"  from the store to rows   {found:.2f} s of its time, {memory:.2f} GB at most")
    if found > SECONDS or memory > MEMORY:
        raise SystemExit(f"too slow or too large: at most {SECONDS:g} s and {MEMORY:g} GB")


if __name__ == "__main__":
    main()
