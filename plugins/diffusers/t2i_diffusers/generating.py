"""The generator: requests in batches, each answered with its image or why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from accelerate.utils.memory import clear_device_cache
from numpy.typing import NDArray
from t2i_core.api import Failure, Generated, ImageRequest, Setup
from t2i_core.api.errors import BadOption, FailedRun
from t2i_core.api.text import describe_error
from t2i_torch_support.batch import is_out_of_memory

from .attend_excite import PIPELINE as ATTEND_EXCITE
from .attend_excite import NoObjects, token_indices
from .loading import LoadedPipeline, PipelineStage, load
from .noise import own_chance
from .options import DiffusersOptions
from .quiet import said_elsewhere
from .sizes import SAID, check_drawn
from .stages import DrawnBatch, draw
from .tokens import Tokenizers, record

if TYPE_CHECKING:
    from t2i_core.api import LikelihoodTerms, Query
    from t2i_core.api.judge import Capability

    from .likelihood import Likelihood

ONE_PROMPT_AT_A_TIME = frozenset({"Kandinsky3Pipeline"})
"""Classes whose images depend on the longest prompt of the batch: only images of one prompt are drawn together."""

_PIXELS = 16 * 512 * 512
"""So many pixels are tried at once where the batch is left to us, on a GPU of its own; a quarter elsewhere."""

_LARGEST = 16

Answer = tuple[ImageRequest, Generated | Failure]


class Diffusers:
    """Draws with a pipeline of diffusers, or a chain of them.

    pipeline_class: name of the class that takes the place of the checkpoint's own
    """

    def __init__(self, setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
        self.options = setup.options
        self._setup = setup
        self._likelihood: Likelihood | None = None
        self.loaded: LoadedPipeline = load(setup, pipeline_class)
        self.batch_size = setup.batch_size or _to_try(setup.options, self.loaded)
        self._asked_batch_size = setup.batch_size
        self._halvings = 0
        self._one_by_one = False  # set for pipelines whose images would depend on their company
        self._size: list[int] | None = None
        self._tokenizers = Tokenizers([s.pipe for s in self.loaded.stages])

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Answer]:
        """Yield each request with its image; batches are halved for good where memory is short.

        Raises FailedRun where not even one image at a time fits.
        """
        requests = iter(requests)
        while batch := list(islice(requests, self.batch_size)):
            while batch:
                now = self._together(batch)
                answers = self._tried(now)
                if answers is not None:
                    yield from answers
                    batch = batch[len(now) :]

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, LikelihoodTerms | Failure]]:
        """Answer `likelihood` by the main stage's denoiser; see `likelihood.py`, on which no image depends."""
        if self._likelihood is None:
            from .likelihood import Likelihood

            self._likelihood = Likelihood(self.loaded, self._setup)
        yield from self._likelihood.observe(queries)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What a manifest says: models, their calls, precision, and how the work was done so far."""
        loaded = self.loaded
        said = {
            **_stage_settings(loaded.main),
            "size": self._size,
            "precision": loaded.dtype,
            "safety_filter": self.options.safety,
            "stages": {s.name: _stage_settings(s) for s in loaded.stages if s is not loaded.main},
            "noise": "drawn on the CPU, a generator for each image and stage",
            "device": str(loaded.device),
            "offload": loaded.offload,
            "batch_size": {
                "asked": self._asked_batch_size or "auto",
                "used": self.batch_size,
                "halved_for_memory": self._halvings,
            },
        }
        if self._likelihood is not None:
            said["likelihood"] = self._likelihood.settings
        plain: dict[str, Any] = json.loads(json.dumps(said, default=str))
        return plain

    def close(self) -> None:
        """Let go of the weights and of the device's memory."""
        for stage in self.loaded.stages:
            stage.pipe.remove_all_hooks()
            stage.pipe.to("meta", silence_dtype_warnings=True)
        clear_device_cache(garbage_collection=True)

    def _together(self, batch: Sequence[ImageRequest]) -> list[ImageRequest]:
        """Return as many from the beginning as are drawn at once."""
        if type(self.loaded.main.pipe).__name__ in ONE_PROMPT_AT_A_TIME:
            batch = list(takewhile(lambda r: r.prompt.text == batch[0].prompt.text, batch))
        return list(batch[: self.batch_size])

    def _tried(self, batch: Sequence[ImageRequest]) -> list[Answer] | None:
        """Answer a batch; None where it must be tried again with the batch size that there is now."""
        drawable, refused, further = self._prepared(batch)
        if not drawable:
            return refused
        try:
            drawn = self._drawn(drawable, further)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(drawable) == 1:
                raise FailedRun(
                    f"{self.loaded.main.model} on {self.loaded.device}: not even one image at a time "
                    "fits into memory: take smaller images, dtype=float16, or offload=model or sequential"
                ) from error
            drawn = None
        if drawn is None:  # outside the handler, where the error would keep the memory
            if not self._one_by_one:
                self.batch_size = len(drawable) // 2
                self._halvings += 1
            clear_device_cache(garbage_collection=True)
            return None
        return [*refused, *self._answers(drawable, drawn)]

    def _drawn(self, batch: Sequence[ImageRequest], further: Mapping[str, Any]) -> DrawnBatch | None:
        """Draw a batch; None where the pipeline turns out to be one that must draw images one by one."""
        prompts, seeds = [r.prompt.text for r in batch], [r.noise_seed for r in batch]
        pipes = [stage.pipe for stage in self.loaded.stages]
        with (
            said_elsewhere(pipes),
            self._tokenizers.listen(),
            own_chance(seeds[0], self.loaded.device) as unseeded,
        ):
            try:
                drawn = draw(self.loaded, prompts, seeds, further)
            except (TypeError, ValueError, AttributeError) as error:
                if SAID in str(error):
                    raise BadOption(
                        f"{self.loaded.main.model}: {describe_error(error)}: set height and width so"
                    ) from error
                if len(batch) == 1 or "generator" not in str(error).lower():
                    raise
                drawn = None  # it takes no list of generators
        if drawn is None or (unseeded.happened and len(batch) > 1):
            self._one_by_one, self.batch_size = True, 1
            return None
        return drawn

    def _prepared(self, batch: Sequence[ImageRequest]) -> tuple[list[ImageRequest], list[Answer], dict[str, Any]]:
        """Sort out what cannot be drawn. Returns the others, failures, and arguments of the call."""
        pipe = self.loaded.main.pipe
        if type(pipe).__name__ != ATTEND_EXCITE:
            return list(batch), [], {}
        drawable: list[ImageRequest] = []
        refused: list[Answer] = []
        indices: list[list[int]] = []
        for request in batch:
            try:
                indices.append(token_indices(request.prompt, pipe.tokenizer))
                drawable.append(request)
            except NoObjects as error:
                refused.append((request, Failure(str(error), final=True)))
        return drawable, refused, {"token_indices": indices}

    def _answers(self, batch: Sequence[ImageRequest], drawn: DrawnBatch) -> Iterator[Answer]:
        height, width = drawn.pixels.shape[1:3]
        last = self.loaded.stages[-1]
        check_drawn(last.model, last.pipe, last.call, height, width)
        self._size = [width, height]
        lost = self._tokenizers.lost([r.prompt.text for r in batch], _other_texts(self.loaded))
        for request, pixels, flagged, own in zip(batch, drawn.pixels, drawn.flagged, lost, strict=True):
            if flagged:
                yield request, Failure("blanked by the model's safety filter", final=True)
            elif not np.isfinite(pixels.sum()):
                yield request, Failure(f"decoded to pixels that are {self.loaded.not_numbers}")
            else:
                yield request, Generated(_eight_bits(pixels), record(own))


