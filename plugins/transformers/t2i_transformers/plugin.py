"""The plugin: judges of transformers. Only the factories import transformers, torch and numpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, JudgeInfo, Loading, ObjectClass, Preset, Setup, hookimpl
from t2i_torch_support import pair_questions

from .component_places import find_places as _places
from .component_places import pin as _pin
from .hpsv3_descriptor import describe_hpsv3
from .imagereward_descriptor import describe_imagereward
from .options import (
    CaptionerOptions,
    CheckpointOptions,
    DetectorOptions,
    RewardJudgeOptions,
    SegmenterOptions,
    VisionLanguageOptions,
)
from .presets import KNOWN
from .question_descriptors import list_question_judges

if TYPE_CHECKING:
    from t2i_core.api import Judge


DETECTOR, SEGMENTER = "transformers-detector", "transformers-segmenter"
COLOURED, ANSWERER = "coloured-detector", "detector-vqa"
CLASSIFIER = "transformers-classifier"
CAPTIONER, PREFERENCE, REWARD = "transformers-captioner", "transformers-vlm", "transformers-reward"
TYPES: dict[str, tuple[str, ...]] = {
    DETECTOR: ("detr", "yolos"),
    **dict.fromkeys((COLOURED, ANSWERER), ("d_fine", "detr", "rt_detr", "rt_detr_v2")),
    SEGMENTER: ("mask2former",),
    CLASSIFIER: (),
    CAPTIONER: ("blip", "git"),
    PREFERENCE: (),
    REWARD: ("clip", "siglip"),
}
"""Architectures (`model_type`) that each judge runs; an empty tuple allows any of its Auto class."""

_WITHOUT_WORDS = (DETECTOR, COLOURED, ANSWERER, SEGMENTER, CLASSIFIER)
"""Judges that need no tokenizer."""

_SHARED = (
    "checkpoints.py",
    "component_places.py",
    "judge.py",
    "loaded_checkpoint.py",
    "options.py",
    "plugin.py",
)
_CITATION = "Wolf et al.: Transformers: State-of-the-Art Natural Language Processing. EMNLP 2020"


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Return a judge for each task, and presets for known checkpoints."""
    return [
        _info(
            DETECTOR,
            "Detects objects with any DETR or YOLOS of transformers; gives class probabilities.",
            options=DetectorOptions,
            capabilities={"detect": frozenset({"class_probs"})},
            floor="floor",
            create=_detector,
            labels=partial(_labels, DETECTOR),
            code=(*_SHARED, "detector.py"),
        ),
        _info(
            COLOURED,
            "Detects objects and colours with a DETR, RT-DETR or D-FINE that has a colour head.",
            options=DetectorOptions,
            capabilities={"detect": frozenset({"class_probs", "colour"})},
            floor="floor",
            create=_coloured,
            labels=partial(_labels, COLOURED),
            code=(*_SHARED, "coloured.py", "detector.py"),
            notes="Train one with plugins/transformers/training/train_coloured_detector.py of t2i's repository.",
        ),
        _info(
            ANSWERER,
            "Answers questions about objects, numbers, colours and places by what a `coloured-detector` finds.",
            options=DetectorOptions,
            capabilities={"answer": frozenset({"probs"})},
            create=_detector_vqa,
            labels=partial(_labels, ANSWERER),
            code=(*_SHARED, "coloured.py", "detection_answers.py", "detector*.py", "scene_questions.py"),
            notes="Answers only questions that the grammar of scenes reads, about its own classes and colours.",
        ),
        _info(
            SEGMENTER,
            "Segments objects with any Mask2Former of transformers; gives class probabilities.",
            options=SegmenterOptions,
            capabilities={"segment": frozenset({"class_probs"})},
            floor="floor",
            create=_segmenter,
            labels=partial(_labels, SEGMENTER),
            code=(*_SHARED, "segmenter.py"),
        ),
        _info(
            CLASSIFIER,
            "Classifies images with any image classifier of transformers, by the checkpoint's own classes.",
            options=CheckpointOptions,
            capabilities={"classify": frozenset()},
            create=_classifier,
            labels=_class_labels,
            code=(*_SHARED, "image_classifier.py"),
        ),
        _info(
            CAPTIONER,
            "Captions images with any BLIP or GIT of transformers.",
            options=CaptionerOptions,
            capabilities={"caption": frozenset()},
            create=_captioner,
            code=(*_SHARED, "captioner.py", "generation_settings.py"),
        ),
        _info(
            PREFERENCE,
            "Answers questions about images, and chooses the better of two, with any vision-language model of "
            "transformers.",
            options=VisionLanguageOptions,
            capabilities={"prefer": frozenset(), "answer": frozenset({"probs"}), "reply": frozenset()},
            create=_vision_language,
            code=(
                *_SHARED,
                "answer_likelihood.py",
                "decoder_answers.py",
                "generation_settings.py",
                "image_features.py",
                "preference.py",
                "question_prompts.py",
                "text_replies.py",
                "vision_language.py",
                "visual_answers.py",
            ),
            notes="Models favour a position; ask for both orders of a pair.",
        ),
        _info(
            REWARD,
            "Scores an image for a text by scaled cosine similarity, with any CLIP or SigLIP of transformers.",
            options=RewardJudgeOptions,
            capabilities={"reward": frozenset(), "embed": frozenset()},
            create=_reward,
            code=(*_SHARED, "reward.py", "truncation.py"),
        ),
        *list_question_judges(),
        describe_imagereward(),
        describe_hpsv3(),
        *(known.preset() for known in KNOWN),
    ]


