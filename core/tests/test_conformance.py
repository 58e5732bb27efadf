"""The conformance kit finds what it is there to find; a check is waived where that is needed, and said why."""

from __future__ import annotations

import importlib
import inspect
import os
import random
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from PIL import Image as PILImage
from pydantic import Field
from t2i_core.api import (
    Analysis,
    Derive,
    ExistingImagesInfo,
    Failure,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    MetricInfo,
    Need,
    Options,
    Price,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Reward,
    Row,
    Segments,
)
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BrokenPlugin, T2IError
from t2i_core.api.figure import DistributionPlot
from t2i_core.api.image import Truth
from t2i_core.api.mask import PackedMask
from t2i_core.files.image_file import DamagedImage
from t2i_core.testing import GeneratorContract, JudgeContract, MetricContract, PromptSourceContract, sample_images
from t2i_core.testing.answer_comparison import CHANCES, disturb_chance
from t2i_core.testing.fake_dists import fake_dist
from t2i_core.testing.other_process import answer_in_another_process
from t2i_core.testing.ownership import find_other_owners, list_packages
from t2i_core.testing.parts import CLASSES, TEST_PROMPTS, settle

PROMPTS = list(TEST_PROMPTS.prompts(settle(TEST_PROMPTS, {}, None).setup()))
REQUESTS = GeneratorContract.requests.__wrapped__(None, PROMPTS, (0, 1))  # type: ignore[attr-defined]


def hold(
    contract: type[Any], check: str, info: Any, tmp_path: Path, module: str = __name__, **fixtures: Any
) -> None:
    """Hold a component to one check."""
    suite = contract()
    suite.name, suite.module = info.name, module
    component = settle(info, {}, None)
    there = {"info": info, "component": component, "tmp_path": tmp_path, **fixtures}
    test = getattr(suite, f"test_{check}")
    test(**{name: there[name] for name in inspect.signature(test).parameters})


# generators ---------------------------------------------------------------------------------------------------


def image(seed: int, text: str = "") -> Generated:
    return Generated(np.random.default_rng([seed, len(text)]).integers(1, 256, (8, 8, 3)).astype(np.uint8))


class Good:
    def generate(self, requests):
        for number, request in enumerate(requests):
            yield request, self.draw(number, request)

    def draw(self, number, request):
        return image(request.noise_seed, request.prompt.text)


class ByGlobalChance(Good):
    def draw(self, number, request):
        return Generated(np.random.randint(0, 256, (8, 8, 3)).astype(np.uint8))


class SeedBlind(Good):
    def draw(self, number, request):
        return image(7, request.prompt.text)


class ByPlace(Good):
    def draw(self, number, request):
        return image(request.noise_seed + 10 * number)


class Upset(Good):
    upset = False

    def draw(self, number, request):
        self.upset |= not request.prompt.text
        return image(request.noise_seed + self.upset)


class Gone(Good):
    def draw(self, number, request):
        if not request.prompt.text:
            raise MemoryError
        return super().draw(number, request)


class ByNumber(Good):
    def generate(self, requests):
        requests = list(requests)
        for request in requests:
            yield request, image(request.noise_seed + 10 * len(requests), request.prompt.text)


class Drawn(Good):
    """Draws as it should, and gives what core does not keep."""

    def __init__(self, spoil: Any) -> None:
        self.spoil = spoil

    def draw(self, number, request):
        pixels = super().draw(number, request).image
        return self.spoil(pixels) if request.noise_seed else Generated(pixels)


class OddRecord(Good):
    def draw(self, number, request):
        return Generated(image(request.noise_seed).image, {"when": {1, 2}})


