"""A paper's YAML file, read with errors that name the file, the line and the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from t2i_core.api.errors import BadRecipe
from t2i_core.api.fault_words import describe_fault
from t2i_core.io.yaml_lines import Place, read_located_yaml

from .paper import Paper, list_problems

FOLDER = "{folder}"
"""Stands in recipes for the folder of the YAML file, whose package may bring further files."""


def read_paper(path: Path) -> Paper:
    """Read a paper.

    Args:
        path: The YAML file.

    Raises:
        BadRecipe: The file cannot be read or is not valid; the message lists all problems in one line.
    """
    found = read_located_yaml(path, BadRecipe, "keys such as title, models, runs and tables")
    try:
        paper = Paper.model_validate(_place_files(found.data, path.absolute().parent))
    except ValidationError as error:
        raise BadRecipe(f"{path}: {found.describe_mistakes(_list_faults(error))}") from error
    if problems := list(list_problems(paper)):
        raise BadRecipe(f"{path}: {found.describe_mistakes(problems)}")
    return paper


def _place_files(data: Any, folder: Path) -> Any:
    """Return data whose texts have the path of the YAML file's folder in place of `{folder}`."""
    if isinstance(data, str):
        return data.replace(FOLDER, str(folder))
    if isinstance(data, list):
        return [_place_files(each, folder) for each in data]
    if isinstance(data, dict):
        return {key: _place_files(value, folder) for key, value in data.items()}
    return data


def _list_faults(error: ValidationError) -> list[tuple[Place, str]]:
    return [(fault["loc"], describe_fault(fault)) for fault in error.errors()]
