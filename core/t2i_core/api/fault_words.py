"""Plain words for the faults that pydantic finds in options, requests and files of users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MISSING = "is missing; add it"
UNKNOWN = "is unknown; delete it or correct its name"

_WORDS = {
    "missing": MISSING,
    "extra_forbidden": UNKNOWN,
    "unexpected_keyword_argument": UNKNOWN,
    "string_type": "must be a text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "dataclass_type": "must be a mapping",
    "mapping_type": "must be a mapping",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "literal_error": "must be {expected}",
    "none_required": "must be empty",
}
"""Words by pydantic's type of an error, with the fields of its context in braces."""


def describe_fault(problem: Mapping[str, Any]) -> str:
    """Return what a value must be, or what is wrong with it, in plain words without the value.

    Args:
        problem: One of the errors that `pydantic.ValidationError.errors` lists.
    """
    if problem["type"] in ("too_short", "string_too_short") and problem["ctx"]["min_length"] == 1:
        return "must have an item" if problem["type"] == "too_short" else "must not be empty"
    if words := _WORDS.get(problem["type"]):
        bounds = problem.get("ctx", {}).items()
        return words.format(
            **{name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in bounds}
        )
    message = re.sub(r"^(Value|Assertion) (error|failed), ", "", problem["msg"])
    return " ".join(re.sub(r"^\w+ should ", "must ", message).split())


def takes_value(problem: Mapping[str, Any]) -> bool:
    """Return whether a message should show the value: a missing or unknown field has none, others may name it."""
    fault = problem["type"]
    return fault not in (
        "missing",
        "extra_forbidden",
        "unexpected_keyword_argument",
        "value_error",
        "assertion_error",
    )
