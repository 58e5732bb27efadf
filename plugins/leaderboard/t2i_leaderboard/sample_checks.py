"""Checks of the samples of a score: their counts, seeds and prompts, against tables and signature line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

import pandas as pd
from t2i_core.api.errors import BadFolder
from t2i_core.api.metric import PromptMetric, SetMetric
from t2i_core.api.prompt import Prompt
from t2i_core.api.text import describe_error
from t2i_core.results.compared_model import ComparedModel, select_rows
from t2i_core.results.result import Result
from t2i_core.results.run import Run
from t2i_core.results.score_difference import StoredScoring
from t2i_core.results.signature_line import (
    count_prompts,
    count_seeds,
    describe_prompts,
    describe_seeds,
    read_parts,
)

Cell = tuple[str, int]
"""The id of a prompt, and a seed."""

CHANGED = "the run or the metric was changed"


@contextmanager
def refuse_misfits(run: Run) -> Iterator[None]:
    """Raise BadFolder if a run's tables, whose cells may be anything, cannot be read as those of a score."""
    try:
        yield
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise BadFolder(
            f"{run.path}: its tables and signature line do not fit each other ({describe_error(error)})"
        ) from error


def select_own_rows(run: Run, result: Result) -> pd.DataFrame:
    """Return the rows of a score in its run's table."""
    return select_rows(ComparedModel(run, result.label, result.label, result.by), result.metric)


def select_lost_rows(run: Run, result: Result, names: Collection[str]) -> pd.DataFrame:
    """Return the rows of failures.csv about a score: its samples without a value.

    Args:
        run: The run.
        result: The score.
        names: What their column `model` has: the model, or each pair of models that it is in.
    """
    table = run.failures()
    return table[(table["metric"] == result.title) & table["model"].isin(names)]


def list_cells(table: pd.DataFrame) -> set[Cell]:
    """Return the prompts and seeds that rows are about."""
    return {(prompt, int(seed)) for prompt, seed in zip(table["prompt"], table["seed"], strict=True)}


def check_samples(
    run: Run, result: Result, scoring: StoredScoring, own: pd.DataFrame, names: Collection[str]
) -> str:
    """Check the counts, seeds and prompts of a score.

    Args:
        run: The run.
        result: The score.
        scoring: The rules of its metric.
        own: Its rows in the run's table.
        names: What their column `model` has: the model, or each pair of models that it is in.

    Returns:
        Why its prompts cannot be checked; empty if they are those of the signature line.

    Raises:
        BadFolder: If they are not those of the run's tables and of the signature line.
        ValueError: If the signature line describes no prompts or seeds.
    """
    line = dict(read_parts(result.signature or ""))
    of_prompts, of_seeds = line.get("prompts", ""), line.get("seeds", "")
    lost = select_lost_rows(run, result, names)
    kinds = Counter(lost["kind"])
    counts = {
        "n_prompts": count_prompts(of_prompts),
        "n_seeds": count_seeds(of_seeds),
        "n_failed": kinds["failed"],
        "n_missing": kinds["missing"],
        "n_excluded": kinds["excluded"],
    }
    planned = counts["n_prompts"] * counts["n_seeds"] * len(names)
    counts["n_ok"] = planned - len(lost)
    of_sets = isinstance(scoring.instance, SetMetric)
    if not of_sets:
        counts["n_prompts_ok"] = own["prompt"].nunique()
    for name, count in counts.items():
        if (recorded := getattr(result, name)) != count:
            raise BadFolder(
                f"the run records {name} {recorded}, but its tables and signature line give {count}; {CHANGED}"
            )
    if not isinstance(scoring.instance, SetMetric | PromptMetric):
        sample = ["model", "prompt", "seed"]
        samples = pd.concat([own[sample].drop_duplicates(), lost[sample]])
        if len(samples.drop_duplicates()) != planned or describe_seeds(map(int, samples["seed"])) != of_seeds:
            raise BadFolder(f"the measured and the failed samples are not those of the signature line; {CHANGED}")
    ids = set() if of_sets else {*own["prompt"], *lost["prompt"]}
    return _check_prompts(run, ids, scoring, of_prompts, None if of_sets else own)


def _check_prompts(
    run: Run, ids: Collection[str], scoring: StoredScoring, described: str, rows: pd.DataFrame | None
) -> str:
    """Check the prompts that a score is about, as `check_samples` does.

    Args:
        run: The run.
        ids: The prompts' ids; empty if rows do not name them.
        scoring: The rules of the metric.
        described: The prompts as the signature line has them.
        rows: The rows about them; None of a metric of sets, whose rows are about no single prompt.
    """
    try:
        stored = run.prompts()
    except BadFolder as error:
        return f"prompts are not checked: {error}"
    own = [prompt for prompt in stored if prompt.id in ids]
    if rows is not None:
        _check_columns(own, rows)
    if any(described.endswith(describe_prompts(each)) for each in (stored, own)):
        return ""
    if not ids:
        return "prompts are not checked: the run does not say which ones this score is about"
    if len(own) < len(ids):
        return f"prompts are not checked: the run lacks {len(ids) - len(own)} of {len(ids)}"
    if any(need.images == "prompt" for need in scoring.instance.needs):
        return "prompts are not checked: runs do not store the images that belong to prompts"
    raise BadFolder(
        "the run's prompts differ from those in its signature line: either they were changed, or they came with "
        "images, which runs do not store"
    )


def _check_columns(prompts: Iterable[Prompt], rows: pd.DataFrame) -> None:
    """Raise BadFolder if rows have another cluster than their prompts, or other values of the prompts' facets."""
    stated: dict[str, dict[str, set[str]]] = {}
    for prompt in prompts:  # several of one id if metrics of the run have different prompts
        for column, value in {**prompt.facets, "cluster": prompt.cluster_id}.items():
            stated.setdefault(column, {}).setdefault(prompt.id, set()).add(str(value))
    for column, values in stated.items():
        cells = rows.reindex(columns=["prompt", column]).fillna("").drop_duplicates()
        for prompt_id, cell in zip(cells["prompt"], cells[column], strict=True):
            if cell not in values.get(prompt_id, {cell}):
                raise BadFolder(
                    f"measurements.csv has {column} {cell!r} of prompt {prompt_id!r}, which prompts.jsonl "
                    f"contradicts; {CHANGED}"
                )
