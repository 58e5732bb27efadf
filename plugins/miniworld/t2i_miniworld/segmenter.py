"""Network of `mini-segmenter`: a small SegFormer (Xie et al. 2021) for the mini world's classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import SegformerConfig, SegformerForSemanticSegmentation
from transformers.utils import logging

from t2i_miniworld.vocabulary import SYNSETS

WEIGHTS = Path(__file__).parent / "weights" / "mini-segmenter"

#: Side in pixels of the network's square input; other pictures are scaled to it.
SIDE = 128


def build() -> SegformerForSemanticSegmentation:
    """Return the network with random weights: labels for the background and each kind of the vocabulary."""
    names = ["background", *SYNSETS]
    config = SegformerConfig(
        num_labels=len(names),
        id2label=dict(enumerate(names)),
        label2id={name: number for number, name in enumerate(names)},
        hidden_sizes=[24, 48, 96, 192],
        depths=[2, 2, 2, 2],
        num_attention_heads=[1, 2, 4, 6],
        sr_ratios=[8, 4, 2, 1],
        mlp_ratios=[4, 4, 4, 4],
        decoder_hidden_size=128,
        drop_path_rate=0.0,
        classifier_dropout_prob=0.05,
    )
    return SegformerForSemanticSegmentation(config)


def load(folder: Path = WEIGHTS, device: str = "cpu") -> SegformerForSemanticSegmentation:
    """Return the network with trained weights, in single precision, ready for inference."""
    with _no_progress_bar():
        network = SegformerForSemanticSegmentation.from_pretrained(folder, dtype=torch.float32)
    return network.eval().to(device)


def classes(network: SegformerForSemanticSegmentation) -> tuple[str, ...]:
    """Return the labels of a network without the background, in the order of `segmenting.Region.kind`."""
    return tuple(network.config.id2label[number] for number in range(1, network.config.num_labels))


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Disable the progress bar of transformers, which would overwrite that of the run."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def normalised(images: Tensor) -> Tensor:
    """Convert sRGB images (N, 3, H, W), 0 to 1, to the network's input."""
    return (images - 0.5) / 0.25


def probabilities(
    network: nn.Module, images: Iterable[NDArray[np.uint8]], batch_size: int = 32
) -> Iterator[NDArray[np.float32]]:
    """Yield class probabilities (1 + K, H, W) of each sRGB image (H, W, 3) uint8, in order, at its resolution."""
    device = next(network.parameters()).device
    waiting = iter(images)
    while batch := list(islice(waiting, batch_size)):
        squares = torch.cat([_square(image) for image in batch]).to(device)
        with torch.inference_mode():
            logits = network(pixel_values=normalised(squares)).logits.cpu()
        for image, logit in zip(batch, logits, strict=True):
            yield _at_resolution(logit, image.shape[:2])


def _square(image: NDArray[np.uint8]) -> Tensor:
    pixels = torch.tensor(image).permute(2, 0, 1)[None].float() / 255
    if pixels.shape[-2:] == (SIDE, SIDE):
        return pixels
    return nn.functional.interpolate(pixels, (SIDE, SIDE), mode="bilinear", antialias=True)


def _at_resolution(logit: Tensor, size: Sequence[int]) -> NDArray[np.float32]:
    full = nn.functional.interpolate(logit[None], tuple(size), mode="bilinear", align_corners=False)
    return full.softmax(dim=1)[0].numpy()
