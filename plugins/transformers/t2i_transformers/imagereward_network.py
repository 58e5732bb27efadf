"""The network of ImageReward on transformers' BLIP, built from the published state dict.

References:
    Xu et al.: ImageReward: Learning and Evaluating Human Preferences for Text-to-Image Generation. NeurIPS 2023.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import torch
from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import explain_load_error
from torch import nn
from transformers import BlipTextConfig, BlipVisionConfig
from transformers.models.blip.modeling_blip import BlipVisionModel
from transformers.models.blip.modeling_blip_text import BlipTextModel

from .imagereward_files import ImageRewardFiles

StateDict = Mapping[str, torch.Tensor]

_MEAN, _STD = 0.16717362830052426, 1.0333394966054072
"""Mean and standard deviation of the head's outputs on the training set; rewards are standardised by them."""

_HEAD_WIDTH = 64
"""Width of an attention head in the vision transformers of BLIP, base and large."""

_VISION_EPSILON = 1e-6
"""Epsilon of the layer norms in BLIP's vision transformers; transformers' default is 1e-5."""

_TEXT_FIELDS = (
    "hidden_act", "hidden_size", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
    "num_attention_heads", "num_hidden_layers", "pad_token_id", "vocab_size",
)  # fmt: skip

_RENAMED = (
    (r"blip\.visual_encoder\.cls_token", "vision.embeddings.class_embedding"),
    (r"blip\.visual_encoder\.pos_embed", "vision.embeddings.position_embedding"),
    (r"blip\.visual_encoder\.patch_embed\.proj\.", "vision.embeddings.patch_embedding."),
    (r"blip\.visual_encoder\.norm\.", "vision.post_layernorm."),
    (r"blip\.visual_encoder\.blocks\.(\d+)\.attn\.qkv\.", r"vision.encoder.layers.\1.self_attn.qkv."),
    (r"blip\.visual_encoder\.blocks\.(\d+)\.attn\.proj\.", r"vision.encoder.layers.\1.self_attn.projection."),
    (r"blip\.visual_encoder\.blocks\.(\d+)\.norm([12])\.", r"vision.encoder.layers.\1.layer_norm\2."),
    (r"blip\.visual_encoder\.blocks\.(\d+)\.mlp\.", r"vision.encoder.layers.\1.mlp."),
    (r"blip\.text_encoder\.", "text."),
    (r"mlp\.layers\.", "head."),
)
"""Beginnings of keys in the published state dict, and the same in `ImageRewardNetwork`."""


