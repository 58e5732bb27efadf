"""Attend-and-Excite: which tokens of a prompt name the objects that its scene expects."""

from __future__ import annotations

import re
from typing import Any

from t2i_core import Prompt

PIPELINE = "StableDiffusionAttendAndExcitePipeline"
"""The class of pipelines that are told which tokens are objects."""


class NoObjects(ValueError):
    """The prompt does not say which of its words are objects."""


def token_indices(prompt: Prompt, tokenizer: Any) -> list[int]:
    """Return the positions, counted with the start token, of the tokens that name the scene's objects.

    Each object takes the next place of its name in the text that no other one has taken; all tokens of a name of
    several words count. Raises NoObjects where there is no scene, a name is not in the text, or lies beyond what
    the encoder sees.
    """
    if prompt.scene is None or not prompt.scene.objects:
        raise NoObjects("Attend-and-Excite needs to know the prompt's objects, and this prompt expects none")
    encoded = tokenizer(
        prompt.text, return_offsets_mapping=True, truncation=True, max_length=tokenizer.model_max_length
    )
    offsets = encoded["offset_mapping"]
    taken: set[int] = set()
    indices: set[int] = set()
    for cls in prompt.scene.classes:
        places = re.finditer(rf"(?<!\w){re.escape(cls.name)}(?!\w)", prompt.text, re.IGNORECASE)
        place = next((m for m in places if m.start() not in taken), None)
        if place is None:
            raise NoObjects(f"the expected {cls.name!r} is not named in the prompt")
        taken.add(place.start())
        own = [i for i, (start, end) in enumerate(offsets) if start < place.end() and end > place.start()]
        if not own:
            raise NoObjects(f"the expected {cls.name!r} lies beyond what the text encoder sees of the prompt")
        indices.update(own)
    return sorted(indices)
