"""What t2i-openai offers: generator and judge `openai:MODEL`, behind any server that speaks OpenAI's API."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from t2i_core.api import About, GeneratorInfo, JudgeInfo, Loading, Setup, hookimpl
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.api.options import read_secret
from t2i_torch_support import pair_questions

from .options import OPENAI, ImageOptions, JudgeOptions, ServerOptions

if TYPE_CHECKING:
    from .generator import ImageServer
    from .judge import PairJudge

_ARGUMENT = "MODEL: the model as the server calls it"


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    """Offer the generator."""
    return [
        GeneratorInfo(
            name="openai",
            summary="Images from any server with OpenAI's images endpoint.",
            argument=_ARGUMENT,
            needs_argument=True,
            options=ImageOptions,
            create=_generator,
            loading=Loading(check=_check),
            code=("generator.py", "replies.py"),
            about=About(
                licence="the server's terms",
                notes="Prompts are sent to the server and may cost money. A seed is the number of a sample and no "
                "more, unless the server takes one (send_seed). Who runs the server may change the model under "
                "its name.",
            ),
        )
    ]


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    """Offer the judge."""
    return [
        JudgeInfo(
            name="openai",
            summary="Which of two images is better? A vision-language model behind any server with OpenAI's API.",
            argument=_ARGUMENT,
            needs_argument=True,
            options=JudgeOptions,
            capabilities={"prefer": frozenset()},
            create=_judge,
            loading=Loading(weights=lambda argument, options: [pair_questions.SOURCE], check=_check),
            code=("judge.py", "replies.py"),
            about=About(
                citation="after the judge of: Do I look like a cat.n.01 to you? A Taxonomy Image Generation "
                "Benchmark",
                licence="the server's terms",
                notes="Prompts and images are sent to the server and may cost money. Answers differ from one "
                "asking to the next; the one that is kept is the first.",
            ),
        )
    ]


def _generator(setup: Setup[ImageOptions]) -> ImageServer:
    from .generator import ImageServer

    return ImageServer(setup)


def _judge(setup: Setup[JudgeOptions]) -> PairJudge:
    from .judge import PairJudge

    return PairJudge(setup)


def _check(setup: Setup[Any]) -> None:
    """Say what is wrong with address or key, without a word of either's content: it may be the secret itself."""
    options: ServerOptions = setup.options
    url = urlsplit(options.base_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise BadOption("option 'base_url' of 'openai': want an address like http://localhost:8000/v1")
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise BadOption(
            "option 'base_url' of 'openai' holds a user, a password or a query, and would be written into the "
            "run: give the server's bare address, and the key by environment variable (api_key_env)"
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", options.api_key_env):
        raise BadOption(
            "option 'api_key_env' of 'openai': want the name of an environment variable that holds the key, "
            "never the key itself"
        )
    key = read_secret(options.api_key_env)
    # offline it is not asked: of what must be, the server says that it cannot
    if options.base_url == OPENAI and not setup.offline and key is None:
        raise BadModel(
            f"'openai:{setup.argument}': {OPENAI} wants a key: set the environment variable {options.api_key_env} "
            "(or name another one with api_key_env, or another server with base_url)"
        )
