"""A paper's YAML file, read with errors that name the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from t2i_core.api.errors import BadRecipe, join_clauses
from t2i_core.api.fault_words import describe_fault
from t2i_core.io.text_file import read_text
from t2i_core.io.yaml_file import MAX_BYTES, BadYAML, BoundedLoader, load_yaml

from .paper import Paper, Place, list_problems

FOLDER = "{folder}"
"""Stands in recipes for the folder of the YAML file, whose package may bring further files."""


def read_paper(path: Path) -> Paper:
    """Read a paper.

    Args:
        path: The YAML file.

    Raises:
        BadRecipe: The file cannot be read or is not valid; the message lists all problems in one line.
    """
    text = read_text(path, BadRecipe, MAX_BYTES)
    try:
        data = _place_files(load_yaml(text), path.absolute().parent)
    except BadYAML as error:
        raise BadRecipe(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise BadRecipe(f"{path}: must have keys such as title, models, runs and tables")
    try:
        paper = Paper.model_validate(data)
    except ValidationError as error:
        raise BadRecipe(_describe(path, text, _list_faults(error))) from error
    if problems := list(list_problems(paper)):
        raise BadRecipe(_describe(path, text, problems))
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


def _describe(path: Path, text: str, problems: list[tuple[Place, str]]) -> str:
    """Return one line with the line, the field and the text of each problem."""
    lines = dict(_find_lines(yaml.compose(text, Loader=BoundedLoader)))
    parts = []
    for place, problem in problems:
        names = tuple(map(str, place))
        line = next((lines[names[:n]] for n in range(len(names), 0, -1) if names[:n] in lines), 1)
        parts.append(f"line {line}, {'.'.join(names) or 'file'}: {problem}")
    return f"{path}: {join_clauses(parts)}"


def _find_lines(node: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the place and line of each key and item below a node of YAML."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*place, str(key.value))
            yield below, key.start_mark.line + 1
            yield from _find_lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*place, str(index)), item.start_mark.line + 1
            yield from _find_lines(item, (*place, str(index)))
