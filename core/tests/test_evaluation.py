"""Plans refuse what cannot work before anything runs; runs never turn an error into a number."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from t2i_core.api import (
    ClassScores,
    Defaults,
    Derive,
    Domain,
    Embedding,
    Excluded,
    ExecutionOption,
    ExistingImagesInfo,
    Failure,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Note,
    ObjectClass,
    Options,
    PairMetric,
    Price,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Query,
    Reward,
    Row,
    Scene,
    SceneObject,
    SelfJudgingInfo,
    SetMetric,
    TableMetric,
)
from t2i_core.api.errors import (
    BadFolder,
    BadOption,
    BadPrompts,
    BrokenPlugin,
    FailedRun,
    MissingDependency,
    NoJudge,
    UnknownName,
)
from t2i_core.api.image import load_image
from t2i_core.api.progress import Silent
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.manifest import make_manifest
from t2i_core.engine.plan import make_plan
from t2i_core.engine.prompt_selection import limit_prompts
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.results.measurement_table import TableBuilder
from t2i_core.results.result import UpperBound
from t2i_core.results.run import load_run
from t2i_core.results.run_list import ListedRun, list_runs
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import Store
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver
from t2i_core.testing.parts import sample_images


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("reward", unit.one().one("reward").value)


class Bias(Options):
    """Options of the metric."""

    bias: float = 0.0


BRIGHTNESS = MetricInfo(
    name="brightness",
    summary="Brightness.",
    options=Bias,
    create=Brightness,
    measures=(Measure("reward", "Mean.", facets=("object", "seed")),),
    defaults=Defaults(prompts="test-prompts", seeds=2),
)
TWIN = replace(BRIGHTNESS, name="twin")
RESOLVER = StaticResolver(TEST_JUDGE, TEST_PROMPTS)


def model(name: str, answer: Any, info: type[GeneratorInfo] = GeneratorInfo, **more: Any) -> GeneratorInfo:
    """A model whose image of a request is whatever `answer` makes of it."""

    class Model:
        def generate(self, requests: Any) -> Any:
            for request in requests:
                yield request, answer(request)

    return info(name=name, summary=name, create=lambda setup: Model(), **more)


def judge(name: str, answer: Any, capability: Any = "reward") -> JudgeInfo:
    class Judge:
        def observe(self, capability: str, queries: Any) -> Any:
            for query in queries:
                yield query, answer(query)

    return JudgeInfo(name=name, summary=name, capabilities={capability: frozenset()}, create=lambda setup: Judge())


def grey(request: Any) -> Generated:
    return Generated(np.full((4, 4, 3), 10 + request.seed, np.uint8))


# what becomes of bad images -----------------------------------------------------------------------------------

BAD_IMAGES = {
    "black": (lambda r: Generated(np.zeros((4, 4, 3), np.uint8)), "every pixel is black"),
    "nan": (lambda r: Generated(np.full((4, 4, 3), np.nan)), "not numbers"),
    "float": (lambda r: Generated(np.ones((4, 4, 3))), "must be uint8"),
    "shape": (lambda r: Generated(np.ones((4, 4), np.uint8)), "must be uint8"),
    "nothing": (lambda r: None, "gave NoneType"),
    "text": (lambda r: Generated("image"), "gave str"),
    "refused": (lambda r: Failure("the safety filter blanked it"), "safety filter"),
    "missing file": (lambda r: Generated(Path("not-there.png")), "cannot be read"),
}


@pytest.mark.parametrize("bad", BAD_IMAGES)
def test_a_bad_image_is_a_failed_sample_with_its_reason(bad: str, tmp_path: Path) -> None:
    answer, reason = BAD_IMAGES[bad]
    faulty = model("faulty", lambda r: answer(r) if r.seed == 1 else grey(r))
    run = evaluate(BRIGHTNESS, faulty, seeds=4, out=tmp_path / "run", resolver=RESOLVER)
    (result,) = run.results
    assert (result.n_ok, result.n_failed, result.n_missing) == (6, 2, 0)
    assert result.score == pytest.approx(np.mean([10, 12, 13]))
    assert "2 of 8 samples failed (25.0%)" in run.failed
    failures = run.failures()
    assert list(failures["seed"]) == [1, 1]
    assert failures["reason"].str.contains(reason).all()
    assert Counter(run.samples()["status"]) == {"ok": 6, "failed": 2}


def test_missing_images_are_counted_apart_and_do_not_fail_the_run(tmp_path: Path) -> None:
    gaps = model("gaps", lambda r: grey(r) if r.seed else Failure("no such file", missing=True))
    run = evaluate(BRIGHTNESS, gaps, seeds=4, out=tmp_path / "run", resolver=RESOLVER)
    (result,) = run.results
    assert (result.n_ok, result.n_failed, result.n_missing) == (6, 0, 2)
    assert run.failed is None


def test_a_run_without_any_value_has_no_score_and_has_failed(tmp_path: Path) -> None:
    nothing = model("nothing", lambda r: Failure("no"))
    run = evaluate(BRIGHTNESS, nothing, out=tmp_path / "run", resolver=RESOLVER)
    (result,) = run.results
    assert result.score is None
    assert result.ci is None
    assert "no sample has a value" in run.failed
    assert load_run(run.folder).failed == run.failed


def test_the_allowed_share_of_failures_is_an_option(tmp_path: Path) -> None:
    faulty = model("faulty", lambda r: Failure("no") if r.seed == 1 else grey(r))
    run = evaluate(BRIGHTNESS, faulty, seeds=4, out=tmp_path / "run", resolver=RESOLVER, max_failed=0.25)
    assert run.failed is None


# what becomes of bad judges -----------------------------------------------------------------------------------

BAD_ANSWERS = {
    "nan": (lambda q: Reward(float("nan")), "not numbers"),
    "another kind": (lambda q: ClassScores(np.ones(2, np.float32), ()), "gave ClassScores where Reward"),
    "nothing": (lambda q: None, "gave NoneType"),
    "failure": (lambda q: Failure("cannot see"), "cannot see"),
}


@pytest.mark.parametrize("bad", BAD_ANSWERS)
def test_a_bad_answer_is_a_failed_sample_with_its_reason(bad: str, tmp_path: Path) -> None:
    answer, reason = BAD_ANSWERS[bad]
    counter = iter(range(100))
    faulty = judge("faulty", lambda q: answer(q) if next(counter) % 3 == 0 else Reward(0.5))
    resolver = StaticResolver(faulty, TEST_PROMPTS)
    run = evaluate(BRIGHTNESS, TEST_MODEL, seeds=6, out=tmp_path / "run", resolver=resolver)
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (8, 4)
    assert result.score == 0.5
    assert run.failures()["reason"].str.contains(reason).all()


def test_failures_are_tried_again_by_the_next_run(tmp_path: Path) -> None:
    broken = [True]
    moody = model("moody", lambda r: Failure("not now") if broken[0] and r.seed == 0 else grey(r))
    first = evaluate(BRIGHTNESS, moody, out=tmp_path / "run", resolver=RESOLVER)
    broken[0] = False
    second = evaluate(BRIGHTNESS, moody, out=tmp_path / "run", resolver=RESOLVER)
    assert first.results[0].n_failed == 2
    assert second.results[0].n_failed == 0


def test_a_kept_image_that_was_altered_is_made_again(tmp_path: Path, cache: Path) -> None:
    first = evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "one", resolver=RESOLVER)
    for path in (cache / "images").glob("*/*.png"):
        path.write_bytes(bytes(len(path.read_bytes())))
    other = judge("other", lambda q: Reward(float(q.images[0].pixels.mean())))
    again = evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "two", resolver=StaticResolver(other, TEST_PROMPTS))
    assert again.failed is None
    assert again.results[0].score == pytest.approx(first.results[0].score)


# parts that break ---------------------------------------------------------------------------------------------


def test_a_factory_that_fails_is_named() -> None:
    def missing(setup: Any) -> Any:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    def of_another_version(setup: Any) -> Any:
        importlib.import_module("t2i_core.gone")

    def broken(setup: Any) -> Any:
        raise RuntimeError("bad weights")

    for create, error, said in (
        (missing, MissingDependency, "needs the module 'torch', which is not installed"),
        (of_another_version, BrokenPlugin, "failed to load: .*No module named 't2i_core.gone'"),
        (broken, BrokenPlugin, "bad weights"),
    ):
        info = GeneratorInfo(name="m", summary="m", create=create)
        with pytest.raises(error, match=said):
            evaluate(BRIGHTNESS, info, out="run", resolver=RESOLVER)


def test_a_metric_that_breaks_its_contract_is_named() -> None:
    def metric(rows: Any) -> MetricInfo:
        class Odd(Brightness):
            def measure(self, unit: Any) -> Any:
                return rows()

        return MetricInfo(name="odd", summary="Odd.", create=Odd, measures=(Measure("reward", "Mean."),))

    for rows, said in (
        (lambda: [Row("reward", float("nan"))], "gave nan for 'reward'"),
        (lambda: [Row("other", 1.0)], "'other'"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: sys.exit(0), "SystemExit: 0"),
        (lambda: [], "neither rows nor a failure on prompt 'car', seed 0"),
        (lambda: [Row("reward", 1.0, {"n": 1})] * 2, "two rows of 'reward' that no facet tells apart"),
        (lambda: [Row("reward", 1.0, {"n": float("nan")})], "a facet 'n' that is neither a text nor a number"),
        (lambda: [Row("reward", 1.0, None)], "AttributeError"),
        (lambda: [1.0], "gave float"),
        (lambda: [Excluded(None)], "reason of Excluded"),
    ):
        with pytest.raises(BrokenPlugin, match=said):
            evaluate(metric(rows), TEST_MODEL, prompts="test-prompts", out="run", resolver=RESOLVER)


# plans --------------------------------------------------------------------------------------------------------


def plan(**more: Any) -> Any:
    given: dict[str, Any] = {"metrics": (BRIGHTNESS,), "models": (ModelRequest(TEST_MODEL),), **more}
    return make_plan(Request(**given), RESOLVER)


def test_defaults_are_the_domains_before_the_metrics() -> None:
    assert plan().jobs[0].seeds == (0, 1)
    world = Domain("world", "A world.", metrics={"brightness": Defaults(seeds=3, options={"bias": 1})})
    there = GeneratorInfo(name="there", summary="There.", create=lambda s: None, domain=world)
    job = plan(models=(ModelRequest(there),)).jobs[0]
    assert job.seeds == (0, 1, 2)
    assert job.metric.options.bias == 1
    job = plan(models=(ModelRequest(there),), options={"brightness": {"bias": 2}}, seeds=(7,)).jobs[0]
    assert job.seeds == (7,)
    assert job.metric.options.bias == 2


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"models": ()}, BadOption, "no model"),
        ({"models": (ModelRequest(TEST_MODEL), ModelRequest(TEST_MODEL))}, BadOption, "'test-noise'"),
        ({"limit": 0}, BadOption, "--limit"),
        ({"max_failed": 2.0}, BadOption, "--max-failed"),
        ({"seeds": (-1,)}, BadOption, "--seeds"),
        ({"options": {"brightnes": {"bias": 1}}}, UnknownName, "did you mean 'brightness'"),
        (
            {"options": {"zzz": {"bias": 1}}},
            UnknownName,
            "options of 'zzz'",
        ),
        ({"options": {"brightness": {"bais": 1}}}, BadOption, "bais"),
        ({"judges": ("test-mean", "other=nobody")}, BadOption, "--judge 'other=nobody'"),
        ({"prompts": ("test-promts",)}, UnknownName, "did you mean 'test-prompts'"),
        ({"prompts": ("nowhere.txt",)}, BadPrompts, "nowhere.txt"),
        ({"metrics": ("brigthness",)}, UnknownName, "metric 'brigthness'"),
    ],
)
def test_errors_are_reported_before_anything_runs(wrong: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        plan(**wrong)


def test_a_judge_that_cannot_know_a_class_that_the_metric_asks_about_is_refused() -> None:
    class Asks(Metric):
        needs = (Need("objects", "segment", classes=lambda prompt: [ObjectClass(prompt.text)]),)

    metric = MetricInfo(name="asks", summary="a", create=Asks, measures=(Measure("found", "Found."),))
    for text in ("cow", "dog"):
        source = PromptSourceInfo(name="p", summary="p", prompts=lambda setup, text=text: [Prompt("1", text)])
        request = Request(metrics=(metric,), models=(ModelRequest(TEST_MODEL),), prompts=("p",))
        resolver = StaticResolver(TEST_JUDGE, source)
        if text == "dog":
            make_plan(request, resolver)
        else:
            said = "does not know cow, which metric 'asks' asks about; it knows car, dog$"
            with pytest.raises(NoJudge, match=said):
                make_plan(request, resolver)


def test_a_judge_that_cannot_know_the_prompts_classes_is_refused() -> None:
    class Finds(Metric):
        needs = (Need("objects", "segment", knows=True),)

    cow = Prompt("cow", "a cow", scene=Scene((SceneObject(ObjectClass("cow", "cow.n.01")),)))
    blank = Prompt("sky", "the sky")
    for prompt, error, said in (
        (cow, NoJudge, "does not know cow, .* it knows car, dog$"),
        (blank, BadPrompts, "'the sky'"),
    ):
        source = PromptSourceInfo(name="p", summary="p", prompts=lambda setup, prompt=prompt: [prompt])
        metric = MetricInfo(name="finds", summary="f", create=Finds, measures=(Measure("found", "Found."),))
        request = Request(metrics=(metric,), models=(ModelRequest(TEST_MODEL),), prompts=("p",))
        with pytest.raises(error, match=said):
            make_plan(request, StaticResolver(TEST_JUDGE, source))
    many = tuple(ObjectClass(f"kind {i}") for i in range(31))
    judge = replace(TEST_JUDGE, labels=lambda argument, options: many)
    source = PromptSourceInfo(name="p", summary="p", prompts=lambda setup: [cow])
    with pytest.raises(NoJudge, match=r"it knows kind 0, .*, kind 29, \.\.\.$"):
        make_plan(request, StaticResolver(judge, source))


def test_a_judge_where_none_is_asked_for_is_refused() -> None:
    class Plain(Brightness):
        needs = (Need("image", "pixels", derive=Derive("dark", lambda pixels, _: {"dark": pixels.mean(axis=2)})),)

    metric = MetricInfo(name="plain", summary="p", create=Plain, measures=BRIGHTNESS.measures)
    request = Request(
        ("plain",), (ModelRequest(TEST_MODEL),), prompts=("test-prompts",), judges=(TEST_JUDGE.name,)
    )
    with pytest.raises(NoJudge, match=f"^--judge {TEST_JUDGE.name}: plain asks no judge"):
        make_plan(request, StaticResolver(metric, TEST_JUDGE, TEST_PROMPTS))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("finder", "--judge finder: the judge you asked for offers detect; named needs segment"),
        (
            "segment=finder:x",
            "--judge segment=finder:x: the judge you asked for offers detect; named needs segment",
        ),
        (
            "detect=finder",
            "--judge detect=finder: the judge you asked for offers detect; named needs segment",
        ),
    ],
)
def test_a_judge_of_the_wrong_kind_is_refused_before_another_is_looked_for(word: str, said: str) -> None:
    class Outlines(Brightness):
        needs = (Need("outlines", "segment"),)

    def away(setup: Any) -> None:
        raise AssertionError("the judge that nobody asked for is looked for")

    metric = MetricInfo(name="named", summary="n", create=Outlines, measures=BRIGHTNESS.measures)
    finder = judge("finder", lambda query: Failure("no"), "detect")
    other = replace(
        judge("other", lambda query: Failure("no"), "segment"), loading=Loading(check=away, resolve=away)
    )
    request = Request(("named",), (ModelRequest(TEST_MODEL),), prompts=("test-prompts",), judges=(word,))
    resolver = StaticResolver(metric, replace(finder, argument="x"), other, TEST_PROMPTS)
    with pytest.raises(NoJudge) as error:
        make_plan(request, resolver)
    assert str(error.value).startswith(said)


def test_a_judge_that_serves_through_an_adapter_or_one_metric_of_two_is_of_use() -> None:
    vectors = judge("vectors", lambda query: Failure("no"), "embed")
    finder = judge("finder", lambda query: Failure("no"), "detect")

    class Boxes(Brightness):
        needs = (Need("boxes", "detect"),)

    boxes = MetricInfo(name="boxes", summary="b", create=Boxes, measures=BRIGHTNESS.measures)
    model = (ModelRequest(TEST_MODEL),)
    request = Request((BRIGHTNESS, boxes), model, prompts=("test-prompts",), judges=("vectors", "finder"))
    planned = make_plan(request, StaticResolver(vectors, finder, TEST_PROMPTS))
    assert [s.choice.judge.name for job in planned.jobs for s in job.needs if s.choice] == ["vectors", "finder"]


@pytest.mark.parametrize("offline", [False, True])
def test_prompt_sources_are_told_whether_anything_may_be_fetched(offline: bool) -> None:
    told = []
    source = PromptSourceInfo(
        name="p", summary="p", prompts=lambda setup: told.append(setup.offline) or [Prompt("x", "a")]
    )
    request = Request(("brightness",), (ModelRequest(TEST_MODEL.name),), prompts=("p",), offline=offline)
    make_plan(request, StaticResolver(TEST_MODEL, TEST_JUDGE, source, BRIGHTNESS))
    assert told == [offline]


def test_prompts_need_unique_ids() -> None:
    source = PromptSourceInfo(name="p", summary="p", prompts=lambda setup: [Prompt("x", "a"), Prompt("x", "b")])
    with pytest.raises(BadPrompts, match="the id 'x'"):
        make_plan(
            Request(metrics=(BRIGHTNESS,), models=(ModelRequest(TEST_MODEL),), prompts=("p",)),
            StaticResolver(TEST_JUDGE, source),
        )


def test_the_forecast_counts_what_is_kept(tmp_path: Path) -> None:
    before = forecast_plan(plan())
    assert before["images"]["to_make"] == before["observations"]["to_make"] == 4
    assert before["images"]["seconds"] is None
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    after = forecast_plan(plan(seeds=(0, 1, 2)))
    assert (after["images"]["kept"], after["images"]["to_make"]) == (4, 2)
    assert (after["observations"]["kept"], after["observations"]["to_make"]) == (4, 2)
    assert after["images"]["seconds"] > 0
    assert json.loads(json.dumps(after)) == after


class Shared(Metric):
    """Asks of each image what `Brightness` asks through the adapter, and of each prompt's text, too."""

    needs = (Need("image", "embed"), Need("text", "embed", images="prompt", queries=lambda s: [_text_of(s)]))

    def measure(self, unit: Any) -> Any:
        yield Row("reward", 1.0)


