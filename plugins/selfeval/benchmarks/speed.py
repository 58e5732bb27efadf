"""Time per sample: naive, encoded once, in batches, and with elimination of captions.

    python plugins/selfeval/benchmarks/speed.py                      # `mini`; run it on a quiet machine
    python plugins/selfeval/benchmarks/speed.py FOLDER --trials 2 --steps 25 --captions 4 --device cuda

FOLDER is a saved Stable Diffusion pipeline. The naive variant encodes text and image again for every call of the
denoiser and calls it with one sample at a time (but computes x_t once for all captions). All variants compute the
same terms, in turn and in one process. The benchmark fails if terms differ by more than 1e-4 relative, or if
batches are not at least 5 times as fast as the naive variant in wall-clock time (`--at-least 0` only measures).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from t2i_core.api import Query, Setup
from t2i_core.api.image import Image as Kept
from t2i_core.api.image import load_image
from t2i_diffusers.arithmetic import draw_noise, forward, log_normal, mean_before, predict_image
from t2i_diffusers.generator import Diffusers
from t2i_diffusers.latents import fit_image
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.schedules import make_schedule, respace

MINI = Path(__file__).parents[2] / "miniworld" / "t2i_miniworld" / "weights" / "mini"
CAPTIONS = ("a red ball left of a blue cube", "a blue ball left of a red cube", "two red balls", "a green dog")


NAIVE, BATCHED = "naive", "encoded once, in batches"


def picture(folder: Path, number: int) -> Kept:
    """Write and return an image of smooth colours and noise."""
    rng = np.random.default_rng(number)
    ramp = np.linspace(0, 255, 128)[:, None, None] * rng.uniform(0.3, 1, 3)
    path = folder / f"{number}.png"
    Image.fromarray(np.clip(ramp + rng.normal(0, 10, (128, 128, 3)), 0, 255).astype(np.uint8)).save(path)
    return load_image(path)


@torch.inference_mode()
def naive(pipe, image: Kept, captions: tuple[str, ...], trials: int, steps: int) -> np.ndarray:
    """Return log p(x_t-1 | x_t, caption) by the shortest correct code: shape (trials, steps, captions)."""
    schedule = make_schedule(pipe.scheduler, type(pipe).__name__, "it")
    chain, device, dtype = respace(schedule.betas, steps), pipe.unet.device, pipe.unet.dtype
    side = pipe.unet.config.sample_size * pipe.vae_scale_factor
    found = np.empty((trials, steps, len(captions)))
    for n in range(trials):
        xs = None
        for i in range(steps):
            for k, caption in enumerate(captions):
                pixels = torch.from_numpy(fit_image(image.pil(), (side, side), "crop") / 127.5 - 1).permute(
                    2, 0, 1
                )
                latent = pipe.vae.encode(pixels[None].to(device, dtype)).latent_dist.mean
                x0 = (latent.float() * pipe.vae.config.scaling_factor).cpu().double()[0]
                ids = pipe.tokenizer(
                    caption,
                    padding="max_length",
                    max_length=pipe.tokenizer.model_max_length,
                    truncation=True,
                    return_tensors="pt",
                ).input_ids
                text = pipe.text_encoder(ids.to(device))[0]
                if xs is None:
                    xs = forward(x0, chain, draw_noise(0, n, steps, x0.shape), "step")
                x, signal = xs[i + 1], chain.signal[i]
                output = pipe.unet(x[None].to(device, dtype), chain.timesteps[i].to(device), text).sample
                seen = predict_image(x, output[0].cpu().double(), signal, schedule.prediction)
                found[n, i, k] = log_normal(xs[i], mean_before(x, seen, chain, i), chain.posterior[i])
    return found


def query(model: Diffusers, image: Kept, captions: tuple[str, ...], **params) -> np.ndarray:
    """Return the terms that the generator computes."""
    ((_, answer),) = model.observe("likelihood", [Query((image,), captions, params)])
    return answer.terms["log_p"]


def main() -> None:
    """Parse the command line, measure all variants in turn, and print the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=MINI)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--captions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-least", type=float, default=5.0, help="minimum speed-up over the naive variant")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--device")
    parser.add_argument("--dtype", default="auto")
    given = parser.parse_args()
    captions, size = CAPTIONS[: given.captions], {"trials": given.trials, "steps": given.steps}

    def model(batch_size: int | None) -> Diffusers:
        return Diffusers(Setup(str(given.folder), DiffusersOptions(dtype=given.dtype), given.device, batch_size))

    single, batched = model(1), model(given.batch_size)
    pipe = batched.loaded.main.pipe
    ways: dict[str, Callable[[Kept], np.ndarray]] = {
        NAIVE: lambda image: naive(pipe, image, captions, **size),
        "encoded once, one call at a time": lambda image: query(single, image, captions, **size),
        BATCHED: lambda image: query(batched, image, captions, **size),
        "the same, elimination at 5 %": lambda image: query(batched, image, captions, **size, error_rate=0.05),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.rounds + 1):
            image, found = picture(Path(folder), number), {}
            for name, way in ways.items():
                begin = time.perf_counter(), time.process_time()
                found[name] = way(image)
                if number:  # the first round is a warm-up
                    times[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
            whole = [found[name] for name in list(ways)[:3]]
            gap = max(float(np.abs(other / whole[0] - 1).max()) for other in whole[1:])
            if gap > 1e-4:
                raise SystemExit(f"terms differ by {gap:.1e} relative")
    calls = given.trials * given.steps * len(captions)
    print(f"{calls} denoiser calls per sample, {torch.get_num_threads()} threads, {pipe.unet.device}")
    print(f"{'':36} wall-clock seconds, speed-up; processor seconds, speed-up")
    medians = {name: [statistics.median(of) for of in zip(*own, strict=True)] for name, own in times.items()}
    first = medians[NAIVE]
    for name, (wall, own) in medians.items():
        print(f"{name:36} {wall:8.3f} {first[0] / wall:6.1f}  {own:8.3f} {first[1] / own:6.1f}")
    times_as_fast = first[0] / medians[BATCHED][0]
    if times_as_fast < given.at_least:
        raise SystemExit(f"batches must be at least {given.at_least:g} times as fast (got {times_as_fast:.1f})")


if __name__ == "__main__":
    main()
