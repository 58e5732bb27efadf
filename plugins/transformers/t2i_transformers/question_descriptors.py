"""Descriptors of the judges `blip-vqa` and `clip-flant5`, which answer questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, JudgeInfo, Loading, Preset, Setup

from .component_places import find_places, pin
from .options import BlipVqaOptions, CheckpointOptions, ClipFlanT5Options

if TYPE_CHECKING:
    from t2i_core.api import Judge

    from .checkpoints import CheckpointPlace

BLIP, FLANT5 = "blip-vqa", "clip-flant5"
_BLIP_REPOSITORY = "Salesforce/blip-vqa-capfilt-large"
_VQASCORE = "Lin et al.: Evaluating Text-to-Visual Generation with Image-to-Text Generation. ECCV 2024"
_ANSWERS = (
    "answer_likelihood.py",
    "checkpoints.py",
    "component_places.py",
    "decoder_answers.py",
    "generation_settings.py",
    "judge.py",
    "loaded_checkpoint.py",
    "options.py",
    "question_descriptors.py",
)


def list_question_judges() -> Iterable[JudgeInfo | Preset]:
    """Return the judges, and presets of published checkpoints."""
    yield JudgeInfo(
        name=BLIP,
        summary="Answers questions about an image with BLIP: probabilities of choices, or a few words.",
        argument=f"ORG/NAME or FOLDER with a BLIP for questions; by default {_BLIP_REPOSITORY}",
        options=BlipVqaOptions,
        capabilities={"answer": frozenset({"probs"})},
        create=_create_blip,
        loading=Loading(
            weights=_list_blip_weights, check=_check_blip, resolve=_resolve_blip, prefetch=_prefetch_blip
        ),
        about=About(
            citation="Li et al.: BLIP: Bootstrapping Language-Image Pre-training. ICML 2022",
            licence="BSD-3-Clause",
            memory_gb=4.0,
            notes="Truncates questions after 35 tokens, with a warning.",
        ),
        code=(*_ANSWERS, "blip_vqa.py", "truncation.py"),
    )
    yield JudgeInfo(
        name=FLANT5,
        summary="Answers questions about an image with CLIP-FlanT5; the probability of yes is VQAScore.",
        argument="ORG/NAME or FOLDER with config.json and weights as the authors publish them",
        needs_argument=True,
        options=ClipFlanT5Options,
        capabilities={"answer": frozenset({"probs"})},
        create=_create_flant5,
        loading=Loading(
            weights=_list_flant5_weights, check=_check_flant5, resolve=_resolve_flant5, prefetch=_prefetch_flant5
        ),
        about=About(citation=_VQASCORE, licence="the checkpoint's own: see its card"),
        code=(
            *_ANSWERS,
            "clip_flant5.py",
            "clip_flant5_network.py",
            "image_features.py",
            "pickled_weights.py",
            "question_prompts.py",
        ),
    )
    for size, memory in (("xl", 9.0), ("xxl", 26.0)):
        yield Preset(
            name=f"clip-flant5-{size}",
            summary=f"Answers questions about an image with CLIP-FlanT5-{size.upper()}; the probability of yes is "
            "VQAScore.",
            of=f"t2i-transformers/{FLANT5}",
            argument=f"zhiqiulin/clip-flant5-{size}",
            options={"processor": f"google/flan-t5-{size}"},
            about=About(
                citation=_VQASCORE,
                licence="see its card; the code is Apache-2.0",
                memory_gb=memory,
                notes="Reads 2048 tokens of a question. Weights are published as a pickle.",
            ),
        )


def _blip_place(argument: str | None, options: CheckpointOptions) -> CheckpointPlace:
    return find_places(BLIP, argument or _BLIP_REPOSITORY, options)[0]


def _create_blip(setup: Setup[BlipVqaOptions]) -> Judge:
    from .blip_vqa import BlipAnswerer

    return BlipAnswerer(setup, _blip_place(setup.argument, setup.options))


def _list_blip_weights(argument: str | None, options: BlipVqaOptions) -> Iterator[Path | str]:
    from . import checkpoints

    return checkpoints.list_dependencies(_blip_place(argument, options))


def _check_blip(setup: Setup[BlipVqaOptions]) -> None:
    """Raise an error for a bad checkpoint before it is loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    if _blip_place(setup.argument, setup.options).folder is not None or setup.offline:
        _prefetch_blip(setup)


