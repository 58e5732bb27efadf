"""Objects in an image, with boxes and masks."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..judge import Query
from ..mask import PackedMask
from ..observation import Labels
from .detect import Detections, format_size


@dataclass(frozen=True)
class Segments(Detections, capability="segment"):
    """Detections with a mask each, at the resolution of the image.

    Attributes:
        masks: n packed masks.
    """

    masks: tuple[PackedMask, ...] = ()

    def mask(self, index: int) -> NDArray[np.bool_]:
        """Return the mask of detection `index`, boolean of shape (height, width)."""
        return self.masks[index].unpack()

    def without_masks(self) -> Detections:
        """Return the same detections without their masks."""
        return Detections(**{field.name: getattr(self, field.name) for field in fields(Detections)})

    def check_fields(self) -> None:
        """Raise also if a mask has another size than the image, leaves it or cannot be unpacked."""
        super().check_fields()
        for mask in self.masks:
            if mask.size != tuple(self.size):
                raise ValueError(
                    f"gave a mask of {format_size(mask.size)} pixels for an image of {format_size(self.size)}"
                )
            _check_mask(mask)

    def check(self, query: Query) -> None:
        """Raise also if the number of masks is not the number of detections."""
        if len(self.masks) != len(self.scores):
            raise ValueError(f"gave {len(self.masks)} masks for {len(self.scores)} detections")
        super().check(query)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            **super()._arrays(),
            "mask_boxes": np.asarray([m.box for m in self.masks], np.int32).reshape(-1, 4),
            "mask_bytes": np.asarray([len(m.data) for m in self.masks], np.int32),
            "masks": np.frombuffer(b"".join(m.data for m in self.masks), np.uint8),
        }

    @staticmethod
    def _fields(arrays: dict[str, NDArray[Any]], labels: Labels | None) -> dict[str, Any]:
        found = Detections._fields(arrays, labels)
        data, masks, start = arrays["masks"].tobytes(), [], 0
        for box, length in zip(arrays["mask_boxes"].tolist(), arrays["mask_bytes"].tolist(), strict=True):
            masks.append(PackedMask(found["size"], tuple(box), data[start : start + length]))
            start += length
        return {**found, "masks": tuple(masks)}

    @classmethod
    def _sample_fields(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> dict[str, Any]:
        found = super()._sample_fields(query, colour, labels)
        width, height = found["size"]
        left = np.zeros((height, width), bool)
        left[:, : width // 2] = True
        return {**found, "masks": (PackedMask.pack(left),)}


def _check_mask(mask: PackedMask) -> None:
    x0, y0, x1, y1 = mask.box
    if not (0 <= x0 <= x1 <= mask.size[0] and 0 <= y0 <= y1 <= mask.size[1]):
        raise ValueError(f"gave a mask whose box {mask.box} leaves its image of {format_size(mask.size)} pixels")
    try:
        found = len(zlib.decompress(mask.data)) if mask.data else 0
    except zlib.error as error:
        raise ValueError(f"gave a mask that cannot be unpacked ({error})") from error
    if found != -(-(x1 - x0) * (y1 - y0) // 8):
        raise ValueError(f"gave a mask of {found} bytes for a box of {x1 - x0} x {y1 - y0} pixels")
