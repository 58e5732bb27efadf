"""The mean of the tasks' means, over every task that the prompts of a run test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.prompt import Prompt

from .tasks import TASKS, find_task


@dataclass
class PromptTasks:
    """The tasks of the prompts of each run or model that one metric measures.

    Attributes:
        lists: The task of each prompt by its id, for each list of prompts.
    """

    lists: list[dict[str, str]] = field(default_factory=list)

    def add(self, prompts: Sequence[Prompt]) -> None:
        """Add a list of prompts, all with scenes."""
        tasks = {prompt.id: find_task(prompt, prompt.scene) for prompt in prompts if prompt.scene}
        if tasks not in self.lists:
            self.lists.append(tasks)

    def list_tested(self, table: pd.DataFrame) -> list[str]:
        """Return the tasks that the prompts of a table's run test, in GenEval's order.

        These are the tasks of the shortest list that has all prompts of the table. If no list has them (when
        stored runs are compared), these are the tasks of the rows.
        """
        prompts = set(table["prompt"].unique())
        own = min((tasks for tasks in self.lists if prompts <= tasks.keys()), key=len, default={})
        tested = {*own.values(), *table["measure"].unique()}
        return [task for task in TASKS if task in tested]


@dataclass(frozen=True)
class TaskRows:
    """The values in a table and their tasks.

    Attributes:
        values: Values, float64 of shape (rows,).
        tasks: Number of each row's task among those that the prompts test, shape (rows,).
        count: Number of tasks that the prompts test.
    """

    values: NDArray[np.float64]
    tasks: NDArray[np.intp]
    count: int

    @classmethod
    def of(cls, table: pd.DataFrame, tested: Sequence[str]) -> TaskRows:
        """Read values and tasks from a table.

        Args:
            table: Rows of tasks.
            tested: The tasks that the prompts test, among them those of all rows.
        """
        codes = pd.Index(tested).get_indexer(pd.Index(table["measure"].astype(str)))
        return cls(table["value"].to_numpy(np.float64), codes.astype(np.intp), len(tested))

    def average(self, weights: NDArray[np.float64]) -> float:
        """Return the mean of the tasks' weighted means; NaN if the weights of a task sum to 0, as without rows."""
        totals = np.bincount(self.tasks, weights, self.count)
        right = np.bincount(self.tasks, weights * self.values, self.count)
        return float((right / totals).mean()) if (totals > 0).all() else float("nan")
