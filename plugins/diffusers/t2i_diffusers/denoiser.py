"""Batched evaluation of a model's denoiser for noisy samples and captions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import torch
from t2i_core.api.errors import BadModel, FailedRun
from t2i_torch_support.batch import Batches, is_out_of_memory

from .conditions import Heard, capture_arguments, join_arguments
from .latents import find_size
from .likelihood_support import VELOCITIES
from .loaded_pipeline import LoadedPipeline
from .parts import parts
from .schedules import make_schedule

T = TypeVar("T")

CAPTIONS = 64
"""Number of captions whose conditions are cached; those of large text encoders take megabytes."""

_ON_GPU, _ELSEWHERE = 16, 8
"""Initial batch size if the user sets none."""


@dataclass(frozen=True)
class Asking:
    """One evaluation of a denoiser.

    Attributes:
        x: One sample, float64 on the CPU.
        time: Training step; for a flow, the share of noise.
    """

    x: torch.Tensor
    time: float
    caption: str


class Denoiser:
    """The denoiser of a loaded model. Raises BadModel if the model needs more than a text."""

    def __init__(self, loaded: LoadedPipeline, batch_size: int | None) -> None:
        self._stage, self._loaded = loaded.main, loaded
        self.parts = parts(loaded)
        self.schedule = make_schedule(self.parts.scheduler, type(self._stage.pipe).__name__, self._stage.model)
        self.size = find_size(self.parts, self._stage)
        self.batches = Batches(batch_size, _ELSEWHERE if loaded.device.type == "cpu" else _ON_GPU)
        self.calls = 0
        self._heard = lru_cache(CAPTIONS)(self._capture)

    def shape(self, caption: str) -> torch.Size:
        """The shape of a sample."""
        return self._heard(caption).shape

    def ask(self, askings: Iterable[tuple[Asking, T]]) -> Iterator[tuple[T, torch.Tensor]]:
        """Yield, in order, the tag of each question and the denoiser's output, float64 on the CPU.

        Raises:
            FailedRun: A single sample does not fit into memory.
        """
        try:
            for (_, tag), output in self.batches.map(lambda batch: self._outputs([a for a, _ in batch]), askings):
                self.calls += 1
                yield tag, output
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise FailedRun(
                    f"{self._stage.model} on {self._loaded.device}: a single sample does not fit into memory; "
                    "set a smaller size, dtype=float16, or offload=model or sequential"
                ) from error
            raise

    def _capture(self, caption: str) -> Heard:
        heard = capture_arguments(self._stage, self.parts.denoiser, caption, self.size)
        expected = float(self._times([heard.step / self._length_of_flow], heard)[0])
        if abs(expected - float(heard.timestep.flatten()[0])) > 0.01 * max(1.0, abs(expected)):
            raise BadModel(f"{self._stage.model}: {type(self._stage.pipe).__name__} has an unsupported time scale")
        return heard

    @property
    def _length_of_flow(self) -> float:
        """The divisor from the scheduler's time to `Asking.time`."""
        return float(self.schedule.length) if self.schedule.is_flow else 1.0

    def _times(self, times: Sequence[float], heard: Heard) -> torch.Tensor:
        """Return times as the denoiser takes them."""
        told = torch.tensor(times, dtype=torch.float64)
        if self.schedule.is_flow:
            scale, backwards = VELOCITIES[type(self._stage.pipe).__name__]
            own = getattr(self.parts.denoiser.config, "timestep_scale", None) or 1.0
            told = (1 - told if backwards else told) * scale * own
        return told.to(heard.timestep.dtype).to(heard.timestep.device)

    def _outputs(self, batch: list[Asking]) -> list[torch.Tensor]:
        """Evaluate some samples; captions of unequal length get separate batches."""
        alike: dict[Any, list[int]] = defaultdict(list)
        for place, asking in enumerate(batch):
            alike[self._heard(asking.caption).kin].append(place)
        outputs: list[torch.Tensor | None] = [None] * len(batch)
        for places in alike.values():
            for place, output in zip(places, self._run_batch([batch[p] for p in places]), strict=True):
                outputs[place] = output
        return [output for output in outputs if output is not None]

    def _run_batch(self, batch: list[Asking]) -> list[torch.Tensor]:
        heard = [self._heard(asking.caption) for asking in batch]
        first = heard[0]
        # on the CPU, because some devices have no float64
        x: Any = torch.stack([asking.x for asking in batch]).to(first.sample[0].dtype).to(first.sample[0].device)
        if isinstance(first.sample, list):
            x = list(x)
        arguments = {
            **join_arguments([h.further for h in heard]),
            first.sample_name: x,
            first.time_name: self._times([asking.time for asking in batch], first),
        }
        with torch.inference_mode():
            output = self.parts.denoiser(**arguments)[0]
        stacked = torch.stack(output) if isinstance(output, list) else output
        backwards = self.schedule.is_flow and VELOCITIES[type(self._stage.pipe).__name__][1]
        return list((-stacked if backwards else stacked).cpu().double())
