"""Fixtures: metrics with given terms, the golden cases, and tiny checkpoints of the real classes."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from t2i_core.api import LikelihoodTerms, Prompt, Sample, Setup, Unit
from t2i_core.api.metric_input import Answer, Observed
from t2i_selfeval.samples import choice
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder

HERE = Path(__file__).parent
CAPTIONS = ("a red ball", "a blue ball", "a green ball", "a black ball")


class Bench:
    """Builder of samples and of model answers for metrics."""

    captions = CAPTIONS

    def prompt(
        self, answer: int = 0, captions: int = 4, task: str = "colour", id: str = "one", **more: Any
    ) -> Prompt:
        texts = CAPTIONS[:captions]
        facets = {"task": task, "source": "test"}
        return Prompt(id, texts[answer], facets=facets, images=("a.png",), texts=texts, answer=answer, **more)

    def unit(self, prompt: Prompt, observations: Sequence[Any], need: str = "likelihood", seed: int = 0) -> Unit:
        answers = {need: [Answer(observation, {}) for observation in observations]}
        return Unit(("model",), prompt, seed, [Observed((Sample("model", prompt, seed),), answers)])

    def measured(self, metric: Any, prompt: Prompt, *observations: Any, need: str = "likelihood") -> list[Any]:
        return list(metric.measure(self.unit(prompt, observations, need)))

    def terms(self, log_p: Any, calls: int = 0, **more: Any) -> LikelihoodTerms:
        """Return terms with log_p of shape (trials, steps, captions); the prior and log_q default to 0."""
        log_p = np.asarray(log_p, float)
        zero = {"log_prior": np.zeros((len(log_p), log_p.shape[2])), "log_q": np.zeros(log_p.shape)}
        return LikelihoodTerms({"log_p": log_p, **zero, **more}, calls)

    def errors(self, error: Any, calls: int = 0, **more: Any) -> LikelihoodTerms:
        return LikelihoodTerms({"error": np.asarray(error, float), **more}, calls)

    def metric(self, cls: Any, options: Any, **given: Any) -> Any:
        return cls(Setup(None, options(**given)))


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    cases = json.loads((HERE / "golden" / "selfeval.json").read_text())
    return {case["id"]: case for case in cases}.__getitem__


def module_at(path: Path, name: str) -> Any:
    """Import a file that is not part of a package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def toy() -> Any:
    """Return the module `toy_chain.py`."""
    return module_at(HERE / "toy_chain.py", "t2i_selfeval_toy_chain")


@pytest.fixture(scope="session")
def elimination() -> Any:
    """Return the benchmark of that name as a module."""
    return module_at(HERE.parent / "benchmarks" / "elimination.py", "t2i_selfeval_elimination")


@pytest.fixture(scope="session")
def gaussian_captions() -> Any:
    """Return the benchmark of that name as a module."""
    return module_at(HERE.parent / "benchmarks" / "gaussian_captions.py", "t2i_selfeval_gaussian_captions")


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that saves a tiny random checkpoint of a pipeline class and returns its folder."""
    tiny = module_at(HERE.parents[1] / "diffusers" / "tests" / "tiny.py", "t2i_diffusers_tiny")
    made: dict[str, Path] = {}

    def give(pipeline: str = "StableDiffusionPipeline") -> Path:
        if pipeline not in made:
            made[pipeline] = tmp_path_factory.mktemp("checkpoints") / pipeline
            tiny.save(tiny.CASES[pipeline].build, made[pipeline])
        return made[pipeline]

    return give


def write_samples(folder: Path, count: int, task: str = "colour") -> list[Prompt]:
    """Write smooth images and return samples of them; each caption is right equally often."""
    found = []
    for n in range(count):
        rng = np.random.default_rng(n)
        ramp = np.linspace(0, 255, 32)[:, None, None] * rng.uniform(0.3, 1, 3)
        pixels = np.clip(ramp + rng.normal(0, 10, (32, 32, 3)), 0, 255).astype(np.uint8)
        path = folder / f"{n}.png"
        Image.fromarray(pixels).save(path)
        right = CAPTIONS[n % len(CAPTIONS)]
        wrong = [caption for caption in CAPTIONS if caption != right]
        found.append(choice(f"{task}-{n}", str(path), right, wrong, task, "test"))
    return found


def write_file(path: Path, samples: Sequence[Prompt]) -> Path:
    """Write samples as JSON lines."""

    def line(s: Prompt) -> Mapping[str, Any]:
        own = {"id": s.id, "text": s.text, "facets": dict(s.facets), "images": s.images, "texts": s.texts}
        return {**own, "cluster": s.cluster, **({} if s.answer is None else {"answer": s.answer})}

    path.write_text("".join(json.dumps(line(s)) + "\n" for s in samples))
    return path


@pytest.fixture(scope="session")
def samples() -> Any:
    """Return the functions that write images and files of samples."""
    return write_samples, write_file
