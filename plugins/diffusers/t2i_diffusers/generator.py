"""The generator: draws requests in batches and yields an image or a failure for each."""

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
from t2i_torch_support.device import read_peak_memory, reset_peak_memory

from .attend_excite import PIPELINE as ATTEND_EXCITE
from .attend_excite import NoObjects, choose_attention_size, token_indices
from .loaded_pipeline import LoadedPipeline, PipelineStage, load
from .message_filters import hide_known_messages
from .noise import watch_global_draws
from .options import DiffusersOptions
from .sizes import SAID, check_drawn
from .stages import DrawnBatch, draw
from .tokens import Tokenizers, record

if TYPE_CHECKING:
    from t2i_core.api import LikelihoodTerms, Query, TextAttention
    from t2i_core.api.judge import Capability

    from .likelihood import Likelihood
    from .text_attention import TextAttentions

ONE_PROMPT_AT_A_TIME = frozenset({"Kandinsky3Pipeline"})
"""Classes whose images depend on the longest prompt of the batch; their batches hold images of one prompt only."""

_PIXELS = 16 * 512 * 512
"""Number of pixels in the first batch on a GPU, if the user sets no batch size; a quarter on other devices."""

_LARGEST = 16

Answer = tuple[ImageRequest, Generated | Failure]


class Diffusers:
    """Generates images with a pipeline of diffusers, or a chain of pipelines.

    `pipeline_class` is the name of a class that replaces the checkpoint's own.
    """

    def __init__(self, setup: Setup[DiffusersOptions], pipeline_class: str | None = None) -> None:
        self.options = setup.options
        self._setup = setup
        self._likelihood: Likelihood | None = None
        self._attention: TextAttentions | None = None
        self.loaded: LoadedPipeline = load(setup, pipeline_class)
        reset_peak_memory(self.loaded.device)  # what the weights take still counts
        self.batch_size = setup.batch_size or _choose_batch_size(setup.options, self.loaded)
        self._asked_batch_size = setup.batch_size
        self._halvings = 0
        self._one_by_one = False  # true for pipelines whose images would depend on the batch
        self._size: list[int] | None = None
        self._tokenizers = Tokenizers([s.pipe for s in self.loaded.stages])
        self._further = _choose_arguments(self.loaded)

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Answer]:
        """Yield each request with its image; halve the batch size for the rest of the run if memory runs out.

        Raises:
            FailedRun: A single image does not fit into memory.
        """
        requests = iter(requests)
        while batch := list(islice(requests, self.batch_size)):
            while batch:
                now = self._run_batch(batch)
                answers = self._try_batch(now)
                if answers is not None:
                    yield from answers
                    batch = batch[len(now) :]

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, LikelihoodTerms | TextAttention | Failure]]:
        """Answer queries of `likelihood` or `attention`; see `likelihood.py` and `text_attention.py`."""
        if capability == "attention":
            if self._attention is None:
                from .text_attention import TextAttentions

                self._attention = TextAttentions(self.loaded)
            yield from self._attention.observe(queries)
            return
        if self._likelihood is None:
            from .likelihood import Likelihood

            self._likelihood = Likelihood(self.loaded, self._setup)
        yield from self._likelihood.observe(queries)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest: models, their calls, precision, and the current batch size."""
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
        if (peak := read_peak_memory(loaded.device)) is not None:
            said["peak_memory_gb"] = peak
        said["call"] = {**said["call"], **self._further}
        if self._likelihood is not None:
            said["likelihood"] = self._likelihood.settings
        if self._attention is not None:
            said["attention"] = self._attention.settings
        plain: dict[str, Any] = json.loads(json.dumps(said, default=str))
        return plain

    def close(self) -> None:
        """Release the weights and the device's memory."""
        for stage in self.loaded.stages:
            stage.pipe.remove_all_hooks()
            stage.pipe.to("meta", silence_dtype_warnings=True)
        clear_device_cache(garbage_collection=True)

    def _run_batch(self, batch: Sequence[ImageRequest]) -> list[ImageRequest]:
        """Return the first requests, as many as one batch takes."""
        if type(self.loaded.main.pipe).__name__ in ONE_PROMPT_AT_A_TIME:
            batch = list(takewhile(lambda r: r.prompt.text == batch[0].prompt.text, batch))
        return list(batch[: self.batch_size])

    def _try_batch(self, batch: Sequence[ImageRequest]) -> list[Answer] | None:
        """Return the answers to a batch; None if it must be repeated with a smaller batch size."""
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
                    f"{self.loaded.main.model} on {self.loaded.device}: a single image does not fit into "
                    "memory; set a smaller size, dtype=float16, or offload=model or sequential"
                ) from error
            drawn = None
        if drawn is None:  # outside the except block, whose error keeps the memory in use
            if not self._one_by_one:
                self.batch_size = len(drawable) // 2
                self._halvings += 1
            clear_device_cache(garbage_collection=True)
            return None
        return [*refused, *self._answers(drawable, drawn)]

    def _drawn(self, batch: Sequence[ImageRequest], further: Mapping[str, Any]) -> DrawnBatch | None:
        """Return the images of a batch; None if the pipeline turns out to need batches of one image."""
        prompts, seeds = [r.prompt.text for r in batch], [r.noise_seed for r in batch]
        pipes = [stage.pipe for stage in self.loaded.stages]
        with (
            hide_known_messages(pipes),
            self._tokenizers.listen(),
            watch_global_draws(seeds[0], self.loaded.device) as unseeded,
        ):
            try:
                drawn = draw(self.loaded, prompts, seeds, further)
            except (TypeError, ValueError, AttributeError) as error:
                if SAID in str(error):
                    raise BadOption(
                        f"{self.loaded.main.model}: {describe_error(error)}; set height and width accordingly"
                    ) from error
                if len(batch) == 1 or "generator" not in str(error).lower():
                    raise
                drawn = None  # the pipeline takes no list of generators
        if drawn is None or (unseeded.happened and len(batch) > 1):
            self._one_by_one, self.batch_size = True, 1
            return None
        return drawn

    def _prepared(self, batch: Sequence[ImageRequest]) -> tuple[list[ImageRequest], list[Answer], dict[str, Any]]:
        """Return the requests that can be drawn, the failures of the others, and arguments of the call."""
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
        return drawable, refused, {**self._further, "token_indices": indices}

    def _answers(self, batch: Sequence[ImageRequest], drawn: DrawnBatch) -> Iterator[Answer]:
        height, width = drawn.pixels.shape[1:3]
        last = self.loaded.stages[-1]
        check_drawn(last.model, last.pipe, last.call, height, width)
        self._size = [width, height]
        lost = self._tokenizers.count_lost([r.prompt.text for r in batch], _other_texts(self.loaded))
        for request, pixels, flagged, own in zip(batch, drawn.pixels, drawn.flagged, lost, strict=True):
            if flagged:
                yield request, Failure("blanked by the model's safety filter", final=True)
            elif not np.isfinite(pixels.sum()):
                yield request, Failure(f"decoded to pixels that are {self.loaded.not_numbers}")
            else:
                yield request, Generated(_eight_bits(pixels), record(own))


