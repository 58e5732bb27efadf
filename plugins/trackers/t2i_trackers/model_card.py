"""Model cards with a run's scores, which the hub reads from `model-index` and from files of evaluation results.

References:
    https://huggingface.co/docs/hub/model-cards, https://huggingface.co/docs/hub/eval-results
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, ModelCard, ModelCardData, eval_result_entries_to_yaml
from t2i_core.api import Progress, Setup
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.files.atomic_write import write_whole
from t2i_core.files.slug import make_slug
from t2i_core.files.write_check import find_write_obstacle
from t2i_core.results.export_file import remove_other_exports, write_export
from t2i_core.results.result import Result
from t2i_core.results.run import Run
from t2i_core.results.scores import name_judges

from .options import CardOptions
from .outcome import ModelOutcome, format_scores, list_outcomes

FOLDER = "model_cards"
TASK = "text-to-image"


class ModelCards:
    """The sink: a new card for each model in the run's folder, or the scores of one in a card that is there."""

    def __init__(self, setup: Setup[CardOptions]) -> None:
        self._card = None if setup.argument is None else Path(setup.argument)
        self._options = setup.options

    def write(self, run: Run, progress: Progress) -> None:
        """Write the cards of a run in place of those of an earlier call.

        Raises:
            UnknownName: If the option `model` names no model of the run.
            BadOption: If a card is given, the run has several models, and none is named.
            BadFolder: If a card is not valid, or cannot be written.
        """
        outcomes = self._choose(run)
        cards = {f"{each.file_name}.md": each for each in outcomes if self._card is None}
        entries = {f"{each.file_name}.yaml": each for each in outcomes if self._options.benchmark is not None}
        remove_other_exports(run, FOLDER, set(cards), ".md")
        remove_other_exports(run, FOLDER, set(entries), ".yaml")
        for name, outcome in cards.items():
            with write_export(run, f"{FOLDER}/{name}") as file:
                file.write(str(_make_card(run, outcome)))
        for name, outcome in entries.items():
            with write_export(run, f"{FOLDER}/{name}") as file:
                yaml.safe_dump(self._list_entries(run, outcome), file, sort_keys=False)
        if self._card is not None:
            _update_card(self._card, outcomes[0])
            progress.note(f"model card: scores of {outcomes[0].label} in {self._card}")
        if cards or entries:
            progress.note(f"model cards: {run.path / FOLDER}")

    def _choose(self, run: Run) -> list[ModelOutcome]:
        outcomes, label = list(list_outcomes(run)), self._options.model
        known = [each.label for each in outcomes]
        if label is not None:
            if label not in known:
                raise UnknownName.among("model", label, known, f"the run has {', '.join(known)}")
            return [each for each in outcomes if each.label == label]
        if self._card is not None and len(outcomes) > 1:
            raise BadOption(
                f"model-card: {self._card} is the card of one model, and the run has {', '.join(known)}; choose "
                "one with -o model-card.model=LABEL"
            )
        return outcomes

    def _list_entries(self, run: Run, outcome: ModelOutcome) -> list[dict[str, Any]]:
        """Return the content of a file for the folder `.eval_results` of the model's repository."""
        entries = [
            EvalResultEntry(
                dataset_id=str(self._options.benchmark),
                task_id=self._options.task,
                value=each.score,
                date=(run.manifest.finished or run.manifest.started),
                notes=f"{each.headline}; {each.signature}" if each.signature else each.headline,
            )
            for each in outcome.results
            if each.score is not None
        ]
        return eval_result_entries_to_yaml(entries)


def _make_card(run: Run, outcome: ModelOutcome) -> ModelCard:
    """Return a new card: the metadata that the hub reads, and the same as a table for people."""
    found = list(_list_results(outcome.results))
    data = ModelCardData(pipeline_tag=TASK, model_name=outcome.label, eval_results=found or None)
    table = format_scores(outcome.results) if outcome.results else "No scores.\n"
    signatures = "".join(f"- `{each.signature}`\n" for each in outcome.results if each.signature)
    text = (
        f"---\n{data.to_yaml()}\n---\n\n# {_escape_heading(outcome.label)}\n\n## Evaluation\n\n{table}\n"
        f"The brackets hold 95 % confidence intervals. Measured with t2i {run.manifest.t2i}:\n\n"
        f"{signatures}"
    )
    return ModelCard(text, ignore_metadata_errors=False)


def check_card(file: Path) -> None:
    """Check, before anything runs, that a card can be read and written.

    Raises:
        BadFolder: If it cannot be.
    """
    load_card(file)
    if (obstacle := find_write_obstacle(file.parent)) is not None:
        raise _explain_unwritable(file, obstacle)


def _explain_unwritable(file: Path, error: OSError) -> BadFolder:
    return BadFolder(
        f"{file}: cannot be written ({error.strerror or error}); make it writable or name another card"
    )


def load_card(file: Path) -> ModelCard:
    """Return a card that exists.

    Raises:
        BadFolder: If the file does not exist, cannot be read, or is not a valid card.
    """
    if not file.is_file():
        missing = "not a file" if file.exists() else "does not exist"
        if not file.parent.exists():
            missing = f"the folder {file.parent} does not exist"
        raise BadFolder(f"{file}: {missing}; name a model card, or none for new cards in the run's folder")
    try:
        card: ModelCard = ModelCard.load(file)
    except OSError as error:
        raise BadFolder(f"{file}: cannot be read ({error.strerror or error}); name a model card") from error
    except (ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadFolder(f"{file}: not a valid model card ({line}); its metadata must be YAML") from error
    return card


def _update_card(file: Path, outcome: ModelOutcome) -> None:
    """Put the scores of a model into the metadata of its card; results of other measurements stay."""
    card = load_card(file)
    data: Any = card.data  # the client's type is that of any card
    own = list(_list_results(outcome.results))
    replaced = {_identify(each) for each in own}
    kept = [each for each in data.eval_results or [] if _identify(each) not in replaced]
    data.eval_results = [*kept, *own]
    data.model_name = data.model_name or outcome.label
    try:
        write_whole(file, str(card).encode())
    except OSError as error:
        raise _explain_unwritable(file, error) from error


def _list_results(results: Iterable[Result]) -> Iterator[EvalResult]:
    """Yield a result for the metadata for each score that exists."""
    for result in results:
        for number, (measure, score) in enumerate(result.scores.items()):
            if score.value is None:
                continue
            yield EvalResult(
                task_type=TASK,
                dataset_type=make_slug(result.prompts),
                dataset_name=result.prompts,
                metric_type=result.metric,
                metric_name=f"{result.title} ({measure})" if number else result.headline,
                metric_value=score.value,
                metric_args={
                    "interval": list(score.ci),
                    "judge": name_judges(result),
                    "n_prompts": result.n_prompts,
                    "n_seeds": result.n_seeds,
                    "signature": result.signature or "",
                },
            )


def _identify(result: EvalResult) -> tuple[str, str | None]:
    """Return what a newer result of the same measurement has in common with this one."""
    return result.dataset_type, result.metric_name


def _escape_heading(label: str) -> str:
    return label.replace("\\", "\\\\").replace("<", "\\<").replace("\n", " ")
