"""The paper's 145 prompts, which do not specify who is drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .options import BiasPromptOptions

FILE = Path(__file__).parent / "data" / "prompts.json"


def neutral(setup: Setup[BiasPromptOptions]) -> Iterator[Prompt]:
    """Yield the prompts of the requested categories; their ids are the paper's texts in both wordings."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))["prompts"]
    for category in dict.fromkeys(setup.options.categories):
        for text in listed[category]:
            wording = correct_articles(text) if setup.options.wording == "grammatical" else text
            yield Prompt(id=text, text=wording, facets={"category": category})


def correct_articles(text: str) -> str:
    """Replace `a` by `an` before vowels, which suffices for the words of this list."""
    return re.sub(r"\ba (?=[aeiou])", "an ", text)
