"""Amounts of money in words."""

from __future__ import annotations

import math


def format_dollars(amount: float, up: bool = False) -> str:
    """Return an amount in USD with its symbol: `$3.20`, `$1,250.00`, `$0.0042`. Only nothing is `$0`.

    Amounts have cents; those below a dollar have two significant digits if cents do not show them.

    Args:
        amount: The amount, from 0.
        up: Round up, for an upper bound.
    """
    if not amount > 0:
        return "$0"
    digits = 2 if amount >= 1 else max(2, 1 - math.floor(math.log10(amount)))
    text = f"{amount:,.{digits}f}"
    if up and float(text.replace(",", "")) < amount * (1 - 1e-12):
        text = f"{amount + 10.0**-digits:,.{digits}f}"
    whole, _, cents = text.partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"
