"""The plugin: embedders of open_clip. Only the factories import open_clip, torch and numpy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Preset, Setup, hookimpl

from t2i_open_clip.options import AestheticOptions, ClipOptions, Hpsv2Options

if TYPE_CHECKING:
    from t2i_core.api import Judge

_OPENAI = "Radford et al.: Learning Transferable Visual Models From Natural Language Supervision. ICML 2021"
_LAION = "Schuhmann et al.: LAION-5B. NeurIPS 2022; Cherti et al.: Reproducible scaling laws. CVPR 2023"
#: name -> model and weights of open_clip, what uses it, citation, GB of memory
_PRESETS = {
    "clip-vit-b32": (
        "ViT-B-32-quickgelu/openai",
        "OpenAI's CLIP ViT-B/32, used by CLIPScore, DALL-Eval (bias, R-precision) and the taxonomy paper.",
        _OPENAI,
        1.5,
    ),
    "clip-vit-b16": (
        "ViT-B-16-quickgelu/openai",
        "OpenAI's CLIP ViT-B/16, used for CLIPScore in the hypernymy paper.",
        _OPENAI,
        2.0,
    ),
    "clip-vit-l14": ("ViT-L-14-quickgelu/openai", "OpenAI's CLIP ViT-L/14, 224 pixels.", _OPENAI, 3.0),
    "clip-vit-l14-336": (
        "ViT-L-14-336-quickgelu/openai",
        "OpenAI's CLIP ViT-L/14, 336 pixels: the network of CMMD.",
        _OPENAI,
        3.0,
    ),
    "openclip-vit-h14": ("ViT-H-14/laion2b_s32b_b79k", "OpenCLIP ViT-H/14, trained on LAION-2B.", _LAION, 6.0),
}
_QUALITY = {
    "clip-vit-b32": "Its votes on the gender of drawn people agree with those of five people (Cohen's kappa .77), "
    "those on race hardly (below .1; DALL-Eval, arXiv:2202.04053v1, of two models). Not measured for other uses.",
}
_LIMITS = (
    "Mostly ignores the order of words, numbers and positions. Truncates texts after 77 tokens, with a warning."
)
_SHARED = ("checkpoint_files.py", "embedder.py", "options.py", "plugin.py", "sources.py")


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Return the embedder, and presets for the CLIP models of papers."""
    return [
        JudgeInfo(
            name="open-clip",
            summary="Embeds images and texts with any CLIP of open_clip.",
            argument="MODEL/PRETRAINED of open_clip (ViT-B-32/openai), MODEL/FILE, hf-hub:ORG/REPOSITORY, or a "
            "folder with open_clip_config.json",
            needs_argument=True,
            options=ClipOptions,
            capabilities={"embed": frozenset()},
            create=_create,
            loading=Loading(weights=_weights, check=_check, resolve=_pin, prefetch=_prefetch),
            code=_SHARED,
            about=About(citation="Ilharco et al.: OpenCLIP. 2021", licence="the weights' own: see their card"),
        ),
        *(
            Preset(
                name=name,
                summary=summary,
                of="t2i-open-clip/open-clip",
                argument=argument,
                about=About(
                    citation=citation,
                    licence="MIT",
                    memory_gb=memory,
                    limits=_LIMITS,
                    quality=_QUALITY.get(name, ""),
                ),
            )
            for name, (argument, summary, citation, memory) in _PRESETS.items()
        ),
        *_describe_hpsv2(),
        _describe_aesthetic(),
    ]


def _describe_hpsv2() -> Iterable[JudgeInfo | Preset]:
    about = About(
        citation="Wu et al.: Human Preference Score v2: A Solid Benchmark for Evaluating Human Preferences of "
        "Text-to-Image Synthesis. 2023",
        licence="Apache-2.0",
        memory_gb=6.0,
        limits=_LIMITS,
        notes="A cosine, about 0.2 to 0.35; not comparable with the other version.",
    )
    yield JudgeInfo(
        name="hpsv2",
        summary="Scores an image for a text with Human Preference Score v2 (version 2.0).",
        argument="FILE of weights, or ORG/NAME on the Hugging Face hub; by default xswu/HPSv2",
        options=Hpsv2Options,
        capabilities={"reward": frozenset()},
        create=_create_hpsv2,
        loading=Loading(
            weights=_weights_of_hpsv2, check=_check_hpsv2, resolve=_pin_hpsv2, prefetch=_prefetch_hpsv2
        ),
        about=about,
        code=(*_SHARED, "hpsv2.py", "hpsv2_files.py"),
    )
    yield Preset(
        name="hpsv21",
        summary="Scores an image for a text with Human Preference Score v2.1.",
        of="t2i-open-clip/hpsv2",
        options={"version": "2.1"},
        about=about,
    )


