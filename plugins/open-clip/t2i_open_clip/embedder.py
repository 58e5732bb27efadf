"""The judge: embeds images and texts in one space."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import open_clip
import torch
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL.Image import Image as PILImage
from t2i_core.api import Embedding, Failure, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_torch_support import hub_files
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device
from t2i_torch_support.weights import explain_load_error

from t2i_open_clip import sources
from t2i_open_clip.options import ClipOptions
from t2i_open_clip.sources import ClipSource

_ON_GPU, _ELSEWHERE = 64, 16
"""Initial batch size."""
_PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_PREPROCESSING = ("mean", "std", "interpolation", "resize_mode")
_SHOWN = 5
"""Number of truncated texts that warnings show."""
_CHARACTERS = 60
"""Number of characters shown of each."""

Preprocess = Callable[[PILImage], torch.Tensor]

_log = logging.getLogger(__name__)


class Embedder:
    """Embeds images and texts: the outputs of the towers, float32, not normalised.

    Images are preprocessed according to the model's config. A text that exceeds the model's maximum length is
    truncated, with a warning, and its embedding records the number of tokens read. Results do not depend on the
    batch up to rounding (1e-5 of the largest value in float32 on a CPU).
    """

    def __init__(
        self, setup: Setup[ClipOptions], source: ClipSource | None = None, preprocess: Preprocess | None = None
    ) -> None:
        """Load a model.

        Args:
            setup: Setup from t2i.
            source: The model; None: the one that the argument names.
            preprocess: Returns an image as a tensor (3, height, width); None: according to the model's config.
        """
        source = source or sources.find(setup.argument or "")
        self._device = select_device(setup.device)
        file = sources.fetch(source, setup.options, setup.offline)
        self._tokenizer = sources.tokenizer(source, setup.options, setup.offline)
        sources.text_config(source, setup.options, setup.offline)
        network = load(source, file, setup)
        self._network = network.eval().requires_grad_(False).to(self._device)
        self._preprocess: Preprocess = preprocess or image_transform_v2(
            PreprocessCfg(**network.visual.preprocess_cfg), is_train=False
        )
        self._dtype = open_clip.get_input_dtype(_PRECISIONS[setup.options.dtype]) or torch.float32
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)
        self._cut = 0
        bias = getattr(network, "logit_bias", None)
        self._fixed = {
            "weights": str(file) if source.file or source.folder else source.argument,
            "commit": hub_files.read_commit(file),
            "quick_gelu": _is_quick(network),
            "preprocessing": {k: _plain(v) for k, v in network.visual.preprocess_cfg.items()},
            "context_length": self._tokenizer.context_length,
            "logit_scale": float(network.logit_scale.exp()),
            "logit_bias": None if bias is None else float(bias),
            "dtype": setup.options.dtype,
            "device": str(self._device),
            "open_clip": open_clip.__version__,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {**self._fixed, "batch_size": self._batches.size}

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Embedding | Failure]]:
        """Yield each query with the embedding of its image or text, in order."""
        return self._batches.map(self._answers, queries)

    def close(self) -> None:
        """Release the network."""
        del self._network

    def _answers(self, queries: list[Query]) -> list[Embedding | Failure]:
        images = [q for q in queries if len(q.images) == 1 and not q.texts]
        texts = list(dict.fromkeys(q.texts[0] for q in queries if len(q.texts) == 1 and not q.images))
        of_image = dict(zip(map(id, images), self._images(images), strict=True))
        of_text = dict(zip(texts, self._texts(texts), strict=True))
        answers: list[Embedding | Failure] = []
        for query in queries:
            if id(query) in of_image:
                answers.append(Embedding(of_image[id(query)].numpy()))
            elif len(query.texts) == 1 and not query.images:
                answers.append(of_text[query.texts[0]])
            else:
                asked = f"{len(query.images)} images and {len(query.texts)} texts"
                answers.append(Failure(f"one image or one text can be embedded, not {asked}", final=True))
        return answers

    def _images(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Return the embedding of each query's first image."""
        if not queries:
            return []
        images = torch.stack([self._preprocess(query.images[0].pil()) for query in queries])
        with torch.inference_mode():
            found = self._network.encode_image(images.to(self._device, self._dtype), normalize=False)
        return list(found.float().cpu())

    def _texts(self, texts: Sequence[str]) -> list[Embedding]:
        if not texts:
            return []
        tokens = self._tokenizer(list(texts))
        with torch.inference_mode():
            found = self._network.encode_text(tokens.to(self._device), normalize=False)
        vectors = found.float().cpu().numpy()
        # last, so that a repeated batch warns only once
        return [
            Embedding(vector, self._find_truncation(text)) for text, vector in zip(texts, vectors, strict=True)
        ]

    def _find_truncation(self, text: str) -> int | None:
        """Return the number of tokens read if the text is truncated; otherwise None."""
        length, reads = token_count(self._tokenizer, text), int(self._tokenizer.context_length)
        if length is None or length <= reads:
            return None
        self._cut += 1
        if self._cut <= _SHOWN:
            more = "; further ones are not shown" if self._cut == _SHOWN else ""
            short = shorten(text, _CHARACTERS, placeholder="...")
            _log.warning("a text of %d tokens is cut to the %d that are read: %r%s", length, reads, short, more)
        return reads


def token_count(tokenizer: Any, text: str) -> int | None:
    """Return the number of tokens of a text, with start and end; None if the tokenizer does not report it."""
    if isinstance(tokenizer, SimpleTokenizer):
        return len(tokenizer.encode(text)) + 2
    if isinstance(tokenizer, HFTokenizer):
        return len(tokenizer.tokenizer(tokenizer.clean_fn(text)).input_ids)
    return None


def load(source: ClipSource, file: Path, setup: Setup[ClipOptions]) -> Any:
    """Build the model and load its weights: safetensors, or a pickle of weights only. Raises BadModel."""
    options = setup.options
    precision = _PRECISIONS[options.dtype]
    name = sources.place(source, options, setup.offline)
    kwargs: dict[str, Any] = {}
    if options.quick_gelu is not None:
        kwargs["quick_gelu"] = options.quick_gelu
    elif source.tag.get("quick_gelu"):
        # ViT-B-32/openai without this runs with other activations than it was trained with
        kwargs["quick_gelu"] = True
    if not name.startswith("local-dir:"):
        kwargs["pretrained"] = str(file)
        kwargs["force_preprocess_cfg"] = {k: source.tag[k] for k in _PREPROCESSING if k in source.tag}
    try:
        with hub_files.network(allowed=False):  # all its files are on this machine now
            return open_clip.create_model(
                name, precision=precision, require_pretrained=True, device=torch.get_default_device(), **kwargs
            )
    except Exception as error:  # of many types: not an archive, more than weights, tensors of another model
        raise BadModel(f"{source.spec}: cannot be loaded from {file} ({explain_load_error(error)})") from error


def _is_quick(network: torch.nn.Module) -> bool:
    return any(isinstance(module, open_clip.transformer.QuickGELU) for module in network.modules())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
