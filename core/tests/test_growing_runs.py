"""`--until`: runs that draw images in looks and stop when it is safe."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections import Counter as TakenLevels
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import Run, evaluate
from t2i_core.api import (
    Excluded,
    Failure,
    Generated,
    GeneratorInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Price,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Row,
    TableMetric,
)
from t2i_core.api.errors import BadFolder, BadOption, CostLimitReached, T2IError
from t2i_core.api.progress import Silent
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.prompt_selection import order_prompts
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import TEST_JUDGE, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")

SEEDS = 8
PROMPTS = tuple(Prompt(f"p{n:02}", f"text {n}", facets={"kind": n % 4}) for n in range(24))
SOURCE = PromptSourceInfo(name="texts", summary="Twenty-four texts.", prompts=lambda setup: PROMPTS)


class Grey:
    """Draw grey images, lighter by `light`, with effects of prompts, seeds and images; fail for some."""

    def __init__(self, light: float, lost: int, drawn: list[tuple[str, int]]) -> None:
        self.light, self.lost, self.drawn = light, lost, drawn

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            number, seed = int(request.prompt.id[1:]), request.seed
            self.drawn.append((request.prompt.id, seed))
            if (number + seed) % 100 < self.lost:
                yield request, Failure("no paint")
                continue
            rng = np.random.default_rng([number, seed, int(1000 * (1 + self.light))])
            shared = np.random.default_rng([number]).normal(0, 0.1)
            value = 0.4 + self.light + shared + rng.normal(0, 0.12)
            grey = int(np.clip(round(255 * value), 1, 254))
            pixels = np.full((8, 8, 3), grey, np.uint8)
            pixels[0, 0] = (seed, number, int(100 * (1 + self.light)) % 250)  # no two images are equal
            yield request, Generated(pixels)


class Brightness(Metric):
    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", float(np.mean(unit.one().one("features").values)) / 255)


class NotOfAll(Brightness):
    """Leaves out the first prompts that are drawn, or all."""

    def __init__(self, left_out: set[str]) -> None:
        self.left_out = left_out

    def measure(self, unit: Any) -> Any:
        if unit.prompt.id in self.left_out:
            yield Excluded("not asked here")
        else:
            yield from super().measure(unit)


class OfPrompts(PromptMetric):
    needs = Brightness.needs

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", 0.5)


class OfTable(Brightness, TableMetric):
    computes_headline = True

    def aggregate(self, table: Any, weights: Any) -> Any:
        return {"brightness": float(np.average(table["value"], weights=weights))}


def describe_metric(name: str, create: type[Metric], **more: Any) -> MetricInfo:
    measure = Measure("brightness", "Mean of the pixels.", low=0, high=1, **more)
    return MetricInfo(name=name, summary="How light images are.", create=create, measures=(measure,))


METRIC = describe_metric("brightness", Brightness)
UP = describe_metric("lightness", Brightness, higher_is_better=True)
NO_RANGE = replace(METRIC, name="reward", measures=(Measure("brightness", "Mean of the pixels."),))
NEITHER = describe_metric("neither", Brightness, higher_is_better=None)


def describe_model(name: str, light: float, lost: int = 0) -> tuple[GeneratorInfo, list[tuple[str, int]]]:
    drawn: list[tuple[str, int]] = []
    info = GeneratorInfo(name=name, summary="Grey.", create=lambda setup: Grey(light, lost, drawn))
    return info, drawn


def run(*models: GeneratorInfo, out: str = "run", until: str | None = "verdict", **more: Any) -> Run:
    """Evaluate models on 24 prompts and eight seeds at most."""
    return evaluate(
        more.pop("metric", METRIC),
        list(models),
        prompts=more.pop("prompts", SOURCE),
        seeds=more.pop("seeds", SEEDS),
        until=until,
        out=Path(out),
        resolver=StaticResolver(TEST_JUDGE),
        **more,
    )


def read_looks(folder: str | Path) -> Any:
    return json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))["stopping"]


def test_a_large_difference_stops_the_run_before_all_images_are_drawn() -> None:
    (dark, drawn_dark), (light, drawn_light) = describe_model("dark", 0.0), describe_model("light", 0.15)
    found = run(dark, light)
    stopping = found.manifest.stopping
    assert stopping is not None
    last = stopping.looks[-1]
    assert last.left == []
    assert len(stopping.looks) < len(stopping.plan)
    assert last.images == len(drawn_dark) + len(drawn_light) < 2 * len(PROMPTS) * SEEDS
    assert stopping.verdict is not None
    assert stopping.verdict.startswith(f"decided after look {len(stopping.looks)}")
    (result, _), (comparison,) = found.results, found.comparisons
    assert (result.n_prompts, result.n_seeds) == (last.prompts, last.seeds)
    assert comparison.stopped is not None
    assert comparison.stopped.decision == "lower"
    assert comparison.stopped.plain_diff == pytest.approx(last.pairs[0].diff)
    lo, hi = comparison.ci
    assert lo is not None
    assert hi is not None
    assert lo < -0.15 < hi < 0
    assert comparison.n == last.prompts * last.seeds


def test_looks_are_spread_over_facets_and_nested() -> None:
    (dark, drawn), (light, _) = describe_model("dark", 0.0), describe_model("light", 0.004)
    found = run(dark, light, margin=0.0001)
    stopping = found.manifest.stopping
    assert stopping is not None
    assert [look.prompts for look in stopping.looks] == [look.prompts for look in stopping.plan]
    assert stopping.plan[-1].prompts == len(PROMPTS)
    ids = list(dict.fromkeys(prompt for prompt, _ in drawn))
    for look in stopping.looks:
        kinds = [int(prompt[1:]) % 4 for prompt in ids[: look.prompts]]
        assert max(map(kinds.count, range(4))) - min(map(kinds.count, range(4))) <= 1
    assert stopping.verdict is not None
    assert stopping.verdict.startswith("not decided")
    assert "all planned images" in stopping.verdict
    assert found.comparisons[0].stopped is not None
    assert found.comparisons[0].stopped.decision is None


def test_each_prompt_in_order_has_the_facet_levels_that_were_taken_least() -> None:
    kinds = [(n % 3, n * n % 7, n % 11 // 4) for n in range(60)]
    prompts = [Prompt(str(n), "text", facets=dict(zip("abc", kind, strict=True))) for n, kind in enumerate(kinds)]
    ordered = order_prompts(prompts)
    assert sorted(ordered, key=lambda prompt: int(prompt.id)) == prompts
    taken: TakenLevels[tuple[str, Any]] = TakenLevels()
    for number, prompt in enumerate(ordered):
        counts = [sum(taken[level] for level in each.facets.items()) for each in ordered[number:]]
        assert counts[0] == min(counts)
        taken.update(prompt.facets.items())


def test_many_prompts_are_ordered_at_once() -> None:
    prompts = [Prompt(str(n), "text", facets={"a": n % 7, "b": n % 101, "c": n % 13}) for n in range(8000)]
    started = time.process_time()
    assert len(order_prompts(prompts)) == 8000
    assert time.process_time() - started < 2  # trying each prompt in each step takes four seconds


def test_results_at_the_planned_end_are_those_of_a_run_of_all_samples() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.004)[0]
    grown, whole = run(*models, margin=0.0001), run(*models, until=None, out="whole")
    for a, b in zip(grown.results, whole.results, strict=True):
        assert (a.score, a.n_ok) == (pytest.approx(b.score), b.n_ok)
        assert a.ci == pytest.approx(b.ci)
    assert grown.comparisons[0].stopped is not None
    assert grown.comparisons[0].stopped.plain_diff == pytest.approx(whole.comparisons[0].diff)


def test_equal_models_are_surely_closer_than_the_margin() -> None:
    found = run(describe_model("one", 0.0)[0], describe_model("other", 0.0)[0], margin=0.2)
    assert found.comparisons[0].stopped is not None
    assert found.comparisons[0].stopped.decision == "close"
    assert found.manifest.stopping is not None
    assert "differ by less than 0.2" in str(found.manifest.stopping.verdict)


def test_the_worst_model_is_dropped_and_its_images_are_not_drawn() -> None:
    models = [describe_model(name, light) for name, light in (("bad", -0.3), ("best", 0.0), ("good", -0.012))]
    found = run(*(info for info, _ in models), until="best", margin=0.001, metric=UP)
    stopping = found.manifest.stopping
    assert stopping is not None
    assert stopping.looks[0].models == ["bad", "best", "good"]
    assert stopping.looks[-1].models == ["best", "good"]
    assert len(models[0][1]) < len(models[1][1])
    assert "bad" not in stopping.looks[0].best
    counts = {result.label: result.n_ok for result in found.results}
    assert counts["bad"] == len(models[0][1])
    ends = {(each.a, each.b): each.stopped.look for each in found.comparisons if each.stopped}
    assert ends["bad", "best"] < ends["best", "good"]


def test_width_stops_each_model_alone() -> None:
    found = run(describe_model("one", 0.0)[0], until="width=0.12")
    stopping = found.manifest.stopping
    assert stopping is not None
    assert [score.narrow for look in stopping.looks for score in look.scores] == [
        *[False] * (len(stopping.looks) - 1),
        True,
    ]
    assert found.results[0].ci == stopping.looks[-1].scores[0].ci
    assert len(stopping.looks) > 1


def test_most_images_limit_the_plan_and_the_verdict_says_so() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.004)[0]
    found = run(*models, max_images=200, margin=0.0001)
    stopping = found.manifest.stopping
    assert stopping is not None
    assert stopping.looks[-1].images <= 200
    assert "--max-images 200" in str(stopping.verdict)
    assert found.failed is None


@pytest.mark.long
def test_failed_samples_are_left_out_of_the_looks_and_tried_once() -> None:
    (dark, drawn), (light, _) = describe_model("dark", 0.0, lost=2), describe_model("light", 0.01)
    found = run(dark, light, margin=0.0001, max_failed=0.5)
    assert len(drawn) == len(set(drawn)) == len(PROMPTS) * SEEDS  # no look tries a failed sample again
    assert found.results[0].n_failed > 0
    assert found.comparisons[0].n == found.results[0].n_ok


def test_too_many_failures_end_the_run_at_that_look() -> None:
    (dark, drawn), (light, _) = describe_model("dark", 0.0, lost=50), describe_model("light", 0.01)
    found = run(dark, light)
    assert found.failed is not None
    assert "not decided" in found.failed
    assert len(drawn) < len(PROMPTS) * SEEDS


@pytest.mark.long
def test_one_failed_image_of_the_first_look_does_not_end_the_run() -> None:
    first = order_prompts(PROMPTS)[0]
    drawn: list[tuple[str, int]] = []

    class LosesOne(Grey):
        def generate(self, requests: Any) -> Iterator[Any]:
            for request in requests:
                if (request.prompt.id, request.seed) == (first.id, 3):
                    yield request, Failure("no paint")
                else:
                    yield from super().generate([request])

    lossy = GeneratorInfo(name="lossy", summary="Grey.", create=lambda setup: LosesOne(0.0, 0, drawn))
    found = run(lossy, describe_model("light", 0.004)[0], margin=0.0001)  # 1 of 80 is more than a hundredth
    assert found.failed is None
    assert found.manifest.stopping is not None
    assert found.results[0].n_failed == 1
    assert found.results[0].n_prompts == len(PROMPTS)


@pytest.mark.long
@pytest.mark.parametrize("until", ["verdict", "width=0.2"])
def test_a_look_without_values_does_not_stop_the_run(until: str) -> None:
    def measure_others(left_out: int) -> MetricInfo:
        ids = {prompt.id for prompt in order_prompts(PROMPTS)[:left_out]}
        return describe_metric(f"others-{left_out}", lambda setup: NotOfAll(ids))

    models = describe_model("dark", 0.0)[0], describe_model("light", 0.15)[0]
    stopping = run(*models, until=until, metric=measure_others(10)).manifest.stopping
    assert stopping is not None
    assert str(stopping.verdict).startswith("decided after look")
    first = stopping.looks[0]
    assert [each.diff for each in first.pairs] + [each.score for each in first.scores] in ([None], [None] * 2)
    none = run(*models, until=until, metric=measure_others(24), out="none")
    assert none.manifest.stopping is not None
    assert str(none.manifest.stopping.verdict).startswith("not decided")
    assert "value" in str(none.manifest.stopping.verdict)


class PaidGrey(Grey):
    """Draws as `Grey` does, and pays a cent for each image."""

    def __init__(self, light: float, drawn: list[tuple[str, int]], setup: Any) -> None:
        super().__init__(light, 0, drawn)
        self.budget = setup.budget

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            charge = self.budget.reserve(0.01)
            if charge is None:
                yield request, Failure("not sent")
                continue
            with charge:
                yield from super().generate([request])
                charge.settle(0.01)


@pytest.mark.long
def test_a_spent_budget_ends_the_run_with_the_looks_that_are_complete() -> None:
    def describe_paid(name: str, light: float) -> GeneratorInfo:
        return GeneratorInfo(
            name=name,
            summary="Grey, for a cent.",
            create=lambda setup: PaidGrey(light, drawn, setup),
            price=lambda options: Price(lambda item, capability: 0.01),
        )

    drawn: list[tuple[str, int]] = []
    models = describe_paid("dark", 0.0), describe_paid("light", 0.004)
    with pytest.raises(CostLimitReached):
        run(*models, max_cost=0.5, margin=0.0001)  # not enough for the first look
    found = run(*models, max_cost=1.5, margin=0.0001)
    stopping = found.manifest.stopping
    assert stopping is not None
    assert len(stopping.looks) == 2
    assert found.failed is not None
    assert found.failed.startswith("not decided after look 2")
    assert "--max-cost $1.50" in found.failed
    assert found.results[0].n_ok == stopping.looks[-1].prompts * SEEDS  # of the complete looks alone
    assert len(drawn) == 200
    more = run(*models, max_cost=2.5, margin=0.0001).manifest.stopping
    assert more is not None
    assert more.looks[:2] == stopping.looks
    assert len(more.looks) == len(more.plan)
    assert len(drawn) == 2 * len(PROMPTS) * SEEDS


class Counter(Silent):
    """Counts looks, and calls a function when one is shown."""

    def __init__(self, at: Callable[[int], None]) -> None:
        self.at, self.looks = at, 0

    def note(self, message: str) -> None:
        if message[:1].isdigit() and "/" in message.split()[0]:
            self.looks += 1
            self.at(self.looks)


class Dying(Silent):
    """Kills the process in the middle of a stage."""

    def __init__(self, left: int) -> None:
        self.left = left

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Any]:
        return nullcontext(self)

    def advance(self, count: int = 1, failed: int = 0) -> None:
        self.left -= count
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def die_at(look: int, number: int) -> None:
    if number == look:
        os.kill(os.getpid(), signal.SIGKILL)


def run_pair(progress: Any) -> Run:
    return run(describe_model("dark", 0.0)[0], describe_model("light", 0.03)[0], progress=progress)


def run_killed(make_progress: Callable[[], Any]) -> int | None:
    """Run in a forked process that kills itself; return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=lambda: run_pair(make_progress()))
    process.start()
    process.join(60)
    return process.exitcode


