"""Prompts, seeds, images and models that a program holds in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from t2i_core import CheckpointScorer, ModelRequest, Run, evaluate
from t2i_core.api import (
    Derive,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Reward,
    Row,
    Setup,
)
from t2i_core.api.errors import BadModel, BadOption, BadPrompts, UnknownName
from t2i_core.engine.request import Request
from t2i_core.io.prompt_record import make_id
from t2i_core.testing import TEST_PROMPTS, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")


class Light(Metric):
    """How light is the image?"""

    derive = Derive("light", lambda pixels, _: {"light": np.array([pixels.mean()])})
    needs = (Need("pixels", "pixels", derive=derive),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("light", float(unit.one().derived("pixels")["light"][0]))


LIGHT = MetricInfo(name="light", summary="Light.", create=Light, measures=(Measure("light", "Light."),))
RESOLVER = StaticResolver(TEST_PROMPTS)


def fill(level: float, side: int = 4) -> np.ndarray:
    return np.full((side, side, 3), level, np.uint8)


def grey(text: str, seed: int, level: int = 10) -> np.ndarray:
    return fill(level + seed)


def measure(model: Any = grey, prompts: Any = ("a dog", "a red car"), **more: Any) -> Run:
    return evaluate(LIGHT, model, prompts=prompts, resolver=RESOLVER, **{"seeds": 2, **more})


def drawn(run: Run) -> list[tuple[str, str]]:
    samples = run.samples()
    return list(dict.fromkeys(zip(samples["prompt"], samples["text"], strict=True)))


# prompts ------------------------------------------------------------------------------------------------------

TEXTS = [("a-dog", "a dog"), ("a-red-car", "a red car")]


@pytest.mark.long
@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        (["a dog", "a red car"], TEXTS),
        (("a dog", "a red car"), TEXTS),
        (["dog"], [("dog", "dog")]),
        ([Prompt("1", "a dog"), "a red car"], [("1", "a dog"), TEXTS[1]]),
        (Prompt("1", "a dog"), [("1", "a dog")]),
        (pd.DataFrame({"caption": ["a dog", "a red car"]})["caption"], TEXTS),
        (pd.Series(["test-prompts"]), [(make_id("test-prompts"), "test-prompts")]),
        (np.array(["a dog", "a red car"]), TEXTS),
        ((text for text in ("a dog", "a red car")), TEXTS),
        (["a dog", "a red car", "a dog"], TEXTS),
    ],
    ids=(
        "list",
        "tuple",
        "one text",
        "prompt and text",
        "prompt",
        "column",
        "series",
        "array",
        "iterator",
        "repeated",
    ),
)
def test_prompts_may_be_texts(prompts: Any, expected: list[tuple[str, str]]) -> None:
    run = measure(prompts=prompts)
    assert drawn(run) == expected
    assert run.results[0].prompts == "in-memory"


def test_prompts_may_be_names_as_before(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("a cat\n")
    own = PromptSourceInfo(name="own", summary="Own.", prompts=lambda setup: [Prompt("1", "a cow")])
    names = [text for _, text in drawn(measure(prompts="test-prompts"))]
    for prompts, texts, name in [
        (["test-prompts"], names, "test-prompts"),
        (["mine.txt", "test-prompts"], ["a cat", *names], "mine.txt + test-prompts"),
        (own, ["a cow"], "own"),
        ([own, "mine.txt"], ["a cow", "a cat"], "own + mine.txt"),
    ]:
        run = measure(prompts=prompts)
        assert [text for _, text in drawn(run)] == texts
        assert run.results[0].prompts == name


@pytest.mark.parametrize(
    "prompts",
    [
        ["test-prompts", "a dog"],
        ["mine.txt", "a dog"],
        [],
        pd.Series([], dtype=str),
        ["a dog", float("nan")],
        pd.DataFrame({"prompt": ["a dog"]}),
        {"a": "a dog"},
        3,
        [Prompt("1", "a dog"), Prompt("1", "a cat")],
    ],
    ids=("name and text", "file and text", "empty", "empty series", "nan", "table", "mapping", "number", "one id"),
)
def test_other_prompts_are_refused(prompts: Any) -> None:
    with pytest.raises(BadPrompts):
        measure(prompts=prompts)


@pytest.mark.parametrize(
    "prompts", [["test-promts"], ["dog", "tests-prompts:small"], ["test-prompts", "test-promts"]]
)
def test_a_text_that_is_nearly_the_name_of_a_source_is_refused(prompts: list[str]) -> None:
    with pytest.raises(UnknownName, match=r"'test-prompts'.*Prompt\(ID") as refused:
        measure(prompts=prompts)
    assert "\n" not in str(refused.value)
    texts = [Prompt(str(number), text) for number, text in enumerate(prompts)]
    assert [text for _, text in drawn(measure(prompts=texts))] == prompts


# seeds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        (np.int64(3), (0, 1, 2)),
        (np.array(3), (0, 1, 2)),
        (np.arange(2, 4), (2, 3)),
        (np.array([7]), (7,)),
        (pd.Series([5, 2], dtype="int32"), (5, 2)),
        (pd.Series([5, 2], dtype="Int64"), (5, 2)),
        ([np.uint8(5), 2], (5, 2)),
        (iter([1, 2]), (1, 2)),
    ],
)
def test_seeds_are_any_integers(seeds: Any, expected: tuple[int, ...]) -> None:
    read = Request(seeds=seeds).seeds
    assert read == expected
    assert {type(seed) for seed in read or ()} == {int}


@pytest.mark.parametrize("seeds", [np.array([0.5]), np.array([True, False]), [1, None], np.array([]), [-1], 2.0])
def test_other_seeds_are_refused(seeds: Any) -> None:
    with pytest.raises(BadOption):
        Request(seeds=seeds)


# functions ----------------------------------------------------------------------------------------------------


def test_a_function_is_a_model() -> None:
    seen = []

    def draw(text: str, seed: int) -> Image.Image:
        seen.append((text, seed))
        return Image.fromarray(fill(10 * seed))

    run = measure(draw, seeds=[1, 3])
    assert seen == [("a dog", 1), ("a dog", 3), ("a red car", 1), ("a red car", 3)]
    assert (run.results[0].label, run.results[0].score, run.failed) == ("draw", 20, None)


@pytest.mark.parametrize("kind", ["pixels", "PIL", "path", "text"])
def test_a_function_may_return_pixels_an_image_or_a_path(kind: str, tmp_path: Path) -> None:
    Image.fromarray(fill(40)).save(tmp_path / "a.png")
    images = {
        "pixels": fill(40),
        "PIL": Image.fromarray(fill(40)).convert("L"),
        "path": Path("a.png"),
        "text": "a.png",
    }
    assert measure(lambda text, seed: images[kind]).results[0].score == 40


def test_a_function_that_fails_is_a_failed_sample() -> None:
    def draw(text: str, seed: int) -> Any:
        if seed:
            raise ValueError("no such colour")
        return fill(10) if text == "a dog" else None

    run = measure(draw)
    assert (run.results[0].n_ok, run.results[0].n_failed) == (1, 3)
    assert run.failures()["reason"].str.contains("no such colour|NoneType").all()


def test_a_redefined_function_is_called_again() -> None:
    runs = []
    for level in (10, 20, 10):

        def draw(text: str, seed: int) -> np.ndarray:
            return fill(level)  # noqa: B023

        runs.append(measure(draw))
    assert [run.results[0].score for run in runs] == [10, 20, 10]
    assert [run.made.images for run in runs] == [4, 4, 0]
    assert runs[0].folder == runs[2].folder != runs[1].folder
    assert runs[0].samples()["digest"].nunique() == 1  # the second run left its files alone


def test_further_arguments_of_a_function_are_settings() -> None:
    run = measure(ModelRequest(grey, matrix={"level": [10, 50]}), seeds=1)
    assert {result.label: result.score for result in run.results} == {"grey level=10": 10, "grey level=50": 50}
    assert run.comparisons[0].diff == -40
    assert run.manifest.models["grey level=50"].settings == {"level": 50}
    assert measure(partial(grey, level=30), seeds=1).results[0].score == 30
    with pytest.raises(BadOption, match=r"'levle'.*'level'") as refused:
        measure(ModelRequest(grey, settings={"levle": 20}))
    assert "\n" not in str(refused.value)


def test_several_models_of_different_kinds_are_compared() -> None:
    run = measure([ModelRequest(grey, "dark"), ModelRequest(lambda text, seed: fill(90), "light")], seeds=1)
    assert [(each.a, each.b, each.diff) for each in run.comparisons] == [("dark", "light", -80)]


@pytest.mark.parametrize("model", [Image.Image, lambda: 1, lambda text: 1, lambda text, seed, more: 1, 3, None])
def test_objects_that_cannot_be_called_are_refused(model: Any) -> None:
    with pytest.raises(BadOption):
        measure(model)


# images -------------------------------------------------------------------------------------------------------


def test_images_are_scored_without_a_model(tmp_path: Path) -> None:
    Image.fromarray(fill(30)).save(tmp_path / "a.png")
    images = [Image.fromarray(fill(10)), fill(20), "a.png", tmp_path / "a.png"]
    prompts = ["a dog", "a red car", "a cat", "a dog"]
    run = evaluate(LIGHT, images=images, prompts=prompts, resolver=RESOLVER)
    (result,) = run.results
    assert (result.label, result.score) == ("images", (10 + 20 + 30 + 30) / 4)
    # the second image of a prompt is its seed 1; the other prompts have none
    assert (result.n_prompts, result.n_ok, result.n_missing, result.n_failed) == (3, 4, 2, 0)
    assert run.manifest.models["images"].unshared_seeds is not None
    assert run.manifest.models["images"].name.startswith("images-")


def test_other_images_are_another_run() -> None:
    runs = [evaluate(LIGHT, images=[fill(level)], prompts=["a dog"], resolver=RESOLVER) for level in (10, 20, 10)]
    assert [run.results[0].score for run in runs] == [10, 20, 10]
    assert runs[0].folder == runs[2].folder != runs[1].folder


def test_sets_of_images_are_compared_paired() -> None:
    sets = {"old": [fill(10), fill(20), fill(30)], "new": np.stack([fill(15), fill(25), fill(35)])}
    run = evaluate(LIGHT, images=sets, prompts=pd.Series(["a dog", "a cat", "a cow"]), resolver=RESOLVER)
    assert [(each.a, each.b, each.diff, each.n) for each in run.comparisons] == [("old", "new", -5, 3)]


@pytest.mark.parametrize(
    ("images", "prompts", "error"),
    [
        ([fill(1)], ["a dog", "a cat"], BadModel),
        ([fill(1) / 255], ["a dog"], BadModel),
        ([fill(1)[..., 0]], ["a dog"], BadModel),
        ([b"png"], ["a dog"], BadModel),
        (["absent.png"], ["a dog"], BadModel),
        ({}, ["a dog"], BadModel),
        ([fill(1)], "test-prompts", BadPrompts),
        ([fill(1)], None, BadPrompts),
    ],
)
def test_images_that_do_not_fit_are_refused(images: Any, prompts: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(LIGHT, images=images, prompts=prompts, resolver=RESOLVER)
    with pytest.raises(BadOption):
        evaluate(LIGHT, grey, images=images, prompts=prompts, resolver=RESOLVER)


@pytest.mark.parametrize(
    "images",
    [Image.fromarray(fill(1)), fill(1), np.array(1), 5, "folder", Path("a.png"), b"png", {"a": fill(1)}],
)
def test_images_must_be_a_list(images: Any) -> None:
    for given in (images, {"old": images}) if not isinstance(images, dict) else (images,):
        with pytest.raises(BadModel, match="must be a list") as refused:
            evaluate(LIGHT, images=given, prompts=["a dog"] * 4, resolver=RESOLVER)
        assert "\n" not in str(refused.value)


# checkpoints --------------------------------------------------------------------------------------------------


class Network:
    """A model whose weights change."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.calls = 0

    def __call__(self, text: str, seed: int) -> np.ndarray:
        self.calls += 1
        return fill(self.weights.sum() + len(text) * seed)


