"""The cost and the executor of a run in the printed plan."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from t2i_cli.plan_tables import print_plan


def make_part(component: str, most: float | None, **more: Any) -> dict[str, Any]:
    part = {"kind": "judge", "component": component, "to_make": 1200, "kept": 0, "unknown": 0, "set_first": ""}
    return {**part, "is_bound": True, "most": most, **more}


@pytest.mark.parametrize(
    ("limit", "most", "parts", "lines"),
    [
        (None, 3.191, [make_part("a", 3.191)], ["cost: at most $3.20 for 1,200 requests to judge a"]),
        (None, 0.0004, [make_part("a", 0.0004)], ["cost: at most $0.0004 for 1,200 requests to judge a"]),
        (
            2.0,
            3.0,
            [make_part("a", 1.0), make_part("b", 2.0, unknown=3)],
            [
                "cost: at most $1.00 for 1,200 requests to judge a",
                "cost: at most $2.00 for up to 1,203 requests to judge b",
                "cost in all: at most $3.00",
                "--max-cost $2.00 may end the run before it is complete",
            ],
        ),
        (5.0, 1.0, [make_part("a", 1.0)], ["cost: at most $1.00 for 1,200 requests to judge a"]),
        (
            None,
            None,
            [make_part("a", None, set_first="set price")],
            ["cost: not known for 1,200 requests to judge a, which may charge for each; set price"],
        ),
        (
            5.0,
            3.0,
            [make_part("r", 1.0, kind="prompt source"), make_part("b", 2.0, is_bound=False)],
            [
                "cost: at most $1.00 for 1,200 requests to prompt source r",
                "cost: about $2.00 for 1,200 requests to judge b",
                "cost in all: about $3.00",
                "--max-cost $5.00 may end the run before it is complete",
            ],
        ),
        (5.0, 0.0, [make_part("a", 0.0, to_make=0, kept=9)], ["cost: $0 for 0 requests to judge a"]),
    ],
)
def test_the_plan_tells_the_cost(
    limit: float | None, most: float | None, parts: list[dict[str, Any]], lines: list[str]
) -> None:
    cost = {"most": most, "limit": limit, "components": parts}
    assert [line for line in print_lines(cost=cost) if "cost" in line] == lines


@pytest.mark.parametrize(
    ("name", "workers", "lines"),
    [
        ("local", None, []),
        ("ray", None, ["executor: ray"]),
        ("ray", 1, ["executor: ray, 1 worker"]),
        ("ray", 8, ["executor: ray, 8 workers"]),
    ],
)
def test_the_plan_tells_the_executor(name: str, workers: int | None, lines: list[str]) -> None:
    printed = print_lines(executor={"name": name, "workers": workers})
    assert [line for line in printed if "executor" in line] == lines


def test_the_plan_tells_of_queries_that_are_not_known_yet() -> None:
    work = {"to_make": 4, "kept": 1, "unknown": 0}
    (line,) = [
        line for line in print_lines(observations={**work, "waiting": 3}) if line.startswith("observations")
    ]
    assert line == (
        "observations: 4 to make, 1 kept already; more about 3 samples, not known until the first answers about "
        "them are there"
    )
    (line,) = [
        line for line in print_lines(observations={**work, "waiting": 0}) if line.startswith("observations")
    ]
    assert line == "observations: 4 to make, 1 kept already"


def print_lines(**more: Any) -> list[str]:
    """Return the lines of a printed plan."""
    work = {"to_make": 0, "kept": 0, "unknown": 0}
    job = {"as": "m", "prompts": "p", "n_prompts": 1, "seeds": [0], "metric": "r", "judges": []}
    plan = {"jobs": [job], "images": work, "observations": work, "sinks": [], "notes": [], "folder": None}
    shown = Console(file=io.StringIO(), width=200)
    print_plan(shown, {**plan, "executor": {"name": "local", "workers": None}, **more})
    return shown.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]