@pytest.mark.long
def test_killed_at_every_look_and_resumed_the_run_takes_the_same_looks() -> None:
    undisturbed = run_pair(False)
    wanted = undisturbed.manifest.stopping
    assert wanted is not None
    assert len(wanted.looks) > 1
    (Path("run") / "run.json").rename("undisturbed.json")
    os.environ["T2I_CACHE_DIR"] += "-of-the-killed"
    for look in range(1, len(wanted.looks) + 1):
        assert run_killed(partial(Counter, partial(die_at, look))) == -signal.SIGKILL
        known = read_looks("run")
        assert known["plan"] == [each.model_dump() for each in wanted.plan]
        assert known["looks"] == [each.model_dump() for each in wanted.looks[:look]]
        assert run_killed(partial(Dying, 250 + 100 * look)) == -signal.SIGKILL
    resumed = run_pair(False)
    assert resumed.manifest.stopping == wanted
    assert resumed.results == undisturbed.results
    assert resumed.comparisons == undisturbed.comparisons


def test_a_changed_rule_is_refused_midway_and_afterwards() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.15)[0]
    run(*models)
    before = read_looks("run")
    for changed in ({"margin": 0.1}, {"max_images": 400}, {"until": "width=0.2"}):
        with pytest.raises(BadFolder, match="give the same options"):
            run(*models, **changed)
        with pytest.raises(BadFolder, match="give the same options"):
            forecast_request(make_request(*models, **{"until": "verdict", **changed}), RESOLVER, Silent())
    with pytest.raises(BadFolder, match="holds another run"):
        run(*models, until=None)
    assert read_looks("run") == before
    assert run(*models).manifest.stopping == run(*models, out="elsewhere").manifest.stopping


