"""The network of HPSv3: Qwen2-VL with a head at one token, from the published state dict.

References:
    Ma et al.: HPSv3: Towards Wide-Spectrum Human Preference Score. ICCV 2025.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import explain_load_error
from torch import nn
from transformers import Qwen2VLConfig, Qwen2VLModel

StateDict = Mapping[str, torch.Tensor]

_RENAMED = (
    (r"model\.(language_model|visual)\.", r"model.\1."),
    (r"visual\.", "model.visual."),
    (r"model\.", "model.language_model."),
    (r"rm_head\.", "head."),
)
"""Beginnings of keys in state dicts, of new and old versions of transformers, and the same in `Hpsv3Network`."""


class Hpsv3Network(nn.Module):
    """Qwen2-VL without its head of words, and a head that gives mean and spread of a score, in float32."""

    def __init__(self, config: Qwen2VLConfig, widths: tuple[int, int]) -> None:
        """Create the network with random weights.

        Args:
            config: Configuration of Qwen2-VL.
            widths: Widths of the head's hidden layers; 1024 and 16 as published.
        """
        super().__init__()
        self.model = Qwen2VLModel(config)
        first, second = widths
        self.head = nn.Sequential(
            nn.Linear(config.text_config.hidden_size, first),
            nn.ReLU(),
            nn.Identity(),  # a dropout in training
            nn.Linear(first, second),
            nn.ReLU(),
            nn.Linear(second, 2),
        )

    def score(self, token: int, **inputs: torch.Tensor) -> torch.Tensor:
        """Return mean and spread for each row.

        Args:
            token: The token whose state the head reads; each row holds it once.
            inputs: Input of Qwen2-VL.

        Returns:
            float32 of shape (rows, 2).
        """
        states = self.model(**inputs, use_cache=False).last_hidden_state
        found: torch.Tensor = self.head(states[inputs["input_ids"] == token].float())
        return found


def build_network(config: Mapping[str, Any], weights: StateDict, dtype: torch.dtype, spec: str) -> Hpsv3Network:
    """Return the network with the published weights; the head stays in float32.

    Args:
        config: Content of Qwen2-VL's `config.json`.
        weights: The checkpoint's tensors by name.
        dtype: Precision of Qwen2-VL.
        spec: The component as the user named it, for messages.

    Raises:
        BadModel: The files lack weights or settings of the network.
    """
    try:
        given = {_rename(key): value for key, value in weights.items()}
        widths = tuple(given[f"head.{layer}.weight"].shape[0] for layer in (0, 3))
        settings = Qwen2VLConfig.from_dict(dict(config))
        settings.text_config.vocab_size = given["model.language_model.embed_tokens.weight"].shape[0]
        with torch.device("meta"):  # random weights would take twice the memory of the file
            network = Hpsv3Network(settings, (widths[0], widths[1]))
        # the rest is Qwen2-VL's head of words, which scores do not use
        own = {
            key: given[key].to(torch.float32 if key.startswith("head.") else dtype)
            for key in network.state_dict()
            if key in given
        }
        network.load_state_dict(own, assign=True)
        _fill_buffers(network)
    except Exception as error:  # of many types: keys that are missing, values or shapes that do not fit
        raise BadModel(f"{spec}: is not a checkpoint of HPSv3 ({explain_load_error(error)})") from error
    return network


def _fill_buffers(network: Hpsv3Network) -> None:
    """Make the rotary embeddings anew: no file holds their buffers, which have no values on the meta device."""
    modules = dict(network.model.named_modules())
    for name, module in modules.items():
        if any(buffer.is_meta for buffer in module.buffers(recurse=False)):
            network.model.set_submodule(name, type(module)(module.config))
    left = [name for name, value in (*network.named_buffers(), *network.named_parameters()) if value.is_meta]
    if left and torch.get_default_device().type != "meta":
        raise KeyError(f"{left[0]} has no value")


def _rename(key: str) -> str:
    """Return the key of the network for a key of the published state dict."""
    for pattern, name in _RENAMED:
        if re.match(pattern, key):
            return re.sub(f"^{pattern}", name, key)
    return key
