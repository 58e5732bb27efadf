"""Texts as tables and messages show them."""

from __future__ import annotations

import pytest
from t2i_core.api.text import shorten_paths


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("tiam-5-1 + concepts:/home/ann/words.csv", "tiam-5-1 + concepts:words.csv"),
        ("/a/b c/prompts.txt + hub:ORG/NAME", "prompts.txt + hub:ORG/NAME"),
        ("concepts:data/words.csv", "concepts:data/words.csv"),
        (r"concepts:C:\data\words.csv", "concepts:words.csv"),
    ],
)
def test_tables_show_the_names_of_files_without_absolute_folders(names: str, shown: str) -> None:
    assert shorten_paths(names) == shown