GENERATOR_CHECKS = (
    "one_answer_per_request", "no_requests_no_images", "the_same_seed_gives_the_same_image",
    "another_seed_gives_another_image", "order_batch_and_company_change_nothing", "a_bad_prompt_fails_alone",
)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "fails"),
    [
        (Good, ()),
        (Gone, ()),
        (ByGlobalChance, ("the_same_seed_gives_the_same_image", "order_batch_and_company_change_nothing",
                          "a_bad_prompt_fails_alone")),
        (SeedBlind, ("another_seed_gives_another_image",)),
        (ByPlace, ("order_batch_and_company_change_nothing", "a_bad_prompt_fails_alone")),
        (Upset, ("a_bad_prompt_fails_alone",)),
        (ByNumber, ("order_batch_and_company_change_nothing", "a_bad_prompt_fails_alone")),
        (OddRecord, ("one_answer_per_request",)),
    ],
)  # fmt: skip
def test_a_generators_faults_are_found(model: Any, fails: tuple[str, ...], tmp_path: Path) -> None:
    info = GeneratorInfo(name="drawn", summary="S.", create=lambda setup: model())
    failed = []
    for check in GENERATOR_CHECKS:
        try:
            hold(GeneratorContract, check, info, tmp_path, prompts=PROMPTS, requests=REQUESTS)
        except (AssertionError, TypeError):
            failed.append(check)
    assert tuple(failed) == fails


class Broke(Good):
    def draw(self, number, request):
        return Failure("it never works")


class Sold(Good):
    """Images for 1 USD each."""

    def __init__(self, budget: Budget, cost: float) -> None:
        self.budget, self.cost = budget, cost

    def draw(self, number, request):
        if (charge := self.budget.reserve(1)) is None:
            return Failure("not sent")
        charge.settle(self.cost)
        return super().draw(number, request)


@pytest.mark.parametrize(
    ("create", "fault"),
    [
        (lambda setup: Sold(setup.budget, 1), None),
        (lambda setup: Sold(setup.budget, 0.1), None),
        (lambda setup: Sold(setup.budget, 1.5), "more than its price"),
        (lambda setup: Good(), "although the budget allows nothing"),
        (lambda setup: Broke(), "reserves no money"),
    ],
)
def test_spending_without_a_reservation_is_found(create: Any, fault: str | None, tmp_path: Path) -> None:
    price = Price(lambda request, capability: 1.0)
    info = GeneratorInfo(name="drawn", summary="S.", create=create, price=lambda options: price)
    with nullcontext() if fault is None else pytest.raises(AssertionError, match=fault):
        hold(GeneratorContract, "keeps_to_its_budget", info, tmp_path, requests=REQUESTS)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (Generated, None),
        (lambda pixels: Generated(PILImage.fromarray(pixels)), None),
        (lambda pixels: Generated(pixels.astype(float)), "got float64 of shape"),
        (lambda pixels: Generated(np.where(pixels < 9, np.nan, pixels)), "pixels that are not numbers"),
        (lambda pixels: Generated(pixels * 0), "every pixel is black"),
        (lambda pixels: Generated(pixels, truth=Truth((9, 9), ())), "truth of one of another size"),
    ],
)
def test_an_image_that_core_does_not_keep_is_found(spoil: Any, fault: str | None, tmp_path: Path) -> None:
    info = GeneratorInfo(name="drawn", summary="S.", create=lambda setup: Drawn(spoil))
    with nullcontext() if fault is None else pytest.raises(AssertionError, match=fault):
        hold(GeneratorContract, "one_answer_per_request", info, tmp_path, requests=REQUESTS)


def test_failed_checks_are_explained(tmp_path: Path) -> None:
    info = GeneratorInfo(name="drawn", summary="S.", create=lambda setup: ByPlace())
    with pytest.raises(AssertionError, match="asked in another order and batch, the image differs"):
        hold(GeneratorContract, "order_batch_and_company_change_nothing", info, tmp_path, requests=REQUESTS)
    empty = PromptSourceInfo(name="listed", summary="S.", prompts=lambda setup: [])
    with pytest.raises(AssertionError, match=r"assert \[\]"):  # pytest says what a bare assert compared
        hold(PromptSourceContract, "has_prompts_with_ids_of_their_own", empty, tmp_path, prompts=[])


# judges -------------------------------------------------------------------------------------------------------


class Mean:
    def observe(self, capability, queries):
        for number, query in enumerate(queries):
            yield query, Reward(self.value(number, query))

    def value(self, number, query):
        return float(query.images[0].pixels.mean())


class Moody(Mean):
    def __init__(self):
        self.mood = np.random.random()

    def value(self, number, query):
        return super().value(number, query) + self.mood


class InTurn(Mean):
    def value(self, number, query):
        return super().value(number, query) * (1 + number)


class Compared(Mean):
    def observe(self, capability, queries):
        values = [(query, self.value(0, query)) for query in queries]
        for query, value in values:
            yield query, Reward(value - np.mean([each for _, each in values]))


