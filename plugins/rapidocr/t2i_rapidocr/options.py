"""Options of the judge."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from t2i_core.api import Options


class OcrOptions(Options):
    """Options of `rapidocr`."""

    detection: Path | None = Field(
        None, description="ONNX file of another PP-OCR model that finds lines. Default: the library's own."
    )
    recognition: Path | None = Field(
        None,
        description="ONNX file of another PP-OCR model that reads lines (of another script), with its characters "
        "in its metadata. Default: the library's own, for English and Chinese.",
    )
    shortest_side: int = Field(
        736, ge=32, le=4096, description="Images whose shorter side has fewer pixels are enlarged to this many."
    )