def _text_of(samples: Any) -> Query:
    return Query(texts=(samples[0].prompt.text,))


def test_the_forecast_counts_once_what_metrics_and_samples_share() -> None:
    vectors = judge("vectors", lambda query: Embedding(np.ones(3, np.float32)), "embed")
    shared = MetricInfo(name="shared", summary="s", create=Shared, measures=BRIGHTNESS.measures)
    again = replace(shared, name="again", create=lambda setup: Shared(setup))
    request = Request((BRIGHTNESS, shared, again), (ModelRequest(TEST_MODEL),), ("test-prompts",), seeds=(0, 1, 2))
    resolver = StaticResolver(vectors, TEST_PROMPTS)

    def counts(**more: Any) -> list[tuple[int, int]]:
        found = forecast_plan(make_plan(replace(request, **more), resolver))
        return [(found[what]["to_make"], found[what]["kept"]) for what in ("images", "observations")]

    assert counts() == [(6, 0), (6 + 2, 0)]  # each image once, and each text
    assert counts(shard=(1, 2)) == counts(shard=(2, 2)) == [(3, 0), (3 + 2, 0)]
    evaluate(
        (BRIGHTNESS, shared, again), TEST_MODEL, prompts="test-prompts", seeds=3, out="run", resolver=resolver
    )
    assert counts() == [(0, 6), (0, 8)]
    assert counts(seeds=(0, 1, 2, 3)) == [(2, 6), (2, 8)]


