"""The judge: detections and segments of a YOLO, stored down to a low confidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api import Detections, Failure, Query, Segments, Setup
from t2i_core.api.judge import Capability
from t2i_core.api.mask import PackedMask
from t2i_core.files.digest import digest_file
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device

from t2i_ultralytics import coco, library
from t2i_ultralytics.checkpoints import Facts
from t2i_ultralytics.masks import fill_outline
from t2i_ultralytics.options import DetectOptions, SegmentOptions

_ON_GPU, _ELSEWHERE = 16, 4
"""Initial batch size."""
_MASKS = 32
"""Number of full-size masks of one image in memory at a time."""


class Yolo:
    """Segments or detects objects.

    An image is prepared as in the library's predictors for a single image: resized to a longer side of `imgsz`,
    and padded with grey to whole strides. Images with the same resulting shape share a batch.
    """

    def __init__(self, network: Any, facts: Facts, file: Path, setup: Setup[DetectOptions]) -> None:
        self._device = select_device(setup.device)
        self._options = setup.options
        self._dtype: torch.dtype = getattr(torch, setup.options.dtype)
        self._network = network.to(self._device, self._dtype)
        self._facts = facts
        self._labels = coco.classes(facts.names)
        self._end_to_end = bool(getattr(network, "end2end", False))
        if self._end_to_end:
            network.set_head_attr(max_det=max(setup.options.max_det, 300))
        side = setup.options.imgsz
        self._letterbox = library.LetterBox((side, side), auto=True, stride=facts.stride)
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)
        self._file, self._digest = file, digest_file(file)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {
            "weights": self._file.name,
            "sha256": self._digest,
            "nms": "none: end to end" if self._end_to_end else "per class, of each box its best class",
            "letterbox": f"longer side {self._options.imgsz}, filled up to multiples of {self._facts.stride}",
            **self._options.model_dump(include={"conf", "iou", "max_det", "masks"}),
            "dtype": self._options.dtype,
            "device": str(self._device),
            "batch_size": self._batches.size,
            "ultralytics": library.ultralytics.__version__,
        }

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Detections | Failure]]:
        """Yield each query with the objects in its image, in order."""
        return self._batches.map(self._detect, queries)

    def close(self) -> None:
        """Release the network."""
        del self._network

    @torch.inference_mode()
    def _detect(self, queries: list[Query]) -> list[Detections | Failure]:
        shown = [self._letterbox(image=query.images[0].pixels) for query in queries]
        found: dict[int, Detections | Failure] = {}
        for shape in sorted({image.shape for image in shown}):
            places = [place for place, image in enumerate(shown) if image.shape == shape]
            rows, protos = self._run([shown[place] for place in places])
            for i, place in enumerate(places):
                width, height = queries[place].images[0].pixels.shape[1::-1]
                protos_of_one = None if protos is None else protos[i]
                found[place] = self._one(rows[i : i + 1], protos_of_one, shape[:2], (width, height))
        return [found[place] for place in range(len(queries))]

    def _run(self, images: Sequence[NDArray[np.uint8]]) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the network's output for images of one shape: a row per box, and mask prototypes if any."""
        pixels = torch.from_numpy(np.stack(images)).to(self._device).permute(0, 3, 1, 2)
        said = self._network(pixels.to(self._dtype) / 255)[0]
        rows, protos = said if isinstance(said, tuple) else (said, None)
        return rows.float(), protos

    def _one(
        self, rows: torch.Tensor, protos: torch.Tensor | None, shown: tuple[int, int], size: tuple[int, int]
    ) -> Detections | Failure:
        """Return the objects in an image; `shown` is the input's height and width, `size` the image's own."""
        if not torch.isfinite(rows).all():
            return Failure("the network returned values that are not numbers")
        options, (width, height) = self._options, size
        # one image at a time, because the library's NMS has a time limit and skips the rest of a batch
        (kept,) = library.non_max_suppression(
            rows,
            options.conf,
            options.iou,
            max_det=options.max_det,
            nc=len(self._facts.names),
            end2end=self._end_to_end,
        )
        kept[:, :4] = library.ops.scale_boxes(shown, kept[:, :4], (height, width))
        if not isinstance(options, SegmentOptions):
            return Detections(size, *_columns(kept), self._labels)
        assert protos is not None  # `check` rejects models without masks for `segment`
        there, masks = [], []
        for start in range(0, len(kept), _MASKS):
            part = kept[start : start + _MASKS]
            drawn = library.ops.process_mask_native(protos, part[:, 6:], part[:, :4], (height, width))
            for i, mask in enumerate(drawn.cpu().numpy(), start):
                if mask.any():  # as in the library, an empty mask does not count
                    there.append(i)
                    masks.append(PackedMask.pack(self._shape(mask, options.masks)))
        return Segments(size, *_columns(kept[there]), self._labels, masks=tuple(masks))

    @staticmethod
    def _shape(mask: NDArray[np.uint8], how: str) -> NDArray[np.bool_]:
        return mask.astype(bool) if how == "pixels" else fill_outline(mask, how)


def _columns(
    kept: torch.Tensor,
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int16]]:
    """Return boxes, scores and classes."""
    values = kept[:, :6].cpu().numpy()
    return values[:, :4], values[:, 4], values[:, 5].astype(np.int16)
