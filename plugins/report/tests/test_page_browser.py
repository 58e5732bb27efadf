"""Pages as readers see them: the five answers on the first screens, no faults of the page, accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from t2i_core.results.run import Run
from t2i_core.testing import StaticResolver
from t2i_report.compare import compare
from t2i_report.compare_page import write_comparison
from t2i_report.report import write_report

pytestmark = pytest.mark.long  # a browser opens each page

TWO_SCREENS = 1600
"""Height of the first two screens, in pixels."""

ANSWERS = ("best", "worst", "example", "judge", "repeat")


@dataclass
class OpenedPage:
    """A page in a browser.

    complaints: what the browser says about it
    """

    page: Any
    complaints: list[str] = field(default_factory=list)

    def read(self, answer: str) -> str:
        """Return the text of an answer."""
        text: str = self.page.locator(f"#answer-{answer}").inner_text()
        return text


@pytest.fixture(scope="module")
def pages(shared_run: Run, resolver: StaticResolver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of one model, of two models with a failed image, of a sweep, and of a comparison."""
    from plugins.report.tests.conftest import write_run

    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        one = write_run(folder / "one", models={"light": {"level": 110}})
        settings = {f"paint level={level}": {"level": level} for level in (60, 90, 110, 200)}
        sweep = write_run(folder / "sweep", models=settings)
    found = {}
    for name, run in (("one", one), ("two", shared_run), ("sweep", sweep)):
        found[name] = folder / f"{name}.html"
        write_report([run], found[name], resolver, 64, lambda said: None)
    found["compare"] = folder / "compare.html"
    compared = compare(shared_run, shared_run, ("dark", "light"), resolver)
    write_comparison(compared, found["compare"], resolver, 64, lambda said: None)
    found["both"] = folder / "both.html"
    write_report([one, shared_run], found["both"], resolver, 64, lambda said: None)
    return found


def open_page(browser: Any, file: Path, **how: Any) -> OpenedPage:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
    opened = OpenedPage(context.new_page())
    opened.page.set_default_timeout(20_000)
    opened.page.on("console", lambda message: opened.complaints.append(message.text))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.goto(file.as_uri())
    return opened


@pytest.fixture(params=["one", "two", "sweep", "compare", "both"])
def opened(request: pytest.FixtureRequest, browser: Any, pages: dict[str, Path]) -> Iterator[OpenedPage]:
    found = open_page(browser, pages[request.param])
    yield found
    found.page.context.close()


def test_the_answers_are_on_the_first_two_screens_and_the_page_has_no_faults(opened: OpenedPage) -> None:
    for answer in ANSWERS:
        box = opened.page.locator(f"#answer-{answer}").bounding_box()
        assert box["y"] + box["height"] < TWO_SCREENS, answer
    assert opened.page.locator("h1").count() == 1
    assert opened.page.title() == opened.page.locator("h1").inner_text()
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 1280
    repeated = opened.page.evaluate(
        """() => [...document.querySelectorAll("[id]")].map((each) => each.id)
            .filter((id, place, all) => all.indexOf(id) !== place)"""
    )
    assert repeated == []
    dangling = opened.page.evaluate(
        """() => [...document.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href").slice(1))
            .filter((id) => !document.getElementById(id))"""
    )
    assert dangling == []
    assert opened.complaints == []


def test_answers_about_one_model(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["one"])
    assert opened.page.locator("h1").inner_text().startswith("light scores 0.")
    assert "light" in opened.read("best")
    assert "How good is it?" in opened.read("best")
    assert "One model was measured." in opened.read("best")
    assert opened.page.locator("#answer-best .tag").count() == 0  # nothing is sure or not sure
    assert "kind: " in opened.read("worst")
    assert "Its agreement with people was not measured." in opened.read("judge")
    assert "t2i label" not in opened.read("judge")  # people give no rewards
    assert "metric:bright|version:1|" in opened.read("repeat")
    opened.page.context.close()


def test_answers_about_two_models(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["two"])
    assert "Which is better" in opened.read("best")
    assert "not sure" in opened.read("best")
    assert "dark minus light" in opened.read("best")
    assert "light kind: hostile" in opened.read("worst")
    assert "bright" in opened.read("judge")
    assert "2 of" not in opened.page.locator("h1").inner_text()
    assert "1 of 32 samples have no value on bright." in opened.page.locator(".lead").inner_text()
    opened.page.context.close()


def test_answers_about_settings_of_one_model(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["sweep"])
    title = opened.page.locator("h1").inner_text()
    assert "4 settings of paint on bright" in title
    assert "level=200" in opened.read("best")
    assert "level=110 kind: plain" in opened.read("worst")
    opened.page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["two", "sweep", "compare"])
def test_axe_finds_no_serious_fault(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    opened = open_page(browser, pages[name], color_scheme=scheme, bypass_csp=True)  # axe is a script of its own
    opened.page.locator("#grid img").first.wait_for()
    found = Axe().run(opened.page).response["violations"]
    serious = {
        each["id"]: [node["html"][:200] for node in each["nodes"][:3]]
        for each in found
        if each["impact"] in ("serious", "critical")
    }
    opened.page.context.close()
    assert serious == {}


def test_a_phone_scrolls_down_only(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["two"], viewport={"width": 390, "height": 844})
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    cut = opened.page.evaluate(
        """() => [...document.querySelectorAll(".plot, .answer pre")]
            .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1)
            .length"""
    )
    assert cut == 0  # charts are as wide as the screen, and a card shows its signature whole
    opened.page.context.close()


def test_marks_say_their_values_under_the_pointer(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["two"])
    tip = opened.page.locator("#tip")
    assert tip.is_hidden()
    mark = opened.page.locator('#models .role-mark [role="graphics-symbol"]').first
    mark.scroll_into_view_if_needed()
    opened.page.wait_for_timeout(300)  # a scroll that is told later would hide the text
    mark.hover()
    tip.wait_for(state="visible")
    text = tip.inner_text()
    assert "score: 0." in text
    assert "n: 15" in text  # the best one lost an image
    opened.page.keyboard.press("Escape")
    assert tip.is_hidden()
    opened.page.context.close()


def test_the_command_can_be_copied(browser: Any, pages: dict[str, Path]) -> None:
    opened = open_page(browser, pages["two"], permissions=["clipboard-read", "clipboard-write"])
    opened.page.locator("#cite").get_by_role("button", name="Copy the signature of bright").click()
    opened.page.get_by_text("Copied").wait_for()
    assert opened.page.evaluate("navigator.clipboard.readText()").startswith("metric:bright|version:1|")
    opened.page.context.close()
