"""Network of `mini-detector`: a small RT-DETR (Zhao et al. 2024) for the mini world's kinds, on a MobileNetV3.

Its backbone is initialised with the trunk of `mini-classifier`. The colour head is part of t2i-transformers
(`coloured-detector`).
"""

from __future__ import annotations

from pathlib import Path

import classifier
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LABELS
from torch import Tensor
from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrImageProcessor, TimmBackboneConfig

CLASSES = LABELS
#: Colour label of things without a paint.
NATURAL = "natural"
COLOURS = (*PAINTS, NATURAL)

#: Side in pixels of the network's square input; other pictures are scaled to it.
SIDE = 128
#: Normalisation of pictures, the same as in `classifier`, with which the trunk was trained.
_MEAN, _DEVIATION = 0.5, 0.25
#: Stages of the trunk whose features are used: those with strides 8, 16 and 32.
_STAGES = (2, 3, 4)
_WIDTH, _QUERIES = 96, 30


def build(start: Path | None = classifier.WEIGHTS) -> RTDetrForObjectDetection:
    """Return the network, initialised with the trunk of the classifier in ``start`` (None: random weights)."""
    trunk = TimmBackboneConfig(backbone=classifier.ARCHITECTURE, out_indices=list(_STAGES))
    config = RTDetrConfig(
        backbone_config=trunk,
        # freezing them this way would drop the activations that timm stores in the same layers
        freeze_backbone_batch_norms=False,
        id2label={number: one.name for number, one in enumerate(CLASSES)},
        label2id={one.name: number for number, one in enumerate(CLASSES)},
        d_model=_WIDTH,
        encoder_hidden_dim=_WIDTH,
        encoder_in_channels=[24, 48, 576],
        encoder_ffn_dim=2 * _WIDTH,
        encoder_attention_heads=3,
        hidden_expansion=0.5,
        decoder_in_channels=[_WIDTH] * len(_STAGES),
        decoder_ffn_dim=2 * _WIDTH,
        decoder_attention_heads=3,
        decoder_layers=3,
        num_queries=_QUERIES,
        num_denoising=20,
    )
    network = RTDetrForObjectDetection(config)
    if start is not None:
        inside = network.model.backbone.model._backbone
        missing = inside.load_state_dict(classifier.load(start).state_dict(), strict=False).missing_keys
        assert not missing, missing  # the classifier has all weights of the trunk, and its own head
    return network


def processor() -> RTDetrImageProcessor:
    """Return the image processor of the network, which is equivalent to `seen`."""
    return RTDetrImageProcessor(
        size={"height": SIDE, "width": SIDE},
        do_normalize=True,
        image_mean=[_MEAN] * 3,
        image_std=[_DEVIATION] * 3,
    )


def seen(views: Tensor) -> Tensor:
    """Convert sRGB pictures (N, 3, SIDE, SIDE), 0 to 1, to the network's input."""
    return (views - _MEAN) / _DEVIATION
