"""People."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import EYE, Coat, Kind
from t2i_miniworld.palette import RGB
from t2i_miniworld.shapes import people


def _look(skin: RGB, hair: RGB, coat: RGB, hat: RGB, trousers: RGB) -> Coat:
    return {"skin": skin, "hair": hair, "coat": coat, "hat": hat, "trousers": trousers}


KINDS = (
    Kind(
        "human",
        people.human,
        ("short", "long", "short-hat", "long-hat"),
        (
            _look((232, 188, 156), (92, 58, 36), (172, 148, 116), (124, 104, 82), (72, 78, 92)),
            _look((150, 102, 72), (38, 31, 29), (150, 152, 154), (104, 106, 110), (84, 76, 68)),
            _look((240, 202, 174), (196, 152, 90), (122, 116, 108), (152, 142, 128), (62, 68, 80)),
            _look((196, 146, 108), (54, 40, 34), (190, 182, 168), (140, 128, 112), (92, 84, 76)),
            _look((112, 76, 56), (30, 26, 26), (160, 140, 118), (186, 176, 160), (66, 70, 76)),
            _look((234, 186, 158), (150, 82, 48), (118, 122, 126), (92, 96, 100), (104, 94, 84)),
        ),
        {"shoe": (62, 48, 42), "mouth": (150, 74, 66), "eye": EYE},
        {"coat": 1.0, "trousers": 0.8, "hat": 1.0},
        turn=(30, 90),
    ),
)
