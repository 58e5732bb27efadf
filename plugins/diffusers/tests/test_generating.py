"""Batches, memory, failures, settings."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from t2i_core.api import Failure, Generated, GeneratorInfo, ImageRequest, Prompt, PromptSourceInfo, Setup
from t2i_core.api.errors import BadOption, FailedRun
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import StaticResolver


def _short_of_memory(pipe: Any, largest: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a pipeline's denoiser hold a limited number of images at once; return the batches that it gets."""
    asked: list[int] = []
    forward = pipe.unet.forward

    def call(sample: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(len(sample) // 2)
        if asked[-1] > largest:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(sample, *args, **kwargs)

    monkeypatch.setattr(pipe.unet, "forward", call)
    return asked


def test_a_batch_that_does_not_fit_is_halved(model: Any, draw: Any, requests: Any, monkeypatch: Any) -> None:
    expected = draw(model(batch_size=2), requests)
    loaded = model(batch_size=7)
    asked = _short_of_memory(loaded.loaded.main.pipe, 2, monkeypatch)
    answers = draw(loaded, requests)
    for a, b in zip(answers, expected, strict=True):
        assert np.abs(a.image.astype(int) - b.image).max() <= 2
    assert asked[0] == 7
    assert asked[1] == 3
    assert max(asked[2:]) == 1, "the smaller batch is kept"
    assert loaded.settings["batch_size"] == {"asked": 7, "used": 1, "halved_for_memory": 2}


def test_where_not_even_one_fits_it_says_what_helps(
    model: Any, draw: Any, requests: Any, monkeypatch: Any
) -> None:
    loaded = model(batch_size=2)
    _short_of_memory(loaded.loaded.main.pipe, 0, monkeypatch)
    with pytest.raises(FailedRun, match=r"a single image does not fit into memory; .*offload=model"):
        draw(loaded, requests)


def test_another_error_is_not_a_lack_of_memory(model: Any, draw: Any, requests: Any, monkeypatch: Any) -> None:
    loaded = model(batch_size=2)

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(loaded.loaded.main.pipe.unet, "forward", broken)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        draw(loaded, requests)
    assert loaded.settings["batch_size"]["halved_for_memory"] == 0


def test_requests_are_taken_batch_by_batch(model: Any, requests: Any) -> None:
    taken: list[int] = []

    def lazily() -> Any:
        for i in range(1000):
            taken.append(i)
            yield requests[i % 7]

    assert len(list(islice(model(batch_size=2).generate(lazily()), 3))) == 3
    assert len(taken) == 4


def test_decoded_nonsense_is_a_failure(model: Any, draw: Any, requests: Any, monkeypatch: Any) -> None:
    loaded = model(batch_size=3)
    decode = loaded.loaded.main.pipe.vae.decode

    def broken(latents: Any, *args: Any, **kwargs: Any) -> Any:
        decoded = decode(latents, *args, **kwargs)
        decoded[0][1] = float("nan")
        return decoded

    monkeypatch.setattr(loaded.loaded.main.pipe.vae, "decode", broken)
    first, second, third = draw(loaded, requests[:3])
    assert isinstance(first, Generated)
    assert isinstance(third, Generated)
    assert isinstance(second, Failure)
    assert second.reason == (
        "decoded to pixels that are not numbers in float32; the checkpoint is probably damaged"
    )
    half = replace(loaded.loaded, dtype="float16")
    assert half.not_numbers == "not numbers in float16; try another dtype (float32)"
    assert not second.final


@pytest.mark.parametrize("blanks", [True, False])
def test_images_blanked_by_the_safety_filter_fail_for_good(
    blanks: bool, tiny: Any, draw: Any, requests: Any, tmp_path: Any
) -> None:
    from t2i_diffusers.generator import Diffusers
    from t2i_diffusers.options import DiffusersOptions

    folder = tiny.save(lambda: tiny.stable_diffusion(tiny.safety_checker(blanks)), tmp_path / "model")

    def answers(**options: Any) -> list[Any]:
        return draw(Diffusers(Setup(str(folder), DiffusersOptions(steps=1, **options), "cpu", 2)), requests[:2])

    kept = answers()
    if blanks:
        assert all(isinstance(a, Failure) and a.final and "safety filter" in a.reason for a in kept)
    else:
        assert all(isinstance(a, Generated) for a in kept)
    assert all(isinstance(a, Generated) for a in answers(safety=False))


class _Lines(logging.Handler):
    """Keeps what would go to standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What diffusers and transformers log."""
    handler = _Lines()
    for name in ("diffusers", "transformers"):
        logging.getLogger(name).addHandler(handler)
    yield handler.lines
    for name in ("diffusers", "transformers"):
        logging.getLogger(name).removeHandler(handler)


def test_libraries_do_not_repeat_warnings_of_images(
    tiny: Any, draw: Any, tmp_path: Path, lines: list[str]
) -> None:
    from t2i_diffusers.generator import Diffusers
    from t2i_diffusers.options import DiffusersOptions

    folder = tiny.save(lambda: tiny.stable_diffusion(tiny.safety_checker(True)), tmp_path / "model")
    model = Diffusers(Setup(str(folder), DiffusersOptions(steps=1), "cpu", 1))
    request = ImageRequest(Prompt("p", "a photo of a cat " * 30), 0, 0)
    assert "safety filter" in draw(model, [request])[0].reason
    assert lines == []
    pipe = model.loaded.main.pipe
    pipe.tokenizer.deprecation_warnings.clear()  # which makes it say each line once
    pipe("a photo of a cat " * 30, num_inference_steps=1)
    said = "\n".join(lines)
    for line in ("Token indices sequence length", "part of your input was truncated", "A black image will be"):
        assert line in said  # for who calls it himself
    lines.clear()
    pipe.tokenizer.deprecation_warnings.clear()
    draw(model, [request])
    logging.getLogger(type(pipe).__module__).warning("something else")
    assert lines == ["something else"]


def test_half_precision_on_a_cpu_gives_no_warnings(model: Any, draw: Any, requests: Any, lines: list[str]) -> None:
    loaded = model(steps=1, dtype="float16")
    assert isinstance(draw(loaded, requests[:1])[0], Generated)
    loaded.close()
    assert lines == []


def test_attend_and_excite_draws_without_a_warning(
    model: Any, draw: Any, requests: Any, recwarn: pytest.WarningsRecorder
) -> None:
    """torch says of a call that this pipeline makes that it will change: once, unless told to say so always."""
    loaded = model("StableDiffusionAttendAndExcitePipeline")
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"^torch\.meshgrid: "):
            torch.meshgrid([torch.arange(2)])
        recwarn.clear()
        assert isinstance(draw(loaded, requests[:1])[0], Generated)
    finally:
        torch.set_warn_always(before)
    assert not [warning for warning in recwarn if "meshgrid" in str(warning.message)]


def test_a_pipeline_that_draws_without_generator_works_alone(model: Any, draw: Any, requests: Any) -> None:
    # LDM's pipeline hands its scheduler no generator, so that the noise of its steps is anybody's
    stochastic = {"call": {"eta": 1.0}}
    together = model("LDMTextToImagePipeline", 7, **stochastic)
    answers = draw(together, requests)
    backwards = draw(model("LDMTextToImagePipeline", 1, **stochastic), requests[::-1])[::-1]
    for a, b in zip(answers, backwards, strict=True):
        assert np.array_equal(a.image, b.image)
    assert together.settings["batch_size"] == {"asked": 7, "used": 1, "halved_for_memory": 0}


@pytest.mark.long
@pytest.mark.parametrize("scheduler", ["DDPMScheduler", "EulerAncestralDiscreteScheduler"])
def test_noise_of_steps_is_each_images_own(scheduler: str, model: Any, draw: Any, requests: Any) -> None:
    loaded = model("StableDiffusionPipeline", 7, scheduler=scheduler, steps=3)
    together = draw(loaded, requests)
    loaded.batch_size = 1
    alone = draw(loaded, requests[::-1])[::-1]
    for a, b in zip(together, alone, strict=True):
        assert np.abs(a.image.astype(int) - b.image).max() <= 2
    assert not loaded._one_by_one


def test_options_reach_the_call_and_the_settings(model: Any, draw: Any, requests: Any, monkeypatch: Any) -> None:
    loaded = model(steps=3, guidance=2.5, scheduler="DDIMScheduler", negative_prompt="rain", call={"eta": 0.5})
    seen: dict[str, Any] = {}
    run = type(loaded.loaded.main.pipe).__call__

    @wraps(run)
    def call(pipe: Any, **arguments: Any) -> Any:
        seen.update(arguments)
        return run(pipe, **arguments)

    monkeypatch.setattr(type(loaded.loaded.main.pipe), "__call__", call)
    draw(loaded, requests[:2])
    expected = {"num_inference_steps": 3, "guidance_scale": 2.5, "negative_prompt": ["rain", "rain"], "eta": 0.5}
    assert {name: seen[name] for name in expected} == expected
    settings = loaded.settings
    assert settings["steps"] == 3
    assert settings["guidance"] == 2.5
    assert settings["scheduler"] == {"scheduler": "DDIMScheduler"}
    assert settings["precision"] == "float32"
    assert settings["call"]["eta"] == 0.5
    assert json.loads(json.dumps(settings)) == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"call": {"guidance_scal": 3}}, "takes no guidance_scal; choose one of guidance"),
        ({"scheduler": "DDIMSchedular"}, "no scheduler 'DDIMSchedular': did you mean 'DDIMScheduler'"),
        ({"scheduler_options": {"timestep": "trailing"}}, "PNDMScheduler has no timestep"),
    ],
)
def test_options_that_a_pipeline_does_not_take(options: Any, message: str, model: Any) -> None:
    with pytest.raises(BadOption, match=message):
        model(**options)


