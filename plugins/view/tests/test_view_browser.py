"""The page as readers see it: live lists and runs, choosing and comparing, keyboard, phone, accessibility."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from filelock import FileLock
from t2i_view.access import ViewAccess
from t2i_view.app import make_app
from t2i_view.made_pages import MadePages
from t2i_web_support.server import listen, make_address, make_server

from .conftest import begin_run, change_manifest
from .test_list import write_many

pytestmark = pytest.mark.long  # a browser opens each page


@pytest.fixture
def address(runs: Path, pages: MadePages) -> Iterator[str]:
    """The page over the runs, served."""
    with listen("127.0.0.1", 0) as at:
        server = make_server(make_app(runs, ViewAccess(), pages))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]})
        thread.start()
        yield make_address("127.0.0.1", at)
        server.should_exit = True
        thread.join()


@dataclass
class OpenedView:
    """A page in a browser.

    complaints: what the browser says about it
    """

    page: Any
    complaints: list[str] = field(default_factory=list)


def open_view_page(browser: Any, address: str, **how: Any) -> OpenedView:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
    opened = OpenedView(context.new_page())
    opened.page.set_default_timeout(20_000)
    opened.page.on("console", lambda message: opened.complaints.append(message.text))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.goto(address)
    return opened


def wait_until(page: Any, expression: str) -> None:
    """Wait until an expression holds; Playwright's own function for that needs `eval`, which the page forbids."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(expression)


def test_a_run_is_followed_to_its_end(browser: Any, address: str, runs: Path) -> None:
    run = begin_run(runs)
    opened = open_view_page(browser, f"{address}/run/under-way")
    page = opened.page
    page.get_by_text("interrupted").wait_for()
    with FileLock(run / ".lock"):
        page.get_by_text("A process works on this run.").wait_for()
        wait_until(page, "[...document.images].filter((image) => image.naturalWidth).length === 4")
        progress = json.loads((run / ".progress").read_text())
        progress["stages"][-1]["done"] = 25
        (run / ".progress").write_text(json.dumps(progress))
        page.get_by_text("25 of 40 images").wait_for()
        shutil.copy(runs / "first" / "run.json", run / "run.json")
    page.get_by_role("link", name="Open the report").wait_for()
    assert page.locator("progress").count() == 0
    page.get_by_role("link", name="Open the report").click()
    wait_until(page, "document.title === 'made'")
    assert opened.complaints == []
    page.context.close()


def test_the_list_changes_and_keeps_what_the_reader_has_done(browser: Any, address: str, runs: Path) -> None:
    opened = open_view_page(browser, address)
    page = opened.page
    page.get_by_label("Choose first").check()
    page.get_by_label("Choose second").focus()
    begin_run(runs)
    page.get_by_role("link", name="under-way").wait_for()  # without a reload
    assert page.get_by_label("Choose first").is_checked()
    assert page.evaluate("document.activeElement.value") == "second"
    page.keyboard.press("Space")
    page.get_by_role("button", name="Compare chosen runs").click()
    page.wait_for_url("**/compare?run=second&run=first")
    page.locator("#differences td.n").first.wait_for()
    wait_until(page, "!document.body.textContent.includes('is being compared')")
    page.get_by_role("link", name="pictures and prompts").first.click()
    wait_until(page, "document.title === 'made'")
    assert opened.complaints == []
    page.context.close()


def test_search_and_filters_change_the_list_and_the_address(browser: Any, address: str, runs: Path) -> None:
    opened = open_view_page(browser, address)
    page = opened.page
    page.get_by_label("Search").press_sequentially("secon")
    page.get_by_text("1 of 2 runs").wait_for()
    assert page.evaluate("location.search") == "?text=secon&order=-started"
    assert page.evaluate("document.activeElement.name") == "text"
    page.reload()
    assert page.locator("#rows tbody tr").count() == 1
    page.get_by_role("link", name="Show all").click()
    page.get_by_text("2 of 2 runs").wait_for()
    page.get_by_label("Status").select_option("failed")
    page.get_by_text("No run is as asked for.").wait_for()
    page.get_by_label("Status").select_option("")
    page.get_by_role("link", name="Run", exact=True).click()
    page.wait_for_url("**/?order=name")
    assert page.locator("#rows tbody th").all_inner_texts() == ["first", "second"]
    assert opened.complaints == []
    page.context.close()


def test_the_page_says_that_its_server_is_gone(browser: Any, runs: Path, pages: MadePages) -> None:
    with listen("127.0.0.1", 0) as at:
        server = make_server(make_app(runs, ViewAccess(), pages))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]})
        thread.start()
        opened = open_view_page(browser, make_address("127.0.0.1", at))
        server.should_exit = True
        thread.join()
    opened.page.get_by_text("t2i view does not answer").wait_for()
    assert opened.page.locator("#rows tbody tr").count() == 2
    opened.page.context.close()


def test_the_list_works_without_scripts(browser: Any, address: str) -> None:
    opened = open_view_page(browser, address, java_script_enabled=False)
    page = opened.page
    page.get_by_label("Search").fill("first")
    page.get_by_role("button", name="Show", exact=True).click()
    assert page.locator("#rows tbody tr").count() == 1
    page.context.close()


PATHS = ("/", "/run/under-way", "/run/first", "/compare?run=first&run=second", "/run/missing")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_no_serious_fault(
    browser: Any, address: str, runs: Path, under_way: Path, path: str, scheme: str
) -> None:
    (runs / "damaged").mkdir()
    (runs / "damaged" / "run.json").write_text("{")
    change_manifest(runs / "second", status="failed", failed="too many failed")
    opened = open_view_page(browser, address + path, color_scheme=scheme, bypass_csp=True)  # axe is a script
    found = Axe().run(opened.page).response["violations"]
    serious = {
        each["id"]: [node["html"][:200] for node in each["nodes"][:3]]
        for each in found
        if each["impact"] in ("serious", "critical")
    }
    opened.page.context.close()
    assert serious == {}


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_scrolls_down_only(browser: Any, address: str, under_way: Path, path: str) -> None:
    opened = open_view_page(browser, address + path, viewport={"width": 390, "height": 844})
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    opened.page.context.close()


def test_a_thousand_runs_are_shown_without_lag(browser: Any, address: str, runs: Path, original: Path) -> None:
    write_many(runs, original, 1000)
    opened = open_view_page(browser, address)
    page = opened.page
    page.get_by_text("1002 of 1002 runs").wait_for()
    page.evaluate(
        "() => { window.longest = 0; new PerformanceObserver((list) => { for (const each of list.getEntries())"
        " longest = Math.max(longest, each.duration); }).observe({ type: 'longtask' }); }"
    )
    page.get_by_label("Search").press_sequentially("run-09", delay=30)
    page.get_by_text("100 of 1002 runs").wait_for()
    page.get_by_label("Search").fill("")
    page.get_by_text("1002 of 1002 runs").wait_for()
    assert page.evaluate("longest") < 1500  # ms; a slow machine has the processor to itself only now and then
    assert opened.complaints == []
    page.context.close()
