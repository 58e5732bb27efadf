"""What stands in a house."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import WHITE, Kind
from t2i_miniworld.shapes import furniture

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
        ("slat-back", "panel-back", "armchair"),
        (
            {"body": (150, 104, 62), "seat": (164, 116, 72)},
            {"body": (92, 62, 42), "seat": (206, 194, 172)},
            {"body": (204, 170, 122), "seat": (212, 180, 134)},
            {"body": (96, 98, 102), "seat": (134, 136, 140)},
            {"body": (226, 222, 212), "seat": (198, 190, 176)},
        ),
        {"leg": (78, 54, 38)},
        {"body": 1.0, "seat": 1.0},
        turn=(15, 75),
    ),
)
