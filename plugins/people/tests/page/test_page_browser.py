"""The page in a browser: headless Chromium under Playwright."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from t2i_core.io.answer_database import read_database
from t2i_core.io.rater_rules import Rules
from t2i_people.page.form_choice import choose_form
from t2i_people.page.study_file import read_form

pytestmark = pytest.mark.long  # a browser votes

SOON = "((later) => { setTimeout = (act) => later(act, 0); })(setTimeout);"
"""Makes a page take answers at once, not only when the second click of a double click can no longer arrive."""


class Person:
    """One who votes with a browser, and with `patient` waits as long as the page wants."""

    def __init__(self, browser: Any, url: str, name: str = "Ann", patient: bool = False, **how: Any) -> None:
        self.context = browser.new_context(**how)
        if not patient:
            self.context.add_init_script(SOON)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.goto(url)
        self.page.get_by_label("Your name").fill(name)
        self.settle()
        self.page.get_by_role("button", name="Begin").click()
        self.page.wait_for_selector("#saved")
        self.settle()

    def settle(self) -> None:
        """Wait until the page takes answers. Before "load" neither its script nor its style need be there."""
        self.page.wait_for_load_state("load")
        if self.page.evaluate("typeof SETTLING") == "number":
            self.page.wait_for_selector("body[data-settled]")

    def saved(self, count: int) -> None:
        """Wait until the page says so."""
        said = f"{count} vote{'' if count == 1 else 's'} saved"
        self.page.get_by_text(said, exact=True).wait_for()

    def press(self, key: str, then: int) -> None:
        self.settle()
        self.page.keyboard.press(key)
        self.saved(then)

    def click(self, name: str, then: int) -> None:
        self.settle()
        self.page.get_by_role("button", name=name).click()
        self.saved(then)

    @property
    def task(self) -> str:
        return self.page.locator('form[action="/vote"] input[name=task]').input_value()


def verdicts(study: Any) -> list[str]:
    return [vote.answer for vote in read_database(study.store.path)[0]]


def test_a_session_by_keyboard(served, browser, make_run):
    study, url = served(run=make_run(seeds=(0,), size=16))
    ann = Person(browser, url)
    for number, key in enumerate("120x", 1):
        ann.press(key, number)
    ann.page.get_by_role("heading", name="Thank you: that was all").wait_for()
    assert verdicts(study) == ["left", "right", "tie", "both-bad"]
    ann.press("u", 3)
    ann.press("u", 2)
    ann.press("2", 3)
    ann.press("X", 4)
    assert verdicts(study) == ["left", "right", "right", "both-bad"]
    assert ann.said == []


def test_keys_are_for_who_wants_them(served, browser):
    study, url = served()
    ann = Person(browser, url)
    ann.settle()
    for held in ("Control", "Alt", "Meta"):
        ann.page.keyboard.press(f"{held}+1")
    ann.page.get_by_role("button", name="Keys are on").click()
    ann.page.keyboard.press("1")
    ann.page.reload()
    ann.settle()
    ann.page.keyboard.press("1")
    assert verdicts(study) == []
    ann.page.get_by_role("button", name="Keys are off").click()
    ann.press("1", 1)


def test_no_keys_are_told_where_there_is_no_keyboard(served, browser):
    _, url = served()
    ann = Person(browser, url, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    assert ann.page.locator("kbd").count() == 4
    assert ann.page.locator("kbd:visible, .keys:visible").count() == 0
    ann.click("First is better", 1)


def test_a_session_by_mouse(served, browser):
    study, url = served()
    ann = Person(browser, url)
    for number, name in enumerate(("First is better", "Second is better", "Equally good", "Both are bad"), 1):
        ann.click(name, number)
    ann.click("Undo", 3)
    ann.click("First is better", 4)
    assert verdicts(study) == ["left", "right", "tie", "left"]


def test_a_double_click_is_one_vote(served, browser):
    study, url = served()
    ann = Person(browser, url, patient=True)
    ann.settle()
    ann.page.get_by_role("button", name="First is better").dblclick(delay=20)
    ann.saved(1)
    ann.settle()
    ann.press("2", 2)
    assert verdicts(study) == ["left", "right"]


def test_tab_and_enter_reach_everything_and_focus_shows(served, browser):
    study, url = served()
    ann = Person(browser, url)
    reached = []
    for _ in range(12):
        ann.page.keyboard.press("Tab")
        focus = "document.activeElement"
        assert ann.page.evaluate(f"getComputedStyle({focus}).outlineStyle") != "none"
        reached.append(ann.page.evaluate(f"{focus}.value || {focus}.textContent || {focus}.firstChild.alt"))
        if reached[-1] == "right":
            break
    assert reached[-2:] == ["left", "right"]
    ann.press("Enter", 1)
    assert verdicts(study) == ["right"]


def test_a_reload_in_the_middle_and_the_back_button(served, browser):
    study, url = served()
    ann = Person(browser, url)
    ann.press("1", 1)
    task = ann.task
    ann.page.reload()
    assert ann.task == task
    ann.press("2", 2)
    ann.page.go_back()
    ann.page.wait_for_selector("#saved")
    ann.saved(2)
    ann.press("0", 3)
    ann.page.reload()
    ann.saved(3)
    assert verdicts(study) == ["left", "right", "tie"]


def test_a_page_that_was_left_open_answers_once(served, browser):
    """Two tabs show the same task; both answer."""
    study, url = served()
    ann = Person(browser, url)
    other = ann.context.new_page()
    other.goto(url)
    ann.press("1", 1)
    other.wait_for_selector("body[data-settled]")
    other.keyboard.press("2")
    other.get_by_text("your first answer stays").wait_for()
    assert verdicts(study) == ["left"]


def test_two_annotators(served, browser):
    study, url = served()
    ann, bob = Person(browser, url, "Ann"), Person(browser, url, "Bob")
    for number in range(1, 3):
        ann.press("1", number)
        bob.press("2", number)
    said = Counter((vote.rater, vote.answer) for vote in read_database(study.store.path)[0])
    assert said == {("Ann", "left"): 2, ("Bob", "right"): 2}
    assert "Voting as Bob" in bob.page.inner_text("header")


def test_without_scripts(served, browser):
    study, url = served()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="First is better").click()
    page.get_by_text("1 vote saved").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("0 votes saved").wait_for()
    page.get_by_role("button", name="Both are bad").click()
    page.get_by_text("1 vote saved").wait_for()
    assert verdicts(study) == ["both-bad"]


def test_hostile_texts_do_nothing(served, browser, make_run, hostile):
    _, url = served(run=make_run(prompts=hostile, seeds=(0,), size=16))
    ann = Person(browser, url, "<img src=x onerror=alert(1)>")
    shown = set()
    for number in range(1, 5):
        shown.add(ann.page.inner_text(".prompt"))
        assert ann.page.title() == f"Vote {number}"
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ann.press("1", number)
    assert hostile["p1"] in shown
    assert len(shown) == 4
    assert "<img src=x onerror=alert(1)>" in ann.page.inner_text("header")
    assert ann.said == []


def test_questions_about_people_by_keyboard(served, browser, make_run):
    groups = {"gender": ("male", "female"), "race": ("White", "Black", "Hispanic", "Asian")}
    study, url = served(run=make_run(models=("apple",), seeds=range(9), size=32), groups=groups, grid=9)
    ann = Person(browser, url)
    assert ann.page.locator(".grid img").count() == 9
    assert ann.page.locator("fieldset:visible").count() == 1
    ann.page.keyboard.press("1")
    assert ann.page.locator("fieldset:visible").count() == 3
    images, save = (ann.page.locator(name).bounding_box() for name in (".one", "button.main"))
    assert save["x"] > images["x"] + images["width"]  # all is seen at once
    assert save["y"] + save["height"] < ann.page.viewport_size["height"]
    ann.page.keyboard.press("2")
    ann.page.keyboard.press("0")
    ann.press("Enter", 1)
    ann.settle()
    ann.page.get_by_label("No, most do not").check()
    ann.click("Save and continue", 2)
    said: dict[str, dict[str, str]] = {}
    for vote in read_database(study.store.path)[0]:
        said.setdefault(vote.task, {})[vote.question] = vote.answer
    assert list(said.values()) == [{"human": "yes", "gender": "female", "race": "cannot-tell"}, {"human": "no"}]
    # nothing is sent before all is answered
    ann.settle()
    ann.page.keyboard.press("1")
    ann.page.keyboard.press("Enter")
    ann.saved(2)


def answers_by_name(study: Any) -> list[tuple[str, str]]:
    return [(each.question, each.answer) for each in read_database(study.store.path)[0]]


def test_a_rating_by_keyboard_and_mouse(served, browser):
    study, url = served(form=read_form("rating"))
    ann = Person(browser, url)
    ann.press("4", 1)
    ann.click("completely", 2)
    ann.press("u", 1)
    ann.press("1", 2)
    assert answers_by_name(study) == [("rating", "4"), ("rating", "1")]
    assert ann.said == []


def test_yes_no_or_cannot_tell_by_keyboard(served, browser):
    study, url = served(form=read_form("yes-no"))
    ann = Person(browser, url)
    for number, key in enumerate("120", 1):
        assert ann.page.inner_text("h1").startswith('Does this image show "')
        ann.press(key, number)
    assert answers_by_name(study) == [("shown", "yes"), ("shown", "no"), ("shown", "cannot-tell")]


def test_two_grids(served, browser):
    study, url = served(form=choose_form(form="grid", grid=2))
    ann = Person(browser, url)
    assert ann.page.locator(".grid img").count() == 4
    ann.press("2", 1)
    (answer,) = read_database(study.store.path)[0]
    assert [len(side.digests) for side in answer.shown] == [2, 2]


def test_components_by_mouse_and_keyboard(served, browser):
    study, url = served(form=read_form("components"))
    ann = Person(browser, url)
    lists = ann.page.locator("select")
    assert lists.count() == 3
    ann.settle()
    ann.page.keyboard.press("1")  # the list of objects has no key for each entry: it gets the focus
    assert ann.page.evaluate("document.activeElement.name") == "object"
    lists.nth(0).select_option("dog")
    ann.page.evaluate("document.activeElement.blur()")
    ann.page.keyboard.press("2")
    ann.page.keyboard.press("1")
    for place in (1, 2):
        lists.nth(place).select_option("none")
    ann.page.evaluate("document.activeElement.blur()")
    ann.page.keyboard.press("5")
    ann.press("Enter", 1)
    assert dict(answers_by_name(study)) == {
        **{"object": "dog", "number": "2", "colour": "red"},
        **{"object A": "none", "object B": "none", "relation": "none"},
    }


def test_a_study_of_ones_own_without_both_bad(served, browser, tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(
        """
        sides: 2
        questions:
          - {name: preference, text: "Which is better?", both_bad: false}
          - name: reason
            text: Why?
            only_if: {preference: left}
            choices: [colour, shape]
        """
    )
    study, url = served(form=choose_form(study=path))
    ann = Person(browser, url)
    ann.settle()
    assert ann.page.get_by_text("Both are bad").count() == 0
    ann.page.keyboard.press("1")
    ann.page.keyboard.press("2")
    ann.press("Enter", 1)
    ann.settle()
    ann.page.keyboard.press("0")
    ann.press("Enter", 2)
    assert answers_by_name(study) == [("preference", "left"), ("reason", "shape"), ("preference", "tie")]


def test_instructions_before_the_first_task(served, browser, tmp_path, shared_run):
    (tmp_path / "ring.png").write_bytes(next((shared_run / "images").rglob("*.png")).read_bytes())
    guide = tmp_path / "guide.md"
    guide.write_text("# Guide\n\n![a ring](ring.png)\n")
    _, url = served(form=choose_form(instructions=guide))
    ann = Person(browser, url)
    assert ann.page.evaluate("document.querySelector('article img').naturalWidth") == 48
    assert ann.page.locator('form[action="/vote"]').count() == 0
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector('form[action="/vote"]')
    assert ann.page.get_by_role("link", name="Instructions").is_visible()
    ann.press("1", 1)
    ann.page.goto(f"{url}instructions")
    ann.settle()
    ann.page.get_by_role("button", name="To the task").click()
    ann.saved(1)


def test_mistakes_by_keyboard_and_mouse(served, browser):
    study, url = served(form=read_form("mistakes"))
    ann = Person(browser, url)
    ann.page.keyboard.press("Enter")  # the instructions
    ann.page.wait_for_selector('form[action="/vote"]')
    ann.settle()
    ann.page.keyboard.press("Enter")  # nothing is sent without a choice
    ann.saved(0)
    for key in "651":  # none, which the next one takes back
        ann.page.keyboard.press(key)
    assert ann.page.locator("input:checked").count() == 2
    ann.press("Enter", 1)
    ann.settle()
    ann.page.get_by_label("Playing card").check()
    ann.page.get_by_label("None of these").check()
    ann.click("Save and continue", 2)
    chosen = [question for question, answer in answers_by_name(study) if answer == "yes"]
    assert chosen == ["mistakes: monster", "mistakes: text", "mistakes: none"]
    assert ann.said == []


def test_mistakes_without_scripts(served, browser):
    study, url = served(form=read_form("mistakes"))
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(url)
    page.get_by_label("Your name").fill("Ann")
    for _ in range(2):  # join, and read the instructions
        page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_text("Nothing was saved").wait_for()
    page.go_back()
    page.get_by_label("Monster").check()
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_text("1 vote saved").wait_for()
    assert [question for question, answer in answers_by_name(study) if answer == "yes"] == ["mistakes: monster"]


@pytest.mark.parametrize("form", ["caption-similarity", "diversity"])
def test_training_for_the_forms_of_the_hypernymy_paper(served, browser, make_run, form):
    asked = read_form(form)
    rules = Rules(fastest=0, training=5, pass_mark=asked.protocol.pass_mark)
    study, url = served(run=make_run(seeds=range(4), size=32), form=asked, rules=rules)
    ann = Person(browser, url)
    assert "better" in ann.page.inner_text("article") or "diverse" in ann.page.inner_text("article")
    ann.page.keyboard.press("Enter")
    ann.page.wait_for_selector('form[action="/vote"]')
    annotator = study.store.annotators()[0]
    for number in range(5):
        assert ann.page.inner_text("#saved") == "Training"
        right = study.store.task(annotator.id, ann.task).expected["preference"]
        ann.settle()
        before = ann.task
        ann.page.keyboard.press({"left": "1", "right": "2"}[right] if number else "0")  # the first is wrong
        ann.page.wait_for_function(
            "before => document.querySelector('input[name=task]').value !== before", arg=before
        )
        note = ann.page.inner_text(".note")
        assert note.startswith("As expected." if number else "Not as expected:")
    ann.saved(0)
    assert ann.page.get_by_role("button", name="Both are bad").count() == 0


FORMS = ["pair", "rating", "yes-no", "components", "caption-similarity", "diversity", "mistakes"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_contrast_and_fits_a_phone(served, browser, make_run, form, scheme):
    run = make_run(seeds=range(4)) if form == "diversity" else None
    asked = choose_form(form=form)
    _, url = served(run=run, form=asked)
    ann = Person(browser, url, color_scheme=scheme)
    for page in ("", "?read=yes") if asked.instructions else ("",):
        ann.page.goto(f"{url}{page}")
        ann.settle()
        for width in (1280, 390):
            ann.page.set_viewport_size({"width": width, "height": 844})
            assert ann.page.evaluate(CONTRAST) == []
            assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # on the phone: choices stand in columns, and the images of a pair are as large as the screen allows
    for choices in ann.page.locator(".choices, .verdicts").all():
        boxes = [each.bounding_box() for each in choices.locator("label, button").all()]
        assert len({round(box["x"]) for box in boxes}) <= 2
        assert len({round(box["width"]) for box in boxes}) <= 2  # a last one may fill the row
    if asked.sides == 2:
        first, second = (each.bounding_box() for each in ann.page.locator(".side .grid").all())
        assert first["y"] + first["height"] <= second["y"]
        assert min(first["width"], second["width"]) > 240
        buttons = ann.page.locator(".verdicts").bounding_box()
        assert buttons["y"] + buttons["height"] <= 844  # within reach without scrolling


CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => 0.2126 * channel(rgb[0]) + 0.7152 * channel(rgb[1]) + 0.0722 * channel(rgb[2]);
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const found = numbers(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
    const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push(`${e.tagName} ${e.textContent.trim()}: ${ratio.toFixed(2)}`);
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_and_nothing_overflows(served, browser, scheme):
    """WCAG 2.2, 1.4.3 (AA): 4.5 to 1."""
    _, url = served(rules=Rules(fastest=5, training=1))
    ann = Person(browser, url, color_scheme=scheme)
    seen = set()
    for _ in range(3):  # training, its explanation, a warning
        for width in (1280, 360):
            ann.page.set_viewport_size({"width": width, "height": 760})
            assert ann.page.evaluate(CONTRAST) == []
            assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        seen.add(ann.page.inner_text("main"))
        ann.settle()
        task = ann.task
        ann.page.keyboard.press("1")
        ann.page.wait_for_function(
            "before => document.querySelector('form[action=\"/vote\"] input[name=task]')?.value !== before",
            arg=task,
        )
        ann.settle()
    assert len(seen) == 3
    ann.page.goto(f"{url}image/gone")
    assert ann.page.evaluate(CONTRAST) == []
