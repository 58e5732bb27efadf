"""Autoencoder of `mini`: a small AutoencoderKL from 128 x 128 pixels to 16 x 16 latents with 4 channels."""

from __future__ import annotations

import torch
from diffusers import AutoencoderKL
from diffusers.models.downsampling import Downsample2D
from diffusers.models.resnet import ResnetBlock2D
from diffusers.models.upsampling import Upsample2D
from torch import Tensor, nn

LATENTS, FACTOR = 4, 8

#: Mean and standard deviation of the pictures' values, which lie between -1 and 1.
_MEAN, _SPREAD = 0.2, 0.3
#: initial log-variance of the latents
_SURE = -3.0


def build(channels: tuple[int, ...] = (24, 32, 64, 96), scaling: float = 1.0) -> AutoencoderKL:
    """Return an autoencoder with random weights; ``scaling`` scales its latents to a standard deviation of 1."""
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * len(channels),
        up_block_types=("UpDecoderBlock2D",) * len(channels),
        block_out_channels=channels,
        layers_per_block=1,
        latent_channels=LATENTS,
        norm_num_groups=8,
        # without attention, training on parts of pictures works as well as on whole ones
        mid_block_add_attention=False,
        sample_size=128,
        scaling_factor=scaling,
    )


@torch.no_grad()
def begin_with_colours(network: AutoencoderKL) -> None:
    """Set initial weights so that three latents are the mean red, green and blue of 8 x 8 pixels; one is free.

    With random weights a network of this size learns grey shapes first and stays there for long, because grey is
    the mean of the paints. Here residual branches start at zero, and the first six channels carry each colour and
    its negative, because silu(x) - silu(-x) = x. Norms remove a picture's mean and spread; training has to correct
    that.
    """
    for part in network.modules():
        if isinstance(part, ResnetBlock2D):
            part.conv2.weight.zero_()
            part.conv2.bias.zero_()
            if part.conv_shortcut is not None:
                _carry(part.conv_shortcut, _middle(part.conv_shortcut))
        elif isinstance(part, Upsample2D):
            _carry(part.conv, _middle(part.conv))
        elif isinstance(part, Downsample2D):
            mean = torch.zeros(3, 3)
            mean[:2, :2] = 0.25
            _carry(part.conv, mean)
    encoder, decoder = network.encoder, network.decoder
    for first in (encoder.conv_in, decoder.conv_in):
        first.weight[:6] = 0
        first.bias[:6] = 0
        for colour in range(3):
            first.weight[colour, colour, 1, 1] = 1
            first.weight[colour + 3, colour, 1, 1] = -1
    for last, scale in ((encoder.conv_out, 1.0), (decoder.conv_out, _SPREAD)):
        last.weight[:3] = 0
        last.bias[:3] = 0
        for colour in range(3):
            last.weight[colour, colour, 1, 1] = scale
            last.weight[colour, colour + 3, 1, 1] = -scale
    encoder.conv_out.weight[LATENTS:] = 0
    encoder.conv_out.bias[LATENTS:] = _SURE
    decoder.conv_out.bias[:] = _MEAN
    for mixing in (network.quant_conv, network.post_quant_conv):
        mixing.weight.copy_(torch.eye(len(mixing.weight))[:, :, None, None])
        mixing.bias.zero_()


def _carry(conv: nn.Conv2d, kernel: Tensor) -> None:
    """Set weights that pass on the first six channels, each to itself."""
    assert conv.bias is not None
    conv.weight[:6] = 0
    conv.bias[:6] = 0
    for channel in range(6):
        conv.weight[channel, channel] = kernel


def _middle(conv: nn.Conv2d) -> Tensor:
    kernel = torch.zeros(conv.kernel_size)
    kernel[conv.kernel_size[0] // 2, conv.kernel_size[1] // 2] = 1
    return kernel
