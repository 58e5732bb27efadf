"""The mini-segmenter's network: a small SegFormer (Xie et al. 2021) over the mini world's classes."""

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

#: Side of the square that the network sees, in pixels; other pictures are scaled to it.
SIDE = 128


def build() -> SegformerForSemanticSegmentation:
    """Make the network with fresh weights: background and one label per kind of the vocabulary."""
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
    """Load trained weights for use, in single precision whatever precision they are kept in."""
    with _no_progress_bar():
        network = SegformerForSemanticSegmentation.from_pretrained(folder, dtype=torch.float32)
    return network.eval().to(device)


def classes(network: SegformerForSemanticSegmentation) -> tuple[str, ...]:
    """The kinds that a network knows, in the order of `segmenting.Region.kind`: its labels but the background."""
    return tuple(network.config.id2label[number] for number in range(1, network.config.num_labels))


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing a bar over the run's own."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def normalised(images: Tensor) -> Tensor:
    """Turn sRGB images (N, 3, H, W), 0 to 1, into what the network takes."""
    return (images - 0.5) / 0.25


def probabilities(
    network: nn.Module, images: Iterable[NDArray[np.uint8]], batch_size: int = 32
) -> Iterator[NDArray[np.float32]]:
    """Class probabilities (1 + K, H, W) for each sRGB image (H, W, 3) uint8, in order, at its own resolution."""
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
