"""Images as input of a denoiser: pixels of -1 to 1, or the scaled mean of the autoencoder's posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from t2i_core.api.errors import BadModel

from .loaded_pipeline import PipelineStage
from .parts import Parts

_DEFAULT = 1024
_UNSCALED = frozenset({"Kandinsky3Pipeline"})
"""Classes that decode latents unscaled, regardless of the factor in the autoencoder's configuration."""


def find_size(parts: Parts, stage: PipelineStage) -> tuple[int, int]:
    """Return the width and height of a model's images under its options."""
    config = parts.denoiser.config
    side = getattr(parts.pipe, "default_sample_size", None) or getattr(config, "sample_size", None)
    factor = 1 if parts.autoencoder is None else getattr(parts.pipe, "vae_scale_factor", 8)
    sides = list(side) if isinstance(side, list | tuple) else [side, side]  # height first

    def pixels(name: str, place: int) -> int:
        default = stage.arguments[name].default if name in stage.arguments else None
        given = stage.call.get(name) or default
        own = sides[place]
        return int(given or (own * factor if own else _DEFAULT))

    return pixels("width", 1), pixels("height", 0)


def fit_image(image: Image.Image, size: tuple[int, int], fit: str) -> NDArray[np.uint8]:
    """Return an image at the model's size, uint8 (height, width, 3).

    `fit` is `crop`, which keeps the aspect ratio and cuts two sides, or `stretch`, which keeps all content.
    """
    image = image.convert("RGB")
    if image.size != size:
        bicubic = Image.Resampling.BICUBIC
        image = ImageOps.fit(image, size, bicubic) if fit == "crop" else image.resize(size, bicubic)
    return np.asarray(image)


def encode(parts: Parts, pixels: NDArray[np.uint8], device: torch.device) -> torch.Tensor:
    """Return an image as noise-free input of the denoiser, float64 on the CPU.

    Raises:
        BadModel: The autoencoder returns neither a posterior nor a latent.
    """
    x = torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
    if parts.autoencoder is None:
        return x[0].double()
    with torch.inference_mode():
        z = _encode(parts.autoencoder, x, device)
        return _lay_out(parts.pipe, _scale(parts.pipe, parts.autoencoder, z)).detach().cpu().double()


def _encode(autoencoder: Any, x: torch.Tensor, device: torch.device) -> torch.Tensor:
    usual = autoencoder.dtype
    upcast = bool(getattr(autoencoder.config, "force_upcast", False)) and usual == torch.float16
    if upcast:  # SDXL's autoencoder overflows in half precision
        autoencoder.to(torch.float32)
    video = type(autoencoder).__name__ == "AutoencoderKLQwenImage"
    try:
        encoded = autoencoder.encode((x[:, :, None] if video else x).to(device, autoencoder.dtype))
    finally:
        if upcast:
            autoencoder.to(usual)
    if "latent_dist" in encoded:
        z: torch.Tensor = encoded.latent_dist.mean
    elif "latents" in encoded or "latent" in encoded:
        z = encoded["latents" if "latents" in encoded else "latent"]
    else:
        raise BadModel(f"{type(autoencoder).__name__}: its encoding has no latents")
    return (z[:, :, 0] if video else z).float()


def _scale(pipe: Any, autoencoder: Any, z: torch.Tensor) -> torch.Tensor:
    config = autoencoder.config
    factor = 1.0 if type(pipe).__name__ in _UNSCALED else getattr(config, "scaling_factor", None) or 1.0
    mean, std = getattr(config, "latents_mean", None), getattr(config, "latents_std", None)
    if mean is not None and std is not None:
        mean, std = (torch.tensor(v, device=z.device, dtype=z.dtype).view(1, -1, 1, 1) for v in (mean, std))
        return (z - mean) * factor / std
    return (z - (getattr(config, "shift_factor", None) or 0.0)) * factor


def _lay_out(pipe: Any, z: torch.Tensor) -> torch.Tensor:
    """Return one image's latents in the layout of its denoiser, without the batch axis."""
    name = type(pipe).__name__
    if name.startswith("Flux2"):
        z = pipe._patchify_latents(z)
        bn, epsilon = pipe.vae.bn, pipe.vae.config.batch_norm_eps
        mean, variance = (v.view(1, -1, 1, 1).to(z.device, z.dtype) for v in (bn.running_mean, bn.running_var))
        return pipe._pack_latents((z - mean) / torch.sqrt(variance + epsilon))[0]
    if name in ("FluxPipeline", "QwenImagePipeline"):
        return pipe._pack_latents(z.contiguous(), 1, *z.shape[1:])[0]
    return z[0][:, None] if name == "ZImagePipeline" else z[0]
