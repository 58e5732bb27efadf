"""Prices of components that ask paid services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import BadOption
from .plugin_guard import describe_component, guard_plugin
from .plugin_info import GeneratorInfo, JudgeInfo, Price
from .resolver import ResolvedComponent


def find_price(component: ResolvedComponent[Any]) -> Price | None:
    """Return the price of a component's requests; None if they cost nothing."""
    price = _find_function(component)
    if price is None:
        return None
    with guard_plugin(component, "to say its price"):
        return price(component.options)


def counts_as_free(component: ResolvedComponent[Any]) -> bool:
    """Return whether a component that can have a price has none, by its options."""
    return _find_function(component) is not None and find_price(component) is None


def refuse_unknown_price(component: ResolvedComponent[Any]) -> None:
    """Refuse a paid component that does not know its price, because t2i could not hold a limit.

    Raises:
        BadOption: If its price is not known.
    """
    price = find_price(component)
    if price is not None and price.unknown:
        raise BadOption(f"--max-cost needs the price of {describe_component(component)}: {price.unknown}")


def _find_function(component: ResolvedComponent[Any]) -> Callable[[Any], Price | None] | None:
    info = component.info
    return info.price if isinstance(info, GeneratorInfo | JudgeInfo) else None
