"""Checks that every metric must pass: it is run, end to end, on a model and a judge that need no weights."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest

from ..api.judge import Query
from ..api.options import has_number
from ..api.plugin_info import GeneratorInfo, Info, JudgeInfo, MetricInfo
from ..api.study import Analysis
from ..engine.component import Component
from ..engine.plan import make_plan
from ..engine.request import ModelRequest, Request
from ..engine.run import run_plan
from ..files.slug import make_slug
from ..results.analysis import analyze_run, list_metrics
from ..results.run import Run
from .answer_comparison import CHANCES, disturb_chance
from .components import ComponentContract
from .faults import Faults
from .figures import check_figure
from .parts import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

_RUNS: dict[tuple[object, ...], Run] = {}
"""The run of each suite with each set of parts."""


class MetricContract(ComponentContract):
    """Checks for every metric.

    Override `model`, `judge` and `prompts` if the metric needs others. To check an alternative of a need, set
    `judges` as a user names them (`answer=test-mean`).
    """

    kind = "metric"
    model: ClassVar[GeneratorInfo] = TEST_MODEL
    judge: ClassVar[JudgeInfo] = TEST_JUDGE
    judges: ClassVar[tuple[str, ...]] = ()
    prompts: ClassVar[str] = TEST_PROMPTS.name
    resolver_parts: ClassVar[tuple[Info, ...]] = (TEST_PROMPTS,)

    @pytest.fixture
    def run(self, info: MetricInfo, tmp_path_factory: pytest.TempPathFactory) -> Run:
        """The metric's run on two models (the same one, twice) and four seeds, made once for all checks."""
        made_from = (
            type(self),
            info.name,
            repr(self.options),
            id(self.model),
            id(self.judge),
            self.judges,
            self.prompts,
        )
        if made_from not in _RUNS:
            disturb_chance(CHANCES[0])
            _RUNS[made_from] = self.evaluate(info, tmp_path_factory.mktemp("metric") / "run")
        return _RUNS[made_from]

    def evaluate(self, info: MetricInfo, out: Path, faults: Faults | None = None) -> Run:
        """Evaluate the metric into a folder, with an empty cache."""
        model, judge = self.model, self.judge
        if faults is not None:
            model, judge = faults.of(model), faults.of(judge)
        request = Request(
            metrics=(info if self.argument is None else f"{info.name}:{self.argument}",),
            models=(ModelRequest(model, "a"), ModelRequest(model, "b")),
            prompts=(self.prompts,),
            seeds=(0, 1, 2, 3),
            judges=self.judges,
            options={self.name: self.options},
            out=out,
            max_failed=0.01 if faults is None else 1.0,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("T2I_CACHE_DIR", str(out.with_name(f"{out.name}-cache")))
            return run_plan(make_plan(request, StaticResolver(info, judge, *self.resolver_parts)))

    def test_measures_are_described(self, info: MetricInfo) -> None:
        """Each measure has its own name, a summary, and bounds that are numbers or options."""
        names = [m.name for m in info.measures]
        assert names
        assert len(set(names)) == len(names)
        assert all(m.summary for m in info.measures)
        bounds = [b for m in info.measures for b in (m.low, m.high) if isinstance(b, str)]
        unknown = [bound for bound in bounds if not has_number(info.options, bound)]
        assert not unknown, f"a bound is not the name of an option: {', '.join(unknown)}"

    def test_scores_every_model(self, run: Run) -> None:
        """Every model gets a score, and every sample is accounted for."""
        assert run.failed is None
        assert [result.label for result in run.results] == ["a", "b"]
        for result in run.results:
            assert result.score is not None
            assert result.n_ok + result.n_failed + result.n_missing > 0
            assert result.n_ok > 0

    def test_values_lie_in_the_declared_range(self, component: Component[MetricInfo], run: Run) -> None:
        """Rows respect the bounds that their measures declare."""
        table = run.measurements()
        for measure in (m.settled(component.options) for m in component.info.measures):
            values = table.loc[table["measure"] == measure.name, "value"]
            assert measure.low is None or (values >= measure.low).all()
            assert measure.high is None or (values <= measure.high).all()

    def test_results_are_plain_data(self, run: Run) -> None:
        """Results survive JSON, which has no NaN."""
        results = run.to_json()
        assert json.loads(json.dumps(results, allow_nan=False)) == results

    def test_analyses_can_be_told_and_drawn(self, info: MetricInfo, run: Run) -> None:
        """The analyses of the run's tables are tables with different file names, and figures that can be drawn."""
        resolver = StaticResolver(info)
        metrics = list_metrics(run, resolver)
        assert metrics.absent == {}, "it cannot be created again with the options that its run has recorded"
        found = [analysis for _, analysis in analyze_run(run, metrics, resolver)]
        for analysis in found:
            assert isinstance(analysis, Analysis), f"`analyses` must give Analysis (got {type(analysis).__name__})"
            assert isinstance(analysis.table, pd.DataFrame), f"the table of {analysis.name!r} is not a DataFrame"
            assert analysis.table.columns.is_unique, f"two columns of {analysis.name!r} have one name"
            if analysis.figure is not None:
                check_figure(analysis)
        files = [make_slug(analysis.name) for analysis in found]
        assert len(set(files)) == len(files), f"two analyses would be written to one file: {files}"

    def test_runs_again_to_the_same_results(self, info: MetricInfo, run: Run, tmp_path: Path) -> None:
        """Measuring is deterministic: a run with an empty cache gives the same numbers."""
        disturb_chance(CHANCES[1])
        again = self.evaluate(info, tmp_path / "again")
        assert again.results == run.results
        assert again.comparisons == run.comparisons

    def test_an_image_that_fails_is_no_value(self, info: MetricInfo, tmp_path: Path) -> None:
        """If an image cannot be generated, it counts as failed, and the rest is measured."""
        faults = Faults(image=True)
        _assert_accounts_for(self.evaluate(info, tmp_path / "run", faults), faults)

    def test_an_answer_that_fails_is_no_value(
        self, info: MetricInfo, component: Component[MetricInfo], tmp_path: Path
    ) -> None:
        """If an image or a prompt cannot be judged, it counts as failed, and the rest is measured."""
        needs = info.create(component.setup()).needs
        draws = any(need.images == "generated" for need in needs)
        once = any(need.per == "run" for need in needs)
        kept = tmp_path / "run-cache"

        def about_one_sample(query: Query) -> bool:
            if draws:
                return any(image.path.is_relative_to(kept) for image in query.images)
            return not once  # a failure of a query for all samples would stop the run

        faults = Faults(answer=about_one_sample)
        _assert_accounts_for(self.evaluate(info, tmp_path / "run", faults), faults)


def _assert_accounts_for(run: Run, faults: Faults) -> None:
    """Check that every model has a result, with a finite score or none, that counts the failures."""
    assert run.failed is None
    assert [result.label for result in run.results] == ["a", "b"]
    for result in run.results:
        assert result.score is None or isfinite(result.score)
        assert bool(result.n_failed) == bool(faults.failed), f"{result.n_failed} failed of {faults.failed}"
