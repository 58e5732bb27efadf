"""Metrics and models of one run that measure different prompts, and the prompts that they have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import (
    Defaults,
    Domain,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    ObjectClass,
    Prompt,
    PromptSourceInfo,
    Row,
    Scene,
    SceneObject,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import Plan, make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, StaticResolver

CLASSES = {name: ObjectClass(name, f"{name}.n.01") for name in ("ant", "bee", "cat", "dog", "eel")}


pytestmark = pytest.mark.usefixtures("own_cache")


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("value", unit.one().one("reward").value)


class Widths(Metric):
    needs = (Need("embed", "embed"),)

    def measure(self, unit: Any) -> Any:
        yield Row("value", float(unit.one().one("embed").vector[0]))


def list_labels(setup: Any) -> Iterator[Prompt]:
    for cls in setup.labels or ():
        yield Prompt(cls.name, f"a {cls.name}", Scene((SceneObject(cls),)), {"object": cls.name})


def make_judge(name: str, capability: str, *classes: str) -> JudgeInfo:
    offers = {capability: TEST_JUDGE.capabilities[capability]}  # type: ignore[index]
    known = tuple(CLASSES[each] for each in classes)
    return replace(TEST_JUDGE, name=name, capabilities=offers, labels=lambda argument, options: known)  # type: ignore[arg-type]


def make_metric(name: str, create: Any, prompts: str = "labels") -> MetricInfo:
    return MetricInfo(
        name=name,
        summary="s",
        create=create,
        measures=(Measure("value", "v"),),
        defaults=Defaults(prompts=prompts, seeds=1),
    )


LABELS = PromptSourceInfo(name="labels", summary="s", prompts=list_labels, reads_labels=True)
OTHERS = PromptSourceInfo(
    name="others", summary="s", prompts=lambda setup: [Prompt(f"o{n}", f"other {n}") for n in range(3)]
)
BRIGHTNESS, WIDTHS = make_metric("brightness", Brightness), make_metric("widths", Widths)
RESOLVER = StaticResolver(
    make_judge("four", "reward", "ant", "bee", "cat", "dog"),
    make_judge("three", "embed", "cat", "dog", "eel"),
    LABELS,
    OTHERS,
)


def plan(*metrics: MetricInfo, models: tuple[GeneratorInfo, ...] = (TEST_MODEL,), **more: Any) -> Plan:
    return make_plan(Request(metrics, tuple(map(ModelRequest, models)), **more), RESOLVER)


def find_note(found: Plan) -> str:
    (note,) = [note for note in found.notes if note.startswith("different prompts are measured")]
    assert note in forecast_plan(found)["notes"]
    return note


def test_metrics_whose_lists_follow_their_judges_say_so_before_anything_runs() -> None:
    note = find_note(plan(BRIGHTNESS, WIDTHS, prompts=("labels",)))
    assert "4 of labels (brightness), 3 of labels (widths)" in note
    assert "2 in common" in note
    assert "--common-prompts" in note


def test_lists_with_nothing_in_common_do_not_advise_to_share() -> None:
    note = find_note(plan(BRIGHTNESS, make_metric("widths", Widths, "others")))
    assert "4 of labels (brightness), 3 of others (widths); none in common" in note
    assert "--common-prompts" not in note


def test_metrics_on_one_list_say_nothing() -> None:
    same = plan(BRIGHTNESS, make_metric("again", Brightness))
    assert not any("different prompts" in note for note in same.notes)


def test_models_of_different_domains_say_so() -> None:
    domain = Domain("drawings", "d", metrics={"brightness": Defaults(prompts="others")})
    drawn = replace(TEST_MODEL, name="drawn", domain=domain)
    note = find_note(plan(BRIGHTNESS, models=(TEST_MODEL, drawn)))
    assert "4 of labels (brightness on test-noise), 3 of others (brightness on drawn)" in note


def test_common_prompts_are_those_of_all_lists() -> None:
    found = plan(BRIGHTNESS, WIDTHS, common_prompts=True)
    assert [[p.id for p in job.prompts] for job in found.jobs] == [["cat", "dog"]] * 2
    assert found.jobs[0].grids == found.jobs[1].grids, "images are shared"
    assert any("2 prompts in common, of 4, 3" in note for note in found.notes)
    assert not any("different prompts" in note for note in found.notes)


def test_the_limit_applies_to_the_common_prompts() -> None:
    """A sample of each list would rarely have anything in common."""
    found = plan(BRIGHTNESS, WIDTHS, common_prompts=True, limit=1)
    assert [len(job.prompts) for job in found.jobs] == [1, 1]
    assert {job.prompts[0].id for job in found.jobs} <= {"cat", "dog"}
    assert "1 of 2 prompts of labels, a seeded sample" in found.notes


def test_the_common_prompts_of_several_sources_are_limited_alike() -> None:
    found = plan(BRIGHTNESS, WIDTHS, common_prompts=True, limit=2, prompts=("labels", "others"))
    assert [p.id[0] for p in found.jobs[0].prompts] in (["c", "o"], ["d", "o"])


def test_common_prompts_keep_the_facets_that_each_metric_has() -> None:
    """A source may describe a prompt by its place among the judge's classes."""

    def prompts(setup: Any) -> Iterator[Prompt]:
        for prompt in list_labels(setup):
            yield replace(prompt, facets={"classes": len(setup.labels)})

    resolver = StaticResolver(
        make_judge("four", "reward", "ant", "bee", "cat", "dog"),
        make_judge("three", "embed", "cat", "dog", "eel"),
        replace(LABELS, prompts=prompts),
    )
    found = make_plan(Request((BRIGHTNESS, WIDTHS), (ModelRequest(TEST_MODEL),), common_prompts=True), resolver)
    assert [[p.facets["classes"] for p in job.prompts] for job in found.jobs] == [[4, 4], [3, 3]]


