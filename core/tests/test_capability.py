"""A capability that core does not know: all of it stands in this file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Failure,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Observation,
    Query,
    QueryShape,
    Reward,
    Row,
    register_adapter,
)
from t2i_core.api.adapter import find_chain, find_sources
from t2i_core.api.errors import NoJudge
from t2i_core.api.observation import ONE, find_capability, list_capabilities
from t2i_core.api.observation_codec import decode, encode
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver
from t2i_core.testing.judges import JudgeContract


@dataclass(frozen=True)
class Age(Observation, capability="age"):
    """How old the person of a prompt looks."""

    queries = (QueryShape(images=1, texts=ONE, role="whom to look at"),)
    extras = ("reason",)

    years: float
    reason: str = ""

    def check(self, query):
        if self.years < 0:
            raise ValueError("gave a negative age")

    @classmethod
    def sample(cls, query, colour, labels):
        return cls(float(colour[0]), "as old as the image is red")


@register_adapter(wanted="age", offered="features", expand=lambda query: [Query(query.images)], note="by features")
def age_of_features(features):
    return Age(float(features.values[0])) if features.values.any() else Failure("the features are 0")


class Ages:
    """Guesses the age from the colour; from some images nonsense."""

    def __init__(self, log, wrong=()):
        self.log, self.wrong = log, wrong

    def observe(self, capability, queries):
        for query in queries:
            self.log.append((capability, query.texts))
            years = float(query.images[0].pixels[..., 0].mean())
            if len(self.log) in self.wrong:
                years = -years
            yield query, Age(years, "a guess")


class MeanAge(Metric):
    needs = (Need("age", "age"),)

    def measure(self, unit):
        yield Row("age", unit.one().one("age").years)


METRIC = MetricInfo(name="mean-age", summary="x", create=MeanAge, measures=(Measure("age", "x"),))


def judge(log, wrong=(), **fields):
    return JudgeInfo(
        name="ages",
        summary="x",
        capabilities={"age": frozenset({"reason"})},
        create=lambda setup: Ages(log, wrong),
        **fields,
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def evaluated(judge, metric=METRIC, **more):
        out = tmp_path / f"run-{len(list(tmp_path.glob('run-*')))}"
        resolver = StaticResolver(judge, TEST_PROMPTS)
        return evaluate(
            metric, TEST_MODEL, prompts="test-prompts", seeds=2, out=out, resolver=resolver, max_failed=1.0, **more
        )

    return evaluated


def test_it_is_asked_with_what_its_class_says_kept_and_recalled(run):
    asked, again = [], []
    first = run(judge(asked)).results[0]
    assert sorted(asked) == sorted([("age", (f"a photo of a {name}",)) for name in ("car", "dog")] * 2)
    second = run(judge(again)).results[0]
    assert again == []
    assert first.n_ok == second.n_ok == 4
    assert first.score == second.score > 0


def test_an_answer_that_its_class_refuses_is_a_failure(run):
    result = run(judge([], wrong=(2, 3))).results[0]
    assert (result.n_ok, result.n_failed) == (2, 2)
    with pytest.raises(ValueError, match="gave a negative age"):
        encode(Age(-1.0), "age", None, Query())
    with pytest.raises(TypeError, match="gave Reward where Age was asked for"):
        encode(Reward(1.0), "age", None, Query())
    with pytest.raises(ValueError, match="years that are not numbers"):
        encode(Age(float("nan")), "age", None, Query())


def test_its_stored_form_is_json_and_holds_no_secret(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-abcdefghijklmnopqrstuvwx")
    data = encode(Age(30.5, "key sk-abcdefghijklmnopqrstuvwx"), "age", None, Query())
    assert decode(data, "age", None) == Age(30.5, "key ***")


def test_it_is_made_from_what_a_judge_offers(run):
    def says_features(image):
        return float(image.pixels.mean(axis=(0, 1)).astype(np.float32)[0])

    features = replace(TEST_JUDGE, name="features", capabilities={"features": frozenset()})
    found = run(features)
    (entry,) = found.manifest.judges
    assert entry.judge == "features"
    table = found.measurements().sort_values(["prompt", "seed"])
    images = found.images()[found.samples().sort_values(["prompt", "seed"]).index]
    assert table["value"].tolist() == [says_features(image) for image in images]
    assert [a.offered for a in find_chain("age", {"features"})] == ["features"]
    assert find_sources("age") == ("age", "features", "embed")  # an embedding gives features
    with pytest.raises(NoJudge):
        run(replace(features, capabilities={"caption": frozenset()}))


def test_the_parts_for_tests_know_it(run):
    assert "age" in TEST_JUDGE.capabilities
    assert TEST_JUDGE.capabilities["age"] == {"reason"}
    assert run(TEST_JUDGE).results[0].n_ok == 4
    images = [object(), object()]
    assert JudgeContract().queries("age", images, "a man") == [Query((image,), ("a man",)) for image in images]


def test_unknown_capabilities_and_needs_without_a_default_query_are_refused():
    with pytest.raises(ValueError, match="unknown capability 'agge': did you mean 'age'"):
        Need("x", "agge")
    with pytest.raises(ValueError, match="prefer is not about one image"):
        Need("x", "prefer")
    with pytest.raises(ValueError, match="unknown capability 'os'"):
        find_capability("os")


def test_a_name_is_taken_once():
    with pytest.raises(TypeError, match=r"'age' is .*\.Age already"):
        type("Other", (Observation,), {}, capability="age")
    with pytest.raises(TypeError, match=r"'caption' is t2i_core\.api\.capabilities\.caption already"):
        type("Other", (Observation,), {}, capability="caption")
    assert find_capability("age") is Age


def test_a_class_with_slots_is_found_as_it_is_in_the_end():
    @dataclass(frozen=True, slots=True)
    class Slotted(Observation, capability="slotted"):
        value: float

        @classmethod
        def sample(cls, query, colour, labels):
            return cls(0.0)

    assert find_capability("slotted") is Slotted
    assert "slotted" in list_capabilities()


def test_adapters_in_a_circle_end_and_the_shortest_chain_is_taken():
    for name in ("north", "east", "south"):
        type(name.title(), (Age,), {}, capability=name)
    for wanted, offered in (("north", "east"), ("east", "south"), ("south", "north"), ("north", "south")):
        register_adapter(wanted, offered)(lambda answer: answer)
    assert [a.offered for a in find_chain("north", {"south"})] == ["south"]
    assert [a.offered for a in find_chain("east", {"north"})] == ["south", "north"]
    assert find_sources("north") == ("north", "east", "south")
    assert find_chain("north", {"age"}) is None
