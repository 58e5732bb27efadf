"""Each model against one baseline: people's shares beside metrics' differences, held to scipy and to counting."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
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
    Prompt,
    PromptSourceInfo,
    Row,
    SetMetric,
    Setup,
)
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.api.options import Options
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_core.statistics import krippendorff_alpha
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_people.validation import BaselineComparison, compare_with_baseline
from t2i_people.validation.output import print_validation

MODELS, PROMPTS, PEOPLE = ("base", "apple", "pear"), tuple(f"p{n}" for n in range(9)), ("ann", "bob", "cid")


def quality(model: str, prompt: str) -> float:
    """How good the images of a model are."""
    number = MODELS.index(model) * 100 + int(prompt[1:])
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


def _metric(
    name: str, better: bool, value: Callable[[str, str], float], kind: type[Metric] = Metric
) -> MetricInfo:
    class Own(kind):  # type: ignore[misc, valid-type]
        needs = (Need("features", "features"),)

        def measure(self, unit: Any) -> Iterator[Row]:
            prompt = "" if kind is SetMetric else unit.prompt.id
            yield Row(name, value(unit.models[0], prompt))

    measures = (Measure(name, "V.", higher_is_better=better),)
    return MetricInfo(name=name, summary="M.", create=Own, measures=measures)


METRICS = (
    _metric("sharp", True, quality),
    _metric("blurred", False, lambda model, prompt: -quality(model, prompt)),
    _metric("constant", True, lambda model, prompt: 2.0),
    _metric("whole", False, lambda model, prompt: 10.0 * MODELS.index(model), SetMetric),
)
PAINTER = GeneratorInfo(name="painter", summary="Noise.", options=_Shade, create=_Painter)
SOURCE = PromptSourceInfo(name="some", summary="S.", prompts=lambda _: [Prompt(id, f"cat {id}") for id in PROMPTS])
RESOLVER = StaticResolver(TEST_JUDGE, SOURCE, PAINTER, *METRICS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("baseline")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        models = [ModelRequest(PAINTER, label, {"shade": n}) for n, label in enumerate(MODELS)]
        yield evaluate(list(METRICS), models, prompts="some", seeds=1, out=folder / "run", resolver=RESOLVER)


def answer(rater: str, model: str, prompt: str, said: float, turned: bool) -> HumanAnswer:
    """Return a preference: 1 for the model, -1 for the baseline, 0 for a tie."""
    shown = [ShownImages(model, (0,)), ShownImages("base", (0,))]
    names = {1: "left", -1: "right", 0: "tie"}
    return HumanAnswer(
        rater, "preference", names[-said if turned else said], tuple(shown[::-1] if turned else shown), prompt
    )


def prefer() -> list[tuple[str, str, str, int]]:
    """Return rater, model, prompt and what the rater says of the model against the baseline."""
    rng = np.random.default_rng(3)
    found = []
    for rater in PEOPLE:
        for model in MODELS[1:]:
            for prompt in PROMPTS:
                gap = quality(model, prompt) - quality("base", prompt) + rng.normal(scale=0.8)
                found.append((rater, model, prompt, 0 if abs(gap) < 0.3 else int(np.sign(gap))))
    return found


Compare = Callable[..., BaselineComparison]


@pytest.fixture
def compare(run: Run, tmp_path: Path) -> Compare:
    def call(answers: Sequence[HumanAnswer], **how: Any) -> BaselineComparison:
        write_answers(tmp_path / "answers.csv", answers)
        how = {"baseline": "base", **how}
        return compare_with_baseline([run.folder], tmp_path / "answers.csv", resolver=RESOLVER, **how)

    return call


def test_shares_alphas_differences_and_rho_are_those_of_scipy(compare: Compare) -> None:
    told = prefer()
    found = compare([answer(*each, turned=number % 2 == 0) for number, each in enumerate(told)])
    assert [(each.a, each.b) for each in found.preferences] == [("apple", "base"), ("pear", "base")]
    for preference in found.preferences:
        own = [each for each in told if each[1] == preference.a]
        decided = [said for *_, said in own if said]
        assert preference.share == pytest.approx(np.mean(np.array(decided) > 0))
        assert preference.ci is not None
        assert preference.ci[0] < preference.share < preference.ci[1]
        raters, _, prompts, said = zip(*own, strict=True)
        assert preference.alpha == pytest.approx(krippendorff_alpha(prompts, raters, said, excluded=(0,)).value)
        assert preference.alpha_with_ties == pytest.approx(krippendorff_alpha(prompts, raters, said).value)
        gaps = {p: quality(preference.a, p) - quality("base", p) for p in PROMPTS}
        shares = {
            p: np.mean([s for _, _, q, s in own if q == p and s])
            for p in PROMPTS
            if any(s for _, _, q, s in own if q == p)
        }
        expected = stats.spearmanr([round(gaps[p], 9) for p in shares], list(shares.values()))
        lines = {line.predictor.metric: line for line in found.metrics if line.model == preference.a}
        for name, sign in (("sharp", 1), ("blurred", -1)):
            line = lines[name]
            assert line.difference == pytest.approx(sign * np.mean(list(gaps.values())))
            assert line.ci is not None
            assert line.ci[0] < line.difference < line.ci[1]
            assert (line.rho, line.p) == (pytest.approx(sign * expected.statistic), pytest.approx(expected.pvalue))
            assert (line.n, line.share, line.absent) == (len(shares), preference.share, {})
            assert line.rho_ci is not None
            assert line.rho_ci[0] < line.rho < line.rho_ci[1]


def test_a_constant_metric_and_a_set_have_a_reason_in_place_of_a_value(compare: Compare) -> None:
    found = compare([answer(*each, turned=False) for each in prefer()])
    lines = {(line.predictor.metric, line.model): line for line in found.metrics}
    constant = lines["constant", "pear"]
    assert (constant.difference, constant.ci, constant.rho, constant.p) == (0, None, None, None)
    assert constant.absent.keys() == {"ci", "rho"}
    whole = lines["whole", "pear"]
    assert (whole.difference, whole.rho) == (20, None)  # the metric's own sign, although lower is better
    assert "rho" in whole.absent
    about = [note for note in found.notes if "constant" in note]
    assert len(about) == 2  # one for each value that is absent, with both models
    assert all("apple, pear" in note for note in about)


@pytest.mark.parametrize("said", [1, -1, 0])
def test_people_who_all_say_the_same_have_no_correlation(compare: Compare, said: int) -> None:
    found = compare([answer(rater, model, prompt, said, turned=False) for rater, model, prompt, _ in prefer()])
    for preference in found.preferences:
        assert preference.share == (None if said == 0 else (said + 1) / 2)
        assert (preference.alpha, preference.alpha_with_ties) == (None, None)
        assert preference.absent.keys() == {"alpha", "alpha_with_ties"} | ({"share"} if said == 0 else set())
    assert all(line.rho is None and line.absent["rho"] for line in found.metrics)
    # plain data without NaN
    json.dumps(found.to_json(), allow_nan=False)


def test_one_person_and_one_prompt_have_no_alpha_and_no_interval(compare: Compare) -> None:
    found = compare([answer("ann", "pear", "p0", 1, turned=False)])
    (preference,) = found.preferences
    assert (preference.share, preference.alpha) == (1, None)
    assert "alpha" in preference.absent
    assert all(line.rho is None and line.n <= 1 for line in found.metrics)


def test_every_form_of_output_has_every_line(
    compare: Compare, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    found = compare([answer(*each, turned=False) for each in prefer()])
    sharp = next(line for line in found.metrics if line.predictor.metric == "sharp")
    assert sharp.rho is not None
    for how in ("text", "markdown", "csv"):
        print_validation(found, how)  # type: ignore[arg-type]
        out = capsys.readouterr().out
        assert "nan" not in out.lower()
        if how == "csv":
            rows = list(csv.DictReader(io.StringIO(out)))
            assert len(rows) == len(found.metrics) == len(METRICS) * 2
            assert math.isclose(float(rows[0]["rho"]), sharp.rho)
        else:
            assert f"{sharp.rho:.3f}" in out


def test_a_baseline_that_nobody_compared_is_an_error(compare: Compare) -> None:
    answers = [answer(*each, turned=False) for each in prefer()]
    with pytest.raises(UnknownName, match="base"):
        compare(answers, baseline="bass")
    rating = HumanAnswer("ann", "rating", "4", (ShownImages("pear", (0,)),), "p0")
    other = HumanAnswer("ann", "rating", "2", (ShownImages("pear", (0,)),), "p1")
    with pytest.raises(BadOption, match="preferences"):
        compare([rating, other])