class _Slow:
    """Stands for a pipeline that takes 100 ms an image once it has read the prompts."""

    def __init__(self, tokenizer: Any) -> None:
        self.components = {"tokenizer": tokenizer}
        ramp = np.linspace(0.2, 0.8, 512, dtype=np.float32)[:, None, None]
        grain = np.random.default_rng(0).normal(0, 0.02, (2, 512, 512, 3)).astype(np.float32)
        self.images = ramp + grain
        self.called: list[float] = []

    def __call__(
        self, prompt: Any = None, num_inference_steps: int = 1, generator: Any = None, output_type: str = "np"
    ) -> Any:
        from diffusers.pipelines.stable_diffusion import StableDiffusionPipelineOutput

        self.called.append(time.perf_counter())
        self.components["tokenizer"](prompt, truncation=True, max_length=77, padding="max_length")
        time.sleep(0.1 * len(prompt))
        return StableDiffusionPipelineOutput(images=self.images, nsfw_content_detected=None)

    def to(self, *_: Any, **__: Any) -> None:
        """It is nowhere."""

    remove_all_hooks = to


@pytest.mark.parametrize("most", [1.3, pytest.param(1.05, marks=pytest.mark.slow, id="of a quiet machine")])
@pytest.mark.long
def test_a_run_costs_little_beside_the_pipeline(
    most: float, model: Any, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 100 ms an image, a run takes at most 5 % more than a loop that draws and writes the same PNG files.

    From the first call of the pipeline to the last, so that all that an image costs is in it (tokens counted,
    kept under its hash, noted), and what a run costs once is not. The shortest of interleaved runs counts: other
    work on the machine makes runs longer, never shorter. The default tests allow a machine with little time left.
    """
    prompts = [Prompt(str(i), f"a photo of a cat, number {i}") for i in range(2)]
    seeds = tuple(range(6))
    loaded = model(batch_size=2)
    heard = _Slow(loaded.loaded.main.pipe.components["tokenizer"])
    stage = replace(loaded.loaded.main, pipe=heard, call={"num_inference_steps": 1})
    loaded.loaded = replace(loaded.loaded, stages=(stage,))
    plain = _Slow(tiny.clip_tokenizer())
    resolver = StaticResolver(
        GeneratorInfo(name="slow", summary="Slow.", create=lambda setup: loaded, code=()),
        PromptSourceInfo(name="two", summary="Two.", prompts=lambda setup: prompts),
    )

    def bare(number: int) -> None:
        cells = [(prompt.text, seed) for prompt in prompts for seed in seeds]
        for two in zip(cells[::2], cells[1::2], strict=True):
            generators = [torch.Generator().manual_seed(seed) for _, seed in two]
            output = plain([text for text, _ in two], num_inference_steps=1, generator=generators)
            for image, (text, seed) in zip(output.images, two, strict=True):
                pixels = Pillow.fromarray((image * 255).round().astype("uint8"))
                pixels.save(tmp_path / f"{number} {text} {seed}.png", compress_level=1)  # as core does

    def ours(number: int) -> None:
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / f"cache {number}"))
        models, out = (ModelRequest("slow"),), tmp_path / f"run {number}"
        run = run_plan(make_plan(Request((), models, ("two",), seeds=seeds, out=out), resolver))
        assert (run.made.images, run.failed) == (12, None)

    def seconds(work: Callable[[int], None], pipe: _Slow, number: int) -> float:
        pipe.called.clear()
        work(number)
        assert len(pipe.called) == 6
        return pipe.called[-1] - pipe.called[0]

    pairs = [(seconds(ours, heard, number), seconds(bare, plain, number)) for number in range(3)]
    ratio = min(ours for ours, _ in pairs) / min(bare for _, bare in pairs)
    print(f"overhead {ratio - 1:.1%}, of", *(f"{ours / bare - 1:.1%}" for ours, bare in pairs))
    assert ratio <= most, pairs
