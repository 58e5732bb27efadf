"""Signature lines: equal for results that were measured in the same way, whatever the model and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core import Run, evaluate, load_run
from t2i_core.api import JudgeInfo, Measure, Metric, MetricInfo, Need, PairMetric, PromptSourceInfo, Query, Row
from t2i_core.api.capabilities.reward import Reward
from t2i_core.api.options import ExecutionOption, Options
from t2i_core.api.plugin_info import Loading
from t2i_core.api.prompt import Prompt
from t2i_core.results.signature_line import count_prompts, count_seeds, describe_prompts, describe_seeds
from t2i_core.testing import TEST_MODEL, TEST_PROMPTS, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", unit.one().one("reward").value)


class Brighter(PairMetric):
    needs = (Need("reward", "reward", queries=lambda pair: [each.query_with_text() for each in pair]),)

    def measure(self, unit: Any) -> Any:
        first, second = unit.one().all("reward")
        yield Row("brightness", float(first.value > second.value))


class Judge:
    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()))


class JudgeOptions(Options):
    floor: float = 0.05
    weights: str = ""


class MetricOptions(Options):
    confidence: float = 0.25
    colours: tuple[str, ...] = ("red", "green")
    reference: str | None = None
    batch: Annotated[int, ExecutionOption()] = 4


JUDGE = JudgeInfo(
    name="judge",
    summary="J.",
    options=JudgeOptions,
    create=lambda setup: Judge(),
    capabilities={"reward": frozenset()},
    loading=Loading(weights=lambda argument, options: [Path(options.weights)] if options.weights else []),
)
METRIC = MetricInfo(
    name="metric",
    summary="M.",
    options=MetricOptions,
    create=Brightness,
    measures=(Measure("brightness", "x"),),
)
OTHER_MODELS = [replace(TEST_MODEL, name=f"test-{name}") for name in ("other", "third")]


def run_with(*infos: Any, models: Iterable[str] = ("test-noise",), out: str = "run", **asked: Any) -> Run:
    """Run the metric; the given descriptors are used in place of those of the same kind."""
    given = {type(info): info for info in (JUDGE, TEST_PROMPTS, METRIC)} | {type(info): info for info in infos}
    return evaluate(
        **{
            "metric": given.pop(MetricInfo),
            "model": list(models),
            "prompts": TEST_PROMPTS.name,
            "seeds": 2,
            "out": out,
            "resolver": StaticResolver(TEST_MODEL, *OTHER_MODELS, *given.values()),
            **asked,
        }
    )


def sign(*infos: Any, **asked: Any) -> str:
    (line,) = {result.signature for result in run_with(*infos, **asked).results}
    assert line is not None
    return line


def test_it_names_the_whole_protocol_and_is_kept_in_the_run() -> None:
    run = run_with()
    (line,) = (result.signature for result in run.results)
    assert line is not None
    parts = dict(part.split(":", 1) for part in line.split("|"))
    assert {**parts, "prompts": parts["prompts"].split("#")[0], "judge": parts["judge"].split("#")[0]} == {
        "metric": "metric", "version": "1", "prompts": "test-prompts(2)", "judge": "judge", "seeds": "0-1",
        "interval": "new", "noise": "shared", "t2i": run.manifest.t2i,
    }  # fmt: skip
    assert load_run("run").results[0].signature == line
    assert run.to_json()["results"][0]["signature"] == line


def test_the_model_does_not_change_it() -> None:
    assert len({sign(models=(name,), out=name) for name in ("test-noise", "test-other")}) == 1
    assert sign(models=("test-noise", "test-other")) == sign(models=("test-noise",), out="alone")


CAR = Prompt("car", "a photo of a car")
CHANGES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "seeds": ((), {"seeds": 3}),
    "other seeds, as many": ((), {"seeds": "0,2"}),
    "metric's option": ((), {"options": {"metric": {"confidence": 0.5}}}),
    "metric's list of texts": ((), {"options": {"metric": {"colours": ["red"]}}}),
    "metric's version": ((replace(METRIC, version=2),), {}),
    "judge": ((replace(JUDGE, name="another"),), {}),
    "judge's option": ((), {"options": {"judge": {"floor": 0.5}}}),
    "interval": ((), {"interval": "prompts"}),
    "noise": ((), {"noise": "per-prompt"}),
    "limit": ((), {"limit": 1}),
    "a prompt's text": ((replace(TEST_PROMPTS, prompts=lambda setup: [CAR, Prompt("dog", "a dog")]),), {}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_part_of_the_protocol_changes_it(what: str) -> None:
    infos, asked = CHANGES[what]
    assert sign(*infos, out="changed", **asked) != sign(out="plain")


def test_options_at_their_defaults_are_not_named() -> None:
    assert sign(options={"metric": {"confidence": 0.25, "colours": ["red", "green"], "batch": 8}}) == sign(
        out="plain"
    )


def test_the_place_of_files_does_not_change_it_but_their_content_does(tmp_path: Path) -> None:
    lines = []
    for place, content in (("here", "a"), ("there", "a"), ("elsewhere", "b")):
        file = tmp_path / place / "weights.bin"
        file.parent.mkdir()
        file.write_text(content)
        options = {"judge": {"weights": str(file)}, "metric": {"reference": str(file)}}
        lines.append(sign(options=options, out=f"{place}-run"))
    assert lines[0] == lines[1] != lines[2]
    assert str(tmp_path) not in lines[0]
    assert "reference:weights.bin" in lines[0]


def test_a_file_of_prompts_is_named_without_its_folder(tmp_path: Path) -> None:
    lines = []
    for place in ("here", "there"):
        file = tmp_path / place / "a|b.txt"
        file.parent.mkdir()
        file.write_text("a car\na dog\n")
        lines.append(sign(prompts=str(file), out=f"{place}-run"))
    assert lines[0] == lines[1]
    assert "|prompts:a%7Cb.txt(2)#" in lines[0]


def test_scores_of_pairs_depend_on_the_models_that_are_compared() -> None:
    pairs = replace(METRIC, create=Brighter)
    two = sign(pairs, models=("test-noise", "test-other"), out="two")
    assert "|models:2#" in two
    assert two == sign(pairs, models=("test-other", "test-noise"), out="turned")
    assert two != sign(pairs, models=("test-noise", "test-third"), out="third")


def test_scores_of_pairs_depend_on_what_changes_the_prompts_of_each_model() -> None:
    lines = []
    for argument in ("loud", "soft"):
        changer = PromptSourceInfo(
            name=argument,
            summary="Changes prompts.",
            prompts=lambda setup, word=argument: (replace(p, text=f"{p.text}, {word}") for p in setup.prompts),
            changes_prompts=True,
        )
        found = evaluate(
            replace(METRIC, create=Brighter),
            "test-noise",
            prompts=TEST_PROMPTS.name,
            perturb=argument,
            seeds=2,
            out=argument,
            resolver=StaticResolver(TEST_MODEL, TEST_PROMPTS, JUDGE, METRIC, changer),
        )
        (line,) = (each.signature for each in found.results if each.label == "test-noise")
        assert line is not None
        lines.append(line)
    assert "|perturb:" not in lines[0]
    assert lines[0] != lines[1]  # the other model of the pair gets other prompts


@given(st.lists(st.builds(Prompt, st.text(max_size=3), st.text(max_size=3)), max_size=4), st.randoms())
def test_the_order_of_prompts_does_not_count(prompts: list[Prompt], random: Any) -> None:
    other = list(prompts)
    random.shuffle(other)
    assert describe_prompts(other) == describe_prompts(prompts)
    assert describe_prompts([*prompts, CAR]) != describe_prompts(prompts)
    assert count_prompts(f"words(2){describe_prompts(prompts)}") == len(prompts)


@given(st.sets(st.integers(0, 99), min_size=1), st.sets(st.integers(0, 99), min_size=1))
def test_different_seeds_are_described_differently(one: set[int], other: set[int]) -> None:
    assert (describe_seeds(sorted(one)) == describe_seeds(sorted(other))) == (one == other)
    assert count_seeds(describe_seeds(one)) == len(one)


def test_few_ranges_of_seeds_are_written_out() -> None:
    assert [describe_seeds(seeds) for seeds in ([0, 1, 2], [7], [0, 7, 8])] == ["0-2", "7", "0,7-8"]
    assert describe_seeds(range(0, 64, 2)).startswith("32#")
