"""`--max-cost`: what paid components may spend together, and what a plan says of it."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core import evaluate
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    ImageRequest,
    JudgeInfo,
    Options,
    Price,
    Prompt,
    PromptSourceInfo,
    Query,
    Reward,
    Setup,
)
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BadOption, BadPrompts, BrokenPlugin, CostLimitReached, T2IError
from t2i_core.api.executor import ComponentSettings
from t2i_core.api.failure import Failure
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need
from t2i_core.api.metric_output import Measure, Row
from t2i_core.api.money import format_dollars
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.progress import Silent
from t2i_core.engine.component import settle_component
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.executors import open_workers
from t2i_core.engine.generation import GenerationTask
from t2i_core.engine.lifecycle import Execution
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import TEST_MODEL, TEST_PROMPTS, StaticResolver

cents = st.integers(0, 300).map(lambda n: n / 100)


class TestBudget:
    @given(cents, st.lists(st.tuples(cents, st.sampled_from(["answer", "less", "lost", "free", "open"]))))
    def test_no_sequence_of_requests_exceeds_the_limit(
        self, limit: float, requests: list[tuple[float, str]]
    ) -> None:
        budget, billed, waiting = Budget(limit), 0.0, []
        for most, outcome in requests:
            charge = budget.reserve(most)
            if charge is None:
                continue
            if outcome == "open":
                waiting.append((charge, most))
            elif outcome == "lost":
                with charge:
                    billed += most
            else:
                cost = {"answer": most, "less": most / 2, "free": 0.0}[outcome]
                charge.settle(cost)
                billed += cost
            assert billed + sum(most for _, most in waiting) <= limit + 1e-9
        for charge, most in waiting:
            charge.settle(most)
            billed += most
        assert budget.spent == pytest.approx(billed)
        assert billed <= limit + 1e-9

    def test_sums_are_exact(self) -> None:
        budget = Budget(1.0)
        for _ in range(25):
            charge = budget.reserve(0.04)
            assert charge is not None
            charge.settle(0.04)
        assert budget.spent == 1.0
        assert budget.reserve(0.04) is None
        assert budget.is_spent

    def test_it_is_spent_only_if_no_open_request_can_leave_money_over(self) -> None:
        budget = Budget(0.1)
        first = budget.reserve(0.08)
        assert first is not None
        assert budget.reserve(0.08) is None
        assert not budget.is_spent
        first.settle(0.01)
        second = budget.reserve(0.08)
        assert second is not None
        with second:
            pass
        assert (budget.spent, budget.unconfirmed) == (pytest.approx(0.09), pytest.approx(0.08))
        assert budget.reserve(0.08) is None
        assert budget.is_spent
        assert budget.reserve(0.001) is None  # it stays so
        assert budget.reserve(0) is not None  # a download of what is paid for already

    def test_a_service_that_charges_more_than_its_options_say_gets_less(self) -> None:
        budget = Budget(1.0)
        charge = budget.reserve(0.1)
        assert charge is not None
        charge.settle(0.3)
        reserved = [budget.reserve(0.1) for _ in range(3)]
        assert [each is None for each in reserved] == [False, False, True]  # 0.3 and 0.3 of 0.7

    def test_requests_that_are_open_together_count_a_higher_price_once(self) -> None:
        budget = Budget(100)
        charges = [budget.reserve(0.01) for _ in range(8)]
        for charge in charges:
            assert charge is not None
            charge.settle(0.02)
        assert budget.reserve(0.5) is not None  # 1.0 of 99.84
        lost = budget.reserve(49)
        assert lost is not None
        with lost:
            pass
        assert budget.spent == pytest.approx(0.16 + 98)  # a request without an answer does not change the factor
        assert budget.reserve(0.4) is not None
        assert not budget.is_spent

    @pytest.mark.parametrize("amount", [-1.0, math.nan, math.inf])
    def test_amounts_that_are_none(self, amount: float) -> None:
        with pytest.raises(ValueError, match="must be a number from 0"):
            Budget(1).reserve(amount)
        charge = Budget(1).reserve(0.5)
        assert charge is not None
        with pytest.raises(ValueError, match="must be a number from 0"):
            charge.settle(amount)


def test_the_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(CostLimitReached(2, 1.99, 0.04, "3 of 4 images are made")))
    assert (error.limit, error.spent, error.unconfirmed, error.done) == (2, 1.99, 0.04, "3 of 4 images are made")
    assert "$2.00" in str(error)
    assert "$1.99 ($0.04 of it may not be charged)" in str(error)


class TestDollars:
    @pytest.mark.parametrize(
        ("amount", "text"),
        [(0, "$0"), (3.2, "$3.20"), (1250, "$1,250.00"), (0.5, "$0.50"), (0.0042, "$0.0042"), (0.0149, "$0.015"),
         (1e-7, "$0.0000001"), (0.999, "$1.00")],
    )  # fmt: skip
    def test_amounts(self, amount: float, text: str) -> None:
        assert format_dollars(amount) == text

    @given(st.floats(1e-12, 1e9))
    def test_something_is_never_nothing_and_bounds_are_bounds(self, amount: float) -> None:
        below, above = (float(format_dollars(amount, up).lstrip("$").replace(",", "")) for up in (False, True))
        assert below > 0
        assert above >= amount * (1 - 1e-9)
        assert above == pytest.approx(amount, rel=0.06, abs=0.0100001)


# whole runs


class PaidOptions(Options):
    """Options with a price."""

    price: float | None = None


class Shop:
    """A service that bills."""

    def __init__(self) -> None:
        self.billed = 0.0
        self.sold: list[Any] = []
        self.cost = 0.25
        self.lost: set[int] = set()


SHOP = Shop()


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    for name, value in vars(Shop()).items():
        monkeypatch.setattr(SHOP, name, value)
    return SHOP


class PaidModel:
    """Buys images, three at a time, as a client with several open requests does."""

    def __init__(self, setup: Setup[PaidOptions]) -> None:
        self.budget, self.price = setup.budget, setup.options.price or 0.0

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        source = iter(requests)
        while batch := [request for _, request in zip(range(3), source, strict=False)]:
            charges = [self.budget.reserve(self.price) for _ in batch]
            for request, charge in zip(batch, charges, strict=True):
                charge = charge or self.budget.reserve(self.price)
                if charge is None:
                    assert self.budget.is_spent
                    yield request, Failure("not sent")
                    continue
                with charge:
                    yield request, self.buy(request, charge)

    def buy(self, request: ImageRequest, charge: Any) -> Generated | Failure:
        SHOP.sold.append(request)
        SHOP.billed += SHOP.cost
        if len(SHOP.sold) in SHOP.lost:
            return Failure("no answer")
        charge.settle(SHOP.cost)
        rng = np.random.default_rng([request.noise_seed, *request.prompt.text.encode()])
        return Generated(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))


class PaidJudge:
    """Buys answers, one at a time."""

    def __init__(self, setup: Setup[PaidOptions]) -> None:
        self.budget, self.price = setup.budget, setup.options.price or 0.0

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Reward | Failure]]:
        for query in queries:
            charge = self.budget.reserve(self.price)
            if charge is None:
                yield query, Failure("not sent")
                continue
            SHOP.sold.append(query)
            SHOP.billed += SHOP.cost
            charge.settle(SHOP.cost)
            yield query, Reward(float(query.images[0].pixels.mean()))


def find_price(options: PaidOptions) -> Price | None:
    if options.price is None:
        return Price(lambda item, capability: 1.0, "set price")
    return Price(lambda item, capability: options.price or 0.0) if options.price else None


MODEL = GeneratorInfo(
    name="paid-model", summary="Sells images.", options=PaidOptions, create=PaidModel, price=find_price
)
JUDGE = JudgeInfo(
    name="paid-judge", summary="Sells rewards.", options=PaidOptions, create=PaidJudge, price=find_price,
    capabilities={"reward": frozenset()},
)  # fmt: skip


class Notes(Silent):
    """Keeps notes."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


