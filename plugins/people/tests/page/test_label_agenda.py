"""Given lists of images, asked about in their order."""

from __future__ import annotations

import pytest
from t2i_core.api.capabilities.answer import YES_NO, VisualQuestion
from t2i_core.api.errors import BadOption
from t2i_core.io.answer_database import read_database
from t2i_core.io.rater_rules import Rules
from t2i_people.page.label_agenda import LabelItem, ask_people

DOG = VisualQuestion("Is there at least one dog in this image?", YES_NO)
RED = VisualQuestion("Is there at least one red dog in this image?", YES_NO)


def items(*places, probability=0.25):
    questions = (ask_people(DOG, "object"), ask_people(RED, "color"))
    return [LabelItem((model,), prompt, (seed,), questions, probability) for model, prompt, seed in places]


def test_items_are_asked_in_their_order_in_the_metrics_words(open_study, voter):
    places = [("pear", "p3", 1), ("apple", "p1", 0), ("pear", "p2", 0)]
    study, app = open_study(items=items(*places))
    ann = voter(app)
    for _ in places:
        assert DOG.text in ann.page.text
        ann.page = ann.client.post("/vote", data={**ann.form(), "object": "yes", "color": "cannot-tell"})
    assert "that was all" in ann.page.text
    found = read_database(study.store.path)[0]
    asked = [(a.shown[0].model, a.prompt, a.seed) for a in found if a.question == "object"]
    assert asked == places
    assert {(a.question, a.text, a.answer, a.probability) for a in found} == {
        ("object", DOG.text, "yes", 0.25),
        ("color", RED.text, "cannot-tell", 0.25),
    }


def test_two_people_share_the_list_before_they_meet(open_study):
    study, _ = open_study(items=items(("pear", "p3", 1), ("apple", "p1", 0)))
    ann, bob = (study.store.add_annotator(name) for name in ("Ann", "Bob"))
    first, second = study.current(ann)[1], study.current(bob)[1]
    assert [task.prompt for task in (first, second)] == ["p3", "p1"]
    study.answer(ann, first.id, {"object": "yes", "color": "no"})
    assert study.current(ann)[1].prompt == "p1"


def test_a_task_that_is_no_longer_on_the_list_is_dropped(open_study, tmp_path):
    study, _ = open_study(items=items(("pear", "p3", 1)))
    ann = study.store.add_annotator("Ann")
    before = study.current(ann)[1]
    study.store.close()
    study, _ = open_study(items=items(("apple", "p1", 0)), votes=study.store.path.rename(tmp_path / "moved"))
    assert study.current(ann)[1].prompt == "p1"
    with pytest.raises(LookupError):
        study.answer(ann, before.id, {"object": "yes", "color": "no"})


@pytest.mark.parametrize(
    ("places", "rules", "fault"),
    [
        ([("pear", "p3", 1), ("pear", "p3", 1)], Rules(), "listed twice"),
        ([("pear", "p3", 7)], Rules(), "seed 7 to label"),
        ([("pear", "p3", 1)], Rules(training=1), "--training"),
    ],
)
def test_lists_that_cannot_be(open_study, places, rules, fault):
    with pytest.raises(BadOption, match=fault):
        open_study(items=items(*places), rules=rules)
