"""Fine-tune a pipeline's denoiser on images with texts: ``python tune_denoiser.py PIPELINE IMAGES... OUT``.

PIPELINE is a packed pipeline (`pack_mini`), such as `weights/mini`; --denoiser names another denoiser for it.
IMAGES are folders of images with a `metadata.jsonl` (`file_name`, `text`), as `t2i generate` writes them.
Autoencoder and text encoder do not change. OUT/model is the pipeline with the tuned denoiser, in half precision.
The same command resumes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import denoiser
import numpy as np
import torch
from diffusers import StableDiffusionPipeline, UNet2DConditionModel
from latents import digest, latents_of
from numpy.typing import NDArray
from t2i_core.api.image import load_image
from t2i_torch_support.training import Course, train
from torch import Tensor
from train_denoiser import Noising, loss_of, states

#: Settings of the noise schedule on which the loss depends; `loss_of` knows only the mini models' schedule.
_SCHEDULE = ("num_train_timesteps", "beta_start", "beta_end", "beta_schedule", "prediction_type")
#: Images that are read and encoded together.
_TOGETHER = 100


def load_pipeline(folder: Path, denoising: Path | None = None) -> StableDiffusionPipeline:
    """Load a pipeline in single precision, with another denoiser if ``denoising`` is one's folder.

    Raises:
        SystemExit: If its noise schedule is not the one of the mini models.
    """
    other = {} if denoising is None else {"unet": UNet2DConditionModel.from_pretrained(denoising)}
    pipeline: StableDiffusionPipeline = StableDiffusionPipeline.from_pretrained(folder, **other)
    pipeline.to(dtype=torch.float32)
    wanted = denoiser.scheduler().config
    different = [name for name in _SCHEDULE if pipeline.scheduler.config[name] != wanted[name]]
    if different:
        raise SystemExit(f"{folder}: another noise schedule than that of `mini` ({', '.join(different)})")
    return pipeline


def read_texts(folder: Path) -> tuple[list[Path], list[str]]:
    """Read the metadata of a folder: paths of images, and the text of each.

    Raises:
        SystemExit: If the folder has no metadata.
    """
    path = folder / "metadata.jsonl"
    if not path.exists():
        raise SystemExit(f"there is no file {path}; create the folder with t2i generate")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [folder / row["file_name"] for row in rows], [row["text"] for row in rows]


def encode(pipeline: StableDiffusionPipeline, paths: list[Path]) -> Tensor:
    """Return the scaled latents (N, 4, S / 8, S / 8) of images."""
    parts: list[NDArray[np.float16]] = []
    for start in range(0, len(paths), _TOGETHER):
        images = np.stack([load_image(path).pixels for path in paths[start : start + _TOGETHER]])
        parts.append(latents_of(pipeline.vae, images))
    factor: float = pipeline.vae.config.scaling_factor
    return torch.from_numpy(np.concatenate(parts)).float() * factor


def tune(pipeline: StableDiffusionPipeline, folders: list[Path], out: Path, course: Course) -> Path:
    """Train the pipeline's denoiser, write OUT/model, and return its path."""
    paths, texts = [], list[str]()
    for folder in folders:
        its_paths, its_texts = read_texts(folder)
        paths += its_paths
        texts += its_texts
    noising, before = Noising(), digest(pipeline.unet)
    clean = encode(pipeline, paths)
    different = sorted({"", *texts})
    numbers = {text: number for number, text in enumerate(different)}
    states_of = torch.cat(
        [
            states(pipeline.tokenizer, pipeline.text_encoder, different[start : start + _TOGETHER])
            for start in range(0, len(different), _TOGETHER)
        ]
    )
    network = pipeline.unet.train().requires_grad_(True).to(memory_format=torch.channels_last)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        chosen = torch.randint(len(clean), (course.batch,), generator=random)
        empty = (torch.rand(course.batch, generator=random) < noising.empty).tolist()
        told = [numbers["" if no else texts[index]] for index, no in zip(chosen.tolist(), empty, strict=True)]
        images = clean[chosen].to(memory_format=torch.channels_last)
        times = torch.randint(1000, (course.batch,), generator=random)
        noise = torch.randn(images.shape, generator=random)
        return {"loss": loss_of(network, images, states_of[told], times, noise, noising)}

    about = {"denoiser": before, "images": len(paths), "texts": len(different) - 1, **asdict(noising)}
    pipeline.unet = train(network, batch, course, out, about)
    pipeline.unet.to(memory_format=torch.contiguous_format)
    pipeline.to(dtype=torch.float16)
    pipeline.save_pretrained(out / "model", safe_serialization=True)
    return out / "model"


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("images", type=Path, nargs="+")
    parser.add_argument("out", type=Path)
    parser.add_argument("--denoiser", type=Path, help="folder of the denoiser to start from")
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    course = Course(given.steps, given.batch, given.rate, given.seed, warm=50, keep=0.999)
    print(tune(load_pipeline(given.pipeline, given.denoiser), given.images, given.out, course))


if __name__ == "__main__":
    main()