class ImageRewardNetwork(nn.Module):
    """BLIP's image encoder, its text encoder with cross-attention to the image, and an affine head."""

    def __init__(
        self, vision: BlipVisionConfig, text: BlipTextConfig, head: Mapping[int, tuple[int, int]]
    ) -> None:
        """Create the network with random weights.

        Args:
            vision: Configuration of the image encoder.
            text: Configuration of the text encoder.
            head: Number of inputs and outputs of each linear layer, by its number in the state dict; between
                them are only dropouts, which do nothing here.
        """
        super().__init__()
        self.vision = BlipVisionModel(vision)
        self.text = BlipTextModel(text, add_pooling_layer=False)
        self.head = nn.ModuleDict({str(number): nn.Linear(*shape) for number, shape in sorted(head.items())})

    def encode_images(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return all tokens of images.

        Args:
            pixels: Normalised images, shape (n, 3, size, size).

        Returns:
            Shape (n, tokens, width).
        """
        tokens: torch.Tensor = self.vision(pixels).last_hidden_state
        return tokens

    def score(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, image_tokens: torch.Tensor
    ) -> torch.Tensor:
        """Return the rewards of n images for n texts.

        Args:
            input_ids: Tokens of the texts, shape (n, length).
            attention_mask: 1 for each token of a text and 0 for padding, shape (n, length).
            image_tokens: Tokens of the images, shape (n, tokens, width).

        Returns:
            float32 of shape (n,), standardised on the training set.
        """
        states = self.text(
            input_ids,
            attention_mask=attention_mask,
            encoder_hidden_states=image_tokens,
            encoder_attention_mask=torch.ones(
                image_tokens.shape[:2], dtype=torch.long, device=image_tokens.device
            ),
            is_decoder=False,
        ).last_hidden_state
        values = states[:, 0].float()
        for layer in self.head.values():
            values = layer(values)
        return (values[:, 0] - _MEAN) / _STD


def load_network(files: ImageRewardFiles, dtype: torch.dtype, spec: str) -> ImageRewardNetwork:
    """Return the network with the published weights; the head stays in float32.

    Args:
        files: The checkpoint's files.
        dtype: Precision of both encoders.
        spec: The component as the user named it, for messages.

    Raises:
        BadModel: A file cannot be read, or lacks weights or settings of the network.
    """
    weights = {_rename(key): value for key, value in _read_weights(files, spec).items()}
    try:
        vision = _vision_config(weights)
        text = BlipTextConfig(encoder_hidden_size=vision.hidden_size, is_decoder=True, **_read_text_config(files))
        shapes = {int(key.split(".")[1]): weights[key].shape for key in weights if _is_head_weight(key)}
        network = ImageRewardNetwork(vision, text, {number: (i, o) for number, (o, i) in shapes.items()})
        wanted = network.state_dict().keys()
        # the rest is BLIP's projections, which rewards do not use, and buffers
        network.load_state_dict({key: value for key, value in weights.items() if key in wanted})
    except Exception as error:  # of many types: keys that are missing, values or shapes that do not fit
        raise BadModel(
            f"{spec}: {files.weights} and {files.text_config} are not a checkpoint of ImageReward "
            f"({explain_load_error(error)})"
        ) from error
    network.vision.to(dtype)
    network.text.to(dtype)
    return network


def _read_weights(files: ImageRewardFiles, spec: str) -> StateDict:
    """Return the state dict of a pickle, read with the loader that takes only weights."""
    try:
        found = torch.load(files.weights, map_location=torch.get_default_device(), weights_only=True)
    except Exception as error:  # of many types: not an archive, more than weights
        raise BadModel(f"{spec}: cannot be loaded from {files.weights} ({explain_load_error(error)})") from error
    if not isinstance(found, Mapping) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise BadModel(f"{spec}: {files.weights} does not hold a state dict (tensors by name)")
    return found


def _read_text_config(files: ImageRewardFiles) -> dict[str, Any]:
    found = json.loads(files.text_config.read_text(encoding="utf-8"))
    special = ("bos_token_id", "eos_token_id", "sep_token_id")  # only generation uses them
    return {name: found[name] for name in _TEXT_FIELDS} | dict.fromkeys(special)


def _vision_config(weights: StateDict) -> BlipVisionConfig:
    """Return the configuration of the image encoder, which the shapes of its weights determine."""
    _, positions, width = weights["vision.embeddings.position_embedding"].shape
    patch = weights["vision.embeddings.patch_embedding.weight"].shape[-1]
    layers = {key.split(".")[3] for key in weights if key.startswith("vision.encoder.layers.")}
    return BlipVisionConfig(
        hidden_size=width,
        intermediate_size=weights["vision.encoder.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=len(layers),
        num_attention_heads=width // _HEAD_WIDTH,
        image_size=math.isqrt(positions - 1) * patch,
        patch_size=patch,
        layer_norm_eps=_VISION_EPSILON,
    )


def _is_head_weight(key: str) -> bool:
    return re.fullmatch(r"head\.\d+\.weight", key) is not None


def _rename(key: str) -> str:
    """Return the key of the network for a key of the published state dict."""
    for pattern, name in _RENAMED:
        if re.match(pattern, key):
            return re.sub(f"^{pattern}", name, key)
    return key
