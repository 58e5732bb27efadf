"""Pack `mini` as a diffusers folder: ``python pack_mini.py AUTOENCODER TEXT DENOISER OUT``.

AUTOENCODER and TEXT are training folders or packed pipelines. OUT has safetensors in half precision, and
`t2i eval --model diffusers:OUT` loads it. --snapshot N packs the denoiser's weights after N steps, as in
`mini-early`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import denoiser
import torch
import train_text
from diffusers import StableDiffusionPipeline
from latents import digest, trained
from t2i_torch_support.training import load_average


def pack(autoencoder: Path, text: Path, denoising: Path, out: Path, snapshot: int | None = None) -> Path:
    """Write the folder and return it.

    Raises:
        SystemExit: If the denoiser was trained with another autoencoder or text encoder.
    """
    settings = json.loads((denoising / "settings.json").read_text())
    vae = trained(autoencoder)
    tokenizer, encoder = train_text.encoder_of(text)
    for name, part, folder in (("autoencoder", vae, autoencoder), ("text", encoder, text)):
        if settings[name] != digest(part):
            raise SystemExit(f"{denoising} was trained with other weights than those of {folder}")
    unet = denoiser.build(tuple(settings["channels"]), encoder.config.hidden_size)
    load_average(unet, denoising, snapshot)
    vae.register_to_config(scaling_factor=settings["scaling"])
    pipeline = StableDiffusionPipeline(
        vae=vae,
        text_encoder=encoder,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=denoiser.scheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.to(dtype=torch.float16)
    pipeline.save_pretrained(out, safe_serialization=True)
    return out


def main() -> None:
    """Read the command line, pack, and print the size."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("autoencoder", "text", "denoiser", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--snapshot", type=int)
    given = parser.parse_args()
    out = pack(given.autoencoder, given.text, given.denoiser, given.out, given.snapshot)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
