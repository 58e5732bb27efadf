"""Prompts rewritten by a chat model, each once: the cache keeps the answers, so that a run can be repeated.

The generator gets the new text. The scene, which metrics measure, and everything else stay those of the original.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from openai import AsyncOpenAI
from t2i_core.api import Prompt, Setup
from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_core.api.options import select_result_options
from t2i_core.files.atomic_write import write_whole
from t2i_core.io.changed_prompts import ORIGINAL, change_text, load_originals

from .concurrency import run_concurrently
from .options import RewriteOptions
from .prices import explain_unknown_price, limit_chat_cost
from .replies import ChatReply, Choice, Refused, UnusableReply, read
from .server import Failed, Server

_log = logging.getLogger(__name__)


def rewrite_prompts(setup: Setup[RewriteOptions], name: str = "rewritten") -> Iterator[Prompt]:
    """Yield prompts with their new texts; ask the server for those that are not kept yet.

    In a dry run the server is not asked, and texts that are not kept yet stay as they are.

    Args:
        setup: The source's setup.
        name: The source's name, for messages.

    Raises:
        BadPrompts: A text has no answer. Answers that have arrived are kept.
        CostLimitReached: The budget is spent. Answers that have arrived are kept.
        BadOption: A budget is limited, and the price of a request is not known.
        BadModel: No request can succeed.
    """
    prompts = load_originals(setup, name)
    folder = find_cache_folder().absolute() / "rewritten"
    texts = dict.fromkeys(prompt.text for prompt in prompts)
    places = {text: _place(folder, text, setup.options) for text in texts}
    wanted = [text for text, place in places.items() if _read_kept(place) is None]
    unknown = explain_unknown_price(setup.options)
    if unknown and setup.budget.limit is not None:
        raise BadOption(f"--max-cost needs the price of {setup.options.model}, which rewrites prompts: {unknown}")
    if wanted and setup.budget.limit is not None and not (setup.options.price_in or setup.options.price_out):
        _log.warning("--max-cost counts %s, which rewrites prompts, as free; set its prices if %s asks a paid "
                     "service", setup.options.model, setup.options.base_url)  # fmt: skip
    if wanted and setup.dry:
        most = {text: limit_chat_cost(setup.options, _write_request(setup.options, text)) for text in wanted}
        setup.budget.announce(most, texts.keys() - most.keys(), unknown)
        _log.warning("%d of %d texts are not rewritten yet; the run asks %s first", len(wanted), len(texts),
                     setup.options.model)  # fmt: skip
    elif wanted:
        _ask_all(wanted, places, setup)
    for prompt in prompts:
        yield change_text(prompt, _read_kept(places[prompt.text]) or prompt.text)


def _place(folder: Path, text: str, options: RewriteOptions) -> Path:
    """Return the file of an answer, named by everything that it depends on."""
    key = digest_data(["rewritten", select_result_options(options), text])
    return folder / key[:2] / f"{key}.json"


def _read_kept(place: Path) -> str | None:
    """Return the new text; None if it is not kept, or the file is damaged."""
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    text = kept.get("text") if isinstance(kept, dict) else None
    return text if isinstance(text, str) and text else None


def _ask_all(texts: Sequence[str], places: dict[str, Path], setup: Setup[RewriteOptions]) -> None:
    """Keep the answer to each text as soon as it arrives."""
    options = setup.options
    server = Server(options.model, setup)
    failed: dict[str, str] = {}

    async def ask(text: str) -> str | Exception:
        try:
            most = limit_chat_cost(options, _write_request(options, text))
            reply = await server.ask(lambda client: _send(client, text, server.model, options), most)
        except (Refused, Failed, UnusableReply) as error:
            return error
        return _read_text(reply.choices[0])

    for text, answer in run_concurrently(texts, ask, server.at_once, server.disconnect):
        if isinstance(answer, Exception):
            failed[text] = str(answer)
            continue
        kept = {ORIGINAL: text, "text": answer, "model": options.model, "base_url": options.base_url}
        places[text].parent.mkdir(parents=True, exist_ok=True)
        write_whole(places[text], json.dumps(kept).encode())
    setup.budget.end_run(f"{len(texts) - len(failed)} of {len(texts)} prompts are rewritten by {options.model}")
    if failed:
        text, why = next(iter(failed.items()))
        raise BadPrompts(
            f"{len(failed)} of {len(texts)} prompts cannot be rewritten by {options.model} (first: {text[:60]!r}: "
            f"{why}); the other answers are kept, and the same command asks again"
        )


def _write_request(options: RewriteOptions, text: str) -> str:
    return options.filled_template.replace("{prompt}", text)


async def _send(client: AsyncOpenAI, text: str, model: str, options: RewriteOptions) -> ChatReply:
    given = {
        options.max_tokens_field: options.max_tokens,
        "temperature": options.temperature,
        "seed": options.seed,
    }
    answer = await client.chat.completions.with_raw_response.create(
        model=model,
        messages=[{"role": "user", "content": _write_request(options, text)}],
        extra_body={**options.extra_body, **{k: v for k, v in given.items() if v is not None}},
    )
    return read(ChatReply, answer.content)


def _read_text(choice: Choice) -> str | Exception:
    """Return the new text in one line, without the model's reasoning; an exception if it is incomplete."""
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Refused("the model refuses")
    if choice.finish_reason in ("length", "model_length", "max_tokens"):
        return UnusableReply("the answer was cut off; raise max_tokens")
    text = " ".join(choice.message.text.rpartition("</think>")[2].split())
    return text or UnusableReply("the answer is empty")
