"""Checkpoints by short names: where they lie, what they are, under which licence, and how much they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from t2i_core.api import About, Preset

_DETR = "Carion et al.: End-to-End Object Detection with Transformers. ECCV 2020"
_MASK2FORMER = "Cheng et al.: Masked-attention Mask Transformer for Universal Image Segmentation. CVPR 2022"
_BLIP = "Li et al.: BLIP: Bootstrapping Language-Image Pre-training. ICML 2022"
_QWEN25 = "Bai et al.: Qwen2.5-VL Technical Report. 2025"
_QWEN3 = "Bai et al.: Qwen3-VL Technical Report. 2025"


@dataclass(frozen=True)
class KnownCheckpoint:
    """One checkpoint of the hub. memory_gb: an estimate, in the precision of its preset on a GPU."""

    name: str
    summary: str
    of: str
    repository: str
    licence: str
    citation: str
    memory_gb: float
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: str = ""

    def preset(self) -> Preset:
        """Return it as core knows it."""
        return Preset(
            name=self.name,
            summary=self.summary,
            of=f"t2i-transformers/{self.of}",
            argument=self.repository,
            options=self.options,
            about=About(citation=self.citation, licence=self.licence, memory_gb=self.memory_gb, notes=self.notes),
        )


KNOWN = (
    KnownCheckpoint(
        "detr-resnet50",
        "DETR with a ResNet-50 on COCO's 80 classes: boxes with class probabilities.",
        "transformers-detector", "facebook/detr-resnet-50", "Apache-2.0", _DETR, 2.0,
    ),
    KnownCheckpoint(
        "mask2former-swin-small",
        "Mask2Former with Swin-S on COCO's 80 classes: instances, masks with class probabilities.",
        "transformers-segmenter", "facebook/mask2former-swin-small-coco-instance",
        "MIT (Mask2Former, by its repository; the hub's card says `other`)", _MASK2FORMER, 4.0,
    ),
    KnownCheckpoint(
        "mask2former-swin-large",
        "Mask2Former with Swin-L on COCO's 80 classes: instances, masks with class probabilities.",
        "transformers-segmenter", "facebook/mask2former-swin-large-coco-instance",
        "MIT (Mask2Former, by its repository; the hub's card says `other`)", _MASK2FORMER, 7.0,
    ),
    KnownCheckpoint(
        "blip-large",
        "BLIP with ViT-L, for captions of COCO's style.",
        "transformers-captioner", "Salesforce/blip-image-captioning-large", "BSD-3-Clause", _BLIP, 4.0,
    ),
    KnownCheckpoint(
        "qwen25-vl-7b",
        "Which of two images is better? Qwen2.5-VL 7B on this machine, with its reasoning.",
        "transformers-vlm", "Qwen/Qwen2.5-VL-7B-Instruct", "Apache-2.0", _QWEN25, 20.0,
    ),
    KnownCheckpoint(
        "qwen3-vl-4b",
        "Which of two images is better? Qwen3-VL 4B on this machine, with its reasoning.",
        "transformers-vlm", "Qwen/Qwen3-VL-4B-Instruct", "Apache-2.0", _QWEN3, 12.0,
    ),
    KnownCheckpoint(
        "qwen3-vl-8b",
        "Which of two images is better? Qwen3-VL 8B on this machine, with its reasoning.",
        "transformers-vlm", "Qwen/Qwen3-VL-8B-Instruct", "Apache-2.0", _QWEN3, 22.0,
    ),
    KnownCheckpoint(
        "pickscore",
        "PickScore: CLIP ViT-H/14 trained on what users of Pick-a-Pic preferred.",
        "transformers-reward", "yuvalkirstain/PickScore_v1", "its card names none; the code is MIT",
        "Kirstain et al.: Pick-a-Pic: An Open Dataset of User Preferences for Text-to-Image Generation. "
        "NeurIPS 2023",
        6.0, {"processor": "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"},
        "Texts are cut after 77 tokens, with a warning.",
    ),
)  # fmt: skip
"""Commits are left to the user (`revision`): a run pins and records what it found."""