def _describe_aesthetic() -> JudgeInfo:
    return JudgeInfo(
        name="laion-aesthetic",
        summary="Scores the look of an image with LAION's aesthetic predictor, about 1 to 10; ignores the text.",
        argument="FILE of the head; by default the published one of the version",
        options=AestheticOptions,
        capabilities={"reward": frozenset()},
        create=_create_aesthetic,
        loading=Loading(
            weights=_weights_of_aesthetic,
            check=_check_aesthetic,
            resolve=_pin_aesthetic,
            prefetch=_prefetch_aesthetic,
        ),
        about=About(
            citation="Schuhmann et al.: LAION-5B. NeurIPS 2022, Section 4",
            licence="head v2: Apache-2.0, v1: MIT (their repositories); CLIP: MIT",
            memory_gb=3.0,
            notes="Reads no text. Needs CLIP ViT-L/14 of OpenAI with QuickGELU.",
        ),
        code=(*_SHARED, "aesthetic.py", "aesthetic_head.py"),
    )


def _create(setup: Setup[ClipOptions]) -> Judge:
    from t2i_open_clip.embedder import Embedder

    return Embedder(setup)


def _weights(argument: str | None, options: ClipOptions) -> Iterable[Path | str]:
    from t2i_open_clip import checkpoint_files

    return checkpoint_files.weights(argument or "", options)


def _check(setup: Setup[ClipOptions]) -> None:
    from t2i_torch_support.device import check_device

    from t2i_open_clip import checkpoint_files

    check_device(setup.device)
    known = any(setup.argument == argument for argument, *_ in _PRESETS.values())
    if known and not setup.offline:
        return  # spares the import of open_clip
    if setup.dry and checkpoint_files.is_here(setup.argument or "", setup.options):
        return
    from t2i_open_clip import sources

    source = sources.find(setup.argument or "")
    if setup.offline:
        _prefetch(setup)
    if source.folder or source.file:
        from t2i_torch_support.trial_load import try_load

        from t2i_open_clip import embedder

        file = sources.fetch(source, setup.options, offline=True)
        sources.text_config(source, setup.options, setup.offline)
        try_load(lambda: embedder.load(source, file, setup))


def _pin(setup: Setup[ClipOptions]) -> ClipOptions:
    from t2i_open_clip import checkpoint_files

    return checkpoint_files.pin_commit(setup.argument or "", setup.options, setup.offline)


def _prefetch(setup: Setup[ClipOptions]) -> None:
    from t2i_open_clip import sources

    source = sources.find(setup.argument or "")
    sources.fetch(source, setup.options, setup.offline)
    sources.tokenizer(source, setup.options, setup.offline)
    sources.text_config(source, setup.options, setup.offline)


def _create_hpsv2(setup: Setup[Hpsv2Options]) -> Judge:
    from t2i_open_clip.hpsv2 import Hpsv2Rewarder

    return Hpsv2Rewarder(setup)


def _weights_of_hpsv2(argument: str | None, options: Hpsv2Options) -> Iterable[Path | str]:
    from t2i_open_clip import hpsv2_files

    return hpsv2_files.list_dependencies(argument, options)


def _check_hpsv2(setup: Setup[Hpsv2Options]) -> None:
    """Raise an error for a bad file before it is loaded; check a repository only if t2i is offline."""
    from t2i_torch_support.device import check_device

    from t2i_open_clip import hpsv2_files

    check_device(setup.device)
    local = hpsv2_files.find_file(setup.argument, setup.options)
    if local is None and not setup.offline:
        return
    file = hpsv2_files.fetch(setup.argument, setup.options, setup.offline)
    if local is None or setup.dry:
        return
    from t2i_torch_support.trial_load import try_load

    from t2i_open_clip import embedder

    source = hpsv2_files.describe_source(file, setup.argument, setup.options)
    try_load(lambda: embedder.load(source, file, hpsv2_files.make_clip_setup(setup)))


def _pin_hpsv2(setup: Setup[Hpsv2Options]) -> Hpsv2Options:
    from t2i_open_clip import hpsv2_files

    return hpsv2_files.pin_commit(setup.argument, setup.options, setup.offline)


def _prefetch_hpsv2(setup: Setup[Hpsv2Options]) -> None:
    from t2i_open_clip import hpsv2_files

    hpsv2_files.fetch(setup.argument, setup.options, setup.offline)


def _create_aesthetic(setup: Setup[AestheticOptions]) -> Judge:
    from t2i_open_clip.aesthetic import AestheticRewarder

    return AestheticRewarder(setup)


def _weights_of_aesthetic(argument: str | None, options: AestheticOptions) -> Iterable[Path | str]:
    from t2i_open_clip import aesthetic_head

    clip = aesthetic_head.make_clip_setup(Setup(argument, options))
    yield from aesthetic_head.list_dependencies(argument, options)
    yield from _weights(clip.argument, clip.options)


def _check_aesthetic(setup: Setup[AestheticOptions]) -> None:
    from t2i_open_clip import aesthetic_head

    aesthetic_head.check(setup.argument, setup.options, setup.offline)
    _check(aesthetic_head.make_clip_setup(setup))


def _pin_aesthetic(setup: Setup[AestheticOptions]) -> AestheticOptions:
    from t2i_open_clip import aesthetic_head

    clip = _pin(aesthetic_head.make_clip_setup(setup))
    return setup.options.model_copy(update={"revision": clip.revision})


def _prefetch_aesthetic(setup: Setup[AestheticOptions]) -> None:
    from t2i_open_clip import aesthetic_head

    aesthetic_head.fetch(setup.argument, setup.options, setup.offline)
    _prefetch(aesthetic_head.make_clip_setup(setup))
