"""Denoisers of `mini` and `mini-tiny`: small UNet2DConditionModels on the autoencoder's latents."""

from __future__ import annotations

from autoencoder import LATENTS
from diffusers import DDIMScheduler, UNet2DConditionModel

#: Channels at 16 x 16, 8 x 8 and 4 x 4.
SIZES: dict[str, tuple[int, ...]] = {"mini": (48, 96, 160), "mini-tiny": (32, 48, 80)}
_HEAD = 32


def build(channels: tuple[int, ...], text_width: int) -> UNet2DConditionModel:
    """Return a denoiser with random weights and attention heads of 32 dimensions.

    It attends to the text at all scales except the finest, where attention would take half of the total time.
    """
    coarser = len(channels) - 1
    return UNet2DConditionModel(
        sample_size=16,
        in_channels=LATENTS,
        out_channels=LATENTS,
        down_block_types=("DownBlock2D", *("CrossAttnDownBlock2D",) * coarser),
        up_block_types=(*("CrossAttnUpBlock2D",) * coarser, "UpBlock2D"),
        block_out_channels=channels,
        layers_per_block=1,
        norm_num_groups=16,
        cross_attention_dim=text_width,
        # despite its name, diffusers reads this as the number of heads
        attention_head_dim=tuple(max(1, width // _HEAD) for width in channels),
    )


def scheduler() -> DDIMScheduler:
    """Return Stable Diffusion's noise schedule with velocity prediction; steps start from pure noise."""
    return DDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type="v_prediction",
        clip_sample=False,
        steps_offset=1,
        set_alpha_to_one=False,
        timestep_spacing="trailing",
    )
