"""Time R-precision of 30,000 images x 100 candidates x 5 repeats, from what a run keeps to rows of its table.

python tests/benchmarks/r_precision.py

The store is filled first, which takes longer than what is timed; in memory, where there is such a folder. Ends
with one line and status 1 where a repeat misses its bar.
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
from typing import Any

import numpy as np
import pandas as pd
from t2i_core import ModelRequest
from t2i_core.api import Embedding, GeneratorInfo, JudgeInfo, Prompt, PromptSourceInfo, Query
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
from t2i_paintskills.plugin import t2i_metrics

IMAGES, CANDIDATES, REPEATS, DIMENSIONS = 30_000, 100, 5, 512
"""The paper's, with CLIP ViT-B/32's vectors."""
SECONDS = 5.0
"""The bar: seconds of one core's time that a repeat takes at most."""


def _never(_: object) -> Any:
    raise AssertionError("nothing is to be made")


def job(images: int, **options: Any) -> Job:
    """Return the measurements of a run over a number of captions."""
    model = GeneratorInfo(name="model", summary="Is never asked.", create=_never, code=())
    judge = JudgeInfo(
        name="judge", summary="Is never asked.", capabilities={"embed": frozenset()}, create=_never, code=()
    )
    captions = [Prompt(str(number), f"caption {number}") for number in range(images)]
    source = PromptSourceInfo(name="captions", summary="Captions.", prompts=lambda setup: captions)
    request = Request(
        metrics=("r-precision",), models=(ModelRequest("model"),), prompts=("captions",), seeds=(0,),
        options={"r-precision": {"candidates": CANDIDATES, "repeats": REPEATS, **options}},
    )  # fmt: skip
    return make_plan(request, StaticResolver(model, judge, source, *t2i_metrics())).jobs[0]


def fill(store: Store, job: Job) -> None:
    """Keep an image and both embeddings of each sample, as a run would; half as alike as a vector and itself."""
    rng = np.random.default_rng(0)
    head = observation_key_head(job.needs[0].judge_fingerprint(job.models[0]), job.needs[0].asked)
    for number, sample in enumerate(job.samples()):
        pixels = np.full((2, 2, 3), 0, np.uint8)
        pixels.flat[:4] = np.array([number], "<u4").view(np.uint8)
        image = store.put_image(sample.key, encode_image(pixels))
        own, other = rng.normal(size=(2, DIMENSIONS)).astype(np.float32)
        text, picture = Query(texts=(sample.prompt.text,)), Query(images=(image,))
        for query, vector in ((text, own), (picture, own + 5 * other)):
            store.put(observation_key(head, query), encode(Embedding(vector), "embed", None, query))


def score(store: Store, job: Job) -> pd.DataFrame:
    """Measure from what is kept, as a run does."""
    images = GeneratedImages()
    observations = observe([job], images, store, Execution(ComponentSettings(), LocalExecutor()), Silent())
    return measure([job], images, observations, store, Silent()).tables[job.key]


def timed(function: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """What a function gives, and the seconds of processor time that it takes."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def main() -> None:
    """Print the times, the scores, and what memory it took."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, Store(Path(folder)) as store:
        fill(store, job(IMAGES))
        print(
            f"{IMAGES} images x {CANDIDATES} candidates, {REPEATS} repeats, seconds of one core's time a repeat:"
        )
        found = []
        for name, options in (("cosine", {}), ("reference", {"reference": True})):
            table, seconds = timed(score, store, job(IMAGES, **options))
            found.append(seconds / REPEATS)
            print(f"  {name:10}{found[-1]:6.2f}   R-precision {table['value'].mean():.4f}")
    print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB at most")
    if max(found) > SECONDS:
        raise SystemExit(f"more than {SECONDS:g} s a repeat")


if __name__ == "__main__":
    main()
