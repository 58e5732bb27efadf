"""Animals."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import EYE, Kind
from t2i_miniworld.palette import RGB
from t2i_miniworld.shapes import animals, birds

#: Eyes of animals painted black.
AMBER: RGB = (222, 178, 112)

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
        on_black={"eye": AMBER},
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
        on_black={"eye": AMBER},
    ),
    Kind(
        "zebra",
        animals.zebra,
        ("zebra",),
        ({"body": (240, 238, 232)}, {"body": (232, 226, 212)}),
        {"mark": (30, 28, 30), "eye": EYE},
        {"body": 1.0},
        turn=(-20, 45),
        on_black={"mark": (132, 130, 126), "eye": AMBER},
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
        on_black={"mark": (124, 116, 114), "eye": AMBER},
    ),
    Kind(
        "bird",
        birds.bird,
        ("duck", "owl", "flamingo"),
        # duck and owl use the material "body"; the flamingo has its own, so that one list fits all three
        (
            {
                "body": (134, 100, 70),
                "wing": (104, 76, 52),
                "breast": (206, 180, 144),
                "fleck": (104, 76, 52),
                "plume": (232, 160, 142),
                "pinion": (206, 122, 106),
                "shank": (214, 132, 118),
            },
            {
                "body": (142, 138, 132),
                "wing": (112, 108, 104),
                "breast": (208, 202, 192),
                "fleck": (112, 108, 104),
                "plume": (238, 186, 170),
                "pinion": (214, 150, 134),
                "shank": (216, 146, 132),
            },
            {
                "body": (234, 230, 222),
                "wing": (208, 202, 192),
                "breast": (240, 236, 228),
                "fleck": (150, 138, 122),
                "plume": (240, 206, 194),
                "pinion": (220, 172, 158),
                "shank": (220, 158, 144),
            },
            {
                "body": (176, 138, 98),
                "wing": (140, 102, 68),
                "breast": (226, 204, 170),
                "fleck": (132, 94, 62),
                "plume": (226, 148, 132),
                "pinion": (194, 108, 94),
                "shank": (204, 120, 108),
            },
        ),
        {
            "bill": (232, 150, 52),
            "beak": (96, 84, 66),
            "mark": (36, 32, 32),
            "disc": (236, 224, 200),
            "iris": (244, 188, 56),
            "pupil": EYE,
            "eye": EYE,
        },
        {"body": 1.0, "wing": 0.75, "breast": 1.0, "plume": 1.0, "pinion": 0.75, "shank": 0.8},
        turn=(20, 62),
        on_black={"fleck": (120, 116, 112), "eye": AMBER},
    ),
    Kind(
        "bear",
        animals.bear,
        ("standing", "sitting"),
        (
            {"body": (118, 80, 52), "muzzle": (190, 152, 112), "ear": (176, 136, 98)},
            {"body": (142, 102, 66), "muzzle": (206, 172, 130), "ear": (192, 156, 114)},
            {"body": (56, 52, 52), "muzzle": (178, 140, 100), "ear": (122, 100, 80), "eye": (196, 150, 92)},
            {"body": (236, 232, 220), "muzzle": (214, 204, 186), "ear": (186, 176, 164), "claw": (96, 90, 84)},
        ),
        {"mark": (30, 26, 26), "claw": (226, 214, 190), "eye": EYE},
        {"body": 1.0},
        turn=(5, 65),
        on_black={"eye": AMBER},
    ),
)
