"""Attend-and-Excite: supported models, the tokens of a prompt that name its objects, and the attention's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log
from typing import Any

from t2i_core.api import Prompt
from t2i_core.api.errors import BadModel, BadOption

from .stable_diffusion_parts import explain_other_parts
from .word_tokens import WordNotFound, find_word_tokens

PIPELINE = "StableDiffusionAttendAndExcitePipeline"
"""The pipeline class, which takes the indices of object tokens."""

Size = tuple[int, int]
"""Width and height of attention maps."""


def check_parts(name: object, index: Mapping[str, Any]) -> None:
    """Raise BadModel if a pipeline's index names parts that Attend-and-Excite does not support.

    Args:
        name: Name of the model, for the message.
        index: Index of the pipeline.
    """
    if why := explain_other_parts(index):
        raise BadModel(f"{name}: Attend-and-Excite supports only Stable Diffusion 1 and 2, but this {why}")


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
    names = [cls.name for cls in prompt.scene.classes]
    try:
        found = find_word_tokens(prompt.text, names, tokenizer)
    except WordNotFound as error:
        raise NoObjects(f"the expected {error}") from error
    return sorted({i for own in found for i in own})


def choose_attention_size(model: str, unet: Any, latents: Size, given: Sequence[int] | None) -> Size:
    """Return the size of the cross-attention maps that Attend-and-Excite reads.

    It reads maps a quarter as wide as the latents, as in its paper: 16 x 16 for images of 512 x 512. If the UNet
    has none of this size, those of the nearest size.

    Args:
        model: Name of the model, for messages.
        unet: The UNet's configuration.
        latents: Width and height of the latents.
        given: The size that the user sets (`call.attn_res`); None if t2i chooses.

    Raises:
        BadModel: The UNet has no cross-attention.
        BadOption: It has none of the size that the user sets.
    """
    sizes = _list_sizes(unet, latents)
    if not sizes:
        raise BadModel(f"{model}: its UNet has no cross-attention, which Attend-and-Excite needs")
    if given is None:
        return min(sizes, key=lambda size: abs(log(4 * size[0] / latents[0])))
    # the pipeline compares the number of places alone
    if len(given) != 2 or not any(width * height == given[0] * given[1] for width, height in sizes):
        known = ", ".join(f"[{width},{height}]" for width, height in sizes)
        raise BadOption(
            f"option call.attn_res: {model} has no cross-attention of size {list(given)} with these images; "
            f"choose one of {known}, or leave the option out"
        )
    return given[0], given[1]


def _list_sizes(unet: Any, latents: Size) -> list[Size]:
    """Return the sizes of a UNet's cross-attention maps, from large to small."""
    sizes: list[Size] = []
    size = latents
    last = len(unet["down_block_types"]) - 1
    for place, block in enumerate(unet["down_block_types"]):
        above = unet["up_block_types"][last - place]
        middle = place == last and "CrossAttn" in (unet.get("mid_block_type") or "")
        if "CrossAttn" in block or "CrossAttn" in above or middle:
            sizes.append(size)
        size = ceil(size[0] / 2), ceil(size[1] / 2)
    return sizes
