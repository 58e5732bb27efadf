"""The pages in a browser: headless Chromium under Playwright."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core.results.run import Run
from t2i_core.results.thumbnails import Thumbnails
from t2i_core.testing import StaticResolver
from t2i_report.compare import compare
from t2i_report.compare_page import write_comparison
from t2i_report.page import write_page
from t2i_report.pictures.gallery import Gallery, GalleryColumn
from t2i_report.pictures.shown_image import ShownImage
from t2i_report.report import write_report

pytestmark = pytest.mark.long  # a browser opens each page


@pytest.fixture(scope="module")
def report(shared_run: Run, resolver: StaticResolver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "report.html"
    write_report([shared_run], target, resolver, 160, lambda said: None)
    return target


class Reader:
    """One who reads a page; said: all that the page complains of."""

    def __init__(self, browser: Any, file: Path) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.asked: list[str] = []
        self.page.goto(file.as_uri())

    def choose(self, filter: str, option: str) -> None:
        self.page.locator(f"#f-{filter}").select_option(label=option)

    @property
    def count(self) -> str:
        return self.page.locator("#count").text_content()

    def cards(self) -> list[str]:
        """The texts of the cards in view, in their order."""
        buttons = self.page.locator("#grid button")
        places = [int(button.get_attribute("data-position")) for button in buttons.all()]
        return [text for _, text in sorted(zip(places, buttons.all_inner_texts(), strict=True))]

    @property
    def focused(self) -> int:
        """The position of the card that has the focus."""
        return int(self.page.evaluate("document.activeElement.dataset.position"))


@pytest.fixture
def reader(browser: Any, report: Path) -> Iterator[Reader]:
    with_report = Reader(browser, report)
    yield with_report
    with_report.context.close()


def test_the_page_opens_whole_and_asks_nobody_for_anything(reader: Reader) -> None:
    assert (
        reader.page.title() == "No sure difference between dark and light on bright and broken (bright)"
    )  # and not what a prompt would have it say
    assert reader.count == "32 of 32 pictures"
    first = reader.page.locator("#grid img").first
    first.wait_for()
    assert first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 24
    assert "<script>document.title = 'stolen'</script>" in " ".join(reader.cards())
    assert reader.page.locator("#grid script, #look script").count() == 0
    assert [url for url in reader.asked if not url.startswith(("file:", "data:"))] == []
    assert reader.said == []


def test_the_worst_come_first_and_filters_narrow(reader: Reader) -> None:
    assert all("bright: 0" in card for card in reader.cards()[:5])
    reader.choose("order", "best first")
    assert all("bright: 1" in card for card in reader.cards()[:5])
    reader.choose("outcome", "1 (right)")
    right = reader.count
    assert right == "13 of 32 pictures"  # 4 of 16 dark, 9 of 15 light
    reader.choose("model", "light")
    assert reader.count == "9 of 32 pictures"
    reader.choose("facet", "kind")
    reader.choose("level", "plain")
    assert all("a red dog" in card and "light" in card for card in reader.cards())
    reader.choose("seed", "3")
    assert reader.count == "1 of 32 pictures"
    reader.page.get_by_role("button", name="Show all").click()
    reader.page.get_by_text("32 of 32 pictures").wait_for()
    reader.page.locator("#f-text").fill("BELL")
    assert reader.count == "8 of 32 pictures"
    assert reader.said == []


def test_values_other_than_yes_or_no_are_filtered_by_range(reader: Reader) -> None:
    assert reader.page.locator("#f-from").is_hidden()
    reader.choose("measure", "bright shade")
    reader.page.locator("#f-from").fill("0.6")
    values = [float(card.split("bright shade: ")[1].split("\n")[0]) for card in reader.cards()]
    assert reader.count == "13 of 32 pictures"
    assert values == sorted(values)
    assert values[0] > 0.6


def test_of_a_score_that_is_better_low_the_high_ones_are_wrong(reader: Reader) -> None:
    reader.choose("measure", "broken bright")
    assert "broken bright: 1" in reader.cards()[0]
    reader.choose("outcome", "0 (right)")
    assert reader.count == "18 of 32 pictures"


def test_a_picture_that_is_not_there_says_why(reader: Reader) -> None:
    reader.choose("outcome", "no picture")
    (card,) = reader.cards()
    assert "failed: the filter <b>blanked</b> it" in card


def test_the_gallery_by_keyboard_alone(reader: Reader) -> None:
    page = reader.page
    page.get_by_role("button", name="Export tags").focus()
    page.keyboard.press("Tab")
    if page.evaluate("document.activeElement.id") == "pane":  # a browser may stop at what scrolls
        page.keyboard.press("Tab")
    assert reader.focused == 0
    page.keyboard.press("End")
    assert reader.focused == 31
    page.keyboard.press("ArrowLeft")
    assert reader.focused == 30
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    across = reader.focused - 1
    assert 1 < across < 12
    page.keyboard.press("Enter")
    look = page.get_by_role("dialog")
    look.wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    look.wait_for(state="hidden")
    # the page hears of the closed dialog a moment later, and then moves the focus
    page.wait_for_function("(place) => document.activeElement.dataset.position === String(place)", arg=across + 2)
    assert reader.said == []


def test_of_ten_thousand_only_those_in_view_are_there(browser: Any, tmp_path: Path) -> None:
    images = [
        ShownImage("m", f"p{n // 20}", f"a thing {n // 20}", n % 20, None, "failed: blank") for n in range(10_000)
    ]
    wall = Gallery(images, [GalleryColumn("score", True, [n % 977 / 977 for n in range(10_000)])])
    target = tmp_path / "many.html"
    pictures = Thumbnails(wall.pictures, 160)
    known = {
        "reports": [],
        "example": None,
        "summaries": [],
        "records": [],
        "title": "many",
        "pictures": pictures,
        "n_images": 10_000,
        "most_rows": 1,
        "mistakes": {},
        "overlays": {},
        "templates": tuple,
    }
    write_page(target, "report.html", gallery=lambda: {"id": "many", "side": 160, **wall.plain({})}, **known)
    reader = Reader(browser, target)
    assert reader.count == "10000 of 10000 pictures"
    assert "score: 0\n" in f"{reader.cards()[0]}\n"
    reader.page.locator("#grid button").first.focus()
    for key in ("PageDown", "End", "PageUp", "End"):
        reader.page.keyboard.press(key)
        assert reader.page.locator("#grid li").count() < 100
    assert reader.focused == 9_999
    assert "score: 0.999" in reader.cards()[-1]
    reader.page.locator("#f-text").fill("a thing 499")
    assert reader.count == "20 of 10000 pictures"
    assert reader.said == []
    reader.context.close()


def test_tags_are_kept_filtered_and_exported(reader: Reader, tmp_path: Path) -> None:
    page = reader.page
    page.locator("#grid button").first.click()
    page.locator("#tag").fill('odd, "really"')
    page.keyboard.press("Enter")
    page.get_by_role("button", name='Remove the tag odd, "really"').wait_for()
    page.get_by_role("button", name="Close").click()
    page.reload()
    reader.choose("tag", 'odd, "really"')
    assert reader.count == "1 of 32 pictures"
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export tags").click()
    downloading.value.save_as(tmp_path / "tags.csv")
    assert (tmp_path / "tags.csv").read_bytes().splitlines() == [
        b'"model","prompt","seed","tag"', b'"dark","plain","0","odd, ""really"""'
    ]  # fmt: skip
    page.locator("#grid button").first.click()
    for tag in ("=1+1", "-2", "a=b"):
        page.locator("#tag").fill(tag)
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Close").click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Export tags").click()
    downloading.value.save_as(tmp_path / "tags.csv")
    with (tmp_path / "tags.csv").open(encoding="utf-8", newline="") as file:
        assert [row["tag"] for row in csv.DictReader(file)] == ['odd, "really"', "'=1+1", "-2", "a=b"]
    page.locator("#grid button").first.click()
    for tag in ('odd, "really"', "=1+1", "-2", "a=b"):
        page.get_by_role("button", name=f"Remove the tag {tag}").click()
    page.get_by_role("button", name="Close").click()
    page.reload()
    assert page.locator("#f-tag").locator("option").all_inner_texts() == [
        "all", "any tag", "no tag"
    ]  # fmt: skip
    assert reader.said == []


