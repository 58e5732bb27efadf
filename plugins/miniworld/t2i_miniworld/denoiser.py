"""The denoisers of `mini` and `mini-tiny`: small UNet2DConditionModels over the autoencoder's latents."""

from __future__ import annotations

from diffusers import DDIMScheduler, UNet2DConditionModel

from t2i_miniworld.autoencoder import LATENTS

#: Channels at 16 x 16, 8 x 8 and 4 x 4.
SIZES: dict[str, tuple[int, ...]] = {"mini": (48, 96, 160), "mini-tiny": (32, 48, 80)}
_HEAD = 32


def build(channels: tuple[int, ...], text_width: int) -> UNet2DConditionModel:
    """Make one with random weights, which looks at the text at all scales but the finest, heads of 32 numbers.

    At the finest it would take half of the time of the whole.
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
        # diffusers reads this, by an old slip in its naming, as the number of heads.
        attention_head_dim=tuple(max(1, width // _HEAD) for width in channels),
    )


def scheduler() -> DDIMScheduler:
    """Stable Diffusion's noise schedule; the velocity is predicted, and steps go down from pure noise."""
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
