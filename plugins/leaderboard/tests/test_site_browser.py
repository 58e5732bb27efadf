"""The site in a browser: sorting, keyboard, accessibility, dark and narrow, without network or complaints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from plugins.leaderboard.tests.conftest import SCRIPT, Write, paint_run

pytestmark = pytest.mark.long  # a browser opens each page


@pytest.fixture
def site(eight: list[Path], write: Write, tmp_path: Path) -> Path:
    """A site of eight models, one of whose names would do harm if it were anything but text."""
    hostile = paint_run(tmp_path / "hostile", SCRIPT, 146)
    again = paint_run(tmp_path / "again", "model 3", 80 + 12 * 3)
    written = write(*eight, hostile, again)
    assert written.code == 0, written.said
    return written.folder


@pytest.mark.parametrize(
    "how",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}],
    ids=["light", "dark", "narrow"],
)
def test_pages_have_no_faults(site: Path, browser: Any, how: dict[str, Any]) -> None:
    context = browser.new_context(**how)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    names = [
        "index.html",
        "metric-bright.html",
        "model-model-3.html",
        *(p.name for p in site.glob("model-*script*")),
    ]
    assert len(names) == 4
    for name in names:
        page.goto((site / name).as_uri())
        assert page.title() != "stolen"
        serious = [
            each for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")
        ]
        assert serious == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
    assert complaints == []
    assert all(url.startswith("file:") for url in asked)
    context.close()


def test_boards_are_sorted_by_the_keyboard(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    board = page.locator("table.board").first
    heading = board.locator("thead th", has_text="score")

    def read_scores() -> list[float]:
        return [float(cell.get_attribute("data-value")) for cell in board.locator("tbody td:nth-child(3)").all()]

    by_rank = read_scores()
    assert by_rank == sorted(by_rank, reverse=True)
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert read_scores() == sorted(by_rank)
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "descending"
    assert read_scores() == by_rank
    board.locator("thead button", has_text="model").click()
    assert heading.get_attribute("aria-sort") is None
    assert board.locator("tbody th").first.inner_text().startswith("</script>")
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.close()


def test_a_board_without_scripts_is_whole(site: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("table.board").first.locator("tbody tr").count() == 9
    assert page.locator("thead button:not([disabled])").count() == 0
    page.locator("tbody th a", has_text="model 3").first.click()
    assert page.locator("h1").inner_text() == "model 3"
    assert page.locator("svg.history").count() == 2
    context.close()
