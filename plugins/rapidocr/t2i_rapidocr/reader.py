"""The judge: reads the lines of text in an image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnxruntime
from rapidocr import RapidOCR
from rapidocr.utils.output import RapidOCROutput
from t2i_core.api import Query, ReadText, Setup
from t2i_core.api.judge import Capability

from t2i_rapidocr.models import find_models
from t2i_rapidocr.options import OcrOptions

_CUDA = "CUDAExecutionProvider"


class OcrReader:
    """Reads one image at a time, on the CPU unless the device is a GPU that the installed onnxruntime supports."""

    def __init__(self, setup: Setup[OcrOptions]) -> None:
        models = find_models(setup.options)
        on_gpu = (setup.device or "").startswith("cuda") and _CUDA in onnxruntime.get_available_providers()
        self._engine = RapidOCR(
            params={
                "Global.log_level": "error",  # it warns of every image without text
                "Global.text_score": 0.0,  # confidences are thresholds of metrics
                "Det.model_path": str(models.detection),
                "Cls.model_path": str(models.orientation),
                "Rec.model_path": str(models.recognition),
                "Det.limit_side_len": setup.options.shortest_side,
                "EngineConfig.onnxruntime.use_cuda": on_gpu,
            }
        )
        self.settings: dict[str, Any] = {
            "provider": _CUDA if on_gpu else "CPUExecutionProvider",
            "models": [path.name for path in models],
        }

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, ReadText]]:
        """Yield each query with the text in its image, in order."""
        for query in queries:
            yield query, self._read(query)

    def _read(self, query: Query) -> ReadText:
        pixels = query.images[0].pixels
        height, width = pixels.shape[:2]
        found = self._engine(np.ascontiguousarray(pixels[..., ::-1]))  # the library takes BGR
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
