"""The autoencoder of `mini`: a small AutoencoderKL, 128 x 128 pixels to 16 x 16 latents of 4 channels."""

from __future__ import annotations

from diffusers import AutoencoderKL

LATENTS, FACTOR = 4, 8


def build(channels: tuple[int, ...] = (24, 32, 64, 96), scaling: float = 1.0) -> AutoencoderKL:
    """Make one with random weights; ``scaling`` brings its latents to a standard deviation of 1."""
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        block_out_channels=channels,
        layers_per_block=1,
        latent_channels=LATENTS,
        norm_num_groups=8,
        # Without attention a part of a picture is as good to train on as the whole.
        mid_block_add_attention=False,
        sample_size=128,
        scaling_factor=scaling,
    )