def make_scorer(**more: Any) -> CheckpointScorer:
    return CheckpointScorer(LIGHT, prompts=["a dog", "a red car"], seeds=2, resolver=RESOLVER, **more)


@pytest.mark.parametrize("wrap", [lambda network: network, lambda network: lambda text, seed: network(text, seed)])
def test_each_checkpoint_is_compared_with_the_one_before(wrap: Callable[[Any], Any]) -> None:
    network, scorer = Network(np.array([1.0, 2.0])), make_scorer()
    model = wrap(network)
    for step in (100, 200, 300):
        network.weights += [2, 3]
        found = scorer(model, step)
        assert [result.label for result in found.results] == [f"step {step}"]
        assert [(each.diff, each.n) for each in found.comparisons] == ([(5, 4)] if step > 100 else [])
    assert network.calls == 12  # no image of an earlier checkpoint is drawn again
    history = scorer.history
    assert list(history["step"]) == [100, 200, 300]
    assert list(history["diff"].dropna()) == [5, 5]
    assert list(history["score"]) == pytest.approx([11.5, 16.5, 21.5])
    assert found.comparisons[0].p_unadjusted == history["p"].iloc[-1]


def test_a_checkpoint_with_the_same_weights_differs_by_nothing() -> None:
    network, scorer = Network(np.array([1.0])), make_scorer(out="runs")
    scorer(network, 1)
    found = scorer(network, "last")
    assert [each.diff for each in found.comparisons] == [0]
    assert found.run.folder.name == "step-last"
    with pytest.raises(BadOption):
        scorer(network, 1)
    with pytest.raises(BadOption):
        scorer(ModelRequest(grey, matrix={"level": [1, 2]}), 2)


