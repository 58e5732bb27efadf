"""The network of CLIP-FlanT5: CLIP's image encoder and a projector in front of T5, from the published state dict.

References:
    Lin et al.: Evaluating Text-to-Visual Generation with Image-to-Text Generation (VQAScore). ECCV 2024.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import explain_load_error
from torch import nn
from transformers import CLIPVisionConfig, CLIPVisionModel, T5Config, T5ForConditionalGeneration

StateDict = Mapping[str, torch.Tensor]

_TOWER = "vision_tower.vision_tower.vision_model."
_PROJECTOR = "mm_projector."
_HEAD_WIDTH = 64
"""Width of an attention head in CLIP's image encoders."""

_LAYER = -2
"""Layer of the image encoder whose outputs T5 reads, counted from the last."""

_SHARED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
"""Keys of T5's embedding of tokens beside `shared.weight`, of which a file may hold copies."""


class ClipFlanT5Network(nn.Module):
    """CLIP's image encoder, two linear layers with GELU between them, and T5."""

    def __init__(self, tower: CLIPVisionConfig, text: T5Config) -> None:
        """Create the network with random weights.

        Args:
            tower: Configuration of the image encoder.
            text: Configuration of T5.
        """
        super().__init__()
        self.tower = CLIPVisionModel(tower)
        self.projector = nn.Sequential(
            nn.Linear(tower.hidden_size, text.d_model), nn.GELU(), nn.Linear(text.d_model, text.d_model)
        )
        self.text = T5ForConditionalGeneration(text)

    def encode_images(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return images as T5 reads them: all patches of the second-last layer, projected.

        Args:
            pixels: Normalised images, shape (n, 3, size, size).

        Returns:
            Shape (n, patches, width of T5).
        """
        states = self.tower(pixels, output_hidden_states=True).hidden_states[_LAYER]
        found: torch.Tensor = self.projector(states[:, 1:])
        return found

    def encode(self, embeddings: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the states of T5's encoder, shape (n, tokens, width).

        Args:
            embeddings: Tokens of texts and images, shape (n, tokens, width).
            mask: 1 for tokens and 0 for padding, shape (n, tokens).
        """
        states: torch.Tensor = self.text.encoder(inputs_embeds=embeddings, attention_mask=mask).last_hidden_state
        return states


def build_network(
    config: Mapping[str, Any], weights: StateDict, dtype: torch.dtype, spec: str
) -> ClipFlanT5Network:
    """Return the network with the published weights.

    The image encoder's configuration follows from the shapes of its weights; the rest is that of CLIP.

    Args:
        config: Content of the checkpoint's `config.json`.
        weights: The checkpoint's tensors by name.
        dtype: Precision of the network.
        spec: The component as the user named it, for messages.

    Raises:
        BadModel: The files lack weights or settings of the network.
    """
    if not any(key.startswith(_TOWER) for key in weights):
        raise BadModel(
            f"{spec}: the weights hold no image encoder ({_TOWER}...); use a checkpoint that contains it"
        )
    try:
        with torch.device("meta"):
            network = ClipFlanT5Network(_read_tower_config(weights), _read_text_config(config))
        given = _rename(weights, network)
        missing = sorted(network.state_dict().keys() - given.keys())
        if missing:
            raise KeyError(f"lacks {len(missing)} weights, such as {missing[0]}")
        network.load_state_dict(
            {key: given[key].to(dtype) for key in network.state_dict()}, strict=True, assign=True
        )
        _fill_buffers(network)
    except Exception as error:  # of many types: keys that are missing, values or shapes that do not fit
        raise BadModel(f"{spec}: is not a checkpoint of CLIP-FlanT5 ({explain_load_error(error)})") from error
    return network


def _read_tower_config(weights: StateDict) -> CLIPVisionConfig:
    positions, width = weights[f"{_TOWER}embeddings.position_embedding.weight"].shape
    patch = weights[f"{_TOWER}embeddings.patch_embedding.weight"].shape[-1]
    layers = {
        key.removeprefix(_TOWER).split(".")[2] for key in weights if key.startswith(f"{_TOWER}encoder.layers.")
    }
    return CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=weights[f"{_TOWER}encoder.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=len(layers),
        num_attention_heads=max(1, width // _HEAD_WIDTH),
        image_size=math.isqrt(positions - 1) * patch,
        patch_size=patch,
    )


def _read_text_config(config: Mapping[str, Any]) -> T5Config:
    own = {key: value for key, value in config.items() if not key.startswith("mm_")}
    for name in ("model_type", "architectures", "transformers_version", "torch_dtype", "dtype"):
        own.pop(name, None)
    return T5Config(**own)


def _rename(weights: StateDict, network: ClipFlanT5Network) -> dict[str, torch.Tensor]:
    """Return the tensors by the names of the network."""
    # some versions of transformers have one module more in the image encoder
    wrapped = any(key.startswith("tower.vision_model.") for key in network.state_dict())
    prefix = "tower.vision_model." if wrapped else "tower."
    found: dict[str, torch.Tensor] = {}
    for key, value in weights.items():
        if key.startswith(_TOWER):
            found[prefix + key.removeprefix(_TOWER)] = value
        elif key.startswith(_PROJECTOR):
            found[f"projector.{key.removeprefix(_PROJECTOR)}"] = value
        else:
            found[f"text.{key}"] = value
    for key in _SHARED:
        found[f"text.{key}"] = found["text.shared.weight"]
    if network.text.config.tie_word_embeddings:
        found["text.lm_head.weight"] = found["text.shared.weight"]
    return found


def _fill_buffers(network: ClipFlanT5Network) -> None:
    """Give buffers that no file holds their values, which the meta device lacks."""
    for module in network.tower.modules():
        for name, buffer in module.named_buffers(recurse=False):
            if name == "position_ids" and buffer.is_meta:
                module.register_buffer(name, torch.arange(buffer.shape[-1]).expand(1, -1), persistent=False)
    left = [name for name, value in (*network.named_buffers(), *network.named_parameters()) if value.is_meta]
    if left and torch.get_default_device().type != "meta":
        raise KeyError(f"{left[0]} has no value")
