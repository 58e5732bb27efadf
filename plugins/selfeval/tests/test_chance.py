"""On the real tasks: random weights and captions alone are at chance, and who knows the answers is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom
from t2i_core.api import Generated, GeneratorInfo, LikelihoodTerms, Query, SelfJudgingInfo
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.statistics import mean_interval
from t2i_core.storage.store import Store
from t2i_selfeval.samples import TASKS

LEVEL = 0.992
"""Of each of six intervals, which then hold all at once as often as one of 95 %."""

Found = dict[str, tuple[float, float, float]]
"""By task: accuracy's interval, and chance between its ends."""

FEW = {"limit": 12, "size": 64}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which each picture is drawn once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def by_task(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Found]:
    """Evaluate a model on the six tasks."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(pictures))
    numbers = count()

    def give(model: str | GeneratorInfo, tasks: dict[str, int], **options: Any) -> Found:
        run = evaluate(
            "selfeval",
            model,
            prompts="selfeval-mini",
            device="cpu",
            out=tmp_path / f"run {next(numbers)}",
            options={"selfeval": {"trials": 1, "steps": 4, "exact": True, **options}, "selfeval-mini": tasks},
        )
        return _by_task(run)

    return give


def _by_task(run: Run) -> Found:
    assert run.failed is None
    table = run.measurements()
    found = {}
    for task, own in table.groupby("task", observed=True):
        right, chance = (own[own["measure"] == measure] for measure in ("accuracy", "chance"))
        estimate = mean_interval(right["value"], right["cluster"], right["seed"], low=0, high=1, level=LEVEL)
        found[str(task)] = (estimate.lo, chance["value"].iloc[0], estimate.hi)
        assert chance["value"].nunique() == 1
        assert set(right["value"]) <= {0, 1}  # captions are told apart: ties would be at chance, too
    assert sorted(found) == sorted(TASKS)
    return found


def at_chance(found: Found) -> bool:
    return all(low <= chance <= high for low, chance, high in found.values())


def save_random(folder: Path, seed: int) -> str:
    """A model of `mini`'s architecture, smaller, as nothing has trained it."""
    import autoencoder
    import denoiser
    import mini_tokenizer
    import text_encoder
    from diffusers import StableDiffusionPipeline

    tokenizer = mini_tokenizer.build()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        parts = {
            "vae": autoencoder.build((8, 8, 8, 16)),
            "text_encoder": text_encoder.build(tokenizer, width=64, layers=1),
            "unet": denoiser.build((16, 32), 64),
        }
    pipe = StableDiffusionPipeline(
        **parts,
        tokenizer=tokenizer,
        scheduler=denoiser.scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.save_pretrained(folder)
    return f"diffusers:{folder}"


@pytest.mark.long
def test_random_weights_are_at_chance(by_task: Any, tmp_path: Path) -> None:
    found = by_task(save_random(tmp_path / "model", 0), FEW)
    assert at_chance(found), found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_random_weights_are_at_chance_whatever_they_are(by_task: Any, tmp_path: Path) -> None:
    """Of 20 models on all 360 samples: one in twenty is outside somewhere by chance alone."""
    models = [save_random(tmp_path / f"model {seed}", seed) for seed in range(20)]
    holding = sum(at_chance(by_task(model, {"size": 64})) for model in models)
    assert holding >= binom.ppf(0.003, len(models), 0.95)


class Knowing:
    """Knows what each picture of the mini world was drawn for; of any other it prefers what comes last by name."""

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        with Store() as store:
            for query in queries:
                truth = store.truth(query.images[0].digest)
                right = None if truth is None else truth.text
                by_name = sorted(query.texts)
                scores = [by_name.index(text) + 100.0 * (text == right) for text in query.texts]
                log_p = np.broadcast_to(scores, (query.params["trials"], query.params["steps"], len(scores)))
                yield query, LikelihoodTerms({"log_p": log_p, "log_prior": log_p[:, 0] * 0}, log_p.size)


KNOWING = SelfJudgingInfo(
    name="knowing", summary="Knows.", create=lambda setup: Knowing(), capabilities=frozenset({"likelihood"})
)


@pytest.mark.long
def test_a_model_that_knows_the_answers_is_above_chance_only_with_images(by_task: Any) -> None:
    knowing, blind = by_task(KNOWING, FEW), by_task(KNOWING, FEW, blind=True)
    assert all(low > chance for low, chance, _ in knowing.values()), knowing
    assert at_chance(blind), blind


@pytest.mark.slow
def test_captions_alone_are_at_chance(by_task: Any) -> None:
    """What a trained model makes of captions, without their pictures."""
    found = by_task("mini-tiny", FEW, blind=True, steps=2)
    assert at_chance(found), found