def _eight_bits(pixels: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Round pixels of 0 to 1 to 0 to 255, as diffusers does."""
    scaled = pixels * np.float32(255)
    np.rint(scaled, out=scaled)
    np.clip(scaled, 0, 255, out=scaled)
    return scaled.astype(np.uint8)


def _other_texts(loaded: LoadedPipeline) -> list[str]:
    """What encoders are told beside the prompt: negative prompts, mostly."""
    calls = [item for stage in loaded.stages for item in stage.call.items()]
    return [text for name, text in calls if "prompt" in name and isinstance(text, str)]


def _to_try(options: DiffusersOptions, loaded: LoadedPipeline) -> int:
    """Return the batch size to begin with."""
    pixels = (options.height or 512) * (options.width or 512)
    room = _PIXELS if loaded.device.type == "cuda" else _PIXELS // 4
    return max(1, min(_LARGEST, room // pixels))


def _stage_settings(stage: PipelineStage) -> dict[str, Any]:
    """Return what a manifest says of one pipeline; what the options leave out is the pipeline's default."""
    arguments = stage.arguments
    call = {
        name: stage.call.get(name, arguments[name].default)
        for name in arguments
        if name in stage.call or name.endswith(("num_inference_steps", "guidance_scale"))
    }
    schedulers = {n: s for n, s in stage.pipe.components.items() if n.endswith("scheduler")}
    return {
        "model": stage.model,
        "revision": stage.commit,
        "pipeline": type(stage.pipe).__name__,
        "steps": next((v for n, v in call.items() if n.endswith("num_inference_steps")), None),
        "guidance": next((v for n, v in call.items() if n in ("true_cfg_scale", "guidance_scale")), None),
        "scheduler": {name: type(scheduler).__name__ for name, scheduler in schedulers.items()},
        "call": call,
        **({"files": dict(stage.files)} if stage.files else {}),
    }