RESOLVER = StaticResolver(TEST_JUDGE)


def make_request(*models: GeneratorInfo, **more: Any) -> Request:
    values: dict[str, Any] = {"prompts": SOURCE, "seeds": SEEDS, "out": Path("run"), "metrics": METRIC, **more}
    return Request(models=[ModelRequest(each) for each in models], **values)


def test_a_dry_run_tells_the_looks_and_the_most_images() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.15)[0]
    plan = forecast_request(make_request(*models, until="verdict"), RESOLVER, Silent())
    assert plan["stopping"]["most_images"] == plan["images"]["to_make"] == 2 * len(PROMPTS) * SEEDS
    assert plan["stopping"]["plan"][-1] == {"prompts": 24, "seeds": SEEDS}
    assert plan["stopping"]["margin"] == 0.05
    assert not Path("run").exists()


def test_a_headline_of_all_rows_is_refused_before_the_first_image() -> None:
    class Silently(OfTable):
        computes_headline = False

    dark, drawn = describe_model("dark", 0.0)
    models = dark, describe_model("light", 0.15)[0]
    declared = describe_metric("table", OfTable)
    with pytest.raises(BadOption, match="from all of them together"):
        forecast_request(make_request(*models, until="verdict", metrics=declared), RESOLVER, Silent())
    with pytest.raises(BadOption, match="from all of them together"):
        run(*models, metric=declared)
    assert not drawn
    with pytest.raises(BadOption, match="from all of them together"):  # found at the first look
        run(*models, metric=describe_metric("silently", Silently))