class NeverMind(Mean):
    def value(self, number, query):
        try:
            return super().value(number, query)
        except DamagedImage:
            return 0.0


class NotANumber(Mean):
    def value(self, number, query):
        return float("nan")


class WholeFile(Mean):
    def __init__(self):
        self.known = {}

    def value(self, number, query):
        return self.known.setdefault(query.images[0].digest, super().value(number, query))


JUDGE_CHECKS = (
    "one_answer_per_query", "asked_again_it_answers_the_same", "batch_and_order_change_nothing",
    "a_bad_image_or_text_fails_alone", "parts_of_an_image_are_judged_apart", "observations_survive_storage",
)  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "fails"),
    [
        (Mean, ()),
        (Moody, ("asked_again_it_answers_the_same", "batch_and_order_change_nothing")),
        (InTurn, ("batch_and_order_change_nothing", "a_bad_image_or_text_fails_alone")),
        (Compared, ("batch_and_order_change_nothing", "a_bad_image_or_text_fails_alone")),
        (NeverMind, ("a_bad_image_or_text_fails_alone",)),
        (WholeFile, ("parts_of_an_image_are_judged_apart",)),
        (NotANumber, ("a_bad_image_or_text_fails_alone", "observations_survive_storage")),
    ],
)
def test_a_judges_faults_are_found(judge: Any, fails: tuple[str, ...], tmp_path: Path) -> None:
    info = JudgeInfo(name="seen", summary="S.", capabilities={"reward": frozenset()}, create=lambda setup: judge())
    failed = []
    for check in JUDGE_CHECKS:
        given = {"judge": judge(), "labels": None, "images": sample_images(tmp_path), "text": "a dog"}
        try:
            hold(JudgeContract, check, info, tmp_path, **given)
        except (AssertionError, ValueError):
            failed.append(check)
    assert tuple(failed) == fails


class Outlines:
    """Finds the same object everywhere, its mask as wide as the judge says just now."""

    def __init__(self, width):
        self.width = width

    def observe(self, capability, queries):
        for number, query in enumerate(queries):
            height, across = query.images[0].pixels.shape[:2]
            mask = np.zeros((height, across), bool)
            mask[:, : self.width(number)] = True
            yield query, Segments(
                (across, height), np.zeros((1, 4), np.float32), np.ones(1, np.float32), np.zeros(1, np.int16),
                CLASSES, masks=(PackedMask.pack(mask),),
            )  # fmt: skip


@pytest.mark.parametrize(("width", "holds"), [(lambda number: 8, True), (lambda number: 8 + number, False)])
def test_a_mask_that_depends_on_its_place_is_found(width: Any, holds: bool, tmp_path: Path) -> None:
    info = JudgeInfo(
        name="seen", summary="S.", capabilities={"segment": frozenset()}, create=lambda setup: Outlines(width)
    )
    given = {"images": sample_images(tmp_path), "text": "a dog"}
    with nullcontext() if holds else pytest.raises(AssertionError, match="masks differ in"):
        hold(JudgeContract, "batch_and_order_change_nothing", info, tmp_path, **given)


def test_all_that_is_made_is_let_go(tmp_path: Path) -> None:
    opened, closed = [], []

    class Holding(Mean):
        def __init__(self):
            opened.append(self)

        def close(self):
            closed.append(self)

    info = JudgeInfo(
        name="seen", summary="S.", capabilities={"reward": frozenset()}, create=lambda setup: Holding()
    )
    for check in ("asked_again_it_answers_the_same", "batch_and_order_change_nothing"):
        hold(JudgeContract, check, info, tmp_path, images=sample_images(tmp_path), text="a dog")
        assert len(opened) == len(set(closed)) == len(closed)
    assert len(opened) == 4


# metrics ------------------------------------------------------------------------------------------------------


class MeanReward(PromptMetric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit):
        yield Row("mean", float(np.mean([observed.one("reward").value for observed in unit.observed])))


class OfAllFour(MeanReward):
    def measure(self, unit):
        values = [observed.one("reward").value for observed in unit.observed]
        yield Row("mean", (values[0] + values[1] + values[2] + values[3]) / 4)


class ByChance(MeanReward):
    needs = (Need("any", "pixels", derive=Derive("chance", lambda *_: {"x": np.random.random(1)})),)

    def measure(self, unit):
        yield Row("mean", sum(float(observed.derived("any")["x"][0]) for observed in unit.observed))


