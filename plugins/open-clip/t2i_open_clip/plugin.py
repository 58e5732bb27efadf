"""The plugin: embedders of open_clip. Only the factories import open_clip, torch and numpy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import About, JudgeInfo, Loading, Preset, Setup, hookimpl

from t2i_open_clip.options import ClipOptions

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
                    notes="Truncates texts after 77 tokens, with a warning.",
                ),
            )
            for name, (argument, summary, citation, memory) in _PRESETS.items()
        ),
    ]


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
