"""Attend-and-Excite: which models it works with, and which tokens of a prompt name the objects expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from t2i_core.api import Prompt
from t2i_core.api.errors import BadModel

from .sources import parts_of

PIPELINE = "StableDiffusionAttendAndExcitePipeline"
"""The class of pipelines that are told which tokens are objects."""


_PARTS = {
    "vae": "AutoencoderKL",
    "text_encoder": "CLIPTextModel",
    "tokenizer": "CLIPTokenizer",
    "unet": "UNet2DConditionModel",
}
"""Parts that Stable Diffusion 1 and 2 have, and how their classes' names begin."""

_OF_OTHERS = ("text_encoder_2", "tokenizer_2")


def check_parts(name: object, index: Mapping[str, Any]) -> None:
    """Raise BadModel where a pipeline's index names parts that Attend-and-Excite cannot work with.

    name: of the model, for the message
    """
    parts = {part: str(index[part][1]) for part in parts_of(index)}
    why = [f"has a {part} as well" for part in _OF_OTHERS if part in parts] + [
        f"has no {part} ({cls})" for part, cls in _PARTS.items() if not parts.get(part, "").startswith(cls)
    ]
    if why:
        raise BadModel(
            f"{name}: Attend-and-Excite draws with Stable Diffusion 1 and 2 alone, and this "
            f"{index['_class_name']} {why[0]}"
        )


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
