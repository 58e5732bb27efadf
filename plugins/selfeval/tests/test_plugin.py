"""What every metric and prompt source must keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from t2i_core import Run
from t2i_core.api import (
    Embedding,
    Generated,
    JudgeInfo,
    LikelihoodTerms,
    Prompt,
    PromptSourceInfo,
    Query,
    SelfJudgingInfo,
    Setup,
)
from t2i_core.testing import MetricContract, PromptSourceContract
from t2i_selfeval.plugin import t2i_metrics
from t2i_selfeval.queries import GREY
from t2i_selfeval.samples import choice, pair


class Guesser:
    """Answers with numbers that depend on captions and seed alone."""

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(np.full((8, 8, 3), 90, np.uint8))

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            params = {"trials": 1, "steps": 2, "seed": 0, **query.params}
            rng = np.random.default_rng([params["seed"], *"".join(query.texts).encode()])
            terms = rng.normal(size=(params["trials"], params["steps"], len(query.texts)))
            shared = {"log_prior": np.zeros_like(terms[:, 0]), "log_q": np.zeros_like(terms)}
            own = {"error": terms**2} if params["terms"] == "error" else {"log_p": terms, **shared}
            yield query, LikelihoodTerms(own, terms.size)


class Embedder:
    """Texts and images as vectors that mean nothing."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[Any]:
        for query in queries:
            rng = np.random.default_rng([*"".join(query.texts).encode()])
            yield query, Embedding(rng.normal(size=4).astype(np.float32))


GUESSER = SelfJudgingInfo(
    name="guesser", summary="Guesses.", create=lambda setup: Guesser(), capabilities=frozenset({"likelihood"})
)
EMBEDDER = JudgeInfo(
    name="embedder", summary="Embeds.", capabilities={"embed": frozenset()}, create=lambda setup: Embedder()
)


def choices(setup: Setup[Any]) -> Iterator[Prompt]:
    for n in range(6):
        wrong = [f"{n + other} cats" for other in (1, 2, 3)]
        yield choice(f"s{n}", str(GREY), f"{n} cats", wrong, "count", "test", cluster=f"i{n}")


def pairs(setup: Setup[Any]) -> Iterator[Prompt]:
    for n in range(4):
        yield pair(f"p{n}", (str(GREY), str(GREY)), (f"{n} cats", f"{n} dogs"), "test", {"tag": "object"})


CHOICES = PromptSourceInfo(name="choices", summary="Choices.", prompts=choices)
PAIRS = PromptSourceInfo(name="pairs", summary="Pairs.", prompts=pairs)


class OfChoices(MetricContract):
    __test__ = False
    module = "t2i_selfeval.plugin"
    model = GUESSER
    prompts = "choices"
    resolver_parts = (CHOICES,)

    @pytest.fixture(scope="class")
    @classmethod
    def run(cls, tmp_path_factory: pytest.TempPathFactory) -> Run:
        """One run for all tests that look at it."""
        folder = tmp_path_factory.mktemp(cls.name)
        (info,) = (info for info in t2i_metrics() if info.name == cls.name)
        return cls().evaluate(info, folder / "run")

    def test_a_comparison_counts_samples(self, run: Run) -> None:
        (comparison,), result = run.comparisons, run.results[0]
        samples = len(list(self.resolver_parts[0].prompts(None))) * result.n_seeds
        assert comparison.n == result.n_ok == samples


class TestSelfEval(OfChoices):
    __test__ = True
    name = "selfeval"
    options = {"exact": True, "trials": 2, "steps": 5, "minus_empty": True}  # noqa: RUF012


class TestSelfEvalElbo(OfChoices):
    __test__ = True
    name = "selfeval-elbo"
    options = {"trials": 2, "steps": 5}  # noqa: RUF012


class TestSelfEvalClip(OfChoices):
    __test__ = True
    name = "selfeval-clip"
    judge = EMBEDDER

    def test_a_comparison_counts_samples(self, run: Run) -> None:
        assert run.comparisons == []  # the metric uses no model


class TestWinoground(OfChoices):
    __test__ = True
    name = "winoground"
    prompts = "pairs"
    resolver_parts = (PAIRS,)


class TestCaptions(PromptSourceContract):
    module = "t2i_selfeval.plugin"
    name = "selfeval-captions"

    @pytest.fixture(autouse=True)
    def _file(self, samples: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        write, to_file = samples
        monkeypatch.setattr(type(self), "argument", str(to_file(tmp_path / "samples.jsonl", write(tmp_path, 6))))
