"""The plugin: the judge `rapidocr`. Only the factory imports the library, onnxruntime and numpy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Setup, hookimpl

from t2i_rapidocr.options import OcrOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the judge's descriptor."""
    return [
        JudgeInfo(
            name="rapidocr",
            summary="Reads text in images with RapidOCR's PP-OCR models, which come with it.",
            options=OcrOptions,
            capabilities={"read": frozenset({"boxes", "scores"})},
            create=_create,
            loading=Loading(weights=_list_weights, check=_check),
            about=About(
                quality="On 288 rendered images with words on signs, of 128 to 512 pixels and half of them with "
                "words misspelt at a rate of .3, it always agrees with the oracle whether all words are right "
                "(docs/validation.md). Not measured on images of diffusion models.",
                limits="Reads printed English and Chinese; small, curved or artistic letters are harder than "
                "those of the measurement.",
                citation="PaddleOCR 3.0 Technical Report, arXiv:2507.05595; RapidOCR",
                licence="Apache-2.0",
                memory_gb=0.5,
                notes="The library's own models read English and Chinese. Runs on the CPU, or on a GPU if "
                "onnxruntime-gpu is installed.",
            ),
        )
    ]


def _create(setup: Setup[OcrOptions]) -> Judge:
    from t2i_rapidocr.reader import OcrReader

    return OcrReader(setup)


def _list_weights(argument: str | None, options: OcrOptions) -> Iterable[Path | str]:
    from t2i_rapidocr.models import find_models

    return find_models(options)


def _check(setup: Setup[OcrOptions]) -> None:
    from t2i_rapidocr.models import find_models

    find_models(setup.options)
