"""The files of the models that RapidOCR reads with, found without importing it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

from t2i_core.api.errors import BadModel, BadOption

from t2i_rapidocr.options import OcrOptions

LIBRARY = "rapidocr"


class ModelFiles(NamedTuple):
    """The ONNX files of the three steps.

    Attributes:
        detection: Finds lines.
        orientation: Tells whether a line is upside down.
        recognition: Reads lines.
    """

    detection: Path
    orientation: Path
    recognition: Path


def find_models(options: OcrOptions) -> ModelFiles:
    """Return the files: those of the options, the others from the library's wheel.

    Raises:
        BadModel: If the installed library brings other models than this plugin knows.
        BadOption: If a file of the options does not exist.
    """
    for name in ("detection", "recognition"):
        file: Path | None = getattr(options, name)
        if file is not None and not file.is_file():
            raise BadOption(f"option {name!r} of 'rapidocr': no such file: {file}")
    return ModelFiles(
        options.detection or _find("PP-OCR*_det_*.onnx"),
        _find("*_cls_*.onnx"),
        options.recognition or _find("PP-OCR*_rec_*.onnx"),
    )


def _find(pattern: str) -> Path:
    spec = importlib.util.find_spec(LIBRARY)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {LIBRARY!r}", name=LIBRARY)
    folder = Path(spec.origin).parent / "models"
    # a user may have let the library download further ones: the order settles which is taken
    found = sorted(folder.glob(pattern))
    if not found:
        raise BadModel(
            f"judge 'rapidocr': the installed rapidocr has no file {pattern} in its folder models; install "
            "rapidocr 3.10 or later, or name files with the options detection and recognition"
        )
    return found[0]
