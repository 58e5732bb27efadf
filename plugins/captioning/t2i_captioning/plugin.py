"""The plugin module of the metrics of captions. Imports no heavy library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2i_core.api import Defaults, Loading, Measure, MetricInfo, Setup, hookimpl

from t2i_captioning.explanations import BLEU, CIDER, METEOR, ROUGE_L, SPICE
from t2i_captioning.options import CaptionOptions, SpiceOptions

if TYPE_CHECKING:
    from t2i_core.api import Metric

_CODE = ("plugin.py", "options.py", "metrics.py", "ngrams.py", "ptb.py", "ptb_rules.py", "references.py")
_JUDGE = Defaults(judges={"caption": "blip-large"}, seeds=1)
_FACETS = ("*",)


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptors of the metrics."""
    return [
        MetricInfo(
            name="bleu",
            summary="Captions of the images against references: shared n-grams of up to four words.",
            options=CaptionOptions,
            create=_bleu,
            code=(*_CODE, "bleu.py"),
            measures=(
                *(
                    Measure(f"bleu-{n}", f"BLEU-{n} of summed counts, from 0 to 1.", 0, 1, facets=_FACETS)
                    for n in (4, 1, 2, 3)
                ),
                Measure("caption-length", "Words of a caption.", 0, higher_is_better=None),
                Measure("reference-length", "Words of the reference nearest in length.", 0, higher_is_better=None),
                *(Measure(f"matches-{n}", f"N-grams of {n} words that a reference has.", 0) for n in (1, 2, 3, 4)),
            ),
            defaults=_JUDGE,
            about=BLEU,
        ),
        MetricInfo(
            name="rouge-l",
            summary="Captions of the images against references: longest common subsequence.",
            options=CaptionOptions,
            create=_rouge_l,
            code=(*_CODE, "rouge.py"),
            measures=(
                Measure("rouge-l", "F score (beta 1.2) of the longest common subsequence.", 0, 1, facets=_FACETS),
            ),
            defaults=_JUDGE,
            about=ROUGE_L,
        ),
        MetricInfo(
            name="cider",
            summary="Captions of the images against references: shared n-grams, rare ones count more (CIDEr-D).",
            options=CaptionOptions,
            create=_cider,
            code=(*_CODE, "cider.py"),
            measures=(Measure("cider", "CIDEr-D, mean over images, from 0 to 10.", 0, 10, facets=_FACETS),),
            defaults=_JUDGE,
            about=CIDER,
        ),
        MetricInfo(
            name="meteor",
            summary="Captions of the images against references: shared words, stems, synonyms and paraphrases.",
            options=CaptionOptions,
            create=_meteor,
            code=(*_CODE, "meteor.py", "java.py"),
            measures=(
                Measure("meteor", "METEOR 1.5 of summed counts, from 0 to 1.", 0, 1, facets=_FACETS),
                *(
                    Measure(name, "A count from which the score follows.", 0, higher_is_better=None)
                    for name in (
                        "caption-matches",
                        "caption-words",
                        "reference-matches",
                        "reference-words",
                        "chunks",
                        "matches",
                    )
                ),
            ),
            loading=Loading(check=_check_meteor),
            defaults=_JUDGE,
            about=METEOR,
        ),
        MetricInfo(
            name="spice",
            summary="Captions of the images against references: shared objects, attributes and relations.",
            options=SpiceOptions,
            create=_spice,
            code=(*_CODE, "spice.py", "java.py"),
            measures=(Measure("spice", "F score, mean over images.", 0, 1, facets=_FACETS),),
            loading=Loading(check=_check_spice),
            defaults=_JUDGE,
            about=SPICE,
        ),
    ]


def _bleu(setup: Setup[CaptionOptions]) -> Metric:
    from t2i_captioning.metrics import Bleu

    return Bleu(setup)


def _rouge_l(setup: Setup[CaptionOptions]) -> Metric:
    from t2i_captioning.metrics import RougeL

    return RougeL(setup)


def _cider(setup: Setup[CaptionOptions]) -> Metric:
    from t2i_captioning.metrics import Cider

    return Cider(setup)


def _meteor(setup: Setup[CaptionOptions]) -> Metric:
    from t2i_captioning.meteor import Meteor

    return Meteor(setup)


def _check_meteor(setup: Setup[CaptionOptions]) -> None:
    from t2i_captioning.java import find_java, find_meteor

    find_java()
    find_meteor()


def _spice(setup: Setup[SpiceOptions]) -> Metric:
    from t2i_captioning.spice import Spice

    return Spice(setup)


def _check_spice(setup: Setup[SpiceOptions]) -> None:
    from t2i_captioning.java import find_java, find_spice

    find_java()
    find_spice(setup.options.jars)
