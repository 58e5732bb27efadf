"""What carries people."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import WHITE, Kind
from t2i_miniworld.shapes import vehicles

KINDS = (
    Kind(
        "car",
        vehicles.car,
        ("sedan", "hatchback", "suv"),
        ({"body": WHITE}, {"body": (176, 180, 184)}, {"body": (74, 78, 84)}, {"body": (196, 184, 160)}),
        {
            "glass": (44, 54, 64),
            "tyre": (32, 32, 34),
            "metal": (186, 188, 192),
            "lamp": (240, 236, 214),
            "tail": (120, 28, 26),
        },
        {"body": 1.0},
        turn=(5, 50),
    ),
    Kind(
        "airplane",
        vehicles.airplane,
        ("airliner", "propeller"),
        (
            {"body": (236, 237, 238), "accent": (84, 92, 108)},
            {"body": (196, 200, 205), "accent": (60, 62, 68)},
            {"body": (226, 220, 206), "accent": (120, 106, 90)},
        ),
        {"glass": (38, 46, 56), "metal": (142, 146, 152), "tyre": (34, 34, 36)},
        {"body": 1.0, "accent": 0.7},
        turn=(10, 60),
        lift=0.22,
    ),
)
