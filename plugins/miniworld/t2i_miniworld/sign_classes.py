"""The classes of boards that carry a text, which are none of the mini world's kinds of things."""

from __future__ import annotations

from t2i_core.api import ObjectClass, Scene

SIGN = ObjectClass("sign", "signboard.n.01")
BOARD = ObjectClass("board", "blackboard.n.01")
SIGNS: tuple[ObjectClass, ...] = (SIGN, BOARD)

TEXT = "text"
"""Attribute of a sign or a board: the text on it."""


def find_sign(cls: ObjectClass) -> ObjectClass | None:
    """Return the sign or board that a class is; None if it is another class."""
    return next((each for each in SIGNS if each.same_as(cls)), None)


def names_signs(scene: Scene | None) -> bool:
    """Return whether a scene asks for a sign or a board."""
    return scene is not None and any(find_sign(cls) for cls in scene.classes)
