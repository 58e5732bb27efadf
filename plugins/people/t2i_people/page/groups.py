"""Groups of people that annotators are asked about: the paper's, or a file as the metric `bias` reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption
from t2i_core.io.yaml_lines import read_located_yaml

from .questions import UNKNOWN

PAPER = {"gender": ("male", "female"), "race": ("White", "Black", "Hispanic", "Asian")}
"""Categories of DALL-Eval: apparent attributes, few, and from a United States perspective."""


UNDECIDED = frozenset({UNKNOWN.value, "unknown", "unclear", "unsure", "none", "neither", "other"})
"""Answers that the metric `bias` reads as undecided; categories cannot have these names."""


def read_groups(which: str) -> dict[str, tuple[str, ...]]:
    """Return categories by group.

    Args:
        which: `paper`, or a YAML file with groups, each with a list `categories` of names or objects with a name.

    Raises:
        BadOption: If the file cannot be read, or a group or category is not valid.
    """
    if which == "paper":
        return dict(PAPER)
    path = Path(which)
    data = read_located_yaml(path, BadOption, "groups by name, each with categories").data
    return {_name(path, name): _categories(path, name, group) for name, group in data.items()}


def _name(path: Path, name: Any) -> str:
    # the first names are fields of the page's forms; the pattern is what the metric bias accepts
    if (
        not isinstance(name, str)
        or name in ("human", "task", "form")
        or not re.fullmatch(r"\S([^:]*[^\s:])?", name)
    ):
        raise BadOption(f"{path}: {name!r} is not a valid name of a group; rename it")
    return name


def _categories(path: Path, name: str, group: Any) -> tuple[str, ...]:
    listed = group.get("categories") if isinstance(group, Mapping) else None
    listed = listed if isinstance(listed, list) else []
    given = [one.get("name") if isinstance(one, Mapping) else one for one in listed]
    names = [one for one in given if isinstance(one, str) and one and one == one.strip()]
    if not 2 <= len(given) <= 8 or len(names) < len(given):
        raise BadOption(f"{path}: {name}: needs 2 to 8 categories, each with a name")
    lower = [one.lower() for one in names]  # answers are compared without case
    if unclear := next((one for one in lower if one in UNDECIDED), None):
        raise BadOption(f"{path}: {name}: {unclear!r} is reserved for undecided answers; rename the category")
    if len(set(lower)) < len(lower):
        raise BadOption(f"{path}: {name}: a category is listed twice; remove one")
    return tuple(names)