def test_each_judge_has_its_own_history() -> None:
    class Says:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def observe(self, capability: str, queries: Any) -> Any:
            for query in queries:
                yield query, Reward(self.factor * float(query.images[0].pixels.mean()))

    class Asks(Metric):
        needs = (Need("reward", "reward"),)

        def measure(self, unit: Any) -> Iterator[Row]:
            yield Row("light", unit.one().one("reward").value)

    judges = [
        JudgeInfo(name=name, summary=name, capabilities={"reward": frozenset()}, create=lambda s, f=f: Says(f))
        for name, f in (("once", 1), ("twice", 2))
    ]
    asks = MetricInfo(name="asks", summary="Asks.", create=Asks, measures=(Measure("light", "Light."),))
    network = Network(np.array([1.0]))
    resolver = StaticResolver(TEST_PROMPTS, *judges)
    scorer = CheckpointScorer(asks, prompts=["a dog"], seeds=2, judge=["once", "twice"], resolver=resolver)
    for step in (1, 2):
        network.weights += 1
        scorer(network, step)
    assert scorer.history.set_index(["judge", "step"])["diff"].dropna().to_dict() == {
        ("once", 2): 1,
        ("twice", 2): 2,
    }


def test_a_checkpoint_may_have_settings() -> None:
    scorer = make_scorer()
    assert scorer(ModelRequest(grey, settings={"level": 20}), 1).results[0].score == 20.5
    assert scorer(ModelRequest(grey, settings={"level": 30}), 2).comparisons[0].diff == 10


