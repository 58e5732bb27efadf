"""A check that a component with a price keeps to its budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..api.budget import Budget
from ..api.failure import Failure
from ..engine.component import Component
from .answer_comparison import make_component


def check_spending(component: Component[Any], ask: Callable[[Any], Sequence[Any]], most: float) -> None:
    """Check that a component buys nothing without money, and otherwise for no more than its price.

    Args:
        component: The component.
        ask: Asks an instance; returns its answers.
        most: The most that this costs, by the component's price.
    """
    nothing = Budget(0)
    with make_component(component, budget=nothing) as instance:
        answers = ask(instance)
    assert all(isinstance(answer, Failure) for answer in answers), "it answers although the budget allows nothing"
    assert nothing.is_spent, "it reserves no money for its requests (Setup.budget)"
    counted = Budget()
    with make_component(component, budget=counted) as instance:
        ask(instance)
    assert counted.spent <= most, f"it spends {counted.spent:g} USD, more than its price allows for ({most:g})"
