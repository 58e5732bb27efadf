"""Things in a street."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import CHARCOAL, GREY, WHITE, Kind
from t2i_miniworld.shapes import street

KINDS = (
    Kind(
        "fire hydrant",
        street.fire_hydrant,
        ("dome", "flat-top"),
        (
            {"body": (192, 36, 30), "cap": (168, 28, 26)},
            {"body": (236, 184, 48), "cap": (186, 40, 32)},
            {"body": (178, 182, 186), "cap": (150, 154, 160)},
            {"body": (192, 36, 30), "cap": (222, 220, 214)},
        ),
        {"bolt": (112, 114, 118)},
        {"body": 1.0, "cap": 0.76},
        turn=(25, 110),
    ),
    Kind(
        "stop sign",
        street.stop_sign,
        ("tall", "short"),
        (
            {"body": (190, 24, 32), "groove": (150, 16, 24), "post": GREY},
            {"body": (206, 40, 40), "groove": (164, 26, 30), "post": (116, 120, 124)},
            {"body": (170, 22, 34), "groove": (130, 14, 24), "post": (138, 122, 100)},
        ),
        {"rim": WHITE, "letter": WHITE},
        {"body": 1.0, "groove": 0.6},
        turn=(62, 108),
    ),
    Kind(
        "traffic light",
        street.traffic_light,
        ("pole", "double", "hanging"),
        (
            {"body": (38, 66, 54), "post": (92, 98, 98)},
            {"body": (46, 48, 52), "post": (112, 114, 118)},
            {"body": (232, 182, 50), "post": (92, 94, 98)},
            {"body": (54, 58, 62), "post": (54, 58, 62)},
        ),
        {"gap": (26, 27, 30), "stop": (232, 58, 44), "caution": (250, 190, 60), "go": (58, 196, 120)},
        {"body": 1.0, "post": 0.8},
        turn=(45, 108),
    ),
    Kind(
        "bench",
        street.bench,
        ("slatted", "plank"),
        (
            {"body": (168, 116, 68)},
            {"body": (120, 82, 54)},
            {"body": (196, 164, 122)},
            {"body": (150, 146, 138)},
        ),
        {"frame": CHARCOAL},
        {"body": 1.0},
        turn=(45, 100),
        on_black={"frame": GREY},
    ),
)
