"""Waivers of checks that cannot hold for a component, each by name and with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any

import pytest


def waive(suite: type[Any], waived: Mapping[str, str]) -> None:
    """Mark the checks that a suite waives as expected to fail; one that passes is an error.

    Args:
        suite: The suite.
        waived: The reasons, by the check's name without `test_`.

    Raises:
        TypeError: If a check does not exist, a reason is missing, or the suite replaces a check.
    """
    checks = _find_checks(suite)
    for name in vars(suite).keys() & checks.keys():
        raise TypeError(
            f"{suite.__qualname__} replaces the check {name}; if it cannot hold, waive it with the reason: "
            f"waived = {{{name.removeprefix('test_')!r}: 'why'}}"
        )
    for name, why in waived.items():
        if f"test_{name}" not in checks:
            known = ", ".join(sorted(check.removeprefix("test_") for check in checks))
            raise TypeError(f"{suite.__qualname__} waives {name!r}, which is not one of its checks: {known}")
        if not why.strip():
            raise TypeError(f"{suite.__qualname__} waives {name!r} without a reason; give one")
        setattr(suite, f"test_{name}", _expect_failure(checks[f"test_{name}"], why))


def _find_checks(suite: type[Any]) -> dict[str, Any]:
    """Return the checks that a suite inherits from the suites of this package."""
    ours = [base for base in suite.__mro__[1:] if base.__module__.startswith(f"{__package__}.")]
    return {name: check for base in ours for name, check in vars(base).items() if name.startswith("test_")}


def _expect_failure(check: Any, why: str) -> Any:
    @wraps(check)  # the same fixtures; a new function, because other suites keep the check as it is
    def waived(*fixtures: Any, **named: Any) -> None:
        check(*fixtures, **named)

    return pytest.mark.xfail(reason=f"waived: {why}", strict=True)(waived)
