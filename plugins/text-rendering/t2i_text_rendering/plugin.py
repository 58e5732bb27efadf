"""The plugin module of the metric of rendered text. Imports no heavy library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2i_core.api import About, Defaults, Measure, MetricInfo, Setup, hookimpl

from t2i_text_rendering.options import TextRenderingOptions

if TYPE_CHECKING:
    from t2i_core.api import Metric


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptor of the metric."""
    return [
        MetricInfo(
            name="text-rendering",
            summary="Words that the images show, as a judge reads them, against the words that prompts ask for.",
            options=TextRenderingOptions,
            create=_create,
            measures=(
                Measure("exact", "1 if all asked words are there, else 0.", 0, 1, facets=("*",)),
                Measure("word-accuracy", "Share of the asked words that are there.", 0, 1, facets=("*",)),
                Measure(
                    "edit-distance",
                    "Characters to change, by the length of the longer text.",
                    0,
                    1,
                    higher_is_better=False,
                    facets=("*",),
                ),
            ),
            defaults=Defaults(
                seeds=4,
                judges={"read": "rapidocr"},
                absent={"read": "either `pip install 't2i[ocr]'`, or add `--judge openai:MODEL`"},
            ),
            about=About(
                meaning="Share of images in which the judge reads all words that the prompt puts in quotes. 1 "
                "means that every text is there and spelt rightly.",
                limits="The judge reads wrongly, too: the option upper gives its score on images that are right. "
                "Further words in the image do not count, nor does where or how the text is written.",
            ),
        )
    ]


def _create(setup: Setup[TextRenderingOptions]) -> Metric:
    from t2i_text_rendering.metric import TextRendering

    return TextRendering(setup)
