"""Conformance suites: what core expects of each kind of component, as tests to inherit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ..components import API_VERSION, INFO_TYPES, Component, GeneratorInfo, Info, JudgeInfo, Kind, MetricInfo
from ..evaluation import ModelRequest, Request, make_plan, run_plan
from ..generation import Failure, Generated, ImageRequest
from ..images import Image
from ..judging import Query
from ..observations import TYPES
from ..prompts import Prompt
from ..runs import Run
from .parts import CLASSES, TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver, sample_images, settle

GROUPS: dict[Kind, str] = {
    "generator": "t2i.generators",
    "judge": "t2i.judges",
    "metric": "t2i.metrics",
    "prompt_source": "t2i.prompt_sources",
}
HEAVY = ("torch", "numpy", "pandas", "PIL", "transformers", "diffusers", "scipy")


class ComponentContract:
    """What holds for every component. Set `module` and `name`; subclass one of the four below, not this."""

    kind: ClassVar[Kind]
    module: ClassVar[str]
    """The plugin's light module, the target of its entry point."""
    name: ClassVar[str]
    """The component's name."""
    argument: ClassVar[str | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    """Options to test with, beyond the defaults."""

    @pytest.fixture
    def info(self) -> Any:
        """The descriptor."""
        hook = getattr(import_module(self.module), f"t2i_{self.kind}s")
        found: list[Info] = [i for i in hook() if i.name == self.name]
        assert len(found) == 1, f"{self.module} offers {len(found)} of the name {self.name!r}"
        return found[0]

    @pytest.fixture
    def component(self, info: Info) -> Component[Any]:
        """The component with the options of this suite."""
        return settle(info, self.options, self.argument)

    def test_is_entered(self) -> None:
        """The entry point has the component's name and points at the light module."""
        targets = [e.value for e in entry_points(group=GROUPS[self.kind], name=self.name)]
        assert targets == [self.module]

    def test_descriptor(self, info: Info) -> None:
        """The descriptor is of the right type, for these contracts, and says what it is in one line."""
        assert isinstance(info, INFO_TYPES[self.kind])
        assert info.api_version == API_VERSION
        assert info.summary
        assert "\n" not in info.summary

    def test_light_import(self) -> None:
        """The light module imports nothing heavy."""
        code = f"import sys, {self.module}; print([m for m in {HEAVY!r} if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{self.module} does not import by itself:\n{done.stderr}"
        heavy = done.stdout.splitlines()[-1]
        assert heavy == "[]", f"{self.module} imports {heavy} at its top: import it inside the factory"

    def test_options_are_described_and_round_trip(self, info: Info) -> None:
        """Every option has a description, and plain data makes equal options."""
        undescribed = [name for name, field in info.options.model_fields.items() if not field.description]
        assert not undescribed
        options = info.options(**self.options)
        assert info.options(**json.loads(json.dumps(options.model_dump(mode="json")))) == options

    def test_unknown_options_are_refused(self, info: Info) -> None:
        """A misspelt option is an error, never ignored."""
        with pytest.raises(ValueError, match="no_such_option"):
            info.options(**{**self.options, "no_such_option": 1})

    def test_fingerprint_is_stable(self, info: Info, component: Component[Any]) -> None:
        """The fingerprint depends on what is settled and nothing else."""
        assert settle(info, self.options, self.argument).fingerprint == component.fingerprint


class GeneratorContract(ComponentContract):
    """What holds for every generator."""

    kind = "generator"
    tolerance: ClassVar[float] = 0.0
    """How far pixels may differ (0 to 255) between batches."""

    @pytest.fixture
    def prompts(self, component: Component[GeneratorInfo]) -> Sequence[Prompt]:
        """Two prompts that the model can draw; replace it where others are needed."""
        if component.info.prompts is not None:
            return list(component.info.prompts(component.setup()))[:2]
        return list(TEST_PROMPTS.prompts(settle(TEST_PROMPTS, {}, None).setup()))

    @pytest.fixture
    def seeds(self) -> Sequence[int]:
        """Seeds to draw."""
        return (0, 1)

    @pytest.fixture
    def requests(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> list[ImageRequest]:
        """All prompts under all seeds."""
        return [ImageRequest(prompt, seed, seed) for prompt in prompts for seed in seeds]

    def draw(
        self, component: Component[GeneratorInfo], requests: Sequence[ImageRequest], batch_size: int | None = None
    ) -> list[Any]:
        """Answer the requests with a model made anew."""
        model = component.info.create(component.setup(batch_size=batch_size))
        try:
            answers = dict(_by_identity(model.generate(iter(requests))))
            return [answers.pop(id(request), None) for request in requests]
        finally:
            if hasattr(model, "close"):
                model.close()

    def test_one_answer_per_request(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """Each request gets an image or a failure."""
        answers = self.draw(component, requests)
        assert all(isinstance(a, Generated | Failure) for a in answers)
        assert any(isinstance(a, Generated) for a in answers), answers[0]

    def test_what_it_draws_is_declared(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """What is really drawn, where the model says so, is of the classes that it declares, and can be seen."""
        info = component.info
        labels = info.labels(self.argument, component.options) if info.labels else ()
        for answer in self.draw(component, requests[:2]):
            for instance in answer.truth.instances if isinstance(answer, Generated) and answer.truth else ():
                assert any(label.same_as(instance.cls) for label in labels), f"{instance.cls} is not in `labels`"
                assert instance.mask.area() > 0

    def test_no_requests_no_images(self, component: Component[GeneratorInfo]) -> None:
        """Nothing asked, nothing made."""
        assert self.draw(component, []) == []

    def test_order_batch_and_company_change_nothing(
        self, component: Component[GeneratorInfo], requests: list[ImageRequest]
    ) -> None:
        """An image depends on its own prompt and seed alone."""
        together = [_pixels(a) for a in self.draw(component, requests)]
        backwards = [_pixels(a) for a in self.draw(component, requests[::-1], batch_size=1)][::-1]
        for a, b in zip(together, backwards, strict=True):
            np.testing.assert_allclose(a, b, atol=self.tolerance)

    def test_settings_are_plain_data(self, component: Component[GeneratorInfo]) -> None:
        """What the model says of itself can be written into a manifest."""
        model = component.info.create(component.setup())
        settings = getattr(model, "settings", {})
        assert json.loads(json.dumps(dict(settings))) == dict(settings)
        if hasattr(model, "close"):
            model.close()


class JudgeContract(ComponentContract):
    """What holds for every judge."""

    kind = "judge"
    tolerance: ClassVar[float] = 1e-4
    """How far numbers may differ between batches, relative to the largest."""

    @pytest.fixture
    def images(self, tmp_path: Path) -> Sequence[Image]:
        """Images to judge; replace it where a judge needs others (with the truth, say)."""
        return sample_images(tmp_path)

    @pytest.fixture
    def text(self) -> str:
        """A text to judge images by."""
        return f"a photo of a {CLASSES[0].name}"

    def queries(self, capability: str, images: Sequence[Image], text: str) -> list[Query]:
        """Return one query per image."""
        texts = {"reward": (text,), "prefer": (text,), "likelihood": (text, "another caption")}.get(capability, ())
        if capability == "prefer":
            return [Query((a, b), texts) for a, b in zip(images, [*images[1:], images[0]], strict=True)]
        return [Query((image,), texts) for image in images]

    @pytest.fixture
    def judge(self, component: Component[JudgeInfo]) -> Iterator[Any]:
        """The judge, made once for a test."""
        judge = component.info.create(component.setup())
        yield judge
        if hasattr(judge, "close"):
            judge.close()

    def test_is_entered_for_each_capability(self, info: JudgeInfo) -> None:
        """A judge can be found by capability without importing it."""
        for capability in info.capabilities:
            targets = [e.value for e in entry_points(group=f"t2i.judges.{capability}", name=self.name)]
            assert targets == [self.module], capability

    def test_one_answer_per_query(self, info: JudgeInfo, judge: Any, images: Sequence[Image], text: str) -> None:
        """Each query gets an observation of the capability asked for, or a failure."""
        for capability in info.capabilities:
            queries = self.queries(capability, images, text)
            answers = _answers(judge, capability, queries)
            assert all(isinstance(a, TYPES[capability] | Failure) for a in answers)
            assert any(isinstance(a, TYPES[capability]) for a in answers), answers[0]
            assert _answers(judge, capability, []) == []

    def test_batch_and_order_change_nothing(
        self, info: JudgeInfo, component: Component[JudgeInfo], images: Sequence[Image], text: str
    ) -> None:
        """An observation depends on its own query alone."""
        one_by_one = info.create(component.setup(batch_size=1))
        together = info.create(component.setup(batch_size=len(images)))
        for capability in info.capabilities:
            queries = self.queries(capability, images, text)
            first = _answers(together, capability, queries)
            second = _answers(one_by_one, capability, queries[::-1])[::-1]
            for a, b in zip(first, second, strict=True):
                _assert_close(a, b, self.tolerance)

    def test_observations_survive_storage(
        self, info: JudgeInfo, component: Component[JudgeInfo], judge: Any, images: Sequence[Image], text: str
    ) -> None:
        """What is read back is what was said."""
        labels = info.labels(self.argument, component.options) if info.labels else None
        for capability in info.capabilities:
            for answer in _answers(judge, capability, self.queries(capability, images, text)):
                if not isinstance(answer, Failure):
                    _assert_close(TYPES[capability].from_bytes(answer.to_bytes(labels), labels), answer, 0)


class MetricContract(ComponentContract):
    """What holds for every metric: it is run, end to end, on a model and a judge that need no weights.

    Replace `model`, `judge` and `prompts` where the metric needs others.
    """

    kind = "metric"
    model: ClassVar[GeneratorInfo] = TEST_MODEL
    judge: ClassVar[JudgeInfo] = TEST_JUDGE
    prompts: ClassVar[str] = TEST_PROMPTS.name
    resolver_parts: ClassVar[tuple[Info, ...]] = (TEST_PROMPTS,)

    @pytest.fixture
    def run(self, info: MetricInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
        """The metric's run on two models (the same one, twice) and four seeds."""
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
        return self.evaluate(info, tmp_path / "run")

    def evaluate(self, info: MetricInfo, out: Path) -> Run:
        """Evaluate the metric into a folder."""
        request = Request(
            metrics=(info,),
            models=(ModelRequest(self.model, "a"), ModelRequest(self.model, "b")),
            prompts=(self.prompts,),
            seeds=(0, 1, 2, 3),
            options={self.name: self.options},
            out=out,
        )
        return run_plan(make_plan(request, StaticResolver(self.judge, *self.resolver_parts)))

    def test_measures_are_described(self, info: MetricInfo) -> None:
        """Each measure has its own name, says what it is, and has bounds that are numbers or options."""
        names = [m.name for m in info.measures]
        assert names
        assert len(set(names)) == len(names)
        assert all(m.summary for m in info.measures)
        bounds = [b for m in info.measures for b in (m.low, m.high) if isinstance(b, str)]
        assert set(bounds) <= set(info.options.model_fields), "a bound is the name of no option"

    def test_scores_every_model(self, run: Run) -> None:
        """Every model gets a score, and every sample is accounted for."""
        assert run.failed is None
        assert [r["as"] for r in run.results["results"]] == ["a", "b"]
        for result in run.results["results"]:
            assert result["score"] is not None
            assert result["n_ok"] + result["n_failed"] + result["n_missing"] > 0
            assert result["n_ok"] > 0

    def test_values_lie_in_the_declared_range(self, info: MetricInfo, run: Run) -> None:
        """Rows keep to the bounds that their measures declare."""
        table = run.measurements()
        options = settle(info, self.options, None).options
        for measure in (m.settled(options) for m in info.measures):
            values = table.loc[table["measure"] == measure.name, "value"]
            assert measure.low is None or (values >= measure.low).all()
            assert measure.high is None or (values <= measure.high).all()

    def test_results_are_plain_data(self, run: Run) -> None:
        """Results survive JSON, which has no NaN."""
        results = dict(run.results)
        assert json.loads(json.dumps(results, allow_nan=False)) == results

    def test_runs_again_to_the_same_results(self, info: MetricInfo, run: Run, tmp_path: Path) -> None:
        """Measuring is arithmetic: a second run gives the same numbers."""
        again = self.evaluate(info, tmp_path / "again")
        assert again.results["results"] == run.results["results"]
        assert again.results["comparisons"] == run.results["comparisons"]


class PromptSourceContract(ComponentContract):
    """What holds for every prompt source."""

    kind = "prompt_source"

    @pytest.fixture
    def prompts(self, component: Component[Any]) -> list[Prompt]:
        """The prompts; where they depend on the judge's labels, for the classes of the test judge."""
        labels = CLASSES if component.info.reads_labels else None
        return list(component.info.prompts(component.setup(labels=labels)))

    def test_has_prompts_with_ids_of_their_own(self, prompts: list[Prompt]) -> None:
        """There are prompts, and each can be told from the others."""
        assert prompts
        assert all(isinstance(p, Prompt) for p in prompts)
        assert len({p.id for p in prompts}) == len(prompts)

    def test_is_the_same_each_time(self, component: Component[Any], prompts: list[Prompt]) -> None:
        """The list does not depend on chance."""
        assert list(component.info.prompts(component.setup(labels=CLASSES))) == prompts

    def test_facets_and_scenes_are_plain_data(self, prompts: list[Prompt]) -> None:
        """Facets are texts and numbers; scenes survive JSON."""
        for prompt in prompts:
            assert all(isinstance(v, str | int | float) for v in prompt.facets.values())
            if prompt.scene is not None:
                data = json.loads(json.dumps(prompt.scene.to_json()))
                assert type(prompt.scene).from_json(data) == prompt.scene


def _by_identity(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
    """Key answers by the very object that they answer; none may be answered twice."""
    seen: set[int] = set()
    for asked, answer in pairs:
        assert id(asked) not in seen, "answered twice"
        seen.add(id(asked))
        yield id(asked), answer


def _answers(judge: Any, capability: str, queries: Sequence[Query]) -> list[Any]:
    """A judge's answers in the order of the queries."""
    found = dict(_by_identity(judge.observe(capability, iter(queries))))
    assert found.keys() == {id(q) for q in queries}
    return [found[id(query)] for query in queries]


def _pixels(answer: Any) -> np.ndarray:
    """The pixels of an answer as float; a failure has none."""
    if isinstance(answer, Failure):
        return np.empty(0)
    image = answer.image
    if isinstance(image, Path):
        return np.frombuffer(image.read_bytes(), np.uint8).astype(float)
    return np.asarray(image, dtype=float)


def _assert_close(a: Any, b: Any, tolerance: float) -> None:
    """Compare two observations field by field."""
    assert type(a) is type(b)
    for name in a.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        if isinstance(left, Mapping):
            assert left.keys() == right.keys()
            for key in left:
                _assert_close_values(left[key], right[key], tolerance)
        else:
            _assert_close_values(left, right, tolerance)


def _assert_close_values(a: Any, b: Any, tolerance: float) -> None:
    if isinstance(a, float | np.ndarray) and np.size(a):
        scale = float(np.abs(a).max()) or 1.0
        np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0)
    elif isinstance(a, np.ndarray):
        assert np.shape(a) == np.shape(b)
    elif tolerance == 0 or not isinstance(a, tuple):
        assert a == b