def test_failures_of_the_checkpoint_before_are_not_drawn_with_new_weights() -> None:
    class Fails(Network):
        def __call__(self, text: str, seed: int) -> np.ndarray:
            if self.weights[0] == 1 and text == "a dog":
                raise ValueError("not yet")
            return super().__call__(text, seed)

    network, scorer = Fails(np.array([1.0])), make_scorer(max_failed=1)
    scorer(network, 1)
    network.weights += 1
    found = scorer(network, 2)
    before = next(result for result in found.run.results if result.label == "step 1")
    assert (before.n_ok, before.n_failed) == (2, 2)
    assert [(each.diff, each.n) for each in found.comparisons] == [(1, 2)]


def test_an_overwritten_checkpoint_is_not_compared_with_itself(tmp_path: Path) -> None:
    class Reads:
        def __init__(self, setup: Setup[Any]) -> None:
            self.level = int(Path(setup.argument or "").read_text())

        def generate(self, requests: Any) -> Any:
            for request in requests:
                yield request, Generated(fill(self.level))

    loading = Loading(weights=lambda argument, options: [Path(argument or "")])
    reads = GeneratorInfo(name="reads", summary="Reads.", create=Reads, loading=loading)
    resolver = StaticResolver(TEST_PROMPTS, reads)

    def score(step: int, name: str) -> Any:
        (tmp_path / name).write_text(f"{10 * step}")
        return scorer(f"reads:{tmp_path / name}", step)

    scorer = CheckpointScorer(LIGHT, prompts=["a dog"], seeds=2, resolver=resolver)
    assert [[each.diff for each in score(step, f"step-{step}").comparisons] for step in (1, 2)] == [[], [10]]
    scorer = CheckpointScorer(LIGHT, prompts=["a dog"], seeds=2, resolver=resolver)
    score(1, "latest")
    with pytest.raises(BadOption, match="own name") as refused:
        score(2, "latest")
    assert "\n" not in str(refused.value)
    assert [each.step for each in scorer.checkpoints] == [1]


