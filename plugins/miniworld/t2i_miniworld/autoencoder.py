"""The autoencoder of `mini`: a small AutoencoderKL, 128 x 128 pixels to 16 x 16 latents of 4 channels."""

from __future__ import annotations

import torch
from diffusers import AutoencoderKL
from diffusers.models.downsampling import Downsample2D
from diffusers.models.resnet import ResnetBlock2D
from diffusers.models.upsampling import Upsample2D
from torch import Tensor, nn

LATENTS, FACTOR = 4, 8

#: Mean and spread of the pictures' numbers, in -1 to 1.
_MEAN, _SPREAD = 0.2, 0.3
#: log-variance of latents at first
_SURE = -3.0


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


@torch.no_grad()
def begin_with_colours(network: AutoencoderKL) -> None:
    """Set first weights by which the latents are the mean red, green and blue of each 8 x 8 pixels, and one free.

    From random ones a network of this size finds shapes in grey and stays there long: paints differ without order,
    and grey is their middle. Here residual branches begin at nothing, and the first six channels carry each colour
    and its negative, for silu(x) - silu(-x) = x. Norms take a picture's own mean and spread from it; that is left
    to be learnt.
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
    """Hand the first six channels on, each for itself."""
    conv.weight[:6] = 0
    conv.bias[:6] = 0
    for channel in range(6):
        conv.weight[channel, channel] = kernel


def _middle(conv: nn.Conv2d) -> Tensor:
    kernel = torch.zeros(conv.kernel_size)
    kernel[conv.kernel_size[0] // 2, conv.kernel_size[1] // 2] = 1
    return kernel