def test_the_forecast_counts_the_requests_to_each_paid_judge() -> None:
    free = judge("free", lambda query: Embedding(np.ones(3, np.float32)), "embed")
    price = Price(lambda query, capability: 0.5 if capability == "embed" else 0)
    paid = replace(free, name="paid", price=lambda options: price)
    shared = MetricInfo(name="shared", summary="s", create=Shared, measures=BRIGHTNESS.measures)
    request = Request((shared,), (ModelRequest(TEST_MODEL),), ("test-prompts",), seeds=(0, 1, 2))
    resolver = StaticResolver(free, paid, TEST_PROMPTS)
    both = forecast_plan(make_plan(replace(request, judges=("free", "paid")), resolver))
    count = both["observations"]["to_make"] // 2
    part = {"kind": "judge", "component": "paid", "to_make": count, "kept": 0, "unknown": 0, "set_first": ""}
    part["is_bound"] = True
    assert both["cost"] == {"most": count / 2, "limit": None, "components": [{**part, "most": count / 2}]}
    assert "cost" not in forecast_plan(make_plan(replace(request, judges=("free",)), resolver))


def test_the_forecast_says_which_images_a_folder_lacks(tmp_path: Path) -> None:
    def look_up(request: Any) -> Any:
        if request.seed == 3:
            return Failure("no such image", missing=True)
        file = tmp_path / f"{request.prompt.id}-{request.seed}.png"
        PILImage.new("RGB", (4, 4), (10, 20, request.seed + 1)).save(file)
        return Generated(file)

    lacking = model("pics", look_up, ExistingImagesInfo, holds=lambda setup: lambda prompt, seed: seed < 3)
    planned = plan(models=(ModelRequest(lacking),), metrics=(BRIGHTNESS, TWIN), seeds=(0, 1, 2, 3))
    for _ in range(2):
        found = forecast_plan(planned)
        assert [found["images"][n] for n in ("to_make", "kept", "missing")] == [0, 6, 2]
        assert "pics: 2 of 8 images are missing" in found["notes"]
        assert found["observations"]["to_make"] + found["observations"]["kept"] == 6
        evaluate((BRIGHTNESS, TWIN), lacking, seeds=4, resolver=RESOLVER)


class OwnImages(Brightness):
    """Looks at the images that prompts bring."""

    needs = (Need("reward", "reward", images="prompt", queries=lambda s: [Query(s[0].own_images, ("text",))]),)


class OfTexts(Metric):
    """Looks at no image."""

    needs = (Need("text", "embed", images="prompt", queries=lambda s: [_text_of(s)]),)

    def measure(self, unit: Any) -> Any:
        yield Row("reward", float(len(unit.one().prompt.text)))


def test_a_metric_that_uses_no_model_runs_without_one_and_compares_none() -> None:
    vectors = judge("vectors", lambda query: Embedding(np.ones(3, np.float32)), "embed")
    texts = MetricInfo(name="texts", summary="s", create=OfTexts, measures=BRIGHTNESS.measures)
    resolver = StaticResolver(vectors, TEST_PROMPTS)
    run = evaluate(texts, prompts="test-prompts", out="alone", resolver=resolver)
    assert [(result.model, result.label) for result in run.results] == [("no model", "no model")]
    assert run.results[0].n_ok == 2
    both = [ModelRequest(TEST_MODEL, "a"), ModelRequest(TEST_MODEL, "b")]
    said = []

    class Heard(Silent):
        def note(self, message: str) -> None:
            said.append(message)

    compared = evaluate(texts, both, prompts="test-prompts", out="both", resolver=resolver, progress=Heard())
    assert [result.score for result in compared.results] == [run.results[0].score] * 2
    assert not compared.comparisons
    assert said == ["texts: a and b are not compared: the metric uses no model"]
    with pytest.raises(BadOption, match="no model to evaluate"):
        evaluate((texts, BRIGHTNESS), prompts="test-prompts", resolver=resolver)