@pytest.mark.parametrize(
    ("metric", "fails"),
    [
        (MeanReward, ()),
        (OfAllFour, ("an_image_that_fails_is_no_value", "an_answer_that_fails_is_no_value")),
        (ByChance, ("runs_again_to_the_same_results",)),
    ],
)
def test_a_metrics_faults_are_found(metric: Any, fails: tuple[str, ...], tmp_path: Path) -> None:
    info = MetricInfo(name="mean", summary="S.", create=metric, measures=(Measure("mean", "M."),))
    suite = MetricContract()
    suite.name = "mean"  # type: ignore[misc]
    failed = []
    for number, check in enumerate(
        ("runs_again_to_the_same_results", "an_image_that_fails_is_no_value", "an_answer_that_fails_is_no_value")
    ):
        place = tmp_path / str(number)
        place.mkdir()
        disturb_chance(CHANCES[0])
        try:
            hold(MetricContract, check, info, place, run=suite.evaluate(info, place / "first"))
        except (AssertionError, T2IError):
            failed.append(check)
    assert tuple(failed) == fails


def test_an_analysis_that_cannot_be_told_or_drawn_is_found(tmp_path: Path) -> None:
    table = pd.DataFrame({"value": [1.0]})

    faults: list[tuple[list[Any], str | None]] = [
        ([], None),
        (
            [
                Analysis("one", "S.", table, DistributionPlot(label="value", value="value")),
                Analysis("two", "S.", table),
            ],
            None,
        ),
        ([table], "`analyses` must give Analysis"),
        ([Analysis("one", "S.", [1.0])], "the table of 'one' is not"),  # type: ignore[arg-type]
        ([Analysis("one", "S.", pd.concat([table, table], axis=1))], "two columns of 'one' have one name"),
        ([Analysis("a b", "S.", table), Analysis("a-b", "S.", table)], "would be written to one file"),
        ([Analysis("one", "S.", table, DistributionPlot(label="no", value="value"))], "names the column 'no'"),
        ([Analysis("one", "S.", table, table)], "must be one of"),
    ]
    said: list[Any] = []

    class Telling(MeanReward):
        def analyses(self, study):
            if not said:
                raise KeyError("no such column")
            yield from said[0]

    info = MetricInfo(name="mean", summary="S.", create=Telling, measures=(Measure("mean", "M."),))
    suite = MetricContract()
    suite.name = "mean"  # type: ignore[misc]
    run = suite.evaluate(info, tmp_path / "run")
    with pytest.raises(T2IError, match="no such column"):
        hold(MetricContract, "analyses_can_be_told_and_drawn", info, tmp_path, run=run)
    for given, fault in faults:
        said[:] = [given]
        with nullcontext() if fault is None else pytest.raises((AssertionError, BrokenPlugin), match=fault):
            hold(MetricContract, "analyses_can_be_told_and_drawn", info, tmp_path, run=run)


# prompt sources -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facets", "fails"),
    [({"kind": "dog"}, ()), ({"seed": 3}, ("facets_and_scenes_are_plain_data",)),
     ({"kind": float("nan")}, ("facets_and_scenes_are_plain_data",)),
     (None, ("is_the_same_each_time",))],
)  # fmt: skip
def test_a_prompt_sources_faults_are_found(facets: Any, fails: tuple[str, ...], tmp_path: Path) -> None:
    def prompts(setup: Any) -> list[Prompt]:
        given = {"chance": np.random.random()} if facets is None else facets
        return [Prompt("dog", "a dog", facets=given)]

    info = PromptSourceInfo(name="listed", summary="S.", prompts=prompts)
    failed = []
    for check in (
        "has_prompts_with_ids_of_their_own",
        "is_the_same_each_time",
        "facets_and_scenes_are_plain_data",
    ):
        try:
            hold(PromptSourceContract, check, info, tmp_path, prompts=prompts(None))
        except AssertionError:
            failed.append(check)
    assert tuple(failed) == fails


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: random.sample(["dog", "car", "cup", "hat"], 3)[0],
        lambda: random.choice(["dog", "car"]),
        lambda: np.random.randint(2),
    ],
)
def test_chance_is_found_where_little_is_drawn(drawn: Any, tmp_path: Path) -> None:
    info = PromptSourceInfo(name="listed", summary="S.", prompts=lambda setup: [Prompt("one", f"a {drawn()}")])
    disturb_chance(CHANCES[0])
    prompts = list(info.prompts(settle(info, {}, None).setup()))
    with pytest.raises(AssertionError, match="asked again, the prompts differ"):
        hold(PromptSourceContract, "is_the_same_each_time", info, tmp_path, prompts=prompts)


