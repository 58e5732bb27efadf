"""What a run, its analyses and its images show in a notebook; no text of a run becomes markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from t2i_core import Run, evaluate
from t2i_core.api import (
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Query,
    Row,
    SetMetric,
)
from t2i_core.api.capabilities.reward import Reward
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis, Study
from t2i_core.results.chart import MIME_TYPE
from t2i_core.testing import TEST_MODEL, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")
SCRIPT = "<script>alert(1)</script>"


class Judge:
    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()))


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        value = unit.one().one("reward").value
        yield Row("brightness", value, {"kind": SCRIPT}, because=f"{value:.3f} {SCRIPT}")

    def analyses(self, study: Study) -> Iterator[Analysis]:
        means = study.table.groupby("prompt", observed=True)["value"].mean().reset_index()
        yield Analysis("prompts", f"Means {SCRIPT}", means, BarChart(label="prompt", value="value"))
        yield Analysis("long", "Many rows.", pd.DataFrame({"row": range(40)}))


class Size(SetMetric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", 1.0)


PROMPTS = PromptSourceInfo(
    name="three", summary="Three.", prompts=lambda setup: [Prompt(f"p{n}", f"{n} {SCRIPT}") for n in range(3)]
)
JUDGE = JudgeInfo(name="judge", summary="J.", create=lambda setup: Judge(), capabilities={"reward": frozenset()})
METRIC = MetricInfo(
    name="metric",
    summary="M.",
    create=Brightness,
    measures=(Measure("brightness", "x", facets=("kind",)),),
)
RESOLVER = StaticResolver(TEST_MODEL, JUDGE, PROMPTS, METRIC)


@pytest.fixture
def run() -> Run:
    return evaluate("metric", "test-noise", prompts="three", seeds=2, out="run", resolver=RESOLVER)


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.tags, self.sources = "", list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name == "src"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_shows_its_verdict_its_scores_and_its_signature(run: Run) -> None:
    page = Page(run._repr_html_())
    (result,) = run.results
    assert page.text.startswith(f"test-noise scores {result.score:.1f}")
    assert page.text.count(f"{result.score:.1f} [") >= 2  # in the verdict and in the table
    assert "score [low, high]" in page.text
    assert result.signature in page.text
    assert "scores by facet" in page.text
    assert SCRIPT in page.text
    assert page.tags.index("table") < page.tags.index("details")
    assert "script" not in page.tags


def test_analyses_are_found_by_name_and_shown_with_their_figure(run: Run) -> None:
    analyses = run.analyses(RESOLVER)
    assert list(analyses) == ["prompts", "long"]
    page = Page(analyses["prompts"]._repr_html_())
    assert page.sources[0].startswith("data:image/svg+xml;base64,")
    assert page.tags.count("tr") == 4
    assert SCRIPT in page.text
    assert "script" not in page.tags
    assert MIME_TYPE in analyses["prompts"].plot()._repr_mimebundle_()
    assert "and 28 more rows in .table" in Page(analyses["long"]._repr_html_()).text
    assert "script" not in Page(analyses._repr_html_()).tags
    with pytest.raises(BadOption):
        analyses["long"].plot()
    with pytest.raises(UnknownName, match="prompts"):
        analyses["prompt"]


@pytest.mark.parametrize("order", ["worst", "best"])
def test_the_gallery_shows_the_extreme_images_with_their_reasons(run: Run, order: Any) -> None:
    gallery = run.gallery(order=order, limit=4)
    rows = run.measurements()
    wanted = sorted(rows["value"].astype(float), reverse=order == "best")[:4]
    assert gallery.table["value"].tolist() == pytest.approx(wanted)
    assert all(f"{row.value:.3f}" in row.because for row in gallery.table.itertuples())
    samples = run.samples().set_index(["prompt", "seed"])
    digests = [samples.loc[(row.prompt, row.seed), "digest"] for row in gallery.table.itertuples()]
    assert [image.digest for image in gallery.images if image is not None] == digests
    page = Page(gallery._repr_html_())
    assert [source.partition(",")[0] for source in page.sources] == ["data:image/webp;base64"] * 4
    assert SCRIPT in page.text
    assert "script" not in page.tags


def test_a_gallery_has_the_reasons_of_its_measure_and_first_judge_only() -> None:
    class Two(Brightness):
        def measure(self, unit: Any) -> Any:
            value = unit.one().one("reward").value
            yield Row("brightness", value, because="of the headline")
            yield Row("other", value, because="of another measure")

    class Inverse(Judge):
        def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
            yield from ((query, Reward(-reward.value)) for query, reward in super().observe(capability, queries))

    two = replace(METRIC, create=Two, measures=(Measure("brightness", "x"), Measure("other", "y")))
    inverse = replace(JUDGE, name="inverse", create=lambda setup: Inverse())
    resolver = StaticResolver(TEST_MODEL, JUDGE, inverse, PROMPTS, two)
    judges = ["judge", "inverse"]
    found = evaluate("metric", "test-noise", prompts="three", seeds=2, out="two", judge=judges, resolver=resolver)
    assert len({result.by for result in found.results}) == 2
    table = found.gallery().table
    assert set(table["because"]) == {"of the headline"}
    assert (table["value"] > 0).all()


def test_a_gallery_of_what_the_run_lacks_is_refused(run: Run) -> None:
    with pytest.raises(UnknownName, match="test-noise"):
        run.gallery("test-nois")
    with pytest.raises(UnknownName, match="metric"):
        run.gallery(metric="metrik")


def test_a_gallery_of_a_run_that_measures_no_single_image_is_refused() -> None:
    of_sets = replace(METRIC, create=Size, measures=(Measure("brightness", "x"),))
    resolver = StaticResolver(TEST_MODEL, JUDGE, PROMPTS, of_sets)
    found = evaluate("metric", "test-noise", prompts="three", seeds=2, out="set", resolver=resolver)
    with pytest.raises(BadOption, match="single images"):
        found.gallery()