def test_a_dry_plan_needs_no_images_that_are_not_made_yet(tmp_path: Path) -> None:
    def prompts(setup: Any) -> Iterator[Prompt]:
        for n in range(3):
            path = tmp_path / f"{n}.png"
            if not setup.dry:
                PILImage.new("RGB", (4, 4), (n, 0, 0)).save(path)
            yield Prompt(f"p{n}", "text", images=(str(path),))

    source = PromptSourceInfo(name="pictures", summary="p", prompts=prompts)
    metric = MetricInfo(name="own", summary="s", create=OwnImages, measures=BRIGHTNESS.measures)
    request = Request((metric,), (ModelRequest(TEST_MODEL),), ("pictures",))
    resolver = StaticResolver(TEST_JUDGE, source)
    told = forecast_plan(make_plan(request, resolver, dry=True))
    assert told["observations"]["to_make"] == 3
    assert told["folder"] is None
    assert "3 images that prompts bring are not there yet: the run makes them first" in told["notes"]
    assert not list(tmp_path.glob("*.png"))
    assert (
        forecast_plan(make_plan(replace(request, out=tmp_path / "run"), resolver, dry=True))["folder"] is not None
    )
    made = make_plan(request, resolver)
    after = forecast_plan(make_plan(request, resolver, dry=True))
    assert after["folder"] == forecast_plan(made)["folder"] == str(made.folder)
    assert after["observations"]["to_make"] == 3


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    with pytest.raises(BadFolder, match="holds no run"):
        evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "full", resolver=RESOLVER)
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    with pytest.raises(BadFolder, match="holds another run"):
        evaluate(BRIGHTNESS, TEST_MODEL, seeds=5, out=tmp_path / "run", resolver=RESOLVER)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFolder, match="name another folder"):
        evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "file", resolver=RESOLVER)


def test_samples_of_prompts_that_were_cut_are_counted(tmp_path: Path) -> None:
    class Short:
        def generate(self, requests: Any) -> Iterator[Any]:
            for request in requests:
                lost = 3 if request.seed == 1 and "red" in request.prompt.text else 0
                yield request, Generated(np.full((8, 8, 3), 50 + request.seed, np.uint8), {"tokens_lost": lost})

    model = GeneratorInfo(name="short", summary="Short.", create=lambda setup: Short())
    (tmp_path / "p.txt").write_text("a red disc\na blue disc\na red box\n")
    run = evaluate(
        BRIGHTNESS, model, prompts=str(tmp_path / "p.txt"), seeds=3, out=tmp_path / "run", resolver=RESOLVER
    )
    (result,) = run.results
    assert (result.n_ok, result.n_truncated) == (9, 2)
    assert any("2 samples were drawn from a part of their prompt" in note for note in result.notes)

    class Notes(Silent):
        def note(self, message: str) -> None:
            said.append(message)

    request = Request(
        (), (ModelRequest(model),), (str(tmp_path / "p.txt"),), seeds=(0, 1, 2), out=tmp_path / "set"
    )
    for _ in range(2):  # a repeat makes no image, and says it all the same
        said: list[str] = []
        drawn = run_plan(make_plan(request, RESOLVER), Notes())
        assert [each.n_truncated for each in drawn.manifest.datasets] == [2]
        assert load_run(tmp_path / "set").manifest.datasets[0].n_truncated == 2
        assert [note for note in said if note.startswith("short: 2 samples were drawn from a part")]


def test_facets_of_prompts_and_reasons_of_failures_are_shown(tmp_path: Path) -> None:
    metric = replace(BRIGHTNESS, measures=(Measure("reward", "Mean.", facets=("*", "seed")),))
    (tmp_path / "p.csv").write_text("prompt,kind\na dog,animal\na cat,animal\na car,thing\n")
    run = evaluate(metric, TEST_MODEL, prompts=str(tmp_path / "p.csv"), out=tmp_path / "run", resolver=RESOLVER)
    (result,) = run.results
    assert set(result.facets["reward"]) == {"kind", "seed"}
    assert set(result.facets["reward"]["kind"]) == {"animal", "thing"}

    class Refuses:
        def generate(self, requests: Any) -> Iterator[Any]:
            for request in requests:
                yield request, Failure("the moon is full" if request.seed else "no time")

    refusing = GeneratorInfo(name="refusing", summary="Refuses.", create=lambda setup: Refuses())
    run = evaluate(BRIGHTNESS, refusing, seeds=3, out=tmp_path / "other", resolver=RESOLVER)
    assert run.failed is not None
    assert "failures.csv says why: 4 x the moon is full; 2 x no time" in run.failed


def test_options_are_resolved_with_device_and_network(tmp_path: Path) -> None:
    seen: set[tuple[str, str | None, bool]] = set()

    def resolve(setup: Any) -> Any:
        seen.add(("resolve", setup.device, setup.offline))
        return setup.options

    model = replace(
        TEST_MODEL,
        loading=Loading(resolve=resolve, check=lambda setup: seen.add(("check", setup.device, setup.offline))),
    )
    evaluate(BRIGHTNESS, model, offline=True, device="cpu", out=tmp_path / "run", resolver=RESOLVER)
    assert seen == {("resolve", "cpu", True), ("check", "cpu", True)}


def test_a_metrics_version_is_recorded_and_makes_nothing_anew(tmp_path: Path) -> None:
    raised = replace(BRIGHTNESS, version=2)
    runs = [evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "one", resolver=RESOLVER)]
    told = forecast_plan(plan(metrics=(raised,)))
    assert (told["images"]["to_make"], told["observations"]["to_make"]) == (0, 0)
    runs.append(evaluate(raised, TEST_MODEL, out=tmp_path / "two", resolver=RESOLVER))
    versions = [{c.name: c.metric_version for c in run.manifest.components if c.metric_version} for run in runs]
    assert versions == [{"brightness": 1}, {"brightness": 2}]


def test_runs_can_be_listed_and_read(tmp_path: Path) -> None:
    run = evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "runs" / "one", resolver=RESOLVER)
    (listed,) = list_runs(tmp_path / "runs")
    assert isinstance(listed, ListedRun)
    assert (listed.status, listed.metrics, listed.models) == (
        "done",
        ("brightness",),
        {"test-noise": "test-noise"},
    )
    assert [(s.headline, s.label, s.score, s.ci, s.signature) for s in listed.scores] == [
        (r.headline, r.label, r.score, r.ci, r.signature) for r in run.results
    ]
    found = load_run(listed.folder)
    assert found.results == run.results
    manifest = found.manifest
    assert manifest.models["test-noise"].reported == {"size": 32}
    assert manifest.packages["numpy"] == np.__version__
    # a run that takes all images from the store says the same of the model, which it never loads
    again = evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "again", resolver=RESOLVER)
    assert again.manifest.models == manifest.models
    table = found.measurements()
    assert list(table["metric"].unique()) == ["brightness"]
    facets = run.results[0].facets["reward"]
    assert set(facets) == {"object", "seed"}
    car = facets["object"]["car"]
    assert car.value == pytest.approx(table[table["object"] == "car"]["value"].mean())


def test_the_plan_names_the_folder_so_that_the_same_command_goes_on() -> None:
    assert plan().folder == plan().folder
    assert plan().folder != plan(seeds=(5,)).folder
    assert plan().folder.parent == Path("t2i-runs")


def test_noise_per_prompt_is_another_image() -> None:
    shared = evaluate(BRIGHTNESS, TEST_MODEL, out="a", resolver=RESOLVER)
    drawn = evaluate(BRIGHTNESS, TEST_MODEL, out="b", resolver=RESOLVER, noise="per-prompt")
    assert set(shared.samples()["digest"]).isdisjoint(drawn.samples()["digest"])
    # Seeds that have no noise in common are not resampled as such.
    methods = [run.results[0].interval.partition(";")[0] for run in (shared, drawn)]
    assert ["seeds" in method for method in methods] == [True, False]


def existing(folder: Path, name: str, why: Any) -> GeneratorInfo:
    """A model of existing images that says why prompts do not share its seeds."""

    def look_up(request: Any) -> Generated:
        file = folder / f"{name}-{request.prompt.id}-{request.seed}.png"
        rng = np.random.default_rng(list(file.name.encode()))
        PILImage.fromarray(rng.integers(1, 256, (4, 4, 3), dtype=np.uint8)).save(file)
        return Generated(file)

    return model(name, look_up, ExistingImagesInfo, unshared_seeds=lambda setup: why)


