"""Questions for prompts by a language model: asked once for each text, checked, kept, and written to a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from t2i_core.api import Failure, JudgeInfo, Prompt, PromptQuestion
from t2i_core.api.budget import Budget
from t2i_core.api.errors import FailedRun
from t2i_core.api.language_model import ask_language_model
from t2i_core.api.progress import Progress
from t2i_core.api.resolver import ResolvedComponent
from t2i_core.io.kept_replies import KeptReplies
from t2i_core.io.prompt_file import write_prompts
from t2i_core.results.output_file import write_atomically

from .messages import UnusableQuestions, read_questions, write_correction, write_message


def list_open_texts(prompts: Iterable[Prompt], kept: KeptReplies, attempts: int) -> list[str]:
    """Return the texts of prompts for which there is no usable reply yet, each once."""
    texts = dict.fromkeys(prompt.text for prompt in prompts)
    return [text for text in texts if _follow(text, kept, attempts).questions is None]


def write_questions(
    prompts: Sequence[Prompt],
    model: ResolvedComponent[JudgeInfo],
    kept: KeptReplies,
    attempts: int,
    progress: Progress,
    budget: Budget,
) -> list[Prompt]:
    """Return the prompts with questions; ask only for texts without a usable reply.

    A reply that cannot be used is kept, too, so that the next attempt can say what was wrong with it.

    Args:
        prompts: The prompts.
        model: The language model.
        kept: Keeps the replies.
        attempts: How often to ask for one text.
        progress: Shows the progress.
        budget: What the requests may cost.

    Raises:
        FailedRun: A text has no usable questions. All others are kept.
        CostLimitReached: The budget is spent. All replies are kept.
    """
    reasons: dict[str, str] = {}
    for attempt in range(attempts):
        messages = {
            message: text
            for text in list_open_texts(prompts, kept, attempts)
            if (message := _follow(text, kept, attempts).message) is not None
        }
        if not messages:
            break
        title = "questions" if attempt == 0 else f"questions, attempt {attempt + 1}"
        failed = 0
        with progress.task(title, len(messages), "prompts") as task:
            for message, reply in ask_language_model(model, sorted(messages), budget):
                if isinstance(reply, Failure):
                    reasons[messages[message]] = reply.reason
                    failed += 1
                else:
                    reasons.pop(messages[message], None)
                    kept.add(message, reply)
                task.advance(failed=isinstance(reply, Failure))
        budget.end_run(f"{len(messages) - failed} of {len(messages)} replies by {model.spec} are made")
        if failed == len(messages):
            break
    return _add_questions(prompts, model, kept, attempts, reasons)


def _add_questions(
    prompts: Sequence[Prompt],
    model: ResolvedComponent[JudgeInfo],
    kept: KeptReplies,
    attempts: int,
    reasons: Mapping[str, str],
) -> list[Prompt]:
    found, missing = [], []
    for prompt in prompts:
        questions = _follow(prompt.text, kept, attempts).questions
        if questions is None:
            missing.append(prompt)
        else:
            found.append(replace(prompt, questions=questions))
    if missing:
        first = missing[0]
        why = (
            reasons.get(first.text)
            or f"its {attempts} replies are not usable: {_follow(first.text, kept, attempts).problem}"
        )
        unusable = any(prompt.text not in reasons for prompt in missing)
        raise FailedRun(
            f"{model.spec}: {len(missing)} of {len(prompts)} prompts have no questions (first: "
            f"{first.id!r}: {why})"
            + (f"; replies are kept in {kept.path}" if kept.path.exists() else "")
            + ("; the same command asks again" if reasons else "")
            + ("; for unusable replies raise --attempts" if unusable else "")
        )
    return found


@dataclass(frozen=True)
class _Exchange:
    """The replies to one text so far.

    Attributes:
        questions: The questions of the first usable reply; None before it.
        message: The message of the next attempt; None if there are questions, or all attempts are used.
        problem: What is wrong with the last reply; empty before the first.
    """

    questions: tuple[PromptQuestion, ...] | None = None
    message: str | None = None
    problem: str = ""


def _follow(text: str, kept: KeptReplies, attempts: int) -> _Exchange:
    """Go through the kept replies to one text; the same replies always give the same next message."""
    message, problem = write_message(text), ""
    for attempt in range(1, attempts + 1):
        reply = kept.find(message)
        if reply is None:
            return _Exchange(message=message, problem=problem)
        try:
            return _Exchange(read_questions(reply))
        except UnusableQuestions as error:
            problem = str(error)
            message = write_correction(write_message(text), reply, problem, attempt)
    return _Exchange(problem=problem)


def write_file(prompts: Iterable[Prompt], out: Path) -> None:
    """Write prompts as a file of JSON lines, completely or not at all.

    Raises:
        BadFolder: The file cannot be written.
    """
    lines: list[dict[str, Any]] = list(write_prompts(prompts))
    with write_atomically(out) as part:
        part.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
