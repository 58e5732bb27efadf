"""Metrics of the mini world beside people who err at a known rate: `t2i people validate`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_cli.app import app
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api import Derive, Measure, Metric, MetricInfo, Need, Row
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_people.validation import Validation, validate
from typer.testing import CliRunner

pytestmark = pytest.mark.long

ERROR, PEOPLE = 0.1, ("ann", "bob", "cid")


def _draw_noise(pixels: Any, _: Any) -> dict[str, Any]:
    return {"noise": np.random.default_rng(int(pixels.astype(np.int64).sum())).random(1)}


class _Unrelated(Metric):
    needs = (Need("pixels", "pixels", derive=Derive("noise", _draw_noise)),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("unrelated", float(unit.one().derived("pixels")["noise"][0]))


UNRELATED = MetricInfo(
    name="unrelated",
    summary="A number that has nothing to do with what is drawn.",
    create=_Unrelated,
    measures=(Measure("unrelated", "Noise.", 0, 1),),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("beside")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        yield evaluate(
            ["tiam", UNRELATED],
            [ModelRequest("simulator", f"drop {rate}", {"drop": rate, "size": 64}) for rate in (0.0, 0.3, 0.7)],
            prompts="tiam-5-2",
            limit=12,
            seeds=2,
            judge="segment=oracle",
            out=folder / "run",
        )


def list_right(run: Run) -> dict[tuple[str, str, int], tuple[int, str]]:
    """Return the number of objects that are really drawn in each image, and its digest."""
    samples = run.samples()
    truths = run.truths(samples["digest"])
    return {
        (row.model, row.prompt, int(row.seed)): (len(truth.instances), row.digest)
        for row, truth in zip(samples.itertuples(), truths, strict=True)
        if truth is not None
    }


def vote(run: Run) -> Iterator[HumanAnswer]:
    """Yield preferences, ratings, and yes and no, of people who err in one answer of ten."""
    rng = np.random.default_rng(3)
    right = list_right(run)
    models = sorted({model for model, _, _ in right})
    for rater in PEOPLE:
        for (model, prompt, seed), (count, digest) in right.items():
            shown = (ShownImages(model, (seed,), (digest,)),)
            rating = rng.integers(1, 6) if rng.random() < ERROR else 1 + 2 * count
            yield HumanAnswer(rater, "rating", str(rating), shown, prompt)
            all_there = (count == 2) != (rng.random() < ERROR)
            yield HumanAnswer(rater, "shown", "yes" if all_there else "no", shown, prompt)
        for (a, b), (prompt, seed) in (
            (pair, place)
            for pair in combinations(models, 2)
            for place in dict.fromkeys((prompt, seed) for _, prompt, seed in right)
        ):
            sides = [(a, *right[a, prompt, seed]), (b, *right[b, prompt, seed])]
            if rng.random() < 0.5:
                sides.reverse()
            gap = sides[0][1] - sides[1][1]
            answer = "left" if gap > 0 else "right" if gap < 0 else "tie"
            if rng.random() < ERROR:
                answer = str(rng.choice(["left", "right", "tie"]))
            shown = tuple(ShownImages(model, (seed,), (digest,)) for model, _, digest in sides)
            yield HumanAnswer(rater, "preference", answer, shown, prompt)


@pytest.fixture(scope="module")
def answers(run: Run) -> Path:
    file = run.folder.parent / "answers.csv"
    write_answers(file, vote(run))
    return file


@pytest.fixture(scope="module")
def found(run: Run, answers: Path) -> Validation:
    return validate([run.folder], answers)


def pick(found: Validation, question: str, metric: str | None, statistic: str, level: str = "image") -> Any:
    (line,) = (
        line
        for line in found.agreements
        if (line.question, line.level, line.predictor.metric, line.statistic.name, line.a)
        == (question, level, metric, statistic, "")
        and line.predictor.measure in (metric or "", "")
    )
    return line.statistic


def test_tiam_is_near_a_person_and_noise_at_chance(found: Validation) -> None:
    for question, ending in (("preference", ""), ("rating", " (same prompt)"), ("shown", " (same prompt)")):
        name = f"accuracy{ending}"
        tiam, noise, person = (pick(found, question, metric, name) for metric in ("tiam", "unrelated", None))
        assert tiam.lo > 0.75
        assert person.value > 0.75
        assert noise.lo < 0.5 < noise.hi
        assert pick(found, question, "tiam", "tau-b").lo > 0.5
        assert pick(found, question, "tiam", f"accuracy with ties{ending}").value > 0.6
    assert pick(found, "shown", "tiam", "phi").value > 0.9
    assert pick(found, "rating", "tiam", "rho").lo > 0.5
    assert abs(pick(found, "rating", "unrelated", "rho").value) < 0.3


def test_models_are_ranked_as_people_rank_them(found: Validation) -> None:
    assert pick(found, "rating", "tiam", "rho", "model").value == 1
    over_pairs = pick(found, "preference", "tiam", "accuracy", "model")
    assert (over_pairs.value, over_pairs.n, over_pairs.lo) == (1, 3, None)
    for each in found.differences:
        if each.predictor.measure == "tiam":
            assert each.preference.share is not None
            assert each.difference.value is not None
            assert (each.preference.share > 0.5) == (each.difference.value > 0)
    assert all((each.alpha_with_ties or 0) > 0.4 for each in found.preferences)


def test_the_command_prints_one_metric_and_question(run: Run, answers: Path) -> None:
    words = ["people", "validate", str(run.folder), str(answers), "--metric", "tiam", "--question", "shown"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    whole = json.loads(done.stdout)
    assert {line["question"] for line in whole["agreements"]} == {"shown"}
    assert {line["metric"] for line in whole["agreements"]} == {"tiam", None}
