"""Presets for known checkpoints, with repository, licence, citation and memory."""

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
_INTERNVL3 = "Zhu et al.: InternVL3: Exploring Advanced Training and Test-Time Recipes for Open-Source MLLMs. 2025"
_GEMMA3 = "Gemma Team: Gemma 3 Technical Report. 2025"
_PALIGEMMA2 = "Steiner et al.: PaliGemma 2: A Family of Versatile VLMs for Transfer. 2024"
_GATED = "Gated: accept the terms on the repository's page first."


@dataclass(frozen=True)
class KnownCheckpoint:
    """One checkpoint of the hub.

    Attributes:
        name: Name of the preset.
        summary: One line about the checkpoint.
        of: Component that the preset sets up.
        repository: Repository on the hub.
        licence: Licence of the weights.
        citation: Paper to cite.
        memory_gb: Estimated GPU memory in GB, in the preset's precision.
        options: Options that the preset sets.
        notes: Further notes for users.
    """

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
        """Return the checkpoint as a preset."""
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
        "mask2former-swin-small-pairs",
        "Mask2Former with Swin-S on COCO's 80 classes, scored as mmdetection does, for GenEval.",
        "transformers-segmenter", "facebook/mask2former-swin-small-coco-instance",
        "MIT (Mask2Former, by its repository; the hub's card says `other`)", _MASK2FORMER, 4.0, {"pairs": True},
        "The weights are Facebook's; GenEval used mmdetection's, trained separately.",
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
        "Answers questions about images, and chooses the better of two: Qwen2.5-VL 7B on this machine.",
        "transformers-vlm", "Qwen/Qwen2.5-VL-7B-Instruct", "Apache-2.0", _QWEN25, 20.0,
    ),
    KnownCheckpoint(
        "qwen3-vl-4b",
        "Answers questions about images, and chooses the better of two: Qwen3-VL 4B on this machine.",
        "transformers-vlm", "Qwen/Qwen3-VL-4B-Instruct", "Apache-2.0", _QWEN3, 12.0,
    ),
    KnownCheckpoint(
        "qwen3-vl-8b",
        "Answers questions about images, and chooses the better of two: Qwen3-VL 8B on this machine.",
        "transformers-vlm", "Qwen/Qwen3-VL-8B-Instruct", "Apache-2.0", _QWEN3, 22.0,
    ),
    KnownCheckpoint(
        "internvl3-8b",
        "Answers questions about images, and chooses the better of two: InternVL3 8B on this machine.",
        "transformers-vlm", "OpenGVLab/InternVL3-8B-hf", "MIT; its language model Qwen2.5: Apache-2.0",
        _INTERNVL3, 20.0,
    ),
    KnownCheckpoint(
        "gemma3-4b",
        "Answers questions about images, and chooses the better of two: Gemma 3 4B on this machine.",
        "transformers-vlm", "google/gemma-3-4b-it", "Gemma Terms of Use", _GEMMA3, 12.0, notes=_GATED,
    ),
    KnownCheckpoint(
        "gemma3-12b",
        "Answers questions about images, and chooses the better of two: Gemma 3 12B on this machine.",
        "transformers-vlm", "google/gemma-3-12b-it", "Gemma Terms of Use", _GEMMA3, 30.0, notes=_GATED,
    ),
    KnownCheckpoint(
        "paligemma2-3b",
        "Answers questions about one image in a few words: PaliGemma 2 3B on this machine.",
        "transformers-vlm", "google/paligemma2-3b-mix-448", "Gemma Terms of Use", _PALIGEMMA2, 10.0,
        {
            "yes_no_template": "answer en {question}", "choices_template": "answer en {question}",
            "text_template": "answer en {question}", "yes": "yes", "no": "no",
        },
        f"{_GATED} Does not compare images.",
    ),
    KnownCheckpoint(
        "pickscore",
        "PickScore: CLIP ViT-H/14 trained on the preferences of Pick-a-Pic's users.",
        "transformers-reward", "yuvalkirstain/PickScore_v1", "its card names none; the code is MIT",
        "Kirstain et al.: Pick-a-Pic: An Open Dataset of User Preferences for Text-to-Image Generation. "
        "NeurIPS 2023",
        6.0, {"processor": "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"},
        "Truncates texts after 77 tokens, with a warning.",
    ),
)  # fmt: skip
"""The presets set no commits; a run pins and records the commit it finds, and users may set `revision`."""