class Rewards(Metric):
    """The mean reward."""

    needs = (Need("reward", "reward", queries=lambda s: [Query((s[0].image,), (s[0].prompt.text,))]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value)


METRIC = MetricInfo(name="rewards", summary="R.", create=Rewards, measures=(Measure("reward", "R."),))
RESOLVER = StaticResolver(MODEL, JUDGE, TEST_PROMPTS)
IMAGES = 16
"""Images of a run, and answers: 2 prompts, 8 seeds."""


def run(limit: float | None = None, price: float | None = 0.25, model: GeneratorInfo = MODEL, **more: Any) -> Any:
    options = {name: {"price": price} for name in ("paid-judge", *(["paid-model"] if model is MODEL else []))}
    return evaluate(
        METRIC, model.name if model is MODEL else model, prompts="test-prompts", seeds=8, out="run",
        resolver=RESOLVER, max_cost=limit, options=options, **more,
    )  # fmt: skip


def spent() -> Any:
    return json.loads(Path("run/run.json").read_text()).get("spent")


@pytest.mark.usefixtures("own_cache")
class TestRuns:
    def test_a_run_within_its_limit_records_what_it_spent(self, shop: Shop) -> None:
        done = run(limit=2 * IMAGES * 0.25)
        assert done.failed is None
        assert shop.billed == 2 * IMAGES * 0.25
        each = {"usd": IMAGES * 0.25, "unconfirmed": 0.0}
        assert spent() == {"generator paid-model": each, "judge paid-judge": each}
        run(limit=0)  # all is kept, and costs nothing
        assert shop.billed == 2 * IMAGES * 0.25
        assert spent() == {"generator paid-model": each, "judge paid-judge": each}

    def test_the_limit_holds_for_all_components_together_and_the_same_command_goes_on(self, shop: Shop) -> None:
        with pytest.raises(CostLimitReached) as caught:
            run(limit=2.6)
        assert (caught.value.limit, caught.value.spent) == (2.6, 2.5)
        assert caught.value.done == f"10 of {IMAGES} images by paid-model are made"
        assert caught.value.exit_code == 14
        assert shop.billed == 2.5
        manifest = json.loads(Path("run/run.json").read_text())
        assert (manifest["status"], manifest["failed"]) == ("failed", str(caught.value))
        assert manifest["spent"] == {"generator paid-model": {"usd": 2.5, "unconfirmed": 0.0}}
        with pytest.raises(CostLimitReached) as caught:
            run(limit=2.6)
        assert caught.value.done == f"4 of {IMAGES} queries are answered by paid-judge"
        assert len({(r.prompt.id, r.seed) for r in shop.sold if isinstance(r, ImageRequest)}) == IMAGES
        done = run()
        assert shop.billed == 2 * IMAGES * 0.25  # nothing was bought twice
        assert len(done.results) == 1
        assert spent()["judge paid-judge"]["usd"] == IMAGES * 0.25

    @pytest.mark.long
    @given(st.data())
    @settings(max_examples=15, deadline=None)
    def test_no_run_spends_more(self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
        with pytest.MonkeyPatch.context() as patch:
            here = tmp_path_factory.mktemp("run")
            patch.chdir(here)
            patch.setenv("T2I_CACHE_DIR", str(here / "cache"))
            patch.setattr(SHOP, "sold", [])
            patch.setattr(SHOP, "lost", data.draw(st.sets(st.integers(1, 40))))
            patch.setattr(SHOP, "cost", data.draw(st.sampled_from([0.01, 0.1, 0.25])))
            for _ in range(3):
                limit = data.draw(st.floats(0, 5).map(lambda x: round(x, 3)))
                before = SHOP.billed
                ended = None
                try:
                    run(limit, max_failed=1)
                except CostLimitReached as error:
                    ended = error
                assert ended is None or ended.spent >= SHOP.billed - before - 1e-9
                assert SHOP.billed - before <= limit + 1e-9

    def test_requests_without_an_answer_count_in_full(self, shop: Shop) -> None:
        shop.lost = {2, 3}
        with pytest.raises(CostLimitReached) as caught:
            run(limit=1)
        assert (caught.value.spent, caught.value.unconfirmed) == (1, 0.5)
        assert spent() == {"generator paid-model": {"usd": 1.0, "unconfirmed": 0.5}}

    def test_a_price_that_is_not_known_is_refused_before_anything_runs(self, shop: Shop) -> None:
        with pytest.raises(BadOption, match=r"--max-cost needs the price of generator 'paid-model'.*: set price"):
            run(limit=1, price=None)
        with pytest.raises(BadOption, match=r"--max-cost needs the price of judge 'paid-judge'.*: set price"):
            run(limit=1, price=None, model=TEST_MODEL)
        assert shop.sold == []
        assert not Path("run").exists()
        run(price=None)  # no limit to hold

    def test_spending_of_an_interrupted_run_is_recorded(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(self: Any, *args: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(PaidJudge, "observe", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(limit=100)
        assert json.loads(Path("run/run.json").read_text())["status"] == "running"
        assert spent() == {"generator paid-model": {"usd": IMAGES * 0.25, "unconfirmed": 0.0}}

    def test_spending_of_shards_is_recorded(self, shop: Shop) -> None:
        notes = Notes()
        done = run(shard=(1, 2), progress=notes)
        half = {"usd": IMAGES / 2 * 0.25, "unconfirmed": 0.0}
        assert {name: own.model_dump() for name, own in done.manifest.spent.items()} == {
            "generator paid-model": half,
            "judge paid-judge": half,
        }
        assert "spent $2.00 by generator paid-model, $2.00 by judge paid-judge" in notes.said
        assert not Path("run/run.json").exists()
        again = run(shard=(1, 2), fresh=True)
        whole = {"usd": IMAGES * 0.25, "unconfirmed": 0.0}
        assert again.manifest.spent["generator paid-model"].model_dump() == whole
        run()  # the second half
        run()
        assert spent()["generator paid-model"] == {"usd": IMAGES * 0.375, "unconfirmed": 0.0}
        assert sum(each["usd"] for each in spent().values()) == shop.billed

    def test_spending_of_a_shard_that_ends_at_its_limit_is_recorded(self, shop: Shop) -> None:
        with pytest.raises(CostLimitReached):
            run(shard=(1, 2), limit=0.5)
        assert shop.billed == 0.5
        run(shard=(1, 2))
        run(shard=(2, 2))
        run()
        assert sum(each["usd"] for each in spent().values()) == shop.billed > 0.5

    def test_paid_components_run_in_this_process_under_every_executor(self) -> None:
        opened: list[Any] = []

        class Cluster:
            @contextmanager
            def open(self, task: Any) -> Iterator[Any]:
                opened.append(task.component.spec)
                yield None

        budget = Budget(1)
        for info, options in ((MODEL, PaidOptions(price=0.25)), (MODEL, PaidOptions(price=0)), (TEST_MODEL, None)):
            task = GenerationTask(settle_component(info, options), ComponentSettings())
            with open_workers(task, Execution(ComponentSettings(), Cluster(), budget)) as workers:
                if workers is not None:
                    assert len(list(workers.answer([ImageRequest(Prompt("p", "p"), 0, 0)]))) == 1
        assert opened == ["paid-model", "test-noise"]  # the first one is free
        assert budget.spent == 0.25
        assert budget.spending["generator paid-model"].usd == 0.25

    def test_a_broken_price_names_the_plugin(self) -> None:
        def fail(options: Any) -> Price:
            raise RuntimeError("no list")

        with pytest.raises(BrokenPlugin, match="generator 'test-noise' failed to say its price: RuntimeError"):
            run(limit=1, model=replace(TEST_MODEL, price=fail))

    @pytest.mark.parametrize("limit", [-1, math.nan, math.inf, "much"])
    def test_limits_that_are_none(self, limit: Any) -> None:
        with pytest.raises(BadOption, match="--max-cost must be"):
            run(limit=limit)


@pytest.mark.usefixtures("own_cache")
class TestPlans:
    def forecast(self, price: float | None = 0.25, limit: float | None = None) -> dict[str, Any]:
        options = {name: {"price": price} for name in ("paid-judge", "paid-model")}
        request = Request(
            (METRIC,), (ModelRequest("paid-model"),), ("test-prompts",), seeds=8, options=options, max_cost=limit
        )
        return forecast_plan(make_plan(request, RESOLVER))

    def test_costs_of_all_paid_components(self) -> None:
        cost = self.forecast(limit=1)["cost"]
        assert (cost["most"], cost["limit"]) == (2 * IMAGES * 0.25, 1)
        columns = ("kind", "component", "to_make", "most")
        assert [tuple(part[column] for column in columns) for part in cost["components"]] == [
            ("generator", "paid-model", IMAGES, IMAGES * 0.25),
            ("judge", "paid-judge", IMAGES, IMAGES * 0.25),
        ]

    def test_kept_images_and_answers_cost_nothing(self, shop: Shop) -> None:
        with pytest.raises(T2IError):
            run(limit=5)  # 16 images, and 4 answers
        assert shop.billed == 5
        cost = self.forecast()["cost"]
        assert cost["most"] == (IMAGES - 4) * 0.25
        assert [(part["kept"], part["to_make"]) for part in cost["components"]] == [(IMAGES, 0), (4, IMAGES - 4)]

    def test_a_price_that_is_not_known(self) -> None:
        cost = self.forecast(price=None)["cost"]
        assert cost["most"] is None
        assert {part["set_first"] for part in cost["components"]} == {"set price"}

    def test_a_limit_notes_what_counts_as_free(self) -> None:
        notes = self.forecast(price=0, limit=1)["notes"]
        assert [note.partition(" (")[0] for note in notes if "as free" in note] == [
            f"--max-cost counts {each} as free; set its prices if it asks a paid service"
            for each in ("generator 'paid-model'", "judge 'paid-judge'")
        ]
        for others in (self.forecast(price=0), self.forecast(price=0.25, limit=1)):
            assert not [note for note in others["notes"] if "as free" in note]

    @pytest.mark.parametrize("fault", [None, BadPrompts("a text has no answer"), KeyboardInterrupt()])
    def test_a_plan_tells_its_spending_also_if_it_fails(self, fault: BaseException | None) -> None:
        def buy(setup: Setup[Any]) -> Iterator[Prompt]:
            charge = setup.budget.reserve(0.25)
            assert charge is not None
            charge.settle(0.25)
            yield Prompt("p", "a dog")
            if fault is not None:
                raise fault

        source = PromptSourceInfo(name="paid-prompts", summary="Sells prompts.", prompts=buy)
        request = Request((METRIC,), (ModelRequest(TEST_MODEL),), (source,), judges=("paid-judge",))
        notes: list[str] = []
        with pytest.raises(type(fault)) if fault else nullcontext():
            make_plan(request, RESOLVER, note=notes.append)
        assert notes == ["planning: spent $0.25 by prompt source paid-prompts"]

    @pytest.mark.parametrize(("most", "unknown"), [(0.5, ""), (0.0, "set price"), (0.0, "")])
    def test_prompts_that_are_not_rewritten_yet(self, most: float, unknown: str) -> None:
        def announce(setup: Setup[Any]) -> Iterator[Prompt]:
            setup.budget.announce({"a dog": most, "a cat": most}, ["a car"], unknown)
            yield Prompt("p", "a dog")

        source = PromptSourceInfo(name="paid-prompts", summary="Sells prompts.", prompts=announce)
        options = {"paid-judge": {"price": 0.25}}
        models = (ModelRequest(TEST_MODEL),)
        request = Request((METRIC,), models, (source,), options=options, judges=("paid-judge",))
        found = forecast_plan(make_plan(request, RESOLVER, dry=True))
        parts = {part["kind"]: part for part in found["cost"]["components"]}
        assert found["cost"]["most"] == (None if unknown else 0.25 + 2 * most)
        assert not parts["judge"]["is_bound"]
        assert [note for note in found["notes"] if note.startswith("2 texts are not rewritten yet")]
        if most or unknown:
            own = parts["prompt source"]
            assert (own["component"], own["to_make"], own["kept"]) == ("paid-prompts", 2, 1)
            assert (own["most"], own["set_first"], own["is_bound"]) == (None if unknown else 1, unknown, True)
        else:
            assert "prompt source" not in parts

    def test_free_components_have_no_cost(self) -> None:
        assert "cost" not in self.forecast(price=0)
