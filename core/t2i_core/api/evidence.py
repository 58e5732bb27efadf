"""Parts of images that explain measured values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mask import PackedMask


@dataclass(frozen=True)
class Evidence:
    """A part of an image that explains a value: pages draw it over the picture.

    Attributes:
        label: What it shows, in a few words: ``car, red``.
        box: x0, y0, x1, y1 in pixels, x1 and y1 exclusive. If None, that of the mask; if both are None, the image
            as a whole.
        mask: The pixels that it covers, or None.
        seed: Whose image it is, in a row about several samples of a prompt. If None, the row's own.
        model: Label of the model whose image it is, in a row about a pair of models. If None, the row's own.
    """

    label: str
    box: tuple[float, float, float, float] | None = None
    mask: PackedMask | None = None
    seed: int | None = None
    model: str | None = None
