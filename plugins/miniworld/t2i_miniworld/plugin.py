"""Components of t2i-miniworld.

This module imports nothing heavy; the factories import torch, Mitsuba and numpy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import (
    About,
    Defaults,
    Domain,
    GeneratorInfo,
    JudgeInfo,
    Loading,
    ObjectClass,
    Preset,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)
from t2i_core.api.errors import BadOption
from t2i_core.files.package_files import digest_sources

from t2i_miniworld.judge_quality import LIMITS, QUALITY
from t2i_miniworld.options import OracleOptions, QuestionOptions, SimulatorOptions
from t2i_miniworld.sign_classes import SIGNS
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, SYNSETS

if TYPE_CHECKING:
    from t2i_core.api import Generator, Judge

#: The tasks of selfeval, and the question of each.
_QUESTIONS = {
    "attribute-binding": "which of two objects has which colour (2 captions)",
    "colour": "which of four colours an object has (4 captions)",
    "count": "how many objects there are, one to four (4 captions)",
    "shape": "which of three objects is shown (3 captions)",
    "spatial": "which relation holds between two objects (4 captions)",
    "text-corruption": "which of five orders of the same words is true (5 captions)",
}
#: Options of likelihoods: fewer draws and steps than in the paper, so that two cores are enough.
_FEW = {"trials": 2, "steps": 25}
_CLIP = {"embed": "mini-clip"}
_COLOURED = {"detect": "mini-detector"}
_ANSWERED = {"answer": "mini-vqa"}
_SKILLS = ("", "-object", "-count", "-color", "-spatial")

DOMAIN = Domain(
    "mini world",
    "Rendered scenes of 26 kinds of objects with known ground truth.",
    judges={"segment": "mini-segmenter", "detect": "mini-segmenter", "classify": "mini-classifier"},
    metrics={
        "tiam": Defaults(prompts="tiam-5-1", seeds=24),
        "object-attention": Defaults(prompts="tiam-5-2"),
        **{metric: Defaults(prompts="wordnet-mini", seeds=32) for metric in ("isp", "scs", "synset-is")},
        "hyponym-cosine": Defaults(prompts="wordnet-mini", options={"classes": "mini-world"}),
        "bias": Defaults(prompts="bias-mini", seeds=9, judges=_CLIP, options={"groups": "mini"}),
        "elo": Defaults(prompts="tiam-5-2", seeds=4, judges={"prefer": "mini-clip"}),
        # the upper bound is the same judge's score on pictures of the simulator; this judge detects colours too
        **{f"paintskills{skill}": Defaults(judges=_COLOURED, options={"upper": "simulator"}) for skill in _SKILLS},
        "geneval": Defaults(prompts="geneval-mini", seeds=4, judges={**_COLOURED, **_CLIP}),
        "selfeval": Defaults(prompts="selfeval-mini", seeds=1, options=_FEW),
        "selfeval-elbo": Defaults(prompts="selfeval-mini", seeds=1, options=_FEW),
        "selfeval-clip": Defaults(prompts="selfeval-mini", seeds=1, judges=_CLIP),
        "winoground-clip": Defaults(prompts="selfeval-mini-winoground", seeds=1, judges=_CLIP),
        # mini-clip knows only the words of the grammar; metrics whose prompts have other words keep their judges
        **{metric: Defaults(judges=_CLIP) for metric in ("object-cosine", "r-precision")},
        "clipscore": Defaults(prompts="geneval-mini", seeds=4, judges=_CLIP),
        "reward": Defaults(prompts="geneval-mini", seeds=4, judges={"reward": "mini-clip"}),
        # features of a judge that has seen the mini world only: such distances compare with each other alone
        **{
            metric: Defaults(prompts="wordnet-mini", seeds=32, judges={"features": "mini-clip"})
            for metric in ("cmmd", "fid", "kid", "prdc", "vendi")
        },
        "text-rendering": Defaults(prompts="signs-mini", seeds=4, options={"upper": "simulator"}),
        "is": Defaults(prompts="wordnet-mini", seeds=32, judges={"classify": "mini-classifier"}),
        "winoground": Defaults(prompts="selfeval-mini-winoground", seeds=1, options=_FEW),
        **{
            metric: Defaults(prompts="captions-mini", seeds=1)
            for metric in ("bleu", "cider", "meteor", "rouge-l", "spice")
        },
        "tifa": Defaults(prompts="tifa-mini", seeds=1, judges=_ANSWERED),
        **{
            metric: Defaults(prompts="questions-mini", seeds=1, judges=_ANSWERED)
            for metric in ("dsg", "soft-tifa", "vqascore")
        },
        "dpg-bench": Defaults(
            prompts="questions-mini", seeds=4, judges=_ANSWERED, options={"variant": "corrected"}
        ),
        "t2i-compbench": Defaults(
            prompts="questions-mini",
            seeds=1,
            judges=_ANSWERED | _COLOURED | _CLIP,
            options={"tasks": ["attribute", "spatial", "numeracy"]},
        ),
    },
)

#: Source files on which pictures depend. Judges and training are not among them, so changing them redraws nothing.
_DRAWING = (
    "camera.py", "classes.py", "data/taxonomy.json", "faults.py", "kinds/*.py", "laws.py", "layout.py",
    "lettering.py", "owners.py", "palette.py", "render.py", "scene.py", "shapes/*.py", "sign_classes.py",
    "sign_picture.py", "signs.py", "simulator.py", "streams.py", "taxonomy.py", "vocabulary.py",
)  # fmt: skip
#: Source files on which the oracle's answers depend.
_ORACLE = (
    "annotations.py", "captions.py", "data/*.json", "names.py", "oracle.py", "oracle_embedding.py", "palette.py",
    "phrases.py", "question_answers.py", "scene_match.py", "sign_classes.py", "statements.py", "streams.py",
    "taxonomy.py", "vocabulary.py", "wording.py",
)  # fmt: skip
#: Source files on which scenes with questions depend.
_QUESTIONED = (
    "data/*.json", "names.py", "palette.py", "phrases.py", "scene_question_prompts.py", "statements.py",
    "streams.py", "taxonomy.py", "vocabulary.py", "wording.py",
)  # fmt: skip
_WEIGHTS = Path(__file__).parent / "weights"
#: Defaults of `mini` and its variants: the fewest steps without a loss, and the guidance with which most objects
#: are drawn (see the model card).
STEPS, GUIDANCE = 10, 5.0
_SEGMENTER = _WEIGHTS / "mini-segmenter"
#: SHA-256 of the weights, so that planning a run does not read them.
_CLASSIFIER_WEIGHTS = "eaa76bb0c315bdaaec41fb84ea6d6f8841acd3fd1e4d41b0304a0f33f6d9e8d7"
_DETECTOR_WEIGHTS = "7b0971f559fa653c58cba071de713dff9f1bfed3ddebc562e4515c7eee290d52"
_CLIP_WEIGHTS = "4e73e2610a92d645e4a1fcb1d7ab81448d336e78b5ba910e2334994d89d81422"


@hookimpl
def t2i_generators() -> Iterable[GeneratorInfo | Preset]:
    """Return the simulator and the diffusion models trained on its pictures."""
    return [
        GeneratorInfo(
            name="simulator",
            summary="Renders the scene that a prompt expects, with faults at known rates (Mitsuba 3).",
            options=SimulatorOptions,
            create=_simulator,
            domain=DOMAIN,
            reads_scene=True,
            labels=_labels,
            code=_DRAWING,
            about=About(citation="after PaintSkills: Cho et al., DALL-Eval, arXiv:2202.04053, first version"),
        ),
        _diffusion(
            "mini", "A small Stable Diffusion model of the mini world, trained on the simulator's pictures."
        ),
        _diffusion(
            "mini-early", "`mini` from an early training step: a model known to be worse.", denoiser="mini-early"
        ),
        _diffusion(
            "mini-tiny",
            "`mini` with a smaller denoiser: a model known to be worse in another way.",
            denoiser="mini-tiny",
        ),
        _diffusion(
            "mini-single",
            "A model that learnt captions of single things: it knows neither numbers nor relations.",
            denoiser="mini-single",
        ),
        _diffusion(
            "mini-tuned",
            "`mini-single` fine-tuned on scenes of PaintSkills' four skills.",
            denoiser="mini-tuned",
            notes="Fine-tuned on the texts of PaintSkills' evaluation, with pictures of other seeds.",
        ),
    ]


def _diffusion(
    name: str,
    summary: str,
    denoiser: str | None = None,
    notes: str = "Known bias: four of five people in the training pictures wear a hat.",
) -> Preset:
    """Return a preset: the pipeline in the folder `mini`, with its own or another denoiser."""
    own = {} if denoiser is None else {"denoiser": str(_WEIGHTS / denoiser)}
    return Preset(
        name=name,
        summary=summary,
        of="t2i-diffusers/diffusers",
        argument=str(_WEIGHTS / "mini"),
        options={"steps": STEPS, "guidance": GUIDANCE, **own},
        domain=DOMAIN,
        about=About(
            citation="latent diffusion: Rombach et al., CVPR 2022",
            licence="Apache-2.0",
            notes=notes,
        ),
    )


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Return the ideal judge `oracle` and the trained judges."""
    return [
        JudgeInfo(
            name="oracle",
            summary="The ideal judge, which reads the ground truth of rendered images, to validate metrics.",
            capabilities={
                "segment": frozenset({"class_probs", "colour"}),
                "detect": frozenset({"class_probs", "colour"}),
                "classify": frozenset(),
                "reward": frozenset(),
                "prefer": frozenset(),
                "embed": frozenset(),
                "answer": frozenset({"probs"}),
                "caption": frozenset(),
                "read": frozenset({"boxes", "scores"}),
            },
            options=OracleOptions,
            create=_oracle,
            argument="leaves: answer with the 37 lowest synsets (retriever, owl, ...) instead of the 26 kinds",
            loading=Loading(check=_check_oracle),
            domain=DOMAIN,
            labels=_oracle_labels,
            reads_truth=True,
            code=_ORACLE,
            about=About(quality=QUALITY["oracle"], limits=LIMITS["oracle"]),
        ),
        JudgeInfo(
            name="mini-segmenter",
            summary="Segments the mini world's classes: a small SegFormer trained on rendered scenes.",
            capabilities={"segment": frozenset({"class_probs"})},
            create=_mini_segmenter,
            loading=Loading(weights=_segmenter_weights, check=_check_segmenter),
            domain=DOMAIN,
            labels=_segmenter_labels,
            floor=0.05,  # `segmenting.FLOOR`, without what it imports
            code=("mini_segmenter.py", "segmenter.py", "regions.py", "vocabulary.py"),
            about=About(
                citation="SegFormer: Xie et al., NeurIPS 2021",
                licence="Apache-2.0",
                quality=QUALITY["mini-segmenter"],
                limits=LIMITS["mini-segmenter"],
            ),
        ),
        _trained(
            "mini-classifier",
            "Classifies the mini world's lowest synsets: a small MobileNetV3 (timm) trained on rendered scenes.",
            "t2i-timm/timm",
            _CLASSIFIER_WEIGHTS,
            "MobileNetV3: Howard et al., ICCV 2019",
        ),
        _trained(
            "mini-detector",
            "Detects the mini world's classes and their colours: a small RT-DETR trained on rendered scenes.",
            "t2i-transformers/coloured-detector",
            _DETECTOR_WEIGHTS,
            "RT-DETR: Zhao et al., CVPR 2024",
        ),
        _trained(
            "mini-vqa",
            "Answers questions about objects, numbers, colours and places by what mini-detector finds.",
            "t2i-transformers/detector-vqa",
            _DETECTOR_WEIGHTS,
            "RT-DETR: Zhao et al., CVPR 2024; after VPEval: Cho et al., NeurIPS 2023",
            weights="mini-detector",
        ),
        _trained(
            "mini-clip",
            "Embeds the mini world's pictures and texts in one space: a small CLIP (open_clip).",
            "t2i-open-clip/open-clip",
            _CLIP_WEIGHTS,
            "CLIP: Radford et al., ICML 2021",
        ),
    ]


