"""Pictures with reasons and evidence in a browser: mistakes, the slider, and the gallery's filter by reason."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Evidence, Measure, Metric, MetricInfo, Need, Row
from t2i_core.api.mask import PackedMask
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_report.compare import compare
from t2i_report.compare_page import write_comparison
from t2i_report.report import write_report

from plugins.report.tests.conftest import LISTED, PAINT
from plugins.report.tests.test_report_browser import Reader

pytestmark = pytest.mark.long  # a browser opens each page

HARM = "</svg><script>document.title='stolen'</script>"


class Lit(Metric):
    """Whether an image is bright enough, with reasons and evidence if it is not."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        value = unit.one().one("reward").value / 255
        if value > 0.6:
            yield Row("lit", 1.0)
            return
        corner = np.zeros((24, 24), bool)
        corner[:6, :9] = True
        reasons = [f"shade {value:.2f}, asked 0.6", *(["very dark"] if value < 0.45 else [])]
        yield Row(
            "lit",
            0.0,
            because="; ".join(reasons),
            evidence=(Evidence(HARM, box=(4, 4, 20, 20)), Evidence("corner", mask=PackedMask.pack(corner))),
        )


LIT = MetricInfo(
    name="lit", summary="Lit?", create=Lit, measures=(Measure("lit", "Share of lit images.", low=0, high=1),)
)
RESOLVER = StaticResolver(LIT, PAINT, LISTED, TEST_JUDGE)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of three models; one image of the lightest failed."""
    folder = tmp_path_factory.mktemp("lit")
    models = {"dark": {"level": 60}, "light": {"level": 110}, "fair": {"level": 120, "fails": True}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        evaluate(
            "lit",
            [ModelRequest("paint", label, settings) for label, settings in models.items()],
            prompts="listed",
            seeds=4,
            out=folder / "run",
            resolver=RESOLVER,
            max_failed=0.5,
        )
        return load_finished_run(folder / "run")


def write(run: Run, target: Path) -> Path:
    write_report([run], target, RESOLVER, 160, lambda said: None)
    return target


@pytest.fixture(scope="module")
def page_file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(run, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def reader(browser: Any, page_file: Path) -> Iterator[Reader]:
    with_report = Reader(browser, page_file)
    yield with_report
    with_report.context.close()


def test_reasons_are_counted_over_all_rows_and_shown_with_evidence(reader: Reader, run: Run) -> None:
    rows = run.measurements()
    table = reader.page.locator("#mistakes .mistake").first
    assert table.locator("h4").inner_text() == "shade number, asked number"
    for model in ("dark", "light", "fair"):
        own = rows[rows["model"] == model]
        wrong = own["because"].notna().sum()
        assert table.get_by_role("row", name=model).first.inner_text().split("\t")[2] == f"{wrong} of {len(own)}"
    table.scroll_into_view_if_needed()
    table.locator(".shot img").first.wait_for()
    overlay = table.locator(".overlay").first
    assert overlay.is_visible()
    assert overlay.locator("path").get_attribute("d") == "M0 0h9v6h-9z"
    assert HARM in overlay.text_content()
    assert reader.page.title().find("stolen") == -1
    reader.page.locator("#mistakes .draws").uncheck()
    assert overlay.is_hidden()
    assert [url for url in reader.asked if not url.startswith(("file:", "data:"))] == []
    assert reader.said == []


def test_the_slider_by_keyboard_and_pointer(reader: Reader) -> None:
    page = reader.page
    page.locator("#side-by-side").scroll_into_view_if_needed()
    page.locator("#side-over img").wait_for()
    assert page.locator("#side-where option:checked").inner_text() == "where lit differs"
    differing = int(page.locator("#side-count").inner_text().split(" of ")[1].split(",")[0])
    share = page.locator("#side-share")
    share.focus()
    page.keyboard.press("ArrowRight")
    assert share.get_attribute("aria-valuetext") == "51 % dark"
    page.keyboard.press("Home")
    assert page.locator("#side-over").evaluate("e => e.style.clipPath") == "inset(0px 100% 0px 0px)"
    page.locator("#side-wipe").scroll_into_view_if_needed()
    box = page.locator("#side-wipe").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 3 / 4, box["y"] + 40)
    assert share.input_value() == "75"
    page.mouse.up()
    page.mouse.move(box["x"], box["y"] + 40)
    assert share.input_value() == "75"
    before = page.locator("#side-values").inner_text()
    assert "lit: why" in before
    page.get_by_role("button", name="Next").first.click()
    assert page.locator("#side-count").inner_text().startswith("2 of ")
    page.locator("#side-where").select_option(label="all prompts and seeds")
    assert page.locator("#side-count").inner_text().startswith("1 of 16,")
    assert differing < 16
    page.locator("#side-left").select_option(label="fair")
    assert page.locator("#side-left-name").inner_text() == "fair"
    page.locator("#side-right").select_option(label="fair")
    page.locator("#side-where").select_option(label="where lit differs")
    assert page.locator("#side-none").is_visible()
    assert reader.said == []


def test_the_gallery_is_filtered_by_reason_and_shows_reason_and_evidence(reader: Reader, run: Run) -> None:
    page = reader.page
    because = run.measurements()["because"].fillna("")
    wanted = int(because.str.contains("very dark").sum())
    assert wanted > 0
    page.locator("#f-why").select_option(label=f"very dark ({wanted})")
    assert reader.count == f"{wanted} of 48 pictures"
    page.locator("#grid button").first.click()
    look = page.locator("#look")
    assert "very dark" in look.locator("#look-facts").inner_text()
    assert look.locator(".overlay").is_visible()
    look.get_by_label("Evidence of lit").uncheck()
    assert look.locator(".overlay").is_hidden()
    assert reader.said == []


def test_a_comparison_shows_where_only_one_model_fails(browser: Any, run: Run, tmp_path: Path) -> None:
    rows = run.measurements().pivot(index=["prompt", "seed"], columns="model", values="value")
    target = tmp_path / "compare.html"
    found = compare(run, run, ("dark", "light"), RESOLVER)
    write_comparison(found, target, RESOLVER, 160, lambda said: None)
    reader = Reader(browser, target)
    heading = reader.page.locator("#mistakes h3").inner_text()
    only = [int((rows[a] < rows[b]).sum()) for a, b in (("dark", "light"), ("light", "dark"))]
    assert f"only dark fails: {only[0]}, only light fails: {only[1]}, equal: {16 - sum(only)} of 16" in heading
    reader.page.locator("#side-by-side").scroll_into_view_if_needed()
    reader.page.locator("#side-over img").wait_for()
    assert reader.page.locator("#side-count").inner_text().startswith(f"1 of {sum(only)},")
    assert reader.page.locator("#side-left").is_hidden()
    assert reader.said == []
    reader.context.close()


def test_without_pictures_reasons_stay(browser: Any, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "moved"
    shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns("images"))
    reader = Reader(browser, write(load_finished_run(folder), tmp_path / "report.html"))
    assert reader.page.locator("#mistakes h4").first.inner_text() == "shade number, asked number"
    reader.page.locator("#mistakes").scroll_into_view_if_needed()
    reader.page.locator("#mistakes .gone").first.wait_for()
    assert reader.page.locator("#mistakes .overlay").count() == 0
    assert reader.said == []
    reader.context.close()


def test_evidence_has_the_shape_of_its_picture(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    models = {"wide": {"level": 30, "wide": True}, "square": {"level": 60}}
    evaluate(
        "lit",
        [ModelRequest("paint", label, settings) for label, settings in models.items()],
        prompts="listed",
        seeds=2,
        out=tmp_path / "run",
        resolver=RESOLVER,
    )
    reader = Reader(browser, write(load_finished_run(tmp_path / "run"), tmp_path / "report.html"))

    def box(selector: str) -> tuple[float, float]:
        found = reader.page.locator(selector).first.bounding_box()
        return round(found["width"]), round(found["height"])

    assert reader.page.locator("#answer-example figcaption").inner_text().find("wide, seed") > 0
    width, height = box("#answer-example .overlay")
    assert width == pytest.approx(2 * height, abs=2)
    assert box("#answer-example img") == (width, height)
    reader.page.locator("#side-by-side").scroll_into_view_if_needed()
    reader.page.locator("#side-where").select_option(label="all prompts and seeds")
    reader.page.locator("#side-over img").wait_for()
    side = box("#side-wipe")[0]
    assert box("#side-wipe") == box("#side-under") == box("#side-over") == (side, side)
    assert box("#side-over .overlay") == box("#side-over img") == (side, pytest.approx(side / 2, abs=2))
    assert box("#side-under .overlay") == box("#side-under img") == (side, side)
    assert reader.said == []
    reader.context.close()
