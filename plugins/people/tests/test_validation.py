"""Metrics beside people's answers, held to scipy and to counting by hand."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    PairMetric,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Row,
    SetMetric,
    Setup,
)
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.api.options import Options
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_core.statistics import krippendorff_alpha, phi
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_people.validation import Validation, validate
from t2i_people.validation.output import print_validation
from t2i_people.validation.result import Agreement

MODELS, PROMPTS, SEEDS = ("apple", "fig", "pear"), tuple(f"p{n}" for n in range(12)), (0, 1)
PEOPLE = ("ann", "bob", "cid")


def quality(model: str, prompt: str, seed: int) -> float:
    """How good an image is."""
    number = MODELS.index(model) * 1000 + int(prompt[1:]) * 10 + seed
    return float(np.round(np.random.default_rng(number).normal(MODELS.index(model) / 2), 1))


class _Shade(Options):
    shade: int = 0


class _Painter:
    def __init__(self, setup: Setup[_Shade]) -> None:
        self.shade = setup.options.shade

    def generate(self, requests: Any) -> Iterator[tuple[Any, Generated]]:
        for request in requests:
            rng = np.random.default_rng([self.shade, request.noise_seed, int(request.prompt.id[1:])])
            yield request, Generated(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8))


PAINTER = GeneratorInfo(name="painter", summary="Noise.", options=_Shade, create=_Painter)
NEEDS = (Need("features", "features"),)


def _of(sample: Any) -> float:
    return quality(sample.model, sample.prompt.id, sample.seed)


class _Sharp(Metric):
    needs = NEEDS
    sign = 1

    def measure(self, unit: Any) -> Iterator[Row]:
        value = quality(unit.models[0], unit.prompt.id, unit.seed)
        half = "odd" if int(unit.prompt.id[1:]) % 2 else "even"
        yield Row(self.name, self.sign * value, {"half": half})

    name = "sharp"


class _Blurred(_Sharp):
    sign, name = -1, "blurred"


class _Right(Metric):
    needs = NEEDS

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("right", float(quality(unit.models[0], unit.prompt.id, unit.seed) > 0.5))


class _OfPrompts(PromptMetric):
    needs = NEEDS

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("kind", float(np.mean([quality(unit.models[0], unit.prompt.id, seed) for seed in unit.seeds])))


class _OfSets(SetMetric):
    needs = NEEDS

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("whole", 10.0 * MODELS.index(unit.models[0]))


class _OfPairs(PairMetric):
    needs = NEEDS

    def measure(self, unit: Any) -> Iterator[Row]:
        a, b = (quality(model, unit.prompt.id, unit.seed) for model in unit.models)
        yield Row("verdict", float(np.sign(a - b) + 1) / 2)

    def aggregate(self, table: Any, weights: Any) -> dict[str, float]:
        return {"verdict": float(np.average(table["value"], weights=weights))}


def _info(
    name: str, create: type[Metric], low: float | None, high: float | None, better: bool | None
) -> MetricInfo:
    return MetricInfo(
        name=name, summary="M.", create=create, measures=(Measure(name, "V.", low, high, higher_is_better=better),)
    )


METRICS = (
    _info("sharp", _Sharp, None, None, True),
    _info("blurred", _Blurred, None, None, False),
    _info("right", _Right, 0, 1, None),
    _info("kind", _OfPrompts, None, None, True),
    _info("whole", _OfSets, None, None, True),
    _info("verdict", _OfPairs, 0, 1, None),
)
SOURCE = PromptSourceInfo(name="some", summary="S.", prompts=lambda _: [Prompt(id, f"cat {id}") for id in PROMPTS])
RESOLVER = StaticResolver(TEST_JUDGE, SOURCE, PAINTER, *METRICS)


def make_run(folder: Path, metrics: Sequence[MetricInfo], shift: int = 0) -> Run:
    return evaluate(
        list(metrics),
        [ModelRequest(PAINTER, label, {"shade": n + shift}) for n, label in enumerate(MODELS)],
        prompts="some",
        seeds=len(SEEDS),
        out=folder,
        resolver=RESOLVER,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("validation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        yield make_run(folder / "run", METRICS)


def digests(run: Run) -> dict[tuple[str, str, int], str]:
    samples = run.samples()
    return {(row.model, row.prompt, int(row.seed)): row.digest for row in samples.itertuples()}


def rate(run: Run) -> list[HumanAnswer]:
    """Return ratings of 1 to 5 by people who see quality with an error, and what they answer to yes or no."""
    rng = np.random.default_rng(1)
    found = []
    for rater in PEOPLE:
        for (model, prompt, seed), digest in digests(run).items():
            seen = quality(model, prompt, seed) + rng.normal(scale=0.4)
            shown = (ShownImages(model, (seed,), (digest,)),)
            found.append(HumanAnswer(rater, "rating", str(int(np.clip(round(seen + 3), 1, 5))), shown, prompt))
            found.append(HumanAnswer(rater, "shown", "yes" if seen > 0.5 else "no", shown, prompt))
    return found


def prefer(run: Run) -> list[HumanAnswer]:
    """Return preferences of the same people, sides in random order."""
    rng = np.random.default_rng(2)
    known, found = digests(run), []
    for rater in PEOPLE:
        for a, b in combinations(MODELS, 2):
            for prompt in PROMPTS:
                for seed in SEEDS:
                    pair = [a, b] if rng.random() < 0.5 else [b, a]
                    left, right = (quality(model, prompt, seed) + rng.normal(scale=0.4) for model in pair)
                    answer = "tie" if abs(left - right) < 0.3 else "left" if left > right else "right"
                    shown = tuple(ShownImages(model, (seed,), (known[model, prompt, seed],)) for model in pair)
                    found.append(HumanAnswer(rater, "preference", answer, shown, prompt))
    return found


Validate = Callable[..., Validation]


@pytest.fixture
def check(run: Run, tmp_path: Path) -> Validate:
    def call(answers: Sequence[HumanAnswer], runs: Sequence[Path] = (), **how: Any) -> Validation:
        write_answers(tmp_path / "answers.csv", answers)
        return validate(runs or [run.folder], tmp_path / "answers.csv", resolver=RESOLVER, **how)

    return call


def pick(found: Validation, metric: str | None, statistic: str, level: str = "image", **how: str) -> Any:
    """Return the one statistic that fits."""
    place = {"question": found.questions[0].question, "a": "", "facet": "", **how}

    def fits(line: Agreement) -> bool:
        own = {"question": line.question, "a": line.a, "facet": line.predictor.facet}
        return (line.predictor.metric, line.statistic.name, line.level) == (
            metric,
            statistic,
            level,
        ) and own == place

    (line,) = filter(fits, found.agreements)
    return line.statistic


@pytest.mark.long
def test_ratings_beside_a_metric_of_images(run: Run, check: Validate) -> None:
    answers = [each for each in rate(run) if each.question == "rating"]
    found = check(answers, metrics=["sharp"])
    own = {
        key: [float(a.answer) for a in answers if (a.shown[0].model, a.prompt, a.seed) == key]
        for key in digests(run)
    }
    metric, people = [quality(*key) for key in own], [np.mean(ratings) for ratings in own.values()]
    assert pick(found, "sharp", "rho").value == pytest.approx(stats.spearmanr(metric, people).statistic)
    assert pick(found, "sharp", "tau-b").value == pytest.approx(stats.kendalltau(metric, people).statistic)
    every = list(combinations(zip(own, metric, people, strict=True), 2))
    same = [pair for pair in every if pair[0][0][1] == pair[1][0][1]]
    for name, pairs in (("accuracy", every), ("accuracy (same prompt)", same)):
        right = [
            0.5 + 0.5 * np.sign(m - n) * np.sign(x - y) for (_, m, x), (_, n, y) in pairs if abs(x - y) > 1e-9
        ]
        statistic = pick(found, "sharp", name)
        assert (statistic.value, statistic.n) == (pytest.approx(np.mean(right)), len(right))
        assert 0 <= statistic.lo < statistic.value < statistic.hi <= 1
    assert pick(found, "sharp", "rho", "model").n == len(MODELS)
    for each in found.means:
        here = [n for n, key in enumerate(own) if key[0] == each.mean.model]
        assert each.mean.n == len(here)
        assert each.mean.value == pytest.approx(np.mean([metric[n] for n in here]))
        assert each.mean.people == pytest.approx(np.mean([people[n] for n in here]))
    assert len(found.means) == len(MODELS)


def test_a_person_is_held_to_the_others(run: Run, check: Validate) -> None:
    answers = [each for each in rate(run) if each.question == "rating"]
    found = check(answers, metrics=["sharp"])
    table = np.array([[float(each.answer) for each in answers if each.rater == rater] for rater in PEOPLE])
    expected = [stats.spearmanr(table[i], np.delete(table, i, 0).mean(axis=0)).statistic for i in range(3)]
    assert pick(found, None, "rho").value == pytest.approx(np.mean(expected))


@pytest.mark.long
def test_lower_is_better_flips_signs_and_no_direction_does_not(run: Run, check: Validate) -> None:
    found = check(rate(run) + prefer(run))
    mirrored = {"sharp": "higher", "blurred": "lower", "right": "none"}
    assert {
        m: d for m, d in {(x.predictor.metric, x.predictor.direction) for x in found.agreements} if m in mirrored
    } == mirrored
    ours, theirs = (
        [(x.question, x.level, x.a, x.b, x.statistic) for x in found.agreements if x.predictor.metric == name]
        for name in ("sharp", "blurred")
    )
    assert ours == theirs
    assert len(ours) > 20


def test_yes_and_no_beside_a_binary_metric_have_phi(run: Run, check: Validate) -> None:
    answers = [each for each in rate(run) if each.question == "shown"]
    found = check(answers, metrics=["right", "sharp"])
    yes = {
        key: [a.answer == "yes" for a in answers if (a.shown[0].model, a.prompt, a.seed) == key]
        for key in digests(run)
    }
    expected = phi(
        [quality(*key) > 0.5 for key in yes],
        [np.mean(told) > 0.5 for told in yes.values()],
        [p for _, p, _ in yes],
    )
    statistic = pick(found, "right", "phi")
    assert (statistic.value, statistic.lo, statistic.hi) == pytest.approx(
        (expected.value, expected.lo, expected.hi)
    )
    assert not [x for x in found.agreements if (x.predictor.metric, x.statistic.name) == ("sharp", "phi")]


def test_preferences_on_images_prompts_and_models(run: Run, check: Validate) -> None:
    answers = prefer(run)
    found = check(answers)
    told: dict[Any, list[float]] = {}
    for each in answers:
        sign = {"left": 1, "right": -1, "tie": 0}[each.answer]
        a, b = (side.model for side in each.shown)
        told.setdefault((min(a, b), max(a, b), each.prompt, each.seed), []).append(sign if a < b else -sign)
    right = [
        0.5 + 0.5 * np.sign(sum(votes)) * np.sign(quality(a, p, s) - quality(b, p, s))
        for (a, b, p, s), votes in told.items()
        if sum(votes)
    ]
    for name in ("sharp", "verdict"):  # a metric of pairs says the same
        statistic = pick(found, name, "accuracy")
        assert (statistic.value, statistic.n) == (pytest.approx(np.mean(right)), len(right))
    shares, gaps = [], []
    for prompt in PROMPTS:
        votes = [v for key, every in told.items() if key[:3] == ("apple", "pear", prompt) for v in every if v]
        if votes:
            shares.append(np.mean(votes))
            gap = np.mean([quality("apple", prompt, s) - quality("pear", prompt, s) for s in SEEDS])
            gaps.append(round(float(gap), 9))  # equal differences must tie
    expected = stats.spearmanr(gaps, shares)
    lines = [x for x in found.agreements if (x.a, x.b, x.statistic.name) == ("apple", "pear", "rho")]
    for name in ("sharp", "kind"):
        (line,) = (x for x in lines if x.predictor.metric == name)
        assert line.level == "prompt"
        assert line.statistic.value == pytest.approx(expected.statistic)
        assert line.statistic.p == pytest.approx(expected.pvalue)
    (pair,) = (each for each in found.preferences if (each.a, each.b) == ("apple", "pear"))
    decided = [v for key, votes in told.items() if key[:2] == ("apple", "pear") for v in votes if v]
    assert (pair.share, pair.decided) == (pytest.approx(np.mean(np.array(decided) > 0)), len(decided))
    own = [(key, i, v) for key, votes in told.items() if key[:2] == ("apple", "pear") for i, v in enumerate(votes)]
    alpha = krippendorff_alpha(*zip(*own, strict=True), excluded=(0,))
    assert pair.alpha == pytest.approx(alpha.value)
    gap = {x.predictor.metric: x.difference for x in found.differences if x.preference == pair}
    assert gap["whole"].value == -20
    assert gap["whole"].ci is None
    mean = np.mean([quality("apple", p, s) - quality("pear", p, s) for p in PROMPTS for s in SEEDS])
    assert gap["sharp"].value == pytest.approx(mean)
    over = pick(found, "whole", "accuracy", "model")
    assert (over.n, over.lo) == (3, None)


def test_labels_do_not_matter_where_digests_are_known(run: Run, check: Validate) -> None:
    answers = prefer(run)
    bare = [
        replace(each, prompt="", shown=tuple(ShownImages(digests=side.digests) for side in each.shown))
        for each in answers
    ]
    other = [
        replace(each, shown=tuple(replace(side, model=f"{side.model} (run)") for side in each.shown))
        for each in answers
    ]
    expected = check(answers, metrics=["sharp"]).agreements
    assert check(bare, metrics=["sharp"]).agreements == expected
    assert check(other, metrics=["sharp"]).agreements == expected


def test_a_column_splits_the_table(run: Run, check: Validate) -> None:
    found = check([x for x in rate(run) if x.question == "rating"], metrics=["sharp"], by="half")
    assert pick(found, "sharp", "rho", facet="odd").n == pick(found, "sharp", "rho", facet="even").n == 36


def test_a_metric_of_another_run_is_beside_the_same_people(run: Run, check: Validate, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(run.folder.parent / "cache"))
        second = make_run(tmp_path / "second", METRICS[1:2])
        third = make_run(tmp_path / "third", METRICS[:1], shift=7)
    answers = [x for x in rate(run) if x.question == "rating"]
    found = check(answers, [run.folder, second.folder], metrics=["blurred"])
    assert found.agreements == check(answers, metrics=["blurred"]).agreements
    with pytest.raises(BadOption) as caught:
        check(answers, [run.folder, third.folder])
    assert str(third.path) in str(caught.value)
    with pytest.raises(BadOption):  # only answers about images that nobody saw
        check(answers, [third.folder])


def test_models_that_cannot_be_compared_are_reported(run: Run, check: Validate) -> None:
    answers = [x for x in rate(run) if x.question == "shown"]
    answers[0] = replace(answers[0], answer="cannot-tell")
    answers[1] = replace(answers[1], shown=(replace(answers[1].shown[0], digests=("0" * 64,)),))
    answers.append(replace(answers[2], question="colour", answer="red"))
    found = check(answers, metrics=["right"])
    assert len(found.questions[0].table) == len(rate(run)) // 2 - 2
    assert len(found.notes) == 3
    with pytest.raises(BadOption):
        check(answers[:9], by="nothing")
    with pytest.raises(BadOption):
        check(answers[-1:])
    with pytest.raises(BadOption):
        check(answers, questions=["rating"])
    with pytest.raises(UnknownName):
        check(answers, metrics=["shrap"])


def test_a_metric_that_is_not_installed_has_no_direction(run: Run, tmp_path: Path) -> None:
    write_answers(tmp_path / "answers.csv", rate(run))
    found = validate([run.folder], tmp_path / "answers.csv", resolver=StaticResolver(SOURCE), metrics=["blurred"])
    assert {x.predictor.direction for x in found.agreements if x.predictor.metric} == {"not known"}
    assert pick(found, "blurred", "rho").value < -0.5


def test_every_form_of_output_has_every_line(
    run: Run, check: Validate, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    found = check(rate(run) + prefer(run), metrics=["sharp", "right", "whole"])
    printed = {}
    for how in ("text", "markdown", "csv"):
        print_validation(found, how)  # type: ignore[arg-type]
        printed[how] = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(printed["csv"])))
    assert len(rows) == len(found.agreements) == len(found.table()) == len(found.to_json()["agreements"])
    values = [row["value"] for row in rows if row["statistic"] == "phi" and row["metric"] == "right"]
    assert float(values[0]) == pick(found, "right", "phi", question="shown").value
    for how in ("text", "markdown"):
        assert printed[how].count("(one person)") >= 6
        assert f"{pick(found, 'sharp', 'rho').value:.3f}" in printed[how]
        assert "whole" in printed[how]
    assert not any(math.isnan(x) for x in found.table()["value"].dropna())