def test_models_are_crossed_by_seed_only_if_both_share_their_seeds(tmp_path: Path) -> None:
    named, unnamed = existing(tmp_path, "named", None), existing(tmp_path, "unnamed", "2 of 9 images name no seed")
    asked = [named, unnamed, TEST_MODEL]
    run = evaluate(BRIGHTNESS, asked, seeds=3, out="run", resolver=RESOLVER)
    plain = evaluate(BRIGHTNESS, asked, seeds=3, out="plain", resolver=RESOLVER, noise="per-prompt")
    assert [("x seeds" in r.interval) for r in run.results] == [True, False, True]
    assert {(c.a, c.b): "x seeds" in c.interval for c in run.comparisons} == {
        ("named", "unnamed"): False,
        ("named", "test-noise"): True,
        ("unnamed", "test-noise"): False,
    }
    assert (run.results[1].ci, run.results[1].interval) == (plain.results[1].ci, plain.results[1].interval)
    assert run.comparisons[0] == replace_p(plain.comparisons[0], run.comparisons[0].p_adjusted)
    note = "unnamed: 2 of 9 images name no seed, so seeds are not crossed with prompts"
    assert [note in r.notes for r in run.results] == [False, True, False]
    assert not any(note in r.notes for r in plain.results)  # there, --noise is the reason
    recorded = {label: each.unshared_seeds for label, each in run.manifest.models.items()}
    assert recorded == {"named": None, "unnamed": "2 of 9 images name no seed", "test-noise": None}
    assert "unshared_seeds" not in run.manifest.to_json()["models"]["named"]


def replace_p(comparison: Any, p: float) -> Any:
    """The same comparison with another adjusted p, which depends on the run's other comparisons."""
    return comparison.model_copy(update={"p_adjusted": p})


def test_a_metric_of_pairs_is_crossed_by_seed_only_if_all_models_share_their_seeds(tmp_path: Path) -> None:
    class Wins(TableMetric, PairMetric):
        needs = (
            Need("battle", "prefer", queries=lambda s: [Query((s[0].image, s[1].image), (s[0].prompt.text,))]),
        )

        def measure(self, unit: Any) -> Any:
            yield Row("win", float(unit.one().one("battle").verdict == "first"))

        def aggregate(self, table: Any, weights: Any) -> Any:
            share = float(weights @ table["value"] / weights.sum())
            return {"named": share, "other": 1 - share}

    wins = MetricInfo(name="wins", summary="W.", create=Wins, measures=(Measure("win", "W.", low=0, high=1),))
    for why, crossed in ((None, True), ("no image names a seed", False)):
        models = [existing(tmp_path, "named", None), existing(tmp_path, "other", why)]
        run = evaluate(wins, models, prompts="test-prompts", seeds=3, out=f"{crossed}", resolver=RESOLVER)
        assert ["x seeds" in each.interval for each in (*run.results, *run.comparisons)] == [crossed] * 3


def test_a_reason_for_unshared_seeds_must_be_a_text(tmp_path: Path) -> None:
    with pytest.raises(BrokenPlugin, match=r"to say whether prompts share its seeds: .*gave bool; it must give a"):
        plan(models=(ModelRequest(existing(tmp_path, "odd", True)),))


# small parts --------------------------------------------------------------------------------------------------


def test_a_limit_spreads_over_facets() -> None:
    prompts = [
        Prompt(f"{a}{b}", "", facets={"first": a, "second": b}) for a in range(10) for b in range(10) if a != b
    ]
    chosen = limit_prompts([prompts], 20)
    assert len(chosen) == 20
    assert limit_prompts([prompts], 20) == chosen
    for facet in ("first", "second"):
        assert set(Counter(p.facets[facet] for p in chosen).values()) == {2}
    assert limit_prompts([prompts], 1000) == tuple(prompts)


@pytest.mark.parametrize(
    ("sizes", "limit", "shares"),
    [
        ((100,) * 7, 60, (9, 9, 9, 9, 8, 8, 8)),
        ((2, 50, 50), 20, (2, 9, 9)),
        ((5, 5), 20, (5, 5)),
        ((5, 5), 1, (1, 0)),
    ],
)
def test_a_limit_takes_from_every_source(sizes: tuple[int, ...], limit: int, shares: tuple[int, ...]) -> None:
    """Prompts of one source may have facets that those of another do not have."""
    sources = [
        [Prompt(f"{source}-{n}", "", facets={f"facet {source}": n} if source else {}) for n in range(size)]
        for source, size in enumerate(sizes)
    ]
    chosen = limit_prompts(sources, limit)
    found = Counter(int(prompt.id.partition("-")[0]) for prompt in chosen)
    assert tuple(found[source] for source in range(len(sizes))) == shares
    every = [prompt for source in sources for prompt in source]
    assert sorted(chosen, key=every.index) == list(chosen)


def test_the_table_takes_columns_as_they_come() -> None:
    rows = TableBuilder()
    rows.append(1.0, {"measure": "a", "object": "car"})
    rows.append(2.0, {"measure": "b", "position": 1})
    table = rows.build()
    assert list(table["value"]) == [1.0, 2.0]
    assert list(table["object"].isna()) == [False, True]
    assert table["position"].iloc[1] == 1
    assert TableBuilder().build().empty


# what must not be confused ------------------------------------------------------------------------------------


def pixel_metric(name: str, take: Any, measure: str = "value", **more: Any) -> MetricInfo:
    class Taken(Metric):
        needs = (Need("pixels", "pixels", derive=Derive("value", take)),)

        def measure(self, unit: Any) -> Any:
            yield Row(measure, float(unit.one().derived("pixels")["value"][0]))

    return MetricInfo(name=name, summary=name, create=Taken, measures=(Measure(measure, "Value."),), **more)


def test_metrics_do_not_read_each_others_derived_numbers() -> None:
    mean = pixel_metric("mean", lambda pixels, _: {"value": np.array([pixels.mean()])})
    spread = pixel_metric("spread", lambda pixels, _: {"value": np.array([pixels.std()])})
    run = evaluate([mean, spread], TEST_MODEL, prompts="test-prompts", seeds=2, out="run", resolver=RESOLVER)
    a, b = (r.score for r in run.results)
    assert a == pytest.approx(127, abs=5)
    assert b == pytest.approx(74, abs=5)


@pytest.mark.parametrize(
    ("take", "said"),
    [(lambda p, _: 1 / 0, "ZeroDivisionError"), (lambda p, _: {"value": np.zeros(1, np.uint16)}, "uint16")],
)
def test_a_fault_in_a_metrics_own_function_is_the_metrics(take: Any, said: str) -> None:
    with pytest.raises(BrokenPlugin, match=said):
        evaluate(pixel_metric("m", take), TEST_MODEL, prompts="test-prompts", out="run", resolver=RESOLVER)


def test_values_outside_the_declared_range_are_the_metrics_fault() -> None:
    class Low(Brightness):
        def measure(self, unit: Any) -> Any:
            yield Row("reward", -1.0)

    info = MetricInfo(name="low", summary="Low.", create=Low, measures=(Measure("reward", "Mean.", low=0),))
    with pytest.raises(BrokenPlugin, match="outside its declared range"):
        evaluate(info, TEST_MODEL, prompts="test-prompts", out="run", resolver=RESOLVER)


class Bounds(Options):
    floor: float = 0.0
    top: float | None = 1.0


class Near(Brightness):
    """Values from 0.5 to 1, spread so that an interval of a few of them reaches beyond."""

    def measure(self, unit: Any) -> Any:
        yield Row("near", 1 - 0.5 * (unit.seed == 0 and unit.prompt.id == "car"))


def _bounded(**bounds: Any) -> MetricInfo:
    measures = (Measure("near", "Near.", **bounds, facets=("seed",)),)
    return MetricInfo(name="near", summary="N.", options=Bounds, create=Near, measures=measures)


@pytest.mark.parametrize("interval", ["new", "seeds", "prompts"])
def test_a_bound_may_be_an_option(interval: Any) -> None:
    """Of the same values, whose intervals would go on: they end where the option says, those of facets too."""
    ends = {}
    for top in (None, 1.0, 1.02):
        run = evaluate(
            _bounded(low="floor", high="top"), [ModelRequest(TEST_MODEL, "a"), ModelRequest(TEST_MODEL, "b")],
            prompts="test-prompts", seeds=4, out=f"run {top}", resolver=RESOLVER, interval=interval,
            options={"near": {"top": top}},
        )  # fmt: skip
        result = run.results[0]
        found = [result.ci, *(level.ci for level in result.facets["near"]["seed"].values())]
        ends[top] = [hi for _, hi in found if hi is not None]
    assert max(ends[None]) > 1.02 >= max(ends[1.02]) > 1 >= max(ends[1.0])