def _trained(name: str, summary: str, of: str, sha256: str, citation: str, weights: str = "") -> Preset:
    """Return a preset: another plugin's judge with weights of this plugin, by default those of its own name."""
    return Preset(
        name=name,
        summary=summary,
        of=of,
        argument=str(_WEIGHTS / (weights or name)),
        options={"sha256": sha256},
        domain=DOMAIN,
        about=About(citation=citation, licence="Apache-2.0", quality=QUALITY[name], limits=LIMITS[name]),
    )


@hookimpl
def t2i_prompt_sources() -> Iterable[PromptSourceInfo]:
    """Return the sources of prompts for bias, captions, selfeval's tasks, signs and Winoground-like pairs."""
    tasks = tuple(_QUESTIONS)
    return [
        PromptSourceInfo(
            name="bias-mini",
            summary="30 prompts with a human, alone or with another object, that leave open what the human wears.",
            prompts=_bias_mini,
            code=("bias_prompts.py", "vocabulary.py"),
            about=About(citation="after DALL-Eval: Cho et al., arXiv:2202.04053, first version"),
        ),
        PromptSourceInfo(
            name="captions-mini",
            summary="60 scenes of one to three objects, each with five references for metrics of captions.",
            prompts=_captions_mini,
            code=(
                "caption_prompts.py",
                "data/*.json",
                "names.py",
                "palette.py",
                "phrases.py",
                "statements.py",
                "streams.py",
                "taxonomy.py",
                "vocabulary.py",
                "wording.py",
            ),
        ),
        PromptSourceInfo(
            name="questions-mini",
            summary="48 scenes with yes-no questions about their objects, counts, colours and relations.",
            prompts=_questions_mini,
            code=_QUESTIONED,
        ),
        PromptSourceInfo(
            name="tifa-mini",
            summary="The scenes of questions-mini, with questions that have choices.",
            prompts=_tifa_mini,
            code=_QUESTIONED,
        ),
        PromptSourceInfo(
            name="signs-mini",
            summary="48 prompts that ask for words on signs and boards: a word, a phrase, or two signs.",
            prompts=_signs_mini,
            code=("palette.py", "sign_classes.py", "sign_prompts.py", "streams.py"),
        ),
        _source("selfeval-mini", "SelfEval's six tasks about rendered scenes.", tasks),
        *(
            _source(f"selfeval-mini-{task}", f"Rendered scenes: {asked}.", (task,))
            for task, asked in _QUESTIONS.items()
        ),
        _source(
            "selfeval-mini-winoground",
            "Pairs of rendered scenes and captions with exchanged relations, colours or counts.",
            ("winoground",),
        ),
    ]


