"""Classes of questions that the judge cannot know: refused before any image is generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import Generated, GeneratorInfo
from t2i_core.api.errors import NoJudge
from t2i_core.testing import StaticResolver
from t2i_core.testing.parts import TEST_JUDGE
from t2i_yaml_benchmarks.plugin import t2i_metrics, t2i_prompt_sources

DRAWN: list[str] = []


class Drawer:
    """Draws grey images, and lists their prompts."""

    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            DRAWN.append(request.prompt.text)
            yield request, Generated(np.full((8, 8, 3), 128, np.uint8))


DRAWER = GeneratorInfo(name="drawer", summary="", create=lambda setup: Drawer())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    DRAWN.clear()


def run(question: str) -> Any:
    Path("bench.yaml").write_text(
        f"summary: s\nprompts: [{{prompt: a, animal: cow}}]\nquestions: [{question}]\n", encoding="utf-8"
    )
    resolver = StaticResolver(TEST_JUDGE, *t2i_metrics(), *t2i_prompt_sources())
    return evaluate("yaml:bench.yaml", DRAWER, resolver=resolver, seeds=1)


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("{detect: '{animal}'}", "cow"),
        ("{detect: cow, synset: cow.n.01}", "cow"),
        ("{classify: dog, classes: [dog, '{animal}']}", "cow"),
    ],
)
def test_unknown_classes_are_refused_before_anything_is_drawn(question: str, unknown: str) -> None:
    with pytest.raises(NoJudge, match=f"does not know {unknown}, which metric 'yaml:bench.yaml' asks about"):
        run(question)
    assert DRAWN == []


@pytest.mark.parametrize(
    "question", ["{detect: dog}", "{detect: puppy, synset: dog.n.01}", "{classify: dog, classes: [dog, car]}"]
)
def test_known_classes_are_asked(question: str) -> None:
    (result,) = run(question).results
    assert (result.n_ok, DRAWN) == (1, ["a"])
