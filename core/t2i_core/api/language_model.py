"""Messages to a language model of any plugin, for commands that have one write or predict something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .budget import Budget
from .capabilities.reply import TextReply
from .errors import BrokenPlugin, NoJudge
from .failure import Failure
from .judge import Query
from .plugin_guard import describe_component, guard_plugin
from .plugin_info import JudgeInfo
from .resolver import OptionTable, ResolvedComponent, Resolver

REPLY = "reply"


def find_language_model(
    spec: str, resolver: Resolver[Any], options: OptionTable, purpose: str
) -> ResolvedComponent[JudgeInfo]:
    """Return the judge of a name; nothing is loaded or asked.

    Args:
        spec: The judge's name, as the user would write it.
        resolver: Finds it.
        options: Its options.
        purpose: What needs it, in the plural, for messages: `predictions`.

    Raises:
        NoJudge: It does not offer `reply`.
        T2IError: The name or an option is wrong.
    """
    found: ResolvedComponent[JudgeInfo] = resolver.component("judge", spec, options)
    if REPLY not in found.info.capabilities:
        raise NoJudge(
            f"{spec} offers {', '.join(found.info.capabilities)}; {purpose} need {REPLY}: name a language "
            "model, such as openai:gpt-4o-mini"
        )
    return found


def ask_language_model(
    model: ResolvedComponent[JudgeInfo], messages: Sequence[str], budget: Budget
) -> Iterator[tuple[str, str | Failure]]:
    """Yield each message with the model's reply as soon as it arrives, or with a failure.

    Raises:
        BrokenPlugin: The plugin fails, or answers something else.
        T2IError: The model cannot be used at all.
    """
    setup = replace(model.setup(), budget=budget)
    with guard_plugin(model, "to check its options"):
        if model.info.loading.check is not None:
            model.info.loading.check(setup)
        judge = model.info.create(setup)
    queries = [Query(texts=(message,)) for message in messages]
    with guard_plugin(model, "to reply"):
        try:
            for query, answer in judge.observe(REPLY, queries):
                if not isinstance(answer, TextReply | Failure):
                    raise BrokenPlugin(
                        f"{describe_component(model)} gave {type(answer).__name__} where {REPLY} was asked for"
                    )
                yield query.texts[0], answer if isinstance(answer, Failure) else answer.text
        finally:
            getattr(judge, "close", lambda: None)()
