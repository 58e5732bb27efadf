"""The plugin: the generator and the judge `openai:MODEL`, for any server with OpenAI's API."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from t2i_core.api import (
    About,
    GeneratorInfo,
    JudgeInfo,
    Loading,
    Preset,
    Price,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.options import read_secret
from t2i_torch_support import pair_questions

from .options import (
    OPENAI,
    PARAPHRASE,
    ImageOptions,
    JudgeOptions,
    RewriteOptions,
    ServerOptions,
    TranslateOptions,
)

if TYPE_CHECKING:
    from .generator import ImageServer
    from .judge import VisionJudge

_ARGUMENT = "MODEL: name of the model on the server"


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    """Return the generator's descriptor."""
    return [
        GeneratorInfo(
            name="openai",
            summary="Generates images with any server that has OpenAI's images endpoint.",
            argument=_ARGUMENT,
            needs_argument=True,
            options=ImageOptions,
            create=_generator,
            price=_price_images,
            loading=Loading(check=_check),
            code=("generator.py", "replies.py"),
            about=About(
                licence="the server's terms",
                notes="t2i sends prompts to the server, which may cost money. A seed only numbers the samples, "
                "unless the server supports seeds (send_seed). The server's operator may change the model behind "
                "a name.",
            ),
        )
    ]


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Return the judge's descriptor."""
    return [
        JudgeInfo(
            name="openai",
            summary="Asks a vision-language model behind OpenAI's API which image is better, or any question.",
            argument=_ARGUMENT,
            needs_argument=True,
            options=JudgeOptions,
            capabilities={name: frozenset() for name in ("prefer", "answer", "reply", "read")},
            create=_judge,
            price=_price_answers,
            loading=Loading(weights=lambda argument, options: [pair_questions.SOURCE], check=_check),
            code=("judge.py", "questions.py", "replies.py", "transcription.py"),
            about=About(
                citation="after the judge of: Do I look like a cat.n.01 to you? A Taxonomy Image Generation "
                "Benchmark",
                licence="the server's terms",
                notes="t2i sends prompts and images to the server, which may cost money. Repeated requests give "
                "different answers; t2i stores the first.",
            ),
        )
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo | Preset]:
    """Return the descriptors of the prompt sources."""
    return [
        _rewriter("rewritten", "rewritten", RewriteOptions),
        Preset(
            name="paraphrased",
            summary="Prompts of a file, source or run in other words of the same meaning, by a chat model.",
            of="t2i-openai/rewritten",
            options={"template": PARAPHRASE},
        ),
        _rewriter("translated", "translated into another language", TranslateOptions),
    ]


def _rewriter(name: str, done: str, options: type[RewriteOptions]) -> PromptSourceInfo:
    return PromptSourceInfo(
        name=name,
        summary=f"Prompts of a file, source or run, {done} by a chat model behind OpenAI's API.",
        argument="FILE or NAME: file of prompts, or prompt source",
        options=options,
        prompts=partial(_rewrite, name),
        changes_prompts=True,
        about=About(
            licence="the server's terms",
            notes="t2i sends prompts to the server, which may cost money, and keeps each answer.",
        ),
    )


def _rewrite(name: str, setup: Setup[RewriteOptions]) -> Iterable[Prompt]:
    from .rewritten_prompts import rewrite_prompts

    _check(setup, name)
    return rewrite_prompts(setup, name)


def _price_images(options: ImageOptions) -> Price | None:
    from .prices import price_images

    return price_images(options)


def _price_answers(options: JudgeOptions) -> Price | None:
    from .prices import price_answers

    return price_answers(options)


def _generator(setup: Setup[ImageOptions]) -> ImageServer:
    from .generator import ImageServer

    return ImageServer(setup)


def _judge(setup: Setup[JudgeOptions]) -> VisionJudge:
    from .judge import VisionJudge

    return VisionJudge(setup)


def _check(setup: Setup[Any], name: str = "openai") -> None:
    """Raise an error for a bad address or key; the message never quotes them, because they may be secrets."""
    options: ServerOptions = setup.options
    url = urlsplit(options.base_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise BadOption(f"option 'base_url' of {name!r} must be an address like http://localhost:8000/v1")
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise BadOption(
            f"option 'base_url' of {name!r} must not hold a user, a password or a query, because runs record it; "
            "give the server's bare address, and the key in an environment variable (api_key_env)"
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", options.api_key_env):
        raise BadOption(
            f"option 'api_key_env' of {name!r} must be the name of an environment variable that holds the key, "
            "not the key itself"
        )
    key = read_secret(options.api_key_env)
    # if t2i is offline, `Server` raises the error
    if options.base_url == OPENAI and setup.may_ask_services and key is None:
        raise BadModel(
            f"'{name}:{setup.argument}': {OPENAI} needs a key; set the environment variable {options.api_key_env} "
            "(or name another one with api_key_env, or another server with base_url)"
        )
