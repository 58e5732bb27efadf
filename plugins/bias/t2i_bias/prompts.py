"""The paper's 145 prompts that leave open who is drawn."""

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
    """Yield the prompts of the categories asked for; the id is the paper's text in either wording."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))["prompts"]
    for category in dict.fromkeys(setup.options.categories):
        for text in listed[category]:
            said = grammatical(text) if setup.options.wording == "grammatical" else text
            yield Prompt(id=text, text=said, facets={"category": category})


def grammatical(text: str) -> str:
    """Set `an` for `a` before vowels: the list has no other words that would want it."""
    return re.sub(r"\ba (?=[aeiou])", "an ", text)