def test_prompts_of_one_id_with_another_expectation_are_not_common() -> None:
    def prompts(setup: Any) -> Iterator[Prompt]:
        for prompt in list_labels(setup):
            yield replace(prompt, scene=None) if prompt.id == "cat" and len(setup.labels) == 3 else prompt

    resolver = StaticResolver(
        make_judge("four", "reward", "ant", "bee", "cat", "dog"),
        make_judge("three", "embed", "cat", "dog", "eel"),
        replace(LABELS, prompts=prompts),
    )
    found = make_plan(Request((BRIGHTNESS, WIDTHS), (ModelRequest(TEST_MODEL),), common_prompts=True), resolver)
    assert [p.id for p in found.jobs[0].prompts] == ["dog"]


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(BadPrompts, match="no prompt is in all of the lists: 4 of labels"):
        plan(BRIGHTNESS, make_metric("widths", Widths, "others"), common_prompts=True)


def test_results_say_that_models_are_compared_on_a_part_of_their_prompts(tmp_path: Path) -> None:
    """Both models have the same judge; one has its own default prompts, three of which are the other's too."""

    def some(setup: Any) -> Iterator[Prompt]:
        yield from (Prompt(f"o{n}", f"other {n}") for n in range(1, 6))

    some_of_them = PromptSourceInfo(name="some", summary="s", prompts=some)
    drawn = replace(TEST_MODEL, name="drawn", domain=Domain("d", "d", metrics={"b": Defaults(prompts="some")}))
    metric = make_metric("b", Brightness, "others")
    resolver = StaticResolver(make_judge("four", "reward", "ant"), OTHERS, some_of_them)
    run = evaluate(metric, [TEST_MODEL, drawn], out=tmp_path / "run", resolver=resolver)
    assert [r.n_prompts for r in run.results] == [3, 5]
    assert run.comparisons[0].n == 2
    for result, other in zip(run.results, ("drawn", "test-noise"), strict=True):
        assert any(f"compared with {other} on the 2 prompts in common" in note for note in result.notes)
    shared = evaluate(metric, [TEST_MODEL, drawn], out=tmp_path / "shared", resolver=resolver, common_prompts=True)
    assert [r.n_prompts for r in shared.results] == [2, 2]
    assert not any("in common" in note for result in shared.results for note in result.notes)
    assert shared.manifest.request.common_prompts


def test_judges_of_one_metric_with_different_classes_say_so() -> None:
    resolver = StaticResolver(
        make_judge("four", "reward", "ant", "bee", "cat", "dog"), make_judge("two", "reward", "cat", "eel"), LABELS
    )
    request = Request((BRIGHTNESS,), (ModelRequest(TEST_MODEL),), judges=("four", "two"))
    note = find_note(make_plan(request, resolver))
    assert "4 of labels (brightness by four), 2 of labels (brightness by two); 1 in common" in note
    shared = make_plan(replace(request, common_prompts=True), resolver)
    assert [[p.id for p in job.prompts] for job in shared.jobs] == [["cat"], ["cat"]]
