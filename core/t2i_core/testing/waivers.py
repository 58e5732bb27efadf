"""Checks of a suite that cannot hold for a component: each is waived by name, with the reason, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any

import pytest


def waive(suite: type[Any], waived: Mapping[str, str]) -> None:
    """Have the checks that a suite waives expected to fail: one that holds all the same is an error.

    waived:  by the check's name without `test_`, why it cannot hold
    Raises TypeError where there is no such check, where no reason is given, and where the suite replaces a check.
    """
    checks = _checks(suite)
    for name in vars(suite).keys() & checks.keys():
        raise TypeError(
            f"{suite.__qualname__} replaces the check {name}: waive what cannot hold, with the reason: "
            f"waived = {{{name.removeprefix('test_')!r}: 'why'}}"
        )
    for name, why in waived.items():
        if f"test_{name}" not in checks:
            known = ", ".join(sorted(check.removeprefix("test_") for check in checks))
            raise TypeError(f"{suite.__qualname__} waives {name!r}, which is no check of it; they are {known}")
        if not why.strip():
            raise TypeError(f"{suite.__qualname__} waives {name!r} without a reason")
        setattr(suite, f"test_{name}", _expected_to_fail(checks[f"test_{name}"], why))


def _checks(suite: type[Any]) -> dict[str, Any]:
    """The checks that a suite inherits from those of this package."""
    ours = [base for base in suite.__mro__[1:] if base.__module__.startswith(f"{__package__}.")]
    return {name: check for base in ours for name, check in vars(base).items() if name.startswith("test_")}


def _expected_to_fail(check: Any, why: str) -> Any:
    @wraps(check)  # the same fixtures; a function of its own, for other suites keep the check as it is
    def waived(*fixtures: Any, **named: Any) -> None:
        check(*fixtures, **named)

    return pytest.mark.xfail(reason=f"waived: {why}", strict=True)(waived)
