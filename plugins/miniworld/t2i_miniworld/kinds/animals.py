"""What lives."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import EYE, WHITE, Kind
from t2i_miniworld.shapes import animals

KINDS = (
    Kind(
        "giraffe",
        animals.giraffe,
        ("giraffe",),
        (
            {"body": (226, 194, 140), "patch": (148, 88, 42)},
            {"body": (236, 216, 176), "patch": (122, 70, 34)},
            {"body": (216, 178, 122), "patch": (104, 58, 30)},
        ),
        {"muzzle": (206, 184, 156), "horn": (70, 46, 32), "foot": (74, 56, 42), "eye": EYE},
        {"body": 1.0, "patch": 0.55},
        turn=(-20, 48),
    ),
    Kind(
        "elephant",
        animals.elephant,
        ("african", "asian"),
        (
            {"body": (138, 140, 146), "ear": (126, 127, 134)},
            {"body": (122, 118, 116), "ear": (112, 107, 106)},
            {"body": (154, 150, 146), "ear": (144, 138, 136)},
        ),
        {"foot": (112, 108, 104), "tusk": (238, 230, 208), "eye": EYE},
        {"body": 1.0, "ear": 0.82},
        turn=(-10, 58),
    ),
    Kind(
        "zebra",
        animals.zebra,
        ("zebra",),
        ({"body": (240, 238, 232)}, {"body": (232, 226, 212)}),
        {"mark": (30, 28, 30), "eye": EYE},
        {"body": 1.0},
        turn=(-20, 45),
        on_black={"mark": WHITE},
    ),
    Kind(
        "dog",
        animals.dog,
        ("retriever", "shepherd", "dachshund"),
        (
            {"body": (196, 154, 100), "chest": (216, 182, 134), "ear": (172, 128, 80)},
            {"body": (104, 68, 44), "chest": (140, 98, 66), "ear": (78, 50, 34)},
            {"body": (64, 58, 56), "chest": (166, 120, 78), "ear": (52, 46, 46)},
            {"body": (226, 216, 198), "chest": (238, 232, 220), "ear": (166, 118, 76)},
        ),
        {"mark": (30, 26, 26), "eye": EYE},
        {"body": 1.0, "chest": 0.8, "ear": 0.55},
        turn=(-10, 58),
    ),
)
