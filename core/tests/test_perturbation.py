"""`--perturb`: each model once more with changed prompts, scored against the prompts as they were."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    ExistingImagesInfo,
    Generated,
    GeneratorInfo,
    ImageRequest,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Row,
    Setup,
    Unit,
)
from t2i_core.api.errors import BadOption, BrokenPlugin
from t2i_core.engine.evaluation import evaluate
from t2i_core.results.run import Run
from t2i_core.testing import TEST_JUDGE, StaticResolver

PROMPTS = (Prompt("dog", "a large dog"), Prompt("cat", "a cat"), Prompt("no", "no"))
drawn: list[str] = []


class Painter:
    """Paints images by the length of the text, and remembers each text."""

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated]]:
        for request in requests:
            drawn.append(request.prompt.text)
            shade = 40 + 10 * len(request.prompt.text) + request.seed
            yield request, Generated(np.full((8, 8, 3), shade, np.uint8))


PAINTER = GeneratorInfo(name="painter", summary="Shades.", create=lambda setup: Painter())


def shout(setup: Setup[Any]) -> Iterator[Prompt]:
    assert setup.prompts is not None
    for prompt in setup.prompts:
        yield replace(prompt, text=prompt.text if prompt.id == "no" else f"{prompt.text.upper()}!")


SHOUTED = PromptSourceInfo(name="shouted", summary="Loud.", prompts=shout, changes_prompts=True)
PLAIN = PromptSourceInfo(name="plain", summary="Prompts.", prompts=lambda setup: iter(PROMPTS))


class TextLength(Metric):
    """The length of the prompt's text, and the judge's reward."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        assert unit.prompt is not None
        yield Row("reward", unit.one().one("reward").value, because=unit.prompt.text)


LENGTH = MetricInfo(name="length", summary="Length.", create=TextLength, measures=(Measure("reward", "Reward."),))


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    drawn.clear()


def run(*parts: Any, model: Any = PAINTER, metric: MetricInfo = LENGTH, **how: Any) -> Run:
    resolver = StaticResolver(TEST_JUDGE, PLAIN, SHOUTED, *parts)
    return evaluate([metric], model, prompts="plain", seeds=2, out="run", resolver=resolver, **how)


def test_a_perturbed_model_is_another_model_on_the_same_prompts() -> None:
    found = run(perturb="shouted")
    assert [result.label for result in found.results] == ["painter", "painter (shouted)"]
    assert sorted(set(drawn)) == ["A CAT!", "A LARGE DOG!", "a cat", "a large dog", "no"]
    assert drawn.count("no") == 2  # a text that stays gives the same images
    (comparison,) = found.comparisons
    assert (comparison.a, comparison.b, comparison.n) == ("painter", "painter (shouted)", 6)
    table = found.measurements()
    assert set(table["because"]) == {prompt.text for prompt in PROMPTS}
    pairs = table.pivot(index=["prompt", "seed"], columns="model", values="value")
    same = pairs["painter"] == pairs["painter (shouted)"]
    assert dict(same.groupby("prompt").all()) == {"cat": False, "dog": False, "no": True}


def test_the_run_records_what_was_sent() -> None:
    found = run(perturb="shouted")
    models = found.manifest.models
    assert models["painter"].perturbation is None
    assert models["painter (shouted)"].perturbation is not None
    assert models["painter (shouted)"].perturbation.name == "shouted"
    assert found.manifest.request.perturb == ["shouted"]
    with Path("run/samples.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sent = {(row["model"], row["prompt"]): json.loads(row["record"] or "{}").get("sent") for row in rows}
    assert sent["painter", "dog"] is None
    assert sent["painter (shouted)", "dog"] == "A LARGE DOG!"
    assert {row["text"] for row in rows} == {prompt.text for prompt in PROMPTS}


def test_an_unperturbed_run_keeps_its_identity_and_its_images() -> None:
    first = run()
    before = len(drawn)
    both = evaluate(
        [LENGTH],
        PAINTER,
        prompts="plain",
        seeds=2,
        out="both",
        perturb="shouted",
        resolver=StaticResolver(TEST_JUDGE, PLAIN, SHOUTED),
    )
    assert both.manifest.plan != first.manifest.plan
    assert len(drawn) == before + 4  # two changed texts, two seeds
    assert both.results[0].score == first.results[0].score


def test_a_perturbed_data_set_names_the_text_that_was_sent() -> None:
    resolver = StaticResolver(PLAIN, SHOUTED)
    evaluate([], PAINTER, prompts="plain", seeds=1, out="run", perturb="shouted", resolver=resolver)
    folders = sorted(Path("run/images").iterdir())
    lines = [
        json.loads(line) for folder in folders for line in (folder / "metadata.jsonl").read_text().splitlines()
    ]
    assert {line.get("sent") for line in lines} == {None, "A CAT!", "A LARGE DOG!", "no"}
    assert {line["text"] for line in lines} == {prompt.text for prompt in PROMPTS}


def test_runs_that_grow_perturb_too() -> None:
    many = [Prompt(f"p{number}", "a dog" + " and a cat" * number) for number in range(12)]
    source = PromptSourceInfo(name="many", summary="Prompts.", prompts=lambda setup: iter(many))
    found = evaluate(
        [LENGTH],
        PAINTER,
        prompts="many",
        seeds=2,
        out="run",
        perturb="shouted",
        until="width=1000",
        resolver=StaticResolver(TEST_JUDGE, source, SHOUTED),
    )
    assert [result.label for result in found.results] == ["painter", "painter (shouted)"]
    assert {text.endswith("!") for text in drawn} == {True, False}


def test_only_sources_that_change_prompts_perturb() -> None:
    with pytest.raises(BadOption, match="--perturb plain: this prompt source changes no prompts of others"):
        run(perturb="plain")


def test_existing_images_cannot_be_perturbed() -> None:
    existing = ExistingImagesInfo(name="existing", summary="Files.", create=lambda setup: Painter())
    with pytest.raises(BadOption, match="'existing' has existing images, which do not depend on prompts"):
        run(model=existing, perturb="shouted")


def test_a_metric_without_generated_images_is_refused() -> None:
    class OwnImages(TextLength):
        needs = (Need("reward", "embed", images="prompt", queries=lambda samples: []),)

    own = MetricInfo(name="own", summary="Own.", create=OwnImages, measures=(Measure("reward", "Reward."),))
    with pytest.raises(BadOption, match="metric 'own' uses none"):
        run(metric=own, perturb="shouted")


def test_a_source_must_give_each_prompt_once() -> None:
    lossy = PromptSourceInfo(
        name="lossy",
        summary="Loses one.",
        prompts=lambda setup: iter((setup.prompts or ())[1:]),
        changes_prompts=True,
    )
    with pytest.raises(BrokenPlugin, match="changed 3 prompts into 2"):
        run(lossy, perturb="lossy")