def test_values_outside_a_bound_of_the_options_are_the_metrics_fault() -> None:
    for name, bound, value in (("low", "floor", 0.75), ("high", "top", 0.75)):
        options = {"near": {"floor": -9.0, "top": 9.0, bound: value}}
        with pytest.raises(BrokenPlugin, match="outside its declared range"):
            evaluate(
                _bounded(**{name: bound}), TEST_MODEL, prompts="test-prompts", out=name, resolver=RESOLVER,
                options=options,
            )  # fmt: skip


def test_a_bound_that_names_an_unknown_option_is_an_error_of_the_metric() -> None:
    request = Request(
        metrics=(_bounded(high="tip"),), models=(ModelRequest(TEST_MODEL),), prompts=("test-prompts",)
    )
    with pytest.raises(BrokenPlugin, match=r"bounds of its measures.*'tip' is not"):
        make_plan(request, RESOLVER)


class Keeping(Options):
    """Options of a detector."""

    lowest: float = 0.05


@pytest.mark.parametrize(
    ("floor", "advice"),
    [("lowest", "set -o picky.lowest=0.01, or the metric's to 0.05"), (0.05, "set the metric's to 0.05")],
)
def test_a_judge_that_drops_what_a_metric_looks_at_is_refused(floor: Any, advice: str) -> None:
    def metric(confidence: float) -> MetricInfo:
        class Finder(Brightness):
            needs = (Need("reward", "detect", confidence=confidence),)

        return replace(BRIGHTNESS, create=Finder)

    picky = replace(
        judge("picky", grey, "detect"), floor=floor, options=Keeping, labels=lambda *_: (ObjectClass("car"),)
    )
    resolver = StaticResolver(TEST_PROMPTS, picky)
    asked = Request(metrics=(metric(0.05),), models=(ModelRequest(TEST_MODEL),))
    plan = make_plan(asked, resolver)
    with Store() as store:
        assert [judge.floor for judge in make_manifest(plan, store, "2026-01-01").judges] == [0.05]
    lower = replace(asked, metrics=(metric(0.01),))
    options = {"picky": {floor: 0.05}} if isinstance(floor, str) else {}
    with pytest.raises(BadOption) as error:
        make_plan(replace(lower, options=options), resolver)
    assert "0.01 or more" in str(error.value)
    assert str(error.value).endswith(f"nothing below 0.05; {advice}")
    if isinstance(floor, str):  # left open, it is lowered; set low enough, it stays
        for given in ({}, {"picky": {floor: 0.01}}):
            plan = make_plan(replace(lower, options=given), resolver)
            with Store() as store:
                assert [judge.floor for judge in make_manifest(plan, store, "2026-01-01").judges] == [0.01]


def test_a_floor_that_names_an_unknown_option_is_an_error_of_the_judge() -> None:
    wrong = replace(judge("wrong", grey), floor="lowest")
    with pytest.raises(BrokenPlugin, match="its floor: 'lowest' is not"):
        make_plan(
            Request(metrics=(BRIGHTNESS,), models=(ModelRequest(TEST_MODEL),)), StaticResolver(TEST_PROMPTS, wrong)
        )


def test_labels_are_part_of_what_an_observation_is_kept_under() -> None:
    class First(Metric):
        needs = (Need("class", "classify"),)

        def measure(self, unit: Any) -> Any:
            scores = unit.one().one("class")
            yield Row("first", float(scores.labels[int(scores.logits.argmax())].name == "car"))

    info = MetricInfo(name="first", summary="F.", create=First, measures=(Measure("first", "First."),))
    car, dog = ObjectClass("car"), ObjectClass("dog")
    found = []
    for labels in ((car, dog), (dog, car)):

        class Judge:
            def __init__(self, labels: Any) -> None:
                self.labels = labels

            def observe(self, capability: str, queries: Any) -> Any:
                return ((q, ClassScores(np.array([1, 0], np.float32), self.labels)) for q in queries)

        judge = JudgeInfo(
            name="j", summary="J.", capabilities={"classify": frozenset()},
            create=lambda setup, labels=labels: Judge(labels), labels=lambda a, o, labels=labels: labels,
        )  # fmt: skip
        run = evaluate(
            info,
            TEST_MODEL,
            prompts="test-prompts",
            out=labels[0].name,
            resolver=StaticResolver(judge, TEST_PROMPTS),
        )
        found.append(run.results[0].score)
    assert found == [1.0, 0.0]


def test_one_bad_prompt_does_not_stop_the_others() -> None:
    def draw(request: Any) -> Generated:
        if request.prompt.id == "dog":
            raise RuntimeError("cannot draw dogs")
        return grey(request)

    run = evaluate(BRIGHTNESS, model("catty", draw), seeds=40, out="run", resolver=RESOLVER)
    (result,) = run.results
    assert (result.n_ok, result.n_failed) == (40, 40)


def test_a_finished_runs_results_stay_until_new_ones_are_there(tmp_path: Path) -> None:
    broken = [False]

    def create(setup: Any) -> Any:
        if broken[0]:
            raise RuntimeError("no weights")
        return TEST_MODEL.create(setup)

    info = GeneratorInfo(name="m", summary="m", create=create)
    evaluate(BRIGHTNESS, info, out=tmp_path / "run", resolver=RESOLVER)
    broken[0] = True
    with pytest.raises(BrokenPlugin):
        evaluate(BRIGHTNESS, info, out=tmp_path / "run", resolver=RESOLVER, fresh=True)
    stored = load_run(tmp_path / "run")
    assert stored.manifest.status == "done"
    assert stored.results[0].score is not None


def test_prompts_that_only_share_ids_are_not_paired() -> None:
    def own(word: str) -> GeneratorInfo:
        return ExistingImagesInfo(
            name=word,
            summary="x",
            create=TEST_MODEL.create,
            prompts=lambda setup: [Prompt(str(i), f"{word} {i}") for i in range(9)],
        )

    metric = replace(BRIGHTNESS, defaults=Defaults())
    said = []

    class Heard(Silent):
        def note(self, message: str) -> None:
            said.append(message)

    run = evaluate(metric, [own("cat"), own("dog")], seeds=2, out="run", resolver=RESOLVER, progress=Heard())
    assert run.comparisons == []
    assert said == ["brightness: cat and dog are not compared: they share no prompts under the same seeds"]


def test_prompt_values_of_other_seeds_are_not_compared() -> None:
    class Count(PromptMetric):
        needs = (Need("features", "features"),)

        def measure(self, unit: Any) -> Any:
            yield Row("count", float(len(list(unit.observed))))

    info = MetricInfo(name="count", summary="C.", create=Count, measures=(Measure("count", "Count."),))
    half = model("half", lambda r: grey(r) if r.seed % 2 else Failure("gone", missing=True))
    run = evaluate(info, [model("all", grey), half], prompts="test-prompts", seeds=4, out="run", resolver=RESOLVER)
    assert [r.score for r in run.results] == [4.0, 2.0]
    assert run.comparisons == []


def test_models_without_any_value_leave_the_others_results(tmp_path: Path) -> None:
    class Size(SetMetric):
        needs = (Need("features", "features"),)

        def measure(self, unit: Any) -> Any:
            yield Row("size", float(len(list(unit.observed))))

    info = MetricInfo(name="size", summary="S.", create=Size, measures=(Measure("size", "Size."),))
    nothing = model("nothing", lambda r: Failure("no"))
    run = evaluate(
        [info, info], [model("all", grey), nothing], prompts="test-prompts", seeds=4, out="run", resolver=RESOLVER
    )
    assert [r.score for r in run.results] == [8.0, None]
    assert run.failed is not None


