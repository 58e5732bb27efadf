"""Pictures of signs and boards: what they say, where they stand, and misspellings at a known rate."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from t2i_core.api import Scene

from t2i_miniworld import camera
from t2i_miniworld.faults import Draw
from t2i_miniworld.layout import draw_stage
from t2i_miniworld.lettering import MOST_LETTERS, MOST_WORDS, break_lines, panel_aspect
from t2i_miniworld.palette import PAINTS, RGB
from t2i_miniworld.scene import Stage
from t2i_miniworld.shapes.mesh import FloatArray
from t2i_miniworld.sign_classes import BOARD, SIGN, TEXT, find_sign
from t2i_miniworld.streams import stream

MOST_SIGNS = 2

_DARK, _LIGHT, _CHALK = (28, 28, 30), (244, 243, 238), (236, 238, 232)
_LOOKS: dict[str, tuple[tuple[RGB, RGB], ...]] = {
    SIGN.name: ((_LIGHT, _DARK), ((0, 84, 60), _LIGHT), ((0, 82, 136), _LIGHT), ((240, 190, 60), _DARK)),
    BOARD.name: (((44, 52, 48), _CHALK), ((40, 42, 46), _CHALK)),
}
"""Panel and ink of signs and boards that have no paint."""

_ON_DARK = frozenset({"red", "green", "blue", "purple", "black"})
"""Paints on which the ink is light."""

_POSTS = {SIGN.name: (0.0,), BOARD.name: (-0.36, 0.36)}
"""Places of the posts across the panel, as shares of its width from the middle."""

_THICKNESS, _POST, _LEGS = 0.04, 0.05, 0.45
"""Thickness of the panel, side of a post and height below the panel, as shares of the panel's width."""


class UnreadableSign(ValueError):
    """Raised for a scene of signs that cannot be drawn."""


