"""Captions of the oracle, and the prompts that metrics of captions are validated with."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import Caption, Failure, Image, Instance, ObjectClass, Query, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.caption_prompts import REFERENCES, prompts
from t2i_miniworld.captions import misname_thing, write_caption
from t2i_miniworld.options import OracleOptions
from t2i_miniworld.oracle import Oracle
from t2i_miniworld.phrases import read
from t2i_miniworld.statements import reading_of

CAR, DOG = ObjectClass("car", "car.n.01"), ObjectClass("dog", "dog.n.01")
LEAF = {"car": "sedan.n.01", "dog": "retriever.n.01"}


def thing(cls: ObjectClass, colour: str | None = None) -> Instance:
    mask = PackedMask.pack(np.ones((8, 8), bool))
    return Instance(cls, colour, mask.box, mask, {"synset": LEAF[cls.name]})


def caption(*things: Instance, rate: float = 0.0, digest: str = "0" * 64) -> Caption | Failure:
    query = Query((Image(digest, None, Truth((8, 8), things)),))
    ((_, answer),) = Oracle(options=OracleOptions(caption_error=rate)).observe("caption", [query])
    assert isinstance(answer, Caption | Failure)
    return answer


@pytest.mark.parametrize(
    ("things", "text"),
    [
        ((), "an empty scene"),
        ((thing(CAR, "red"),), "a photo of a red car"),
        ((thing(DOG), thing(CAR), thing(DOG)), "a photo of two dogs and a car"),
        ((thing(CAR, "red"), thing(CAR, "blue")), "a photo of a red car and a blue car"),
    ],
)
def test_a_caption_says_what_the_picture_shows(things: tuple[Instance, ...], text: str) -> None:
    assert caption(*things) == Caption(text)


def test_more_than_the_grammar_can_say_is_a_failure() -> None:
    assert isinstance(caption(*[thing(DOG)] * 5), Failure)


def test_errors_come_at_their_rate_and_are_the_same_for_the_same_picture() -> None:
    things = (thing(CAR, "red"), thing(DOG))
    right = caption(*things)
    said = [caption(*things, rate=0.3, digest=f"{n:064x}") for n in range(400)]
    assert said == [caption(*things, rate=0.3, digest=f"{n:064x}") for n in range(400)]
    wrong = [each for each in said if each != right]
    assert 90 <= len(wrong) <= 150
    assert all(isinstance(each, Caption) and len(each.text.split()) >= 7 for each in wrong)
    assert all(kind != CAR for kind, _ in misname_thing([(CAR, None)], 1.0, "x"))


def test_the_prompts_have_five_references_that_mean_their_scene() -> None:
    found = list(prompts())
    assert len(found) == len({p.id for p in found}) == len({p.text for p in found}) == 60
    assert found == list(prompts())
    for prompt in found:
        assert prompt.scene is not None
        assert len(prompt.references) == REFERENCES
        for text in (prompt.text, *prompt.references):
            assert read(text) == reading_of(prompt.scene)
        things = [(o.cls, o.colour) for o in prompt.scene.objects for _ in range(o.count)]
        assert write_caption(things) == Caption(prompt.text)