def _source(name: str, summary: str, tasks: tuple[str, ...]) -> PromptSourceInfo:
    return PromptSourceInfo(
        name=name,
        summary=summary,
        options=QuestionOptions,
        prompts=partial(_prompts, tasks),
        about=About(
            citation="after SelfEval: Rambhatla, Misra. arXiv:2311.10708; Winoground: Thrush et al., CVPR 2022",
            notes="The pictures are rendered at first use and cached.",
        ),
    )


def _prompts(tasks: tuple[str, ...], setup: Setup[QuestionOptions]) -> Iterable[Prompt]:
    from t2i_miniworld.question_prompts import prompts_of

    code = digest_sources(__name__, (*_DRAWING, "question_pictures.py"))
    return prompts_of(tasks, setup.options, code, setup.dry)


def _simulator(setup: Setup[SimulatorOptions]) -> Generator:
    from t2i_miniworld.simulator import Simulator

    return Simulator(setup.options)


def _bias_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.bias_prompts import prompts

    return prompts()


def _captions_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.caption_prompts import prompts

    return prompts()


def _signs_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.sign_prompts import prompts

    return prompts()


def _questions_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.scene_question_prompts import prompts

    return prompts()


def _tifa_mini(setup: Setup[Any]) -> Iterable[Prompt]:
    from t2i_miniworld.scene_question_prompts import choice_prompts

    return choice_prompts()


