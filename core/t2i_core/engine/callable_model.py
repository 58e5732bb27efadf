"""Models that a program holds in memory, as generators without a plugin: functions and loaded pipelines."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import create_model

from ..api.errors import BadModel
from ..api.failure import Failure
from ..api.generator import Generated, ImageRequest
from ..api.options import Options
from ..api.plugin_info import GeneratorInfo, Setup

Outcome = tuple[ImageRequest, Generated | Failure]

_PIPELINE_ARGUMENTS = frozenset({"prompt", "generator"})
"""Arguments by which the call of a pipeline of diffusers is recognized."""

_SETTLED = frozenset({*_PIPELINE_ARGUMENTS, "num_images_per_prompt", "output_type", "return_dict"})
"""Arguments of a pipeline that t2i sets itself, so that settings may not contain them."""

_FILTERS = ("nsfw_content_detected", "nsfw_detected", "watermark_detected")
"""Fields of a pipeline's output in which filters mark the images that they blanked."""


def describe_callable(model: Callable[..., Any]) -> GeneratorInfo:
    """Return the descriptor of a model in memory.

    A model whose call has the arguments `prompt` and `generator` is a pipeline: it returns an object with the list
    `images`. Any other is called with a prompt's text and a seed, and returns an image: a PIL image, uint8 pixels
    of shape (height, width, 3), or the path of a file. Further arguments of the call are the generator's options.

    Args:
        model: The model.

    Raises:
        ValueError: If the model cannot be called like this.
    """
    if isinstance(model, type):
        raise ValueError(f"must be a model, not a class: create an instance of {model.__name__}")
    arguments = _list_arguments(model)
    pipeline = arguments.keys() >= _PIPELINE_ARGUMENTS
    if pipeline:
        settings = [each for name, each in arguments.items() if name not in _SETTLED]
    else:
        settings = list(arguments.values())[2:]
        try:
            inspect.signature(model).bind("text", 0)
        except TypeError as error:
            raise ValueError(
                f"{_find_name(model)} must take a prompt's text and a seed, or the arguments prompt and generator "
                f"({error})"
            ) from error
        except ValueError:  # implemented in C, without a signature
            pass
    return GeneratorInfo(
        name=_find_name(model),
        summary="A model in memory.",
        options=_make_options(settings),
        create=ModelInMemory(model, pipeline),
        code=("engine/callable_model.py",),
    )


def _find_name(model: Any) -> str:
    while isinstance(model, partial):
        model = model.func
    return str(getattr(model, "__name__", None) or type(model).__name__).strip("<>")


def _list_arguments(model: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(model).parameters)
    except ValueError:  # implemented in C
        return {}


def _make_options(settings: Iterable[inspect.Parameter]) -> type[Options]:
    """Return options with one field for each argument that has a default of plain data."""
    plain = (bool, int, float, str, type(None))
    fields: dict[str, Any] = {
        each.name: (Any, each.default)
        for each in settings
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        and isinstance(each.default, plain)
        and not each.name.startswith("_")
    }
    return create_model("CallOptions", __base__=Options, **fields)


@dataclass(frozen=True, eq=False)
class ModelInMemory:
    """The factory of a model in memory; its digest is that of the model.

    Attributes:
        model: The function or pipeline; None for a checkpoint whose weights have changed since.
        is_pipeline: True if it is called as a pipeline.
        state: Digest of everything that its images depend on. If None, it is computed when a run is planned.
    """

    model: Callable[..., Any] | None
    is_pipeline: bool
    state: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what the images depend on, for the digest of code."""
        return {"state": self.state or self.model}

    def __call__(self, setup: Setup[Any]) -> Any:
        """Return the generator."""
        if self.model is None:
            return _Gone()
        given = {name: getattr(setup.options, name) for name in sorted(setup.options.model_fields_set)}
        if self.is_pipeline:
            return _Pipeline(self.model, given, setup.batch_size or 1)
        return _Function(self.model, given)


class _Gone:
    """A checkpoint whose weights have changed since: only its stored images are left."""

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Outcome]:
        for request in requests:
            yield request, Failure("this checkpoint's weights have left the memory")


class _Function:
    """A function that takes a prompt's text and a seed."""

    def __init__(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        self.function, self.given = function, given
        self.settings = dict(given)

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Outcome]:
        for request in requests:
            image = self.function(request.prompt.text, request.noise_seed, **self.given)
            if isinstance(image, Generated | Failure):
                yield request, image
            else:
                yield request, Generated(Path(image).absolute() if isinstance(image, str | Path) else image)


class _Pipeline:
    """A loaded pipeline of diffusers, or an object that is called like one."""

    def __init__(self, pipe: Any, given: Mapping[str, Any], batch_size: int) -> None:
        self.pipe, self.given, self.batch_size = pipe, given, batch_size
        self._arguments = inspect.signature(pipe).parameters
        scheduler = getattr(pipe, "scheduler", None)
        self.settings = {
            "pipeline": type(pipe).__name__,
            "scheduler": scheduler and type(scheduler).__name__,
            "precision": str(dtype) if (dtype := getattr(pipe, "dtype", None)) else None,
            "device": str(device) if (device := getattr(pipe, "device", None)) else None,
            **{
                name: each.default
                for name, each in self._arguments.items()
                if isinstance(each.default, int | float)
            },
            **given,
        }

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Outcome]:
        requests = iter(requests)
        with _evaluating(self.pipe):
            while batch := list(islice(requests, self.batch_size)):
                yield from zip(batch, self._draw(batch), strict=True)

    def _draw(self, batch: Sequence[ImageRequest]) -> list[Generated | Failure]:
        torch = sys.modules.get("torch")
        if torch is None:
            raise BadModel(
                f"{type(self.pipe).__name__}: its argument generator needs torch, which is not imported"
            )
        texts = [request.prompt.text for request in batch]
        noise = [torch.Generator("cpu").manual_seed(request.noise_seed) for request in batch]
        pixels = {"output_type": "np"} if "output_type" in self._arguments else {}
        alone = len(batch) == 1
        output = self.pipe(
            prompt=texts[0] if alone else texts, generator=noise[0] if alone else noise, **pixels, **self.given
        )
        images = list(output.images)
        if len(images) != len(batch):
            raise BadModel(f"{type(self.pipe).__name__} gave {len(images)} images for {len(batch)} prompts")
        blanked = [False] * len(batch)
        for name in _FILTERS:
            found = getattr(output, name, None)
            if found is not None:
                blanked = [a or bool(b) for a, b in zip(blanked, np.ravel(found), strict=True)]
        return [
            Failure("the pipeline's safety filter blanked the image") if flag else _round_pixels(image)
            for image, flag in zip(images, blanked, strict=True)
        ]


def _round_pixels(image: Any) -> Generated | Failure:
    """Return an image as it is; one of numbers from 0 to 1 as integers of 0 to 255, rounded as in diffusers."""
    if not (isinstance(image, np.ndarray) and np.issubdtype(image.dtype, np.floating)):
        return Generated(image)
    if not np.isfinite(image).all():
        return Failure("the pipeline's pixels are not numbers")
    return Generated((image.clip(0, 1) * 255).round().astype(np.uint8))


@contextmanager
def _evaluating(pipe: Any) -> Iterator[None]:
    """Switch networks in training to evaluation (no dropout), and back afterwards."""
    parts = getattr(pipe, "components", None) or getattr(pipe, "__dict__", {})
    modules = [each for part in parts.values() if hasattr(part, "modules") for each in part.modules()]
    training = [each for each in modules if each.training]
    for each in training:
        each.training = False
    try:
        yield
    finally:
        for each in training:
            each.training = True
