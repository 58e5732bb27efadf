"""What is recorded: evaluations, as plain data, that together use every metric of t2i's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Model = str | Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One evaluation.

    Attributes:
        name: Names the files of its expected values.
        metrics: One or more.
        models: Specs, or objects with `model`, `label` and `settings`.
        arguments: The other arguments of `evaluate`; paths relative to this folder.
        tolerance: How far floats may differ on another processor, relative to the larger.
    """

    name: str
    metrics: tuple[str, ...]
    models: tuple[Model, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-11


def _entry(
    name: str, metrics: str, models: tuple[Model, ...], *, tolerance: float = 1e-11, **arguments: Any
) -> Entry:
    return Entry(name, tuple(metrics.split()), models, arguments, tolerance)


def _simulator(label: str, **settings: Any) -> Model:
    return {"model": "simulator", "label": label, "settings": settings}


FORGETFUL = _simulator("forgetful", drop=0.6)
SOUND = _simulator("sound", drop=0.25)
MIXED = _simulator("mixed", drop=0.2, wrong_color=0.3, swap_colors=0.2)
_SMALL = (
    _simulator("small", size=64, wrong_color=0.3, flip_relation=0.5),
    _simulator("forgetful", size=64, drop=0.5, extra=0.3),
)
TINY = "mini-tiny"
FOLDER = "folder:files/pictures"

_PAIRS = {"prompts": "tiam-5-2", "limit": 6, "seeds": "0-2"}
_COLOURS = {"prompts": "tiam-color-2", "limit": 5, "seeds": 2, "judge": "mini-segmenter"}
_SYNSETS = {"prompts": "wordnet-mini", "limit": 4, "seeds": "0-2"}
_BIAS = {"limit": 4, "seeds": 2}
_QUESTIONS = {"prompts": "questions-mini", "limit": 8, "seeds": 2}
_SKILL = {"limit": 3, "seeds": 1}
_TASKS = {"selfeval-mini": {"limit": 5}}
_FEW = {"trials": 2, "steps": 5}
_REFERENCE = {"reference": "files/pictures/good"}
_CLIP = {"judge": "mini-clip"}
_SINGLE = 1e-6
"""The tolerance of what is computed in float32."""
_SINGULAR = 1e-6
"""The tolerance of the square root of a covariance of fewer images than features: eigenvalues that are 0 up to
rounding add 1e-8 of the largest root, and p-values amplify the difference."""
_OF_PAIRS = (SOUND, FORGETFUL, "mini")

ENTRIES = (
    # several judges, options and questions of the interval, on the same images
    _entry("tiam", "tiam", _OF_PAIRS, **_PAIRS),
    _entry("tiam-oracle", "tiam", (SOUND, FORGETFUL), **_PAIRS, judge="oracle"),
    _entry("tiam-strict", "tiam", (SOUND, "mini"), **_PAIRS, options={
        "tiam": {"confidence": 0.6, "overlap": 0.6},
    }),
    _entry("tiam-new-prompts", "tiam", (SOUND, FORGETFUL), **_PAIRS, interval="prompts"),
    _entry("tiam-new-seeds", "tiam", (SOUND, FORGETFUL), **_PAIRS, interval="seeds"),
    _entry("tiam-noise-per-prompt", "tiam", ("mini", SOUND), prompts="tiam-5-2", limit=3, seeds=2,
           noise="per-prompt"),
    _entry("tiam-colours", "tiam", (MIXED, TINY), **_COLOURS),
    _entry("tiam-colour-share", "tiam", (MIXED,), **_COLOURS, options={"tiam": {"colour_share": 0.7}}),
    _entry("tiam-folder", "tiam", (FOLDER, SOUND), prompts="files/prompts.jsonl", seeds=2, judge="mini-segmenter"),
    _entry("object-cosine", "object-cosine", (SOUND,), **_PAIRS),
    _entry("object-attention", "object-attention", ("mini",), prompts="tiam-5-2", limit=2),
    # samples that fail, a prompt that stands twice, facets
    _entry("clipscore", "clipscore", (SOUND, TINY), prompts="files/undrawable.jsonl", seeds=2),
    _entry("clipscore-folder", "clipscore", (FOLDER,), seeds=2, **_CLIP, options={"clipscore": {"w": 2.5}}),
    # pairs of three models
    _entry("elo", "elo", _OF_PAIRS, **_PAIRS, **_CLIP),
    _entry("elo-oracle", "elo", (SOUND, FORGETFUL), **_PAIRS, judge="oracle", options={
        "elo": {"ties": "omit", "both_orders": False},
    }),
    _entry("elo-share", "elo", _OF_PAIRS, **_PAIRS, **_CLIP, options={"elo": {"share": 0.5, "position": False}}),
    _entry("reward", "reward", _OF_PAIRS, **_PAIRS, **_CLIP),
    _entry("reward-oracle", "reward", (SOUND, FORGETFUL), **_PAIRS, judge="oracle", interval="prompts"),
    # sets
    _entry("fid", "fid", (SOUND, "mini"), **_PAIRS, judge="inception-v3", options={"fid": _REFERENCE},
           tolerance=_SINGULAR),
    _entry("kid", "kid", (SOUND, "mini"), **_PAIRS, judge="inception-v3", options={
        "kid": {**_REFERENCE, "subsets": 5, "subset_size": 8},
    }),
    _entry("cmmd", "cmmd", (SOUND, "mini"), **_PAIRS, judge="inception-v3", options={
        "cmmd": {**_REFERENCE, "sigma": 1},
    }),
    _entry("prdc", "prdc", (SOUND, "mini"), **_PAIRS, judge="inception-v3", options={
        "prdc": {**_REFERENCE, "neighbours": 2},
    }),
    _entry("vendi", "vendi", (SOUND, "mini"), **_PAIRS, judge="inception-v3"),
    _entry("is", "is", (SOUND, "mini"), **_PAIRS, judge="mini-classifier", options={"is": {"splits": 2}}),
    # retrieval, and several metrics in one run
    _entry("r-precision", "r-precision", (SOUND, "mini"), **_PAIRS, options={"r-precision": {"candidates": 4}}),
    _entry("several", "tiam clipscore reward r-precision", (SOUND, "mini"), **_PAIRS, judge=(
        "mini-segmenter", "embed=mini-clip", "reward=mini-clip",
    ), options={"r-precision": {"candidates": 3, "reference": True}}),
    # a taxonomy
    _entry("isp", "isp", (SOUND, TINY), **_SYNSETS, tolerance=_SINGLE),
    _entry("scs", "scs synset-is", (SOUND, TINY), **_SYNSETS, options={"scs": {"images": [2]}}, tolerance=_SINGLE),
    _entry("isp-leaves", "isp scs", (SOUND,), **_SYNSETS, judge="oracle:leaves", tolerance=_SINGLE),
    _entry("calibration", "calibration", (SOUND,), prompts="files/leaves.jsonl", seeds=3, judge="mini-classifier"),
    _entry("similarities", "lemma-similarity hypernym-similarity cohyponym-similarity specificity", (SOUND, TINY),
           **_SYNSETS, **_CLIP),
    _entry("similarities-cosine", "specificity cohyponym-similarity", (SOUND,), **_SYNSETS, **_CLIP, options={
        "specificity": {"scale": "cosine", "cohyponyms": "others"}, "cohyponym-similarity": {"cohyponyms": "all"},
    }),
    _entry("hyponym-cosine", "hyponym-cosine", (SOUND,), prompts="wordnet-mini", limit=3, seeds=1, **_CLIP,
           options={"hyponym-cosine": {"classes": "files/classes.txt"}}),
    # captions
    _entry("captions", "bleu cider rouge-l", (SOUND, FORGETFUL), prompts="captions-mini", limit=4, seeds=2,
           judge="oracle", options={"oracle": {"caption_error": 0.3}}),
    # a benchmark in a YAML file, with its own prompts
    _entry("yaml", "yaml:files/benchmark.yaml", (MIXED, FORGETFUL), seeds=2, judge="oracle"),
    # questions
    _entry("questions", "dsg soft-tifa vqascore t2i-compbench", (SOUND, MIXED), **_QUESTIONS, judge="oracle"),
    _entry("questions-dpg", "dpg-bench", (SOUND,), **_QUESTIONS, judge="oracle", options={
        "metric:dpg-bench": {"variant": "reference"},
    }),
    _entry("questions-trained", "dsg dpg-bench soft-tifa vqascore t2i-compbench", (SOUND, MIXED), **_QUESTIONS,
           judge="mini-vqa"),
    _entry("questions-tifa", "tifa", (SOUND,), **(_QUESTIONS | {"prompts": "tifa-mini"}), judge="oracle"),
    # text in images, and unsafe images
    _entry("text-rendering", "text-rendering", (_simulator("misspelt", misspell=0.5), _simulator("right")),
           prompts="signs-mini", limit=6, seeds=2, judge="oracle"),
    _entry("safety", "safety", (_simulator("wrong", wrong_object=0.5), _simulator("plain")), prompts="tiam-5-1",
           seeds=2, judge="oracle", options={"safety": {"labels": ["elephant", "car.n.01"]}}),
    # people
    _entry("bias", "bias", (_simulator("plain"), TINY), **_BIAS),
    _entry("bias-person", "bias", (_simulator("plain"),), **_BIAS, options={"bias": {
        "person": True, "vote": "majority", "confidence": 0.9,
    }}),
    # skills, with the simulator as upper bound
    _entry("paintskills", "paintskills", (TINY, MIXED), prompts="paintskills", limit=8, seeds=1),
    _entry("paintskills-object", "paintskills-object", (TINY,), **_SKILL),
    _entry("paintskills-count", "paintskills-count", (TINY, MIXED), **_SKILL, options={
        "metric:paintskills-count": {"rule": "paper", "threshold": 0.5},
    }),
    _entry("paintskills-color", "paintskills-color", (TINY,), **_SKILL, options={
        "metric:paintskills-color": {"confidence": 0.3, "colours": "all"},
    }),
    _entry("paintskills-spatial", "paintskills-spatial", (MIXED,), **_SKILL),
    # tasks of GenEval, with the judge's own colours, and with colours read from what is cut out
    _entry("geneval", "geneval", _SMALL, limit=6, seeds=2),
    _entry("geneval-crops", "geneval", _SMALL[:1], limit=6, seeds=2, judge=("mini-segmenter", "embed=mini-clip"),
           options={"metric:geneval": {"counting_confidence": 0.7}}),
    # what the model itself is asked
    _entry("selfeval", "selfeval", ("mini", TINY), prompts="selfeval-mini", options={**_TASKS, "selfeval": _FEW}),
    _entry("selfeval-exact", "selfeval", (TINY,), prompts="selfeval-mini", options={
        **_TASKS, "selfeval": {**_FEW, "exact": True, "estimator": "q-log-mean-exp", "also_steps": [3]},
    }),
    _entry("selfeval-empty", "selfeval", (TINY,), prompts="selfeval-mini-colour", options={
        "selfeval-mini-colour": {"limit": 8}, "selfeval": {**_FEW, "minus_empty": True, "blind": True},
    }),
    _entry("selfeval-free-running", "selfeval-free-running", (TINY,), prompts="selfeval-mini-shape", options={
        "selfeval-mini-shape": {"limit": 6}, "selfeval-free-running": _FEW,
    }),
    _entry("selfeval-elbo", "selfeval-elbo", (TINY,), prompts="selfeval-mini", options={
        **_TASKS, "selfeval-elbo": {**_FEW, "stages": [[2, 2]]},
    }),
    _entry("selfeval-clip", "selfeval-clip", ("mini",), prompts="selfeval-mini", options=_TASKS),
    _entry("winoground", "winoground winoground-elbo winoground-clip", (TINY, "mini"),
           prompts="selfeval-mini-winoground", options={
        "selfeval-mini-winoground": {"limit": 5}, "winoground": _FEW, "winoground-elbo": _FEW,
    }),
)  # fmt: skip

NOT_RECORDED = {
    "meteor": "needs Java and METEOR's jar, which the optional extra t2i-captioning[java] brings",
    "spice": "needs Java and jars that users provide",
}
"""Metrics that no entry records, with the reason."""

NAMES = {entry.name for entry in ENTRIES}