def _info(name: str, summary: str, notes: str = "", **rest: Any) -> JudgeInfo:
    return JudgeInfo(
        name=name,
        summary=summary,
        argument="ORG/NAME or FOLDER: a checkpoint on the Hugging Face hub, or saved by save_pretrained",
        needs_argument=True,
        loading=Loading(
            weights=partial(_weights, name),
            check=partial(_check, name),
            resolve=partial(_resolve, name),
            prefetch=partial(_prefetch, name),
        ),
        about=About(citation=_CITATION, licence="the checkpoint's own: see its card", notes=notes),
        **rest,
    )


def _detector(setup: Setup[DetectorOptions]) -> Judge:
    from .detector import Detector

    return Detector(setup, _places(DETECTOR, setup.argument, setup.options)[0])


def _coloured(setup: Setup[DetectorOptions]) -> Judge:
    from .coloured import ColouredDetector

    return ColouredDetector(setup, _places(COLOURED, setup.argument, setup.options)[0])


def _detector_vqa(setup: Setup[DetectorOptions]) -> Judge:
    from .detector_vqa import DetectorAnswerer

    return DetectorAnswerer(setup, _places(ANSWERER, setup.argument, setup.options)[0])


def _segmenter(setup: Setup[SegmenterOptions]) -> Judge:
    from .segmenter import Segmenter

    return Segmenter(setup, _places(SEGMENTER, setup.argument, setup.options)[0])


def _classifier(setup: Setup[CheckpointOptions]) -> Judge:
    from .image_classifier import ImageClassifier

    return ImageClassifier(setup, _places(CLASSIFIER, setup.argument, setup.options)[0])


def _captioner(setup: Setup[CaptionerOptions]) -> Judge:
    from .captioner import Captioner

    return Captioner(setup, _places(CAPTIONER, setup.argument, setup.options)[0])


def _vision_language(setup: Setup[VisionLanguageOptions]) -> Judge:
    from .vision_language import VisionLanguageJudge

    return VisionLanguageJudge(setup, _places(PREFERENCE, setup.argument, setup.options)[0])


def _reward(setup: Setup[RewardJudgeOptions]) -> Judge:
    from .reward import Rewarder

    return Rewarder(setup, *_places(REWARD, setup.argument, setup.options))


def _labels(name: str, argument: str | None, options: DetectorOptions) -> tuple[ObjectClass, ...]:
    from . import checkpoints

    # `_resolve` has fetched the config
    config = checkpoints.config(_places(name, argument, options)[0], offline=True)
    return tuple(dict.fromkeys(checkpoints.classes(config).values()))


def _class_labels(argument: str | None, options: CheckpointOptions) -> tuple[ObjectClass, ...]:
    from . import checkpoints

    place, _ = _places(CLASSIFIER, argument, options)
    return checkpoints.list_labels(place, checkpoints.config(place, offline=True))


def _weights(name: str, argument: str | None, options: CheckpointOptions) -> Iterator[Path | str]:
    from . import checkpoints

    for place in _places(name, argument, options):
        if place is not None:
            yield from checkpoints.list_dependencies(place)
    if name == PREFERENCE:
        yield pair_questions.SOURCE


def _check(name: str, setup: Setup[Any]) -> None:
    """Raise an error for a bad checkpoint before it is loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    if _places(name, setup.argument, setup.options)[0].folder is not None or setup.offline:
        _prefetch(name, setup)


def _resolve(name: str, setup: Setup[Any]) -> CheckpointOptions:
    """Return the options with a definite precision, and with commits of repositories."""
    from . import checkpoints

    options: CheckpointOptions = setup.options
    place, processor = _places(name, setup.argument, options)
    checkpoints.check_type(place, TYPES[name], setup.offline)
    return options.model_copy(update=_pin(setup, place, processor))


def _prefetch(name: str, setup: Setup[Any]) -> None:
    """Download all files, and check the architecture."""
    from . import checkpoints

    place, processor = _places(name, setup.argument, setup.options)
    checkpoints.check_type(place, TYPES[name], setup.offline)
    folder = checkpoints.fetch(place, setup.offline, setup.options.sha256)
    checkpoints.weights_file(place, folder, setup.options.sha256, setup.offline)
    if name in (COLOURED, ANSWERER):
        checkpoints.colours(place, checkpoints.config(place, setup.offline))
        checkpoints.check_colours(place, folder)
    if processor is not None:
        folder = checkpoints.fetch(processor, setup.offline, weights=False)
    checkpoints.check_processor(processor or place, folder, words=name not in _WITHOUT_WORDS)