@dataclass(frozen=True)
class Sign:
    """A sign or a board on the stage.

    Attributes:
        slot: Its index among the requested ones.
        kind: Name of its class.
        paint: The requested colour of its panel; None if it has a natural look.
        asked: The requested text, by which the panel is shaped and broken into lines.
        text: The text that it shows.
        panel: Colour of the panel.
        ink: Colour of the text.
        yaw: Rotation about the vertical in degrees; 0 if it faces the camera's side.
        width: Width of the panel in world units.
        position: Ground point below its middle.
    """

    slot: int
    kind: str
    paint: str | None
    asked: str
    text: str
    panel: RGB
    ink: RGB
    yaw: float
    width: float = 1.0
    position: tuple[float, float] = (0.0, 0.0)

    @property
    def lines(self) -> tuple[str, ...]:
        """The text that it shows, in the lines of the requested one."""
        words = iter(self.text.split())
        return tuple(" ".join(next(words) for _ in line.split()) for line in break_lines(self.asked))

    @property
    def height(self) -> float:
        """Height of the panel in world units."""
        return self.width / panel_aspect(break_lines(self.asked))

    @property
    def boxes(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Lower and upper corner (3,) of each of its boxes in its own coordinates, the panel's first."""
        half, thick, post = self.width / 2, _THICKNESS * self.width / 2, _POST * self.width / 2
        low, high = _LEGS * self.width, _LEGS * self.width + self.height
        panel = np.array([-half, -thick, low]), np.array([half, thick, high])
        # behind the panel, up to its middle
        posts = tuple(
            (
                np.array([at * self.width - post, thick, 0.0]),
                np.array([at * self.width + post, thick + 2 * post, low + self.height / 2]),
            )
            for at in _POSTS[self.kind]
        )
        return panel, *posts

    def place(self, points: FloatArray) -> FloatArray:
        """Return points (N, 3) of its own coordinates in world coordinates."""
        angle = np.radians(self.yaw)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        return points @ turn.T + np.array([*self.position, 0.0])


@dataclass(frozen=True)
class SignScene:
    """A complete scene of signs: the same one gives the same picture."""

    stage: Stage
    signs: tuple[Sign, ...]


def plan_signs(asked: Scene, draw: Draw) -> SignScene:
    """Return the scene of signs that is drawn for a request, with faults applied.

    Places, looks and light do not depend on the faults: only the letters of a misspelt sign differ.

    Args:
        asked: The requested scene.
        draw: The picture: its rates of faults and its streams.

    Raises:
        UnreadableSign: If it cannot be drawn.
    """
    signs = _list_signs(asked, draw.key)
    stage = draw_stage(stream("stage", *draw.key))
    rng = stream("signs", *draw.key)
    share = 1 / len(signs)
    placed = []
    for number, sign in enumerate(signs):
        width = share * rng.uniform(0.78, 0.88)
        free = (share - width) / 2
        middle = share * (number + 0.5) + rng.uniform(-0.7, 0.7) * free
        placed.append(_fit(sign, middle, rng.uniform(0.9, 0.97), width, stage))
    kept = [sign for sign in placed if sign.slot == 0 or not draw.happens("drop", sign.slot)]
    words = {word for sign in placed for word in sign.text.split()}
    return SignScene(
        stage, tuple(replace(sign, text=misspell(sign.text, words, sign.slot, draw)) for sign in kept)
    )


def _list_signs(asked: Scene, key: tuple[str, int, int]) -> list[Sign]:
    signs: list[Sign] = []
    for one in asked.objects:
        cls = find_sign(one.cls)
        if cls is None:
            raise UnreadableSign(f"a picture shows signs or things, not both (asked for a {one.cls.name})")
        if one.colour is not None and one.colour not in PAINTS:
            raise UnreadableSign(f"the mini world has no {one.colour!r} paint; it has {', '.join(PAINTS)}")
        text = " ".join(one.attributes.get(TEXT, "").split())
        if one.attributes.keys() != {TEXT} or not text:
            raise UnreadableSign(f"a {cls.name} has one attribute, text, which must not be blank")
        if len(text) > MOST_LETTERS or len(text.split()) > MOST_WORDS:
            raise UnreadableSign(
                f"a {cls.name} holds at most {MOST_WORDS} words and {MOST_LETTERS} characters (got {text!r})"
            )
        if not all(" " <= letter <= "~" for letter in text):
            raise UnreadableSign(f"signs show printable ASCII characters alone (got {text!r})")
        for _ in range(one.count):
            signs.append(_dress(len(signs), cls.name, one.colour, text, key))
    if len(signs) > MOST_SIGNS:
        raise UnreadableSign(f"the simulator draws 1 to {MOST_SIGNS} signs, not {len(signs)}")
    if asked.relations:
        raise UnreadableSign("signs stand from left to right in the prompt's order; leave out relations")
    return signs


def _dress(slot: int, kind: str, paint: str | None, text: str, key: tuple[str, int, int]) -> Sign:
    rng = stream("sign", slot, *key)
    looks = _LOOKS[kind]
    panel, ink = looks[int(rng.integers(len(looks)))]
    if paint is not None:
        panel, ink = PAINTS[paint], _LIGHT if paint in _ON_DARK else _DARK
    return Sign(slot, kind, paint, text, text, panel, ink, yaw=float(rng.uniform(-14, 14)))


def _fit(sign: Sign, u: float, v: float, width: float, stage: Stage) -> Sign:
    """Scale and move a sign so that it fills a share of the picture's width, with its foot at height `v`.

    Args:
        sign: The sign.
        u: Middle, as a share of the picture's width.
        v: Lower edge, as a share of the picture's height.
        width: Largest width, as a share of the picture's width; at most 0.88 of its height is filled.
        stage: The stage.
    """
    at_u, at_v = u, v
    for _ in range(8):
        x, y = camera.ground_point(at_u, max(at_v, camera.horizon(stage.elevation) + 0.08), stage.elevation)
        sign = replace(sign, position=(x, y))
        corners = np.concatenate([list_corners(*box) for box in sign.boxes])
        seen, _ = camera.project(sign.place(corners), stage.elevation)
        low, high = seen.min(axis=0), seen.max(axis=0)
        sign = replace(sign, width=sign.width * float(min(width / (high[0] - low[0]), 0.88 / (high[1] - low[1]))))
        at_u += u - float(low[0] + high[0]) / 2
        at_v += v - float(high[1])
    return sign


def list_corners(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the eight corners (8, 3) of a box: bit 0 of the index is x, bit 1 y, bit 2 z."""
    bits = (np.arange(8)[:, None] >> np.arange(3)) & 1
    return np.where(bits == 1, high, low)


def misspell(text: str, taken: set[str], slot: int, draw: Draw) -> str:
    """Return a text in which each word is misspelt with the rate `misspell`, independently.

    A misspelt word has one of its letters (or digits) replaced by another one of the same case; all places and
    letters are equally likely. It never becomes another word of the picture. Words without letters and digits
    stay.

    Args:
        text: The text.
        taken: The words that a misspelling may not give.
        slot: The sign.
        draw: The picture.
    """
    words = text.split()
    return " ".join(
        _misspell_word(word, taken, slot, number, draw) if draw.happens("misspell", slot, number) else word
        for number, word in enumerate(words)
    )


def _misspell_word(word: str, taken: set[str], slot: int, number: int, draw: Draw) -> str:
    others = [
        word[:at] + letter + word[at + 1 :]
        for at, old in enumerate(word)
        for letter in _list_alike(old)
        if letter != old
    ]
    folded = {each.casefold() for each in taken}
    allowed = [each for each in others if each.casefold() not in folded]
    if not allowed:
        return word
    return allowed[int(stream("misspelling", slot, number, *draw.key).integers(len(allowed)))]


def _list_alike(letter: str) -> Sequence[str]:
    """Return the letters or digits that may stand in a letter's place; none for any other character."""
    for alike in (string.ascii_uppercase, string.ascii_lowercase, string.digits):
        if letter in alike:
            return alike
    return ()