def _resolve_blip(setup: Setup[BlipVqaOptions]) -> BlipVqaOptions:
    """Return the options with a definite precision, and with the commit of a repository."""
    from . import checkpoints

    place = _blip_place(setup.argument, setup.options)
    checkpoints.check_type(place, ("blip",), setup.offline)
    return setup.options.model_copy(update=pin(setup, place, None))


def _prefetch_blip(setup: Setup[BlipVqaOptions]) -> None:
    """Download all files, and check the architecture."""
    from . import checkpoints

    place = _blip_place(setup.argument, setup.options)
    checkpoints.check_type(place, ("blip",), setup.offline)
    folder = checkpoints.fetch(place, setup.offline, setup.options.sha256)
    checkpoints.weights_file(place, folder, setup.options.sha256, setup.offline)
    checkpoints.check_processor(place, folder, words=True)


def _flant5_places(argument: str | None, options: ClipFlanT5Options) -> tuple[CheckpointPlace, CheckpointPlace]:
    """Return the place of the checkpoint and that of the tokenizer."""
    own, tokenizer = find_places(FLANT5, argument, options)
    return own, tokenizer or own


def _create_flant5(setup: Setup[ClipFlanT5Options]) -> Judge:
    from .clip_flant5 import ClipFlanT5Answerer

    return ClipFlanT5Answerer(setup, *_flant5_places(setup.argument, setup.options))


def _list_flant5_weights(argument: str | None, options: ClipFlanT5Options) -> Iterator[Path | str]:
    from . import checkpoints, pickled_weights

    own, tokenizer = _flant5_places(argument, options)
    if own.folder is None:
        yield f"{own.name}@{checkpoints.commit(own, offline=False)}"
    else:
        yield own.folder / checkpoints.CONFIG
        yield from pickled_weights.list_local_weights(own.folder)
    yield from checkpoints.list_dependencies(tokenizer)


def _check_flant5(setup: Setup[ClipFlanT5Options]) -> None:
    """Raise an error for bad files before they are loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    own, _ = _flant5_places(setup.argument, setup.options)
    if own.folder is None and not setup.offline:
        return
    files = _fetch_flant5(setup)
    if own.folder is None or setup.dry:
        return
    import torch
    from t2i_torch_support.trial_load import try_load

    from . import checkpoints, pickled_weights
    from .clip_flant5_network import build_network

    config = checkpoints.config(own, setup.offline)
    try_load(lambda: build_network(config, pickled_weights.read_weights(files, own.spec), torch.float32, own.spec))


def _resolve_flant5(setup: Setup[ClipFlanT5Options]) -> ClipFlanT5Options:
    """Return the options with a definite precision, and with commits of repositories."""
    own, tokenizer = _flant5_places(setup.argument, setup.options)
    return setup.options.model_copy(update=pin(setup, own, tokenizer))


def _prefetch_flant5(setup: Setup[Any]) -> None:
    _fetch_flant5(setup)


def _fetch_flant5(setup: Setup[ClipFlanT5Options]) -> list[Path]:
    """Return the files of weights after all files are there."""
    from . import checkpoints, pickled_weights

    own, tokenizer = _flant5_places(setup.argument, setup.options)
    checkpoints.config(own, setup.offline)
    folder = checkpoints.fetch(tokenizer, setup.offline, weights=False)
    checkpoints.check_processor(tokenizer, folder, words=True, images=False)
    return pickled_weights.fetch_weights(own, setup.options.sha256, setup.offline)