def test_final_failures_are_kept_and_others_are_not(tmp_path: Path) -> None:
    asked = []
    cure = tmp_path / "cure"  # a file, because another function would be another model

    def draw(request: Any) -> Any:
        asked.append(request.seed)
        fine = request.seed or cure.exists()
        return grey(request) if fine else Failure("the safety filter blanked it", final=True)

    for out in ("one", "two"):
        run = evaluate(BRIGHTNESS, model("safe", draw), seeds=3, out=out, resolver=RESOLVER)
        assert run.results[0].n_failed == 2
    assert len(asked) == 6
    cure.touch()
    cured = evaluate(BRIGHTNESS, model("safe", draw), seeds=3, out="two", resolver=RESOLVER, fresh=True)
    assert cured.failed is None
    assert evaluate(BRIGHTNESS, model("safe", draw), seeds=3, out="two", resolver=RESOLVER).failed is None


def test_execution_options_make_no_other_run() -> None:
    class Quick(Options):
        workers: Annotated[int, ExecutionOption()] = 1

    info = replace(TEST_MODEL, options=Quick)
    for workers in (1, 2):
        options = {"test-noise": {"workers": workers}}
        evaluate(BRIGHTNESS, info, out="run", resolver=RESOLVER, options=options)


@pytest.mark.long
def test_pairs_are_counted_for_the_models_in_them() -> None:
    class Wins(TableMetric, PairMetric):
        needs = (
            Need("battle", "prefer", queries=lambda s: [Query((s[0].image, s[1].image), (s[0].prompt.text,))]),
        )

        def measure(self, unit: Any) -> Any:
            yield Row("win", float(unit.one().one("battle").verdict == "first"))

        def aggregate(self, table: Any, weights: Any) -> Any:
            names = {*table["model_a"], *table["model_b"]}
            return {
                **{n: float(n == "a") for n in names},
                "order_bias": float(weights @ table["value"] / weights.sum()),
            }

        def remarks(self, table: Any) -> Any:
            yield Note(f"{len(table)} verdicts")

    info = MetricInfo(name="wins", summary="W.", create=Wins, measures=(Measure("win", "Wins."),))
    models = [model("a", grey), model("b", grey), model("c", lambda r: Failure("no"))]
    run = evaluate(info, models, prompts="test-prompts", seeds=4, out="run", resolver=RESOLVER)
    counts = [(r.n_ok, r.n_failed) for r in run.results]
    assert counts == [(8, 8), (8, 8), (0, 16)]
    assert "order_bias" in run.results[0].scores
    assert all("8 verdicts" in r.notes for r in run.results)
    (compared,) = run.comparisons  # c has no score
    assert (compared.a, compared.b, compared.diff) == ("a", "b", 1)


def test_a_unit_may_be_excluded_or_fail_by_its_metric() -> None:
    class Choosy(Brightness):
        def measure(self, unit: Any) -> Any:
            if unit.seed == 0:
                yield Excluded("nobody to be seen")
            elif unit.seed == 1:
                yield Failure("unparsable")
            else:
                yield Row("reward", 1.0)

    info = replace(BRIGHTNESS, create=Choosy)
    run = evaluate(info, TEST_MODEL, seeds=4, out="run", resolver=RESOLVER)
    (r,) = run.results
    assert (r.n_ok, r.n_failed, r.n_excluded) == (4, 2, 2)
    assert set(run.failures()["kind"]) == {"excluded", "failed"}


def test_a_metrics_notes_stand_once_with_the_score() -> None:
    class Sceptic(SetMetric, Brightness):
        def measure(self, unit: Any) -> Any:
            n = sum(1 for _ in unit.observed)
            yield Row("reward", 1.0)
            yield Note(f"{n} images are few")
            yield Note(f"{n} images\nare few")

    info = replace(BRIGHTNESS, create=Sceptic)
    run = evaluate(info, TEST_MODEL, seeds=30, out="run", resolver=RESOLVER)
    (r,) = run.results
    assert (run.measurements()["left_out"] != "none").any()
    assert [note for note in r.notes if "few" in note] == ["60 images are few"]


def test_notes_come_with_failures_too_and_are_words() -> None:
    class Sceptic(Brightness):
        def measure(self, unit: Any) -> Any:
            yield Note("hard to see" if unit.seed else "dark")
            yield Note("looked at twice", counted=True)
            yield Row("reward", 1.0) if unit.seed else Failure("nothing to see")

    run = evaluate(replace(BRIGHTNESS, create=Sceptic), TEST_MODEL, seeds=3, out="run", resolver=RESOLVER)
    (r,) = run.results
    assert {"hard to see", "dark", "6 samples: looked at twice"} <= set(r.notes)
    with pytest.raises(TypeError, match="got int"):
        Note(3)  # type: ignore[arg-type]


def test_answers_asked_once_per_run_are_shared_by_all_units(tmp_path: Path) -> None:
    class Relative(Metric):
        needs = (
            Need("image", "embed"),
            Need(
                "pool", "embed", images="prompt", per="run",
                queries=lambda samples: [Query(texts=(s.prompt.text,)) for s in samples],
            ),
        )  # fmt: skip

        def measure(self, unit: Any) -> Any:
            yield Row("pool", float(len(unit.shared["pool"])))

    info = MetricInfo(name="rel", summary="R.", create=Relative, measures=(Measure("pool", "Pool."),))
    run = evaluate(info, TEST_MODEL, prompts="test-prompts", seeds=3, out="run", resolver=RESOLVER)
    assert run.results[0].score == 2.0


def test_a_reward_is_asked_with_the_prompt() -> None:
    asked = []
    listening = judge("listening", lambda q: asked.append(q.texts) or Reward(1.0))
    evaluate(BRIGHTNESS, TEST_MODEL, seeds=1, out="run", resolver=StaticResolver(listening, TEST_PROMPTS))
    assert asked == [("a photo of a car",), ("a photo of a dog",)]


def test_parameters_of_queries_are_part_of_their_key() -> None:
    class Repeats(Metric):
        needs = (
            Need(
                "r",
                "reward",
                queries=lambda s: [replace(s[0].query_with_text(), params={"repeat": i}) for i in (1, 2)],
            ),
        )

        def measure(self, unit: Any) -> Any:
            first, second = unit.one().all("r")
            yield Row("same", float(first.value == second.value))

    count = iter(range(1000))
    counting = judge("counting", lambda q: Reward(float(next(count))))
    info = MetricInfo(name="rep", summary="R.", create=Repeats, measures=(Measure("same", "Same."),))
    run = evaluate(
        info, TEST_MODEL, prompts="test-prompts", out="run", resolver=StaticResolver(counting, TEST_PROMPTS)
    )
    assert run.results[0].score == 0.0


def test_tables_are_read_back_as_they_were_written() -> None:
    odd = ("001", "NA", "1e3", "null", "=1+1", "ein 🐘\nmit Umbruch")
    source = PromptSourceInfo(
        name="odd", summary="O.", prompts=lambda setup: [Prompt(i, f"text {i}", facets={"object": i}) for i in odd]
    )
    run = evaluate(
        BRIGHTNESS, TEST_MODEL, prompts="odd", seeds=1, out="run", resolver=StaticResolver(TEST_JUDGE, source)
    )
    assert tuple(run.measurements()["prompt"]) == odd
    assert tuple(run.measurements()["object"]) == odd
    assert tuple(run.samples()["text"]) == tuple(f"text {i}" for i in odd)
    assert set(run.samples()["width"]) == {32}


def test_the_first_image_kept_under_a_key_stays() -> None:
    with Store() as one, Store() as two:
        first = one.put_image("ab" * 32, encode_image(np.full((4, 4, 3), 1, np.uint8)))
        assert two.put_image("ab" * 32, encode_image(np.full((4, 4, 3), 2, np.uint8))) == first


def test_a_model_says_before_it_is_made_that_it_cannot_be_asked_about_itself():
    class AsksItself(Brightness):
        needs = (Need("likelihood", "likelihood", source="model", params=({"steps": 3},)),)

    def refuse(setup: Any, capability: str, params: Any) -> None:
        raise NoJudge(f"no {capability} of {params[0]['steps']} steps of {setup.argument} on {setup.device}")

    metric = MetricInfo(
        name="own", summary="x", create=AsksItself, measures=(Measure("brightness", "x"),), defaults=Defaults()
    )
    model = SelfJudgingInfo(
        name="able",
        summary="x",
        create=TEST_MODEL.create,
        capabilities=frozenset({"likelihood"}),
        check_judge=refuse,
    )
    resolver = StaticResolver(model, metric, TEST_PROMPTS)
    asked = Request(("own",), (ModelRequest("able"),), (TEST_PROMPTS.name,), device="cpu")
    with pytest.raises(NoJudge, match="no likelihood of 3 steps of None on cpu"):
        make_plan(asked, resolver)
    broken = replace(model, check_judge=lambda setup, capability, params: 1 / 0)
    with pytest.raises(BrokenPlugin, match="asked for likelihood"):
        make_plan(asked, StaticResolver(broken, metric, TEST_PROMPTS))


