"""The text side of a model's cross-attention: embeddings, states, keys and values of the words of a prompt.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024. Table 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api import Failure, Query, TextAttention
from t2i_core.api.errors import BadModel

from .conditions import capture_arguments
from .latents import find_size
from .loaded_pipeline import LoadedPipeline
from .parts import Parts
from .stable_diffusion_parts import make_other_parts_error
from .word_tokens import WordNotFound, find_word_tokens


class TextAttentions:
    """Reads the text side of one loaded model's cross-attention; draws no image.

    Raises:
        NoJudge: The pipeline does not have the parts of Stable Diffusion 1 and 2.
        BadModel: Its UNet has no cross-attention.
    """

    def __init__(self, loaded: LoadedPipeline) -> None:
        self._loaded, self._stage = loaded, loaded.main
        pipe = self._stage.pipe
        loaded_parts = {name: part for name, part in pipe.components.items() if part is not None}
        classes = {name: ["", type(part).__name__] for name, part in loaded_parts.items()}
        index = {"_class_name": type(pipe).__name__, **classes}
        if error := make_other_parts_error(self._stage.model, index):
            raise error
        self._size = find_size(Parts(pipe, pipe.unet, pipe.scheduler, pipe.vae), self._stage)
        self._layers = {
            name: module
            for name, module in pipe.unet.named_modules()
            if getattr(module, "is_cross_attention", False)
        }
        if not self._layers:
            raise BadModel(f"{self._stage.model}: its UNet has no cross-attention")

    def observe(self, queries: Iterable[Query]) -> Iterator[tuple[Query, TextAttention | Failure]]:
        """Yield each query with its answer, in order."""
        for query in queries:
            prompt, *words = query.texts
            try:
                found = find_word_tokens(prompt, words, self._stage.pipe.tokenizer)
            except WordNotFound as error:
                yield query, Failure(str(error), final=True)
                continue
            answer = self._read(prompt, found)
            vectors = (answer.embeddings, answer.states, *answer.keys.values(), *answer.values.values())
            if all(np.isfinite(array).all() for array in vectors):
                yield query, answer
            else:
                yield (
                    query,
                    Failure(f"encodes to embeddings, states, keys or values that are {self._loaded.not_numbers}"),
                )

    def _read(self, prompt: str, words: list[list[int]]) -> TextAttention:
        """Return the vectors of some tokens of a prompt."""
        pipe = self._stage.pipe
        places = [place for own in words for place in own]
        # as the pipeline's call does it, with its options (`call.clip_skip`)
        states = capture_arguments(self._stage, pipe.unet, prompt, self._size).further["encoder_hidden_states"][0]
        tokenizer = pipe.tokenizer
        ids = tokenizer(prompt, truncation=True, max_length=tokenizer.model_max_length)["input_ids"]
        table = pipe.text_encoder.get_input_embeddings()
        with torch.inference_mode():
            # by calling the modules, so that offloaded weights are there
            rows = table(torch.tensor([ids[place] for place in places], device=_device(table, states)))
            keys = {name: _project(layer, layer.to_k, states, places) for name, layer in self._layers.items()}
            values = {name: _project(layer, layer.to_v, states, places) for name, layer in self._layers.items()}
        return TextAttention(
            words=np.repeat(np.arange(len(words)), [len(own) for own in words]),
            embeddings=_array(rows),
            states=_array(states[places]),
            keys=keys,
            values=values,
        )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest."""
        return {
            "layers": list(self._layers),
            "heads": {name: layer.heads for name, layer in self._layers.items()},
            "precision": self._loaded.dtype,
        }


def _project(layer: Any, projection: Any, states: torch.Tensor, places: list[int]) -> NDArray[np.float32]:
    """Return the keys or values of some tokens by head: float32 of shape (heads, tokens, size of a head)."""
    device = _device(projection, states)
    own = states[None].to(device)
    if layer.norm_cross:
        own = layer.norm_encoder_hidden_states(own)
    projected = projection(own)[0, places]
    return _array(projected.unflatten(-1, (layer.heads, -1)).transpose(0, 1))


def _device(module: Any, like: torch.Tensor) -> torch.device:
    """Return the device of a module's weights, or of a tensor if they are offloaded one by one."""
    device: torch.device = next(module.parameters()).device
    return like.device if device.type == "meta" else device


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy()
