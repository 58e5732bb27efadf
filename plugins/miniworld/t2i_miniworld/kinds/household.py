"""Furniture and household things."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import CHARCOAL, GREY, WHITE, Kind
from t2i_miniworld.shapes import furniture, luggage, plants

KINDS = (
    Kind(
        "refrigerator",
        furniture.refrigerator,
        ("freezer-top", "freezer-bottom", "side-by-side"),
        ({"body": WHITE}, {"body": (188, 191, 194)}, {"body": (222, 212, 190)}, {"body": (120, 124, 130)}),
        {"gap": (40, 42, 46), "metal": (150, 152, 156)},
        {"body": 1.0},
        turn=(48, 110),
    ),
    Kind(
        "chair",
        furniture.chair,
        ("slat-back", "panel-back", "armchair", "swivel"),
        (
            {"body": (150, 104, 62), "seat": (164, 116, 72)},
            {"body": (92, 62, 42), "seat": (206, 194, 172)},
            {"body": (204, 170, 122), "seat": (212, 180, 134)},
            {"body": (96, 98, 102), "seat": (134, 136, 140)},
            {"body": (226, 222, 212), "seat": (198, 190, 176)},
        ),
        {"leg": (78, 54, 38), "base": (52, 54, 58), "metal": (168, 170, 174)},
        {"body": 1.0, "seat": 1.0},
        turn=(15, 75),
    ),
    Kind(
        "dining table",
        furniture.dining_table,
        ("rectangular", "round"),
        (
            {"body": (172, 120, 72), "leg": (150, 102, 60)},
            {"body": (110, 74, 48), "leg": (96, 64, 42)},
            {"body": (206, 172, 126), "leg": (226, 222, 212)},
            {"body": (196, 190, 180), "leg": (92, 94, 98)},
        ),
        {"china": WHITE, "apple": (176, 48, 40), "orange": (222, 138, 52), "pear": (150, 166, 70)},
        {"body": 1.0, "leg": 0.85},
        turn=(35, 105),
    ),
    Kind(
        "bed",
        furniture.bed,
        ("single", "double"),
        (
            {"body": (150, 104, 62), "blanket": (112, 132, 152)},
            {"body": (92, 62, 42), "blanket": (186, 166, 138)},
            {"body": (222, 216, 204), "blanket": (140, 150, 132)},
            {"body": (96, 98, 102), "blanket": (168, 150, 156)},
        ),
        {"sheet": WHITE, "pillow": (240, 238, 232)},
        {"blanket": 1.0, "body": 0.8},
        turn=(18, 72),
    ),
    Kind(
        "potted plant",
        plants.potted_plant,
        ("bushy", "spiky"),
        (
            {"body": (190, 102, 66), "leaf": (74, 128, 58), "shade": (48, 96, 46)},
            {"body": (226, 222, 214), "leaf": (88, 140, 66), "shade": (58, 108, 52)},
            {"body": (122, 124, 128), "leaf": (62, 116, 66), "shade": (42, 88, 52)},
            {"body": (92, 116, 132), "leaf": (104, 142, 62), "shade": (70, 110, 48)},
        ),
        {"soil": (70, 52, 40)},
        {"body": 1.0, "leaf": 0.95, "shade": 0.7},
        turn=(0, 90),
    ),
    Kind(
        "backpack",
        luggage.backpack,
        ("school", "hiking"),
        (
            {"body": (66, 88, 112), "pocket": (54, 74, 98), "mat": (176, 160, 128)},
            {"body": (110, 112, 84), "pocket": (96, 98, 72), "mat": (136, 96, 70)},
            {"body": (150, 112, 78), "pocket": (134, 98, 68), "mat": (112, 118, 110)},
            {"body": (122, 126, 132), "pocket": (92, 96, 102), "mat": (186, 150, 96)},
        ),
        {"strap": (50, 50, 54), "zip": (40, 40, 44), "metal": (190, 192, 196)},
        {"body": 1.0, "pocket": 0.85, "mat": 0.7},
        turn=(15, 80),
        on_black={"strap": GREY, "zip": (176, 178, 182)},
    ),
    Kind(
        "suitcase",
        luggage.suitcase,
        ("trolley", "vintage"),
        (
            {"body": (138, 98, 64), "trim": (86, 54, 34)},
            {"body": (170, 174, 178), "trim": (110, 76, 50)},
            {"body": (84, 104, 110), "trim": (140, 98, 62)},
            {"body": (206, 190, 158), "trim": (122, 80, 50)},
        ),
        {"zip": CHARCOAL, "wheel": (40, 41, 44), "metal": (196, 194, 186)},
        {"body": 1.0},
        turn=(42, 82),
        on_black={"zip": GREY, "trim": (140, 98, 62)},
    ),
)