# what the user's own files do to a metric ---------------------------------------------------------------------


def referring(file: Path, **more: Any) -> MetricInfo:
    """A metric that shows its judge a file of the user's once per run."""

    class Referring(Brightness):
        def __init__(self, setup: Any) -> None:
            super().__init__(setup)
            ask = Need(
                "file", "features", images="prompt", per="run", queries=lambda s: [Query((load_image(file),))]
            )
            self.needs = (*Brightness.needs, ask)

    return replace(BRIGHTNESS, name="referring", create=Referring, **more)


def test_a_broken_reference_image_is_the_users_file_and_found_before_anything_is_made(tmp_path: Path) -> None:
    file = sample_images(tmp_path, 1)[0].path
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    made: list[Any] = []
    drawing = model("drawing", lambda request: made.append(request) or grey(request))
    with pytest.raises(BadFolder, match=rf"metric 'referring': {file}: "):
        evaluate(referring(file), drawing, resolver=RESOLVER)
    assert made == []
    file.unlink()
    with pytest.raises(
        BadFolder, match=rf"metric 'referring' cannot go on to say what it asks once: {file}: cannot"
    ):
        evaluate(referring(file), drawing, resolver=RESOLVER)
    file.write_bytes(whole)
    assert evaluate(referring(file), drawing, resolver=RESOLVER).results[0].n_ok == 4
    assert len(made) == 4


def test_errors_of_metrics_keep_their_class_and_judges_without_answers_are_not_broken_plugins(
    tmp_path: Path,
) -> None:
    def refuse(setup: Any) -> None:
        raise BadOption("a curve of nothing")

    with pytest.raises(BadOption, match=r"^a curve of nothing$"):
        make_plan(
            Request((replace(BRIGHTNESS, loading=Loading(check=refuse)),), (ModelRequest(TEST_MODEL),)), RESOLVER
        )

    class Opening(Brightness):
        def measure(self, unit: Any) -> Any:
            raise BadPrompts("prompt 3: no number")

    with pytest.raises(BadPrompts, match=r"^prompt 3: no number$"):
        evaluate(replace(BRIGHTNESS, create=Opening), TEST_MODEL, resolver=RESOLVER)
    mute = judge("mute", lambda query: Failure("out of words"), "features")
    file = sample_images(tmp_path, 1)[0].path
    with pytest.raises(FailedRun, match="cannot be measured without its file: out of words"):
        evaluate(
            referring(file),
            TEST_MODEL,
            judge="mute",
            resolver=StaticResolver(mute, judge("other", lambda query: Reward(1.0)), TEST_PROMPTS),
        )


# what is not in an interval ------------------------------------------------------------------------------------


def test_scores_and_levels_that_rest_on_one_prompt_say_so_once(tmp_path: Path) -> None:
    class Counting(Brightness):
        def measure(self, unit: Any) -> Any:
            value = unit.one().one("reward").value
            yield Row("reward", value)
            if unit.prompt.facets["kind"] == "thing":
                yield Row("parts", value)

    facets = ("kind", "prompt", "seed")
    metric = replace(
        BRIGHTNESS,
        create=Counting,
        measures=(Measure("reward", "r", facets=facets), Measure("parts", "p", facets=facets)),
    )
    (tmp_path / "p.csv").write_text("prompt,kind\na dog,animal\na cat,animal\na car,thing\n")
    run = evaluate(
        metric, TEST_MODEL, prompts=str(tmp_path / "p.csv"), seeds=4, out=tmp_path / "run", resolver=RESOLVER
    )
    (result,) = run.results
    alone = "one prompt: prompt variation is not in the interval"
    assert [note for note in result.notes if "one prompt" in note or "one seed" in note] == [
        f"parts, reward by kind (1 of 2 levels): {alone}"
    ]
    assert "notes" not in result.scores["reward"]
    assert result.scores["parts"].notes == [alone]
    assert {level: each.notes for level, each in result.facets["reward"]["kind"].items()} == {
        "animal": [],
        "thing": [alone],
    }
    assert all(each.notes == [alone] for each in result.facets["reward"]["prompt"].values())

    one = evaluate(
        metric, TEST_MODEL, prompts=str(tmp_path / "p.csv"), seeds=1, out=tmp_path / "one", resolver=RESOLVER
    )
    notes = one.results[0].notes  # the headline says it of all
    assert [note for note in notes if "one seed" in note] == ["one seed: seed variation is not in the interval"]


def test_a_table_is_prepared_once_and_aggregated_under_many_weights(tmp_path: Path) -> None:
    prepared: list[int] = []
    aggregated: list[int] = []

    class Median(TableMetric, Brightness):
        def prepare(self, table: pd.DataFrame) -> Any:
            prepared.append(len(table))
            return table["value"].to_numpy()

        def aggregate(self, values: Any, weights: Any) -> Any:
            aggregated.append(len(values))
            return {"reward": float(weights @ values / weights.sum())}

    info = replace(BRIGHTNESS, create=Median)
    models = [model("a", grey), model("b", grey)]
    run = evaluate(info, models, seeds=3, out=tmp_path / "run", resolver=RESOLVER)
    assert len(run.comparisons) == 1
    rows = len(run.measurements())
    # besides levels of facets: each model's rows for its score; for the comparison the rows of both and of each
    assert (prepared.count(rows // 2), prepared.count(rows)) == (4, 1)
    assert len(aggregated) > 100 * len(prepared)


class Reachable(Brightness):
    upper_bound = "white"


REACHABLE = replace(BRIGHTNESS, name="reachable", create=Reachable)


def test_the_upper_bound_is_shown_with_a_score_and_not_compared(tmp_path: Path) -> None:
    white = model("white", lambda request: Generated(np.full((4, 4, 3), 255, np.uint8)))
    by_mean = judge("mean", lambda query: Reward(float(query.images[0].pixels.mean())))
    models = [ModelRequest(model(name, grey), name) for name in ("a", "b")]
    run = evaluate(REACHABLE, models, out=tmp_path / "run", resolver=StaticResolver(TEST_PROMPTS, by_mean, white))
    *theirs, bound = run.results
    assert [r.label for r in (*theirs, bound)] == ["a", "b", "upper bound (white)"]
    assert (bound.score, bound.n_ok, bound.upper_bound) == (255, 4, None)
    said = UpperBound(model=bound.label, value=255.0, ci=bound.ci)
    assert [r.upper_bound for r in theirs] == [said, said]
    assert [(c.a, c.b) for c in run.comparisons] == [("a", "b")]
    assert set(run.samples()["model"]) == {"a", "b", bound.label}


def test_no_model_may_be_called_as_the_upper_bound_is() -> None:
    resolver = StaticResolver(TEST_PROMPTS, TEST_JUDGE, model("white", grey))
    called = ModelRequest(model("a", grey), "upper bound (white)")
    with pytest.raises(BadOption, match=r"'upper bound \(white\)' is taken by .* 'reachable'"):
        evaluate(REACHABLE, called, resolver=resolver)


class _TwoUnits(PromptMetric, SetMetric):
    needs = ()


class _Aggregating(Metric):
    aggregates = True


class _Crossed(PromptMetric):
    crossed = False


@pytest.mark.parametrize(
    ("metric", "names"),
    [
        (_TwoUnits, ("PromptMetric", "SetMetric")),
        (_Aggregating, ("aggregates", "TableMetric")),
        (_Crossed, ("crossed", "PairMetric")),
    ],
)
def test_a_metric_is_of_one_kind(
    metric: type[Metric], names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the base class of a metric does not read would be ignored in silence."""
    info = MetricInfo(name="mixed", summary="Mixed.", create=metric, measures=(Measure("value", "A value."),))
    with pytest.raises(BrokenPlugin) as refused:
        evaluate(info, TEST_MODEL, prompts=TEST_PROMPTS.name, resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS))
    assert all(name in str(refused.value) for name in names)
