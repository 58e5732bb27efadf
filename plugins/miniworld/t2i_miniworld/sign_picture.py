"""Rendering of signs with Mitsuba 3: panels and posts as boxes, the text as a texture."""

from __future__ import annotations

import mitsuba as mi
import numpy as np
from t2i_core.api import Instance, Prompt, Truth
from t2i_core.api.mask import PackedMask

from t2i_miniworld.lettering import draw_panel
from t2i_miniworld.owners import owners
from t2i_miniworld.palette import PAINTS, RGB, to_linear
from t2i_miniworld.render import RenderedPicture, render_stage
from t2i_miniworld.shapes.mesh import FloatArray, IntArray
from t2i_miniworld.sign_classes import SIGNS, TEXT
from t2i_miniworld.signs import Sign, SignScene, list_corners

_GREY: RGB = (118, 120, 124)
_WOOD: RGB = (150, 112, 70)
_POST_COLOURS = {"sign": _GREY, "board": _WOOD}

_FINENESS = 2
"""Pixels of the texture for each pixel of the picture that the panel could fill."""

_FACES: IntArray = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)
"""Triangles of a box, by the indices of its corners."""


def draw_signs(scene: SignScene, size: int = 128, samples: int = 16) -> RenderedPicture:
    """Render a scene of signs. A pixel belongs to the sign at its centre.

    Args:
        scene: The scene.
        size: Side of the picture in pixels, 64 to 1024.
        samples: Light paths per pixel, at least 1.

    Raises:
        ValueError: If the size or number of samples is out of range.
    """
    shapes = {name: shape for sign in scene.signs for name, shape in _list_shapes(sign, size).items()}
    image = render_stage(scene.stage, shapes, size, samples)
    return RenderedPicture(image, owners([_outline(sign) for sign in scene.signs], scene.stage.elevation, size))


def describe_signs(scene: SignScene, picture: RenderedPicture, prompt: Prompt) -> Truth:
    """Return the ground truth of a picture: every sign with at least one visible pixel, and its text."""
    height, width = picture.owner.shape
    masks = [PackedMask.pack(np.asarray(picture.owner == number)) for number in range(len(scene.signs))]
    shown = [(sign, mask) for sign, mask in zip(scene.signs, masks, strict=True) if mask.data]
    classes = {cls.name: cls for cls in SIGNS}
    instances = tuple(
        Instance(
            classes[sign.kind],
            sign.paint,
            mask.box,
            mask,
            {"synset": classes[sign.kind].synset or "", TEXT: sign.text},
        )
        for sign, mask in shown
    )
    return Truth((width, height), instances, prompt.scene, prompt.text)


def _list_shapes(sign: Sign, size: int) -> dict[str, object]:
    """Return the shapes of a sign by name, as Mitsuba's dictionaries."""
    panel, *posts = sign.boxes
    natural = to_linear(PAINTS[sign.paint] if sign.paint else sign.panel)
    found: dict[str, object] = {f"panel{sign.slot}": _make_box(sign, panel, natural)}
    for number, post in enumerate(posts):
        found[f"post{sign.slot}-{number}"] = _make_box(sign, post, to_linear(_POST_COLOURS[sign.kind]))
    wide = _FINENESS * size  # the first row of a bitmap is the lowest
    texture = draw_panel(sign.lines, wide, max(1, round(wide * sign.height / sign.width)), sign.panel, sign.ink)
    found[f"face{sign.slot}"] = {
        "type": "rectangle",
        "to_world": _transform(sign, *_find_face(panel)),
        "bsdf": {
            "type": "twosided",
            "material": {
                "type": "diffuse",
                "reflectance": {"type": "bitmap", "bitmap": mi.Bitmap(np.ascontiguousarray(texture[::-1]))},
            },
        },
    }
    return found


def _find_face(panel: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the middle (3,) of a panel's front, just before it, and its axes (3, 3): right, up and forward."""
    low, high = panel
    middle = (low + high) / 2
    middle[1] = low[1] - 0.1 * (high[1] - low[1])
    half = (high - low) / 2
    return middle, np.array([[half[0], 0, 0], [0, 0, -1], [0, half[2], 0]])


def _make_box(sign: Sign, box: tuple[FloatArray, FloatArray], colour: FloatArray) -> dict[str, object]:
    low, high = box
    return {
        "type": "cube",
        "to_world": _transform(sign, (low + high) / 2, np.diag((high - low) / 2)),
        "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": colour.tolist()}},
    }


def _transform(sign: Sign, middle: FloatArray, axes: FloatArray) -> mi.ScalarTransform4f:
    """Return the transform of a shape of side 2 to the world, from its middle (3,) and the columns of its axes."""
    ends = sign.place(np.vstack([np.zeros(3), middle, middle + axes.T]))
    matrix = np.eye(4)
    matrix[:3, :3] = (ends[2:] - ends[1]).T
    matrix[:3, 3] = ends[1]
    return mi.ScalarTransform4f(matrix.tolist())


def _outline(sign: Sign) -> tuple[FloatArray, IntArray]:
    """Return the world points (V, 3) and triangles (F, 3) of all boxes of a sign."""
    corners = [list_corners(*box) for box in sign.boxes]
    faces = np.concatenate([_FACES + 8 * number for number in range(len(corners))])
    return sign.place(np.concatenate(corners)), faces