def test_whatever_can_be_used_has_a_name(reader: Reader) -> None:
    reader.page.locator("#grid button").first.click()
    nameless = reader.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a, img, [role=region], dialog")]
            .filter((e) => !(e.closest("#grid") && e.tagName === "IMG"))
            .filter((e) => !(e.innerText || e.alt || (e.labels && e.labels.length)))
            .filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")))
            .map((e) => e.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_background(browser: Any, report: Path, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(report.as_uri())
    page.locator("#grid .facts").first.wait_for()
    colours = page.evaluate(
        """(selectors) => selectors.map((selector) => {
            const one = document.querySelector(selector);
            let behind = one;
            while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
            return [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor];
        })""",
        ["body", ".soft", "#grid .facts", "#grid .value", "nav a", "td.alarm"],
    )
    page.close()
    assert [pair for pair in colours if contrast(*pair) < 4.5] == []  # WCAG 2.2, 1.4.3


def contrast(*colours: str) -> float:
    lights = []
    for colour in colours:
        parts = [int(part) / 255 for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_a_comparison_shows_both_pictures(browser: Any, shared_run: Run, resolver: Any, tmp_path: Path) -> None:
    target = tmp_path / "compare.html"
    found = compare(shared_run, shared_run, ("dark", "light"), resolver)
    write_comparison(found, target, resolver, 160, lambda said: None)
    reader = Reader(browser, target)
    assert reader.count == "16 of 16 pairs"
    assert "bright: a - b: -1" in reader.cards()[0]
    assert reader.page.locator("#grid button").first.locator("img").count() == 2
    reader.choose("outcome", "light higher")
    assert reader.count == "5 of 16 pairs"
    reader.page.locator("#grid button").first.click()
    assert reader.page.locator("#look figcaption").all_inner_texts() == ["dark", "light"]
    assert reader.said == []
    reader.context.close()
