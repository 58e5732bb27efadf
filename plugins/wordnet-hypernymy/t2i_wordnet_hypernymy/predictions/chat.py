"""A language model of another plugin, which the registry finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from t2i_core.api import Failure, JudgeInfo, Query, TextReply
from t2i_core.api.budget import Budget
from t2i_core.api.errors import BrokenPlugin, NoJudge
from t2i_core.api.plugin_guard import describe_component, guard_plugin
from t2i_core.api.resolver import OptionTable, ResolvedComponent, Resolver

REPLY = "reply"


def find_model(spec: str, resolver: Resolver[Any], options: OptionTable) -> ResolvedComponent[JudgeInfo]:
    """Return the judge of a name; nothing is loaded or asked.

    Raises:
        NoJudge: It does not offer `reply`.
        T2IError: The name or an option is wrong.
    """
    found: ResolvedComponent[JudgeInfo] = resolver.component("judge", spec, options)
    if REPLY not in found.info.capabilities:
        raise NoJudge(
            f"{spec} offers {', '.join(found.info.capabilities)}; predictions need {REPLY}: name a language "
            "model, such as openai:gpt-4o-mini"
        )
    return found


def ask(
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