@pytest.mark.parametrize(
    ("why", "holds"),
    [(None, True), ("2 of 3 images name no seed", True), (" ", False), ("a\nb", False), (7, False)],
)
def test_the_suite_finds_reasons_for_unshared_seeds_of_several_lines(
    why: Any, holds: bool, tmp_path: Path
) -> None:
    info = ExistingImagesInfo(
        name="pics", summary="S.", create=lambda setup: Good(), unshared_seeds=lambda setup: why
    )
    with nullcontext() if holds else pytest.raises(AssertionError):
        hold(GeneratorContract, "unshared_seeds_have_a_reason", info, tmp_path)


# processes ----------------------------------------------------------------------------------------------------

HASHING = """
import numpy as np
from t2i_core.api import Generated, GeneratorInfo, JudgeInfo, ObjectClass, Prompt, PromptSourceInfo, hookimpl

print("what a plugin prints is in nobody's way")
NAMES = {order}("dog car cup hat sky sea sun cow pig hen bee ant".split())


class Model:
    def generate(self, requests):
        for request in requests:
            pixels = np.random.default_rng(abs({seed})).integers(0, 256, (4, 4, 3), np.uint8)
            yield request, Generated(pixels)


@hookimpl
def t2i_generators():
    return [GeneratorInfo(name="hashing", summary="S.", create=lambda setup: Model())]


@hookimpl
def t2i_judges():
    labels = tuple(ObjectClass(name) for name in NAMES)
    return [
        JudgeInfo(
            name="hashing", summary="S.", capabilities={{}}, create=lambda setup: None, labels=lambda *_: labels
        )
    ]


@hookimpl
def t2i_prompt_sources():
    return [PromptSourceInfo(name="hashing", summary="S.", prompts=lambda setup: [Prompt(n, n) for n in NAMES])]
"""


