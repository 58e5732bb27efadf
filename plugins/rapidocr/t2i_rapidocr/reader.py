"""The judge: reads the lines of text in an image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnxruntime
from rapidocr import RapidOCR
from rapidocr.utils.output import RapidOCROutput
from rapidocr.utils.process_img import ResizeImgError
from t2i_core.api import Failure, Query, ReadText, Setup
from t2i_core.api.judge import Capability

from t2i_rapidocr.models import find_models
from t2i_rapidocr.options import OcrOptions

_CUDA = "CUDAExecutionProvider"
_ELONGATED = 100
"""Ratio of sides from which the library scales the shorter side of a long image to nothing."""


class OcrReader:
    """Reads one image at a time, on the GPU if onnxruntime supports it and no other device is set."""

    def __init__(self, setup: Setup[OcrOptions]) -> None:
        models = find_models(setup.options)
        device = setup.device or "cuda"
        on_gpu = device.startswith("cuda") and _CUDA in onnxruntime.get_available_providers()
        self._engine = RapidOCR(
            params={
                "Global.log_level": "error",  # it warns of every image without text
                "Global.text_score": 0.0,  # confidences are thresholds of metrics
                "Det.model_path": str(models.detection),
                "Cls.model_path": str(models.orientation),
                "Rec.model_path": str(models.recognition),
                "Det.limit_side_len": setup.options.shortest_side,
                "EngineConfig.onnxruntime.use_cuda": on_gpu,
                "EngineConfig.onnxruntime.cuda_ep_cfg.device_id": int(device.partition(":")[2] or 0),
            }
        )
        self._models = [path.name for path in models]
        self._expected = _CUDA if on_gpu else "CPUExecutionProvider"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest: the provider that onnxruntime uses, which may differ from the asked one."""
        detector = self._engine.text_det  # loaded with the first image
        provider = self._expected if detector is None else detector.session.session.get_providers()[0]
        return {"provider": provider, "models": self._models}

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, ReadText | Failure]]:
        """Yield each query with the text in its image, in order."""
        for query in queries:
            yield query, self._read(query)

    def _read(self, query: Query) -> ReadText | Failure:
        pixels = query.images[0].pixels
        height, width = pixels.shape[:2]
        try:
            found = self._engine(np.ascontiguousarray(pixels[..., ::-1]))  # the library takes BGR
        except ResizeImgError:
            if max(width, height) < _ELONGATED * min(width, height):
                raise
            return Failure(f"an image of {width} x {height} pixels is too elongated for rapidocr", final=True)
        if not isinstance(found, RapidOCROutput):  # it found lines, and could read none of them
            found = RapidOCROutput()
        texts = found.txts or ()
        quads = np.zeros((0, 4, 2)) if found.boxes is None else np.asarray(found.boxes, np.float64)
        shown = [number for number, text in enumerate(texts) if text.strip()]
        boxes = np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1)[shown]
        return ReadText(
            (width, height),
            tuple(texts[number] for number in shown),
            np.clip(boxes, 0, [width, height] * 2).astype(np.float32),
            np.array(found.scores or (), np.float32)[shown],
        )
