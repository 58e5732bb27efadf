"""Attend-and-Excite: supported models, and the tokens of a prompt that name its objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from t2i_core.api import Prompt
from t2i_core.api.errors import BadModel

from .sources import list_parts

PIPELINE = "StableDiffusionAttendAndExcitePipeline"
"""The pipeline class, which takes the indices of object tokens."""


_PARTS = {
    "vae": "AutoencoderKL",
    "text_encoder": "CLIPTextModel",
    "tokenizer": "CLIPTokenizer",
    "unet": "UNet2DConditionModel",
}
"""Parts of Stable Diffusion 1 and 2, with the start of their class names."""

_OF_OTHERS = ("text_encoder_2", "tokenizer_2")


def check_parts(name: object, index: Mapping[str, Any]) -> None:
    """Raise BadModel if a pipeline's index names parts that Attend-and-Excite does not support.

    Args:
        name: Name of the model, for the message.
        index: Index of the pipeline.
    """
    parts = {part: str(index[part][1]) for part in list_parts(index)}
    why = [f"has a {part} as well" for part in _OF_OTHERS if part in parts] + [
        f"has no {part} ({cls})" for part, cls in _PARTS.items() if not parts.get(part, "").startswith(cls)
    ]
    if why:
        raise BadModel(
            f"{name}: Attend-and-Excite supports only Stable Diffusion 1 and 2, but this "
            f"{index['_class_name']} {why[0]}"
        )


class NoObjects(ValueError):
    """Raised if the words of a prompt's objects are not known."""


def token_indices(prompt: Prompt, tokenizer: Any) -> list[int]:
    """Return the positions, including the start token, of the tokens that name the scene's objects.

    Each object takes the next occurrence of its name that no other object has. All tokens of a name with several
    words count.

    Raises:
        NoObjects: The prompt has no scene, a name is not in the text, or it lies beyond the encoder's limit.
    """
    if prompt.scene is None or not prompt.scene.objects:
        raise NoObjects("Attend-and-Excite needs a prompt with expected objects, and this prompt has none")
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
            raise NoObjects(f"the expected {cls.name!r} lies beyond the text encoder's limit")
        indices.update(own)
    return sorted(indices)