@pytest.mark.parametrize(
    ("order", "seed", "holds"),
    [("sorted", "len(request.prompt.text)", True), ("set", "hash(request.prompt.text)", False)],
)
def test_the_suite_finds_dependence_on_hash_seeds(
    order: str, seed: str, holds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"hashing_{order}"
    (tmp_path / f"{module}.py").write_text(HASHING.format(order=order, seed=seed))
    monkeypatch.syspath_prepend(tmp_path)
    plugin: Any = importlib.import_module(module)
    (model,), (judge,), (source,) = plugin.t2i_generators(), plugin.t2i_judges(), plugin.t2i_prompt_sources()
    asked: list[tuple[type[Any], str, Any, dict[str, Any]]] = [
        (GeneratorContract, "another_process_draws_the_same_image", model, {"requests": REQUESTS}),
        (JudgeContract, "another_process_has_the_same_labels", judge, {"labels": judge.labels(None, None)}),
        (PromptSourceContract, "another_process_has_the_same", source, {"prompts": source.prompts(None)}),
    ]
    for contract, check, info, fixtures in asked:
        with nullcontext() if holds else pytest.raises(AssertionError, match="PYTHONHASHSEED"):
            hold(contract, check, info, tmp_path, module=module, **fixtures)


FAILING = """
import os, sys
from t2i_core.api import Prompt, PromptSourceInfo, hookimpl


def prompts(setup):
    assert sys.stdin.read() == ""
    print("printed")
    {deed}
    yield Prompt("a", "a")


@hookimpl
def t2i_prompt_sources():
    return [PromptSourceInfo(name="failing", summary="S.", prompts=prompts)]
"""


def test_another_process_that_fails_is_told_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for deed, told in [
        ("raise KeyError('no such key')", "KeyError: 'no such key'"),
        ("os._exit(3)", "the other process failed"),
        ("pass", None),
    ]:
        name = f"failing_{len(deed)}"
        (tmp_path / f"{name}.py").write_text(FAILING.format(deed=deed))
        (source,) = importlib.import_module(name).t2i_prompt_sources()
        component = settle(source, {}, None)
        if told is None:
            assert [p.id for p in answer_in_another_process(component, name, None)] == ["a"]
        else:
            with pytest.raises(AssertionError, match=told):
                answer_in_another_process(component, name, None)


# options ------------------------------------------------------------------------------------------------------


class Inner(Options):
    near: int = 1
    same: tuple[Inner, ...] = ()


class Outer(Options):
    one: Inner = Field(default=Inner(), description="D.")
    many: dict[str, Inner | None] = Field(default={}, description="D.")


def test_an_option_inside_options_has_a_description_too(tmp_path: Path) -> None:
    info = PromptSourceInfo(name="listed", summary="S.", prompts=lambda setup: [], options=Outer)
    with pytest.raises(AssertionError, match=r"a description: one\.near, one\.same, many\.near, many\.same"):
        hold(PromptSourceContract, "options_are_described_and_round_trip", info, tmp_path)


# packages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "shared"),
    [
        ("t2i_mine/__init__.py,,\nt2i_mine-1.0.dist-info/METADATA,,\n../../../bin/mine,,\n", {}),
        ("t2i_mine/__init__.py,,\nt2i_core/mine.py,,\n", {"t2i_core": "t2i-core"}),
        ("t2i_mine/__init__.py,,\nnumpy/mine.py,,\n", {"numpy": "numpy"}),
        ("t2i_mine/__init__.py,,\nthere.py,,\n", {"there": "other"}),
    ],
)
def test_files_in_another_distributions_package_are_found(
    record: str, shared: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dist(tmp_path, "t2i-mine", {})
    fake_dist(tmp_path, "other", {})
    (tmp_path / "t2i_mine-1.0.dist-info" / "RECORD").write_text(record)
    (tmp_path / "other-1.0.dist-info" / "RECORD").write_text("there.py,,\nthereafter/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = distribution("t2i-mine")
    assert "t2i_mine" in list_packages(mine)
    assert find_other_owners(list_packages(mine), mine) == shared


# waivers ------------------------------------------------------------------------------------------------------


def test_a_waiver_of_an_unknown_check_is_an_error() -> None:
    with pytest.raises(TypeError, match="waives 'light_imports', which is not one of its checks: a_bad_prompt"):

        class TestTypo(GeneratorContract):
            waived: ClassVar = {"light_imports": "it is slow"}


def test_a_waiver_without_a_reason_is_an_error() -> None:
    with pytest.raises(TypeError, match="'light_import' without a reason"):

        class TestSilent(GeneratorContract):
            waived: ClassVar = {"light_import": " "}


def test_a_check_is_waived_and_never_replaced() -> None:
    with pytest.raises(TypeError, match="replaces the check test_light_import"):

        class TestOwn(GeneratorContract):
            test_light_import = None


SUITES = """
from t2i_core.testing import PromptSourceContract


class TestNeeded(PromptSourceContract):
    module, name = "t2i_odd.plugin", "odd"
    waived = {"has_prompts_with_ids_of_their_own": "it is empty until it has been fetched"}


class TestOfTheWaived(TestNeeded):
    waived = {"facets_and_scenes_are_plain_data": "not looked at"}
"""


@pytest.mark.long
def test_a_waiver_that_is_not_needed_is_an_error(tmp_path: Path) -> None:
    plugin = (
        "from t2i_core.api import PromptSourceInfo, hookimpl\n\n\n@hookimpl\ndef t2i_prompt_sources():\n"
        "    return [PromptSourceInfo(name='odd', summary='S.', prompts=lambda setup: [])]\n"
    )
    fake_dist(tmp_path, "t2i-odd", {"t2i.prompt_sources": {"odd": "t2i_odd.plugin"}}, {"t2i_odd.plugin": plugin})
    (tmp_path / "test_odd.py").write_text(SUITES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfx", "--import-mode=importlib"]
    done = subprocess.run(
        [*command, "test_odd.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 19 passed, 2 xfailed" in done.stdout, done.stdout
    assert "TestNeeded::test_has_prompts_with_ids_of_their_own - waived: it is empty until" in done.stdout
    assert "TestOfTheWaived::test_facets_and_scenes_are_plain_data - [XPASS(strict)] waived: not" in done.stdout
