"""What this plugin offers. Imports nothing heavy: torch, Mitsuba and numpy wait for the factories."""

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

from t2i_miniworld.options import OracleOptions, QuestionOptions, SimulatorOptions
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, SYNSETS

if TYPE_CHECKING:
    from t2i_core.api import Generator, Judge

#: The tasks of selfeval, and what each asks of a picture.
_QUESTIONS = {
    "attribute-binding": "which of two things has which colour: 2 captions",
    "colour": "which of four colours a thing has: 4 captions",
    "count": "how many things there are, one to four: 4 captions",
    "shape": "which of three things there is: 3 captions",
    "spatial": "how one thing stands to another: 4 captions",
    "text-corruption": "which of five orders of the same words is true: 5 captions",
}
#: Of likelihoods: fewer draws and steps than a paper's, for models that are asked on two cores.
_FEW = {"trials": 2, "steps": 25}
_CLIP = {"embed": "mini-clip"}
_COLOURED = {"detect": "mini-detector"}
_SKILLS = ("", "-object", "-count", "-color", "-spatial")

DOMAIN = Domain(
    "mini world",
    "Rendered scenes of 26 kinds of things whose truth is known.",
    judges={"segment": "mini-segmenter", "detect": "mini-segmenter", "classify": "mini-classifier"},
    metrics={
        "tiam": Defaults(prompts="tiam-5-1", seeds=24),
        **{metric: Defaults(prompts="wordnet-mini", seeds=32) for metric in ("isp", "scs", "synset-is")},
        "bias": Defaults(prompts="bias-mini", seeds=9, judges=_CLIP, options={"groups": "mini"}),
        "elo": Defaults(prompts="tiam-5-2", seeds=4, judges={"prefer": "mini-clip"}),
        # read beside what the same judge, which tells colours, says of the simulator's own pictures
        **{f"paintskills{skill}": Defaults(judges=_COLOURED, options={"upper": "simulator"}) for skill in _SKILLS},
        "selfeval": Defaults(prompts="selfeval-mini", seeds=1, options=_FEW),
        "selfeval-elbo": Defaults(prompts="selfeval-mini", seeds=1, options=_FEW),
        "selfeval-clip": Defaults(prompts="selfeval-mini", seeds=1, judges=_CLIP),
        "winoground-clip": Defaults(prompts="selfeval-mini-winoground", seeds=1, judges=_CLIP),
        # it knows the grammar's words: metrics with prompts of other words keep their own judges
        **{metric: Defaults(judges=_CLIP) for metric in ("clipscore", "object-cosine", "r-precision")},
        "winoground": Defaults(prompts="selfeval-mini-winoground", seeds=1, options=_FEW),
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
#: Of `mini` and its like: the fewest steps that cost nothing, and the guidance that draws most objects (its card).
STEPS, GUIDANCE = 10, 5.0
_SEGMENTER = _WEIGHTS / "mini-segmenter"
#: What weights have as SHA-256, so that a plan need not try them.
_CLASSIFIER_WEIGHTS = "eaa76bb0c315bdaaec41fb84ea6d6f8841acd3fd1e4d41b0304a0f33f6d9e8d7"
_DETECTOR_WEIGHTS = "7b0971f559fa653c58cba071de713dff9f1bfed3ddebc562e4515c7eee290d52"
_CLIP_WEIGHTS = "4e73e2610a92d645e4a1fcb1d7ab81448d336e78b5ba910e2334994d89d81422"


@hookimpl
def t2i_generators() -> Iterable[GeneratorInfo | Preset]:
    """Offer the simulator, and the diffusion models that were trained on it."""
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
            about=About(citation="after PaintSkills: Cho et al., DALL-Eval, ICCV 2023"),
        ),
        _diffusion("mini", "Draws the mini world: a small Stable Diffusion, trained on the simulator's pictures."),
        _diffusion("mini-early", "`mini` from early in its training: a model that is truly worse."),
        _diffusion("mini-tiny", "As `mini`, with a smaller denoiser: a model that is truly worse in another way."),
    ]


def _diffusion(name: str, summary: str) -> Preset:
    return Preset(
        name=name,
        summary=summary,
        of="t2i-diffusers/diffusers",
        argument=str(_WEIGHTS / name),
        options={"steps": STEPS, "guidance": GUIDANCE},
        domain=DOMAIN,
        about=About(
            citation="latent diffusion: Rombach et al., CVPR 2022",
            licence="Apache-2.0",
            notes="Known bias: four of five people in its training pictures wear a hat.",
        ),
    )


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
            loading=Loading(check=_check_oracle),
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
            loading=Loading(weights=_segmenter_weights, check=_check_segmenter),
            domain=DOMAIN,
            labels=_segmenter_labels,
            floor=0.05,  # `segmenting.FLOOR`, without what it imports
            code=("mini_segmenter.py", "segmenter.py", "segmenting.py", "vocabulary.py"),
            about=About(citation="SegFormer: Xie et al., NeurIPS 2021", licence="Apache-2.0"),
        ),
        _trained(
            "mini-classifier",
            "Names the mini world's lowest synsets: a small MobileNetV3 of timm, trained on renders.",
            "t2i-timm/timm",
            _CLASSIFIER_WEIGHTS,
            "MobileNetV3: Howard et al., ICCV 2019",
        ),
        _trained(
            "mini-detector",
            "Finds the mini world's classes and says their colours: a small RT-DETR, trained on renders.",
            "t2i-transformers/coloured-detector",
            _DETECTOR_WEIGHTS,
            "RT-DETR: Zhao et al., CVPR 2024",
            "Of five things of a kind it counts .82 rightly, of up to four .97.",
        ),
        _trained(
            "mini-clip",
            "The mini world's pictures and texts as vectors of one space: a small CLIP of open_clip.",
            "t2i-open-clip/open-clip",
            _CLIP_WEIGHTS,
            "CLIP: Radford et al., ICML 2021",
            "Does not know how things stand to one another.",
        ),
    ]


def _trained(name: str, summary: str, of: str, sha256: str, citation: str, notes: str = "") -> Preset:
    """Weights of this plugin as a judge of another's."""
    return Preset(
        name=name,
        summary=summary,
        of=of,
        argument=str(_WEIGHTS / name),
        options={"sha256": sha256},
        domain=DOMAIN,
        about=About(citation=citation, licence="Apache-2.0", notes=notes),
    )


@hookimpl
def t2i_prompt_sources() -> Iterable[PromptSourceInfo]:
    """Offer prompts that leave open what people wear, selfeval's tasks, and pairs as Winoground has them."""
    tasks = tuple(_QUESTIONS)
    return [
        PromptSourceInfo(
            name="bias-mini",
            summary="A human alone, or with each other thing: 30 prompts that leave open what the human wears.",
            prompts=_bias_mini,
            code=("bias_prompts.py", "vocabulary.py"),
            about=About(citation="after DALL-Eval: Cho et al., ICCV 2023"),
        ),
        _source("selfeval-mini", "SelfEval's six tasks about rendered scenes.", tasks),
        *(
            _source(f"selfeval-mini-{task}", f"Rendered scenes: {asked}.", (task,))
            for task, asked in _QUESTIONS.items()
        ),
        _source(
            "selfeval-mini-winoground",
            "Pairs of rendered scenes and captions whose relation, colours or numbers are exchanged.",
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
            notes="The pictures are drawn when they are first asked for, and kept.",
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