def _oracle(setup: Setup[Any]) -> Judge:
    from t2i_miniworld.oracle import Oracle

    return Oracle(_oracle_labels(setup.argument, setup.options), setup.options)


def _mini_segmenter(setup: Setup[Any]) -> Judge:
    from t2i_miniworld.mini_segmenter import MiniSegmenter

    return MiniSegmenter(setup.device, setup.batch_size)


def _check_segmenter(setup: Setup[Any]) -> None:
    from t2i_torch_support.device import check_device

    check_device(setup.device)


def _labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    return (*LABELS, *SIGNS)


def _segmenter_labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    """Return the classes in the weights' config.json; label 0 is the background."""
    names = json.loads((_SEGMENTER / "config.json").read_text())["id2label"]
    return tuple(ObjectClass(names[key], SYNSETS[names[key]]) for key in sorted(names, key=int)[1:])


def _oracle_labels(argument: str | None, options: Any) -> tuple[ObjectClass, ...]:
    return LEAF_LABELS if argument == "leaves" else LABELS


def _check_oracle(setup: Setup[Any]) -> None:
    if setup.argument not in (None, "leaves"):
        raise BadOption(f"oracle:{setup.argument}: the only argument of the oracle is 'leaves'")


def _segmenter_weights(argument: str | None, options: Any) -> Iterable[Path]:
    return sorted(_SEGMENTER.iterdir())
