"""Predictions: words for synsets and their definitions, asked for once each, and the file of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from t2i_core.api import Failure, JudgeInfo
from t2i_core.api.budget import Budget
from t2i_core.api.errors import FailedRun
from t2i_core.api.language_model import ask_language_model
from t2i_core.api.progress import Progress
from t2i_core.api.resolver import ResolvedComponent
from t2i_core.files.spreadsheet import escape
from t2i_core.io.kept_replies import KeptReplies
from t2i_core.results.output_file import write_atomically

from .questions import Target, ask_for_definition, read_definition, read_lemma


@dataclass(frozen=True)
class Prediction:
    """A line of the file that `taxonomy-predictions:FILE` reads.

    Attributes:
        synset: The synset that was to be predicted.
        lemma: The word that the model predicted.
        definition: The model's definition of the word; empty without one.
        subset: The subset, `p-` and the name of the target's.
    """

    synset: str
    lemma: str
    definition: str
    subset: str


def describe_cost(targets: Sequence[Target], definitions: bool, answers: KeptReplies, model: str) -> str:
    """Return how many requests are to come, as one line."""
    words = {target.question for target in targets}
    open_words = {message for message in words if answers.find(message) is None}
    open_definitions = len(open_words)
    if definitions:
        known = {_ask_definition(target, answers) for target in targets} - {None}
        open_definitions += sum(answers.find(message) is None for message in known if message)
    n_definitions = open_definitions if definitions else 0
    return (
        f"{len(targets):,} synsets; requests to {model}: {len(open_words):,} for predictions and at most "
        f"{n_definitions:,} for definitions ({len(words) - len(open_words):,} predictions are kept in "
        f"{answers.path})"
    )


def predict(
    targets: Sequence[Target],
    definitions: bool,
    model: ResolvedComponent[JudgeInfo],
    answers: KeptReplies,
    progress: Progress,
    budget: Budget,
) -> list[Prediction]:
    """Return a prediction for each target; ask only what has no answer yet.

    Args:
        targets: The synsets.
        definitions: Whether to ask for definitions.
        model: The language model.
        answers: Keeps the answers.
        progress: Shows the progress.
        budget: What the requests may cost.

    Raises:
        FailedRun: A message has no usable answer. All others are kept.
        CostLimitReached: The budget is spent. All answers are kept.
    """
    words = {target.question for target in targets}
    _ask_all(words, "predictions", read_lemma, model, answers, progress, budget)
    if definitions:
        messages = {message for target in targets if (message := _ask_definition(target, answers))}
        _ask_all(messages, "definitions", read_definition, model, answers, progress, budget)
    return [_read_prediction(target, definitions, answers) for target in targets]


def _ask_definition(target: Target, answers: KeptReplies) -> str | None:
    """Return the message for the definition of a target's prediction; None without a prediction."""
    lemma = read_lemma(answers.find(target.question) or "")
    return None if lemma is None else ask_for_definition(lemma, target.question)


def _read_prediction(target: Target, definitions: bool, answers: KeptReplies) -> Prediction:
    lemma = read_lemma(answers.find(target.question) or "")
    message = _ask_definition(target, answers) if definitions else None
    definition = read_definition(answers.find(message) or "") if message else None
    return Prediction(target.synset, lemma or "", definition or "", f"p-{target.subset}" if target.subset else "")


def _ask_all(
    messages: Iterable[str],
    title: str,
    read: Callable[[str], str | None],
    model: ResolvedComponent[JudgeInfo],
    answers: KeptReplies,
    progress: Progress,
    budget: Budget,
) -> None:
    """Ask what has no answer yet; keep each answer as it arrives, if it can be read."""
    wanted = sorted(message for message in messages if answers.find(message) is None)
    if not wanted:
        return
    failed: list[str] = []
    with progress.task(title, len(wanted), "answers") as task:
        for message, answer in ask_language_model(model, wanted, budget):
            if isinstance(answer, Failure):
                failed.append(answer.reason)
            elif read(answer) is None:
                failed.append(
                    f"the reply is not a {'word' if read is read_lemma else 'definition'}: {answer[:60]!r}"
                )
            else:
                answers.add(message, answer)
            task.advance()
    budget.end_run(f"{len(wanted) - len(failed)} of {len(wanted)} {title} by {model.spec} are made")
    if failed:
        kept = f"the others are kept in {answers.path}, and " if len(failed) < len(wanted) else ""
        raise FailedRun(
            f"{model.spec}: {len(failed)} of {len(wanted)} {title} have no usable answer (first: {failed[0]}); "
            f"{kept}the same command asks again"
        )


def write_predictions(predictions: Iterable[Prediction], out: Path) -> None:
    """Write predictions as CSV, atomically.

    Raises:
        BadFolder: The file cannot be written.
    """
    with write_atomically(out) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Prediction)])
        writer.writerows([escape(cell) for cell in astuple(prediction)] for prediction in predictions)
