"""What this plugin offers. Imports nothing heavy: torch, Mitsuba and numpy wait for the factories."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core import (
    Defaults,
    Domain,
    GeneratorInfo,
    JudgeInfo,
    ObjectClass,
    Preset,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)
from t2i_core.errors import BadOption

from t2i_miniworld.options import OracleOptions, SimulatorOptions
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, SYNSETS

if TYPE_CHECKING:
    from t2i_core import Generator, Judge

_SKILLS = ("", "-object", "-count", "-color", "-spatial")

DOMAIN = Domain(
    "mini world",
    "Rendered scenes of 26 kinds of things whose truth is known.",
    judges={"segment": "mini-segmenter", "detect": "mini-segmenter", "classify": "mini-classifier"},
    metrics={
        "tiam": Defaults(prompts="tiam-5-1", seeds=24),
        "isp": Defaults(prompts="wordnet-mini", seeds=32),
        "scs": Defaults(prompts="wordnet-mini", seeds=32),
        "bias": Defaults(prompts="bias-mini", seeds=9, options={"groups": "mini"}),
        "elo": Defaults(prompts="tiam-5-2", seeds=4),
        # read beside what the same judge says of the simulator's own pictures
        **{f"paintskills{skill}": Defaults(options={"upper": "simulator"}) for skill in _SKILLS},
    },
)

#: What a picture depends on; judges and training are left out, so that their changes redraw nothing.
_DRAWING = (
    "camera.py", "classes.py", "data/taxonomy.json", "faults.py", "kinds/*.py", "laws.py", "layout.py",
    "owners.py", "palette.py", "render.py", "scene.py", "shapes/*.py", "simulator.py", "streams.py", "taxonomy.py",
    "vocabulary.py",
)  # fmt: skip
#: What the ideal judge's answers depend on.
_ORACLE = (
    "annotations.py", "data/*.json", "names.py", "oracle.py", "oracle_embedding.py", "palette.py", "phrases.py",
    "streams.py", "taxonomy.py", "vocabulary.py",
)  # fmt: skip
_WEIGHTS = Path(__file__).parent / "weights"
_SEGMENTER = _WEIGHTS / "mini-segmenter"
_CLASSIFIER = "eaa76bb0c315bdaaec41fb84ea6d6f8841acd3fd1e4d41b0304a0f33f6d9e8d7"
"""What its weights have as SHA-256, so that a plan need not try them."""


@hookimpl
def t2i_generators() -> Iterable[GeneratorInfo]:
    """Offer the simulator."""
    return [
        GeneratorInfo(
            name="simulator",
            summary="Draws what a prompt expects, with faults at known rates (Mitsuba 3).",
            options=SimulatorOptions,
            create=_simulator,
            domain=DOMAIN,
            reads_scene=True,
            labels=_labels,
            code=_DRAWING,
            citation="after PaintSkills: Cho et al., DALL-Eval, ICCV 2023",
        )
    ]


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Offer the ideal judge and the trained ones."""
    return [
        JudgeInfo(
            name="oracle",
            summary="Reads what is really drawn: the ideal judge, to validate metrics with.",
            capabilities={
                "segment": frozenset({"class_probs", "colour"}),
                "detect": frozenset({"class_probs", "colour"}),
                "classify": frozenset(),
                "reward": frozenset(),
                "prefer": frozenset(),
                "embed": frozenset(),
            },
            options=OracleOptions,
            create=_oracle,
            argument="leaves: answers in the 37 lowest synsets (retriever, owl, ...) instead of the 26 kinds",
            check=_check_oracle,
            domain=DOMAIN,
            labels=_oracle_labels,
            reads_truth=True,
            code=_ORACLE,
        ),
        JudgeInfo(
            name="mini-segmenter",
            summary="Segments the mini world's classes: a small SegFormer, trained on renders.",
            capabilities={"segment": frozenset({"class_probs"})},
            create=_mini_segmenter,
            check=_check_segmenter,
            domain=DOMAIN,
            labels=_segmenter_labels,
            floor=0.05,  # `segmenting.FLOOR`, without what it imports
            code=("mini_segmenter.py", "segmenter.py", "segmenting.py", "vocabulary.py"),
            weights=_segmenter_weights,
            licence="Apache-2.0",
            citation="SegFormer: Xie et al., NeurIPS 2021",
        ),
        Preset(
            name="mini-classifier",
            summary="Names the mini world's lowest synsets: a small MobileNetV3 of timm, trained on renders.",
            of="t2i-timm/timm",
            argument=str(_WEIGHTS / "mini-classifier"),
            options={"sha256": _CLASSIFIER},
            domain=DOMAIN,
            licence="Apache-2.0",
            citation="MobileNetV3: Howard et al., ICCV 2019",
        ),
    ]


@hookimpl
def t2i_prompt_sources() -> Iterable[PromptSourceInfo]:
    """Offer prompts that leave open what people wear."""
    return [
        PromptSourceInfo(
            name="bias-mini",
            summary="A human alone, or with each other thing: 30 prompts that leave open what the human wears.",
            prompts=_bias_mini,
            code=("bias_prompts.py", "vocabulary.py"),
            citation="after DALL-Eval: Cho et al., ICCV 2023",
        )
    ]


def _simulator(setup: Setup[SimulatorOptions]) -> Generator:
    from t2i_miniworld.simulator import Simulator

    return Simulator(setup.options)


def _bias_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.bias_prompts import prompts

    return prompts()


def _oracle(setup: Setup[Any]) -> Judge:
    from t2i_miniworld.oracle import Oracle

    return Oracle(_oracle_labels(setup.argument, setup.options), setup.options)


def _mini_segmenter(setup: Setup[Any]) -> Judge:
    from t2i_miniworld.mini_segmenter import MiniSegmenter

    return MiniSegmenter(setup.device, setup.batch_size)


def _check_segmenter(setup: Setup[Any]) -> None:
    from t2i_core.models import devices

    devices.check(setup.device)


def _labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    return LABELS


def _segmenter_labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    """The classes that the weights were trained on, by their own config: label 0 is the background."""
    names = json.loads((_SEGMENTER / "config.json").read_text())["id2label"]
    return tuple(ObjectClass(names[key], SYNSETS[names[key]]) for key in sorted(names, key=int)[1:])


def _oracle_labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    return LEAF_LABELS if argument == "leaves" else LABELS


def _check_oracle(setup: Setup[Any]) -> None:
    if setup.argument not in (None, "leaves"):
        raise BadOption(f"oracle:{setup.argument}: the oracle takes no argument but 'leaves'")


def _segmenter_weights(argument: str | None, options: Any) -> Iterable[Path]:
    return sorted(_SEGMENTER.iterdir())
