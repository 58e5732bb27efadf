"""Signs and boards: drawn text, its truth, misspellings at their rate, and what the oracle reads."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage
from rapidfuzz.distance import Levenshtein
from t2i_core.api import (
    Failure,
    Generated,
    Image,
    ImageRequest,
    ObjectClass,
    Prompt,
    Query,
    Relation,
    Scene,
    SceneObject,
    Truth,
)
from t2i_core.testing import PromptSourceContract
from t2i_miniworld.faults import Draw, FaultRates
from t2i_miniworld.lettering import break_lines
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.oracle import Oracle
from t2i_miniworld.sign_classes import BOARD, SIGN
from t2i_miniworld.sign_picture import draw_signs
from t2i_miniworld.sign_prompts import prompts
from t2i_miniworld.signs import misspell, plan_signs
from t2i_miniworld.simulator import simulate

SMALL = SimulatorOptions(size=96, spp=1)
CAR = ObjectClass("car", "car.n.01")


class TestContract(PromptSourceContract):
    module = "t2i_miniworld.plugin"
    name = "signs-mini"


def sign(text: str, cls: ObjectClass = SIGN, colour: str | None = None, count: int = 1) -> SceneObject:
    return SceneObject(cls, colour, count, {"text": text})


def request(*objects: SceneObject, relations: tuple[Relation, ...] = (), seed: int = 0) -> ImageRequest:
    return ImageRequest(Prompt("p", "signs", Scene(objects, relations)), seed, seed)


def draw(options: SimulatorOptions, asked: ImageRequest) -> Generated:
    drawn = simulate(options, asked)
    assert isinstance(drawn, Generated)
    return drawn


def truth(drawn: Generated) -> Truth:
    assert drawn.truth is not None
    return drawn.truth


def observe(capability: str, drawn: Generated, folder: Path, texts: tuple[str, ...] = ()) -> Any:
    file = folder / "drawn.png"
    PILImage.fromarray(np.asarray(drawn.image)).save(file)
    image = Image(hashlib.sha256(file.read_bytes()).hexdigest(), file, truth(drawn))
    ((_, answer),) = Oracle().observe(capability, [Query((image,), texts)])
    return answer


def test_the_truth_says_what_is_written_and_survives_storage() -> None:
    found = truth(draw(SMALL, request(sign("STOP", colour="red"), sign("Soup of the day", BOARD))))
    assert [(one.cls, one.colour, one.attributes["text"]) for one in found.instances] == [
        (SIGN, "red", "STOP"),
        (BOARD, None, "Soup of the day"),
    ]
    left, right = found.instances
    assert left.box[2] <= right.box[0]
    assert all(one.mask.area() > 0.03 * 96**2 for one in found.instances)
    assert Truth.from_bytes(found.to_bytes()) == found


def test_a_misspelling_changes_the_letters_alone() -> None:
    asked = request(sign("KEEP CLEAR", colour="white"), seed=3)
    right, wrong = (draw(SimulatorOptions(size=128, spp=4, misspell=rate), asked) for rate in (0, 1))
    first, second = truth(right).instances[0], truth(wrong).instances[0]
    assert first.mask == second.mask
    changed = np.abs(np.asarray(right.image, int) - np.asarray(wrong.image, int)).max(axis=2) > 20
    assert changed.any()
    assert not changed[~first.mask.unpack()].any()
    words = zip(first.attributes["text"].split(), second.attributes["text"].split(), strict=True)
    assert all(Levenshtein.distance(a, b) == 1 and len(a) == len(b) for a, b in words)


def test_the_text_is_upright_and_not_mirrored() -> None:
    """The lower left half of an L is dark, and its upper right half is not."""
    scene = plan_signs(request(sign("L", colour="white")).prompt.scene, Draw(FaultRates(), "p", 1, 0))  # type: ignore[arg-type]
    scene = replace(scene, signs=(replace(scene.signs[0], yaw=0.0),))
    picture = draw_signs(scene, 256, 4)
    panel = picture.image[picture.owner == 0]
    dark = (picture.image.max(axis=2) < 50) & (picture.owner == 0)
    rows, columns = np.nonzero(dark)
    assert 0.005 < len(rows) / len(panel) < 0.3
    middle_row, middle_column = (rows.min() + rows.max()) / 2, (columns.min() + columns.max()) / 2
    upper_right = ((rows < middle_row) & (columns > middle_column)).sum()
    lower_right = ((rows > middle_row) & (columns > middle_column)).sum()
    upper_left = ((rows < middle_row) & (columns < middle_column)).sum()
    assert upper_right < 0.1 * min(lower_right, upper_left)


def test_words_are_misspelt_at_the_rate_and_the_higher_rate_keeps_them() -> None:
    text = "STOP Exit 2 &"
    counts = np.zeros(4)
    for seed in range(600):
        low, high = (
            misspell(text, set(text.split()), 0, Draw(FaultRates(misspell=rate), "p", seed, 0)).split()
            for rate in (0.3, 0.6)
        )
        wrong = [a != b for a, b in zip(text.split(), low, strict=True)]
        counts += wrong
        assert all(a == b for a, b, changed in zip(low, high, wrong, strict=True) if changed)
        for word, found in zip(text.split(), low, strict=True):
            assert Levenshtein.distance(word, found) <= 1
            assert [letter.isupper() for letter in word] == [letter.isupper() for letter in found]
    assert counts[:3] / 600 == pytest.approx([0.3] * 3, abs=0.06)
    assert counts[3] == 0  # no letter, no digit


def test_a_misspelling_never_gives_another_word_of_the_picture() -> None:
    taken = {f"{letter}AT" for letter in "BCFHMPRSV"}
    for seed in range(100):
        assert misspell("CAT", taken, 0, Draw(FaultRates(misspell=1), "p", seed, 0)) not in taken


def test_a_dropped_sign_leaves_the_first_where_it_is() -> None:
    asked = request(sign("LEFT"), sign("RIGHT", BOARD))
    whole, rest = (truth(draw(replace_options(drop=rate), asked)).instances for rate in (0, 1))
    assert [one.attributes["text"] for one in rest] == ["LEFT"]
    assert rest[0].mask == whole[0].mask


def replace_options(**changes: Any) -> SimulatorOptions:
    return SMALL.model_copy(update=changes)


def test_the_same_request_gives_the_same_bytes() -> None:
    asked = request(sign("STOP"), seed=5)
    assert np.array_equal(draw(SMALL, asked).image, draw(SMALL, asked).image)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (request(sign("STOP"), SceneObject(CAR)), "signs or things, not both"),
        (request(SceneObject(SIGN)), "one attribute, text"),
        (request(sign("  ")), "must not be blank"),
        (request(sign("STOP", colour="teal")), "no 'teal' paint"),
        (request(sign("STOP", count=3)), "1 to 2 signs, not 3"),
        (request(sign("a b c d e f g h i")), "at most 8 words"),
        (request(sign("naïve")), "printable ASCII"),
        (request(sign("A"), sign("B"), relations=(Relation(0, "left", 1),)), "leave out relations"),
    ],
)
def test_signs_that_cannot_be_drawn_are_failures_with_reasons(asked: ImageRequest, reason: str) -> None:
    failure = simulate(SMALL, asked)
    assert isinstance(failure, Failure)
    assert failure.final
    assert reason in failure.reason


def test_lines_are_broken_for_a_panel_of_usual_shape() -> None:
    assert break_lines("STOP") == ("STOP",)
    assert (
        break_lines("PLEASE RING TWICE") == ("PLEASE", "RING TWICE") or len(break_lines("PLEASE RING TWICE")) == 3
    )
    assert (
        " ".join(break_lines("one two three four five six seven eight"))
        == "one two three four five six seven eight"
    )


def test_the_oracle_reads_signs_from_left_to_right(tmp_path: Path) -> None:
    drawn = draw(SMALL, request(sign("LEFT"), sign("RIGHT SIDE", BOARD)))
    found = observe("read", drawn, tmp_path)
    assert found.lines == ("LEFT", "RIGHT SIDE")
    assert found.boxes.tolist() == [list(one.box) for one in truth(drawn).instances]
    assert found.scores.tolist() == [1, 1]
    assert len(observe("segment", drawn, tmp_path)) == 0
    assert observe("reward", drawn, tmp_path, ("signs",)).value == 1
    for capability in ("caption", "embed", "classify"):
        assert isinstance(observe(capability, drawn, tmp_path), Failure)


def test_the_reward_of_a_misspelt_sign_is_nothing(tmp_path: Path) -> None:
    drawn = draw(replace_options(misspell=1.0), request(sign("STOP")))
    assert observe("reward", drawn, tmp_path, ("signs",)).value == 0


def test_the_prompts_are_of_three_kinds_and_can_all_be_drawn() -> None:
    found = list(prompts())
    assert [prompt.facets["shows"] for prompt in found] == ["one word"] * 16 + ["a phrase"] * 16 + [
        "two signs"
    ] * 16
    for prompt in found:
        assert prompt.scene is not None
        texts = [one.attributes["text"] for one in prompt.scene.objects]
        assert all(f'"{text}"' in prompt.text for text in texts)
        scene = plan_signs(prompt.scene, Draw(FaultRates(), prompt.scene_digest, 0, 0))
        assert [one.text for one in scene.signs] == texts