def test_a_damaged_or_another_plan_is_refused_in_one_line() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.15)[0]
    run(*models)
    path = Path("run/run.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    plan = manifest["stopping"]["plan"]
    for damage, words in (
        ({"until": 3}, "'stopping' in run.json is not valid"),
        ({"plan": plan[1:]}, "with looks of 12 x 8, 14 x 8"),
        ({"spending": None}, "planned with boundaries by 'obf' spending .*got boundaries by 'square'"),
    ):
        changed = {**manifest, "stopping": {**manifest["stopping"], **damage}}
        path.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(BadFolder, match=words) as caught:
            forecast_request(make_request(*models, until="verdict"), RESOLVER, Silent())
        assert "\n" not in str(caught.value)
        assert str(caught.value).count("--until verdict") == 0


def test_scores_say_up_to_which_look_their_own_model_was_drawn() -> None:
    models = [describe_model(name, light)[0] for name, light in (("bad", -0.3), ("best", 0.0), ("good", -0.012))]
    found = run(*models, until="best", margin=0.001, metric=UP)
    stopping = found.manifest.stopping
    assert stopping is not None
    for result in found.results:
        last = max(n for n, look in enumerate(stopping.looks, 1) if result.label in look.models)
        notes = [note for note in result.notes if "drawn up to look" in note]
        if last == len(stopping.plan):
            assert notes == []
        else:
            assert len(notes) == 1
            assert notes[0].startswith(f"drawn up to look {last} of {len(stopping.plan)};")
    assert any("look 1 of" in note for note in found.results[0].notes)
    width = run(models[0], until="width=0.2", out="width")
    assert not [note for note in width.results[0].notes if "look" in note]
    lost = describe_model("lost", 0.0, lost=50)[0]
    failed = run(lost, models[0], out="failed")
    assert not [note for result in failed.results for note in result.notes if "look" in note]


def test_most_images_that_limit_nothing_are_not_named() -> None:
    models = describe_model("dark", 0.0)[0], describe_model("light", 0.004)[0]
    stopping = run(*models, max_images=100_000, margin=0.0001).manifest.stopping
    assert stopping is not None
    assert str(stopping.verdict).endswith("these are all planned images")


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("compares models", {"models": 1}),
        ("at least 10 prompts", {"prompts": ["a text", "another"]}),
        ("one metric", {"metric": [METRIC, UP]}),
        ("--shard", {"shard": "1/2"}),
        ("--interval seeds", {"interval": "seeds"}),
        ("mean over images", {"metric": describe_metric("whole", OfPrompts)}),
        ("from all of them together", {"metric": describe_metric("table", OfTable)}),
        ("--margin belongs", {"until": "width=0.1", "margin": 0.1}),
        ("first look needs 160 images", {"max_images": 100}),
        ("--margin needs --until", {"until": None, "margin": 0.1}),
        ("--max-images needs --until", {"until": None, "max_images": 100}),
        ("must be verdict, best, or width=W", {"until": "width=-1"}),
        ("must be verdict, best, or width=W", {"until": "soon"}),
        ("--until needs --metric", {"metric": []}),
        ("verdict needs --margin: brightness has no range", {"metric": NO_RANGE}),
        ("neither a higher nor a lower", {"until": "best", "metric": NEITHER}),
    ],
)
def test_requests_that_cannot_stop_early_are_refused(words: str, more: dict[str, Any]) -> None:
    models = [describe_model("dark", 0.0)[0], describe_model("light", 0.15)[0]][: more.pop("models", 2)]
    with pytest.raises(BadOption, match=words) as caught:
        run(*models, **more)
    assert isinstance(caught.value, T2IError)
    assert "\n" not in str(caught.value)