def test_a_scorer_takes_the_checkpoint_before_from_the_cache() -> None:
    with pytest.raises(BadOption):
        make_scorer(fresh=True)
    make_scorer(fresh=False)


# pipelines ----------------------------------------------------------------------------------------------------


class Output:
    def __init__(self, images: Any, flags: Any = None) -> None:
        self.images = images
        self.nsfw_content_detected = flags


class Part:
    """A network that can be in training."""

    def __init__(self) -> None:
        self.training = True

    def modules(self) -> list[Part]:
        return [self]


class Pipeline:
    """An object that is called like a pipeline of diffusers."""

    def __init__(self, level: float = 0.5) -> None:
        self.level = level
        self.unet = Part()
        self.calls: list[Mapping[str, Any]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"level": self.level}

    def __call__(
        self, prompt: Any, num_inference_steps: int = 50, generator: Any = None, output_type: str = "pil"
    ) -> Output:
        assert not self.unet.training
        self.calls.append({"prompt": prompt, "steps": num_inference_steps, "generator": generator})
        count = 1 if isinstance(prompt, str) else len(prompt)
        pixels = np.full((count, 4, 4, 3), self.level)
        pixels[0, 0, 0, 0] = np.nan if self.level > 1 else pixels[0, 0, 0, 0]
        return Output(pixels, [self.level == 1] * count)


def test_a_pipeline_is_called_with_a_generator_on_the_cpu() -> None:
    torch = pytest.importorskip("torch")
    pipe = Pipeline()
    run = measure(ModelRequest(pipe, settings={"num_inference_steps": 4}), seeds=[3])
    assert run.results[0].score == 128
    assert [call["prompt"] for call in pipe.calls] == ["a dog", "a red car"]
    assert {call["steps"] for call in pipe.calls} == {4}
    assert {call["generator"].initial_seed() for call in pipe.calls} == {3}
    assert {call["generator"].device for call in pipe.calls} == {torch.device("cpu")}
    assert pipe.unet.training
    reported = run.manifest.models["Pipeline num_inference_steps=4"].reported
    assert (reported["pipeline"], reported["num_inference_steps"]) == ("Pipeline", 4)
    pipe.calls.clear()
    measure(pipe, batch_size=2)
    assert [call["prompt"] for call in pipe.calls] == [["a dog", "a dog"], ["a red car", "a red car"]]
    assert [g.initial_seed() for call in pipe.calls for g in call["generator"]] == [0, 1, 0, 1]


def test_a_pipelines_images_follow_its_state() -> None:
    pytest.importorskip("torch")
    pipe = Pipeline()
    made = []
    for level in (0.5, 0.5, 0.25, 0.5):
        pipe.level = level
        made.append(measure(pipe).made.images)
    assert made == [4, 0, 4, 0]


@pytest.mark.parametrize(("level", "reason"), [(1.0, "safety filter"), (2.0, "not numbers")])
def test_blanked_and_undefined_images_have_failed(level: float, reason: str) -> None:
    pytest.importorskip("torch")
    run = measure(Pipeline(level), seeds=1)
    assert run.results[0].n_failed == 2
    assert run.failures()["reason"].str.contains(reason).all()


# the run ------------------------------------------------------------------------------------------------------


def test_progress_is_silent_without_a_terminal_and_can_be_chosen(capfd: pytest.CaptureFixture[str]) -> None:
    assert capfd.readouterr().err == ""
    measure()
    measure(progress=False)
    assert capfd.readouterr().err == ""
    measure(fresh=True, progress=True)
    assert "images of grey: 4/4 images" in capfd.readouterr().err


def test_a_scene_as_plain_data_is_refused() -> None:
    with pytest.raises(BadPrompts, match="must be a Scene"):
        measure(prompts=[Prompt("1", "a dog", scene={"objects": []})])  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"model": "mini"}, {"images": []}, {"prompt": "tiam-5-2"}])
def test_wrong_options_of_a_scorer_are_refused_before_the_first_checkpoint(options: dict[str, Any]) -> None:
    with pytest.raises(BadOption):
        CheckpointScorer("tiam", **options)