def _eight_bits(pixels: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return pixels of 0 to 1 as integers of 0 to 255, rounded as in diffusers."""
    scaled = pixels * np.float32(255)
    np.rint(scaled, out=scaled)
    np.clip(scaled, 0, 255, out=scaled)
    return scaled.astype(np.uint8)


def _other_texts(loaded: LoadedPipeline) -> list[str]:
    """Return the texts that encoders read besides the prompt, such as negative prompts."""
    calls = [item for stage in loaded.stages for item in stage.call.items()]
    return [text for name, text in calls if "prompt" in name and isinstance(text, str)]


def _choose_batch_size(options: DiffusersOptions, loaded: LoadedPipeline) -> int:
    """Return the initial batch size."""
    pixels = (options.height or 512) * (options.width or 512)
    room = _PIXELS if loaded.device.type == "cuda" else _PIXELS // 4
    return max(1, min(_LARGEST, room // pixels))


def _choose_arguments(loaded: LoadedPipeline) -> dict[str, Any]:
    """Return call arguments that depend on the loaded model: for Attend-and-Excite, the size of its maps."""
    stage = loaded.main
    pipe = stage.pipe
    if type(pipe).__name__ != ATTEND_EXCITE:
        return {}
    own, factor = pipe.unet.config.sample_size, pipe.vae_scale_factor
    width, height = (stage.call[side] // factor if stage.call.get(side) else own for side in ("width", "height"))
    given = stage.call.get("attn_res")
    return {"attn_res": choose_attention_size(stage.model, pipe.unet.config, (width, height), given)}


def _stage_settings(stage: PipelineStage) -> dict[str, Any]:
    """Return the settings of one pipeline for the manifest, with the pipeline's defaults for unset options."""
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
        **({"lora": [dict(lora) for lora in stage.loras]} if stage.loras else {}),
    }
