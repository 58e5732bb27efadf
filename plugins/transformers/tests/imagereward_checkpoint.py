"""A small checkpoint of ImageReward with random weights: its files, with the keys of the published state dict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

WORDS = ("a", "cat", "dog", "red", "two", "on", "grass", "with", "and", "is")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def state_dict(
    width: int, depth: int, patch: int, size: int, text: Mapping[str, int], seed: int = 0
) -> dict[str, torch.Tensor]:
    """Return random weights, large enough that images and texts matter.

    Args:
        width: Width of the image encoder.
        depth: Number of its layers.
        patch: Side of a patch.
        size: Side of an image.
        text: Fields of the text encoder's configuration.
        seed: Seed of the weights.
    """
    rng = np.random.default_rng(seed)  # the same numbers on every processor
    found: dict[str, torch.Tensor] = {}

    def normal(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal(shape, np.float32))

    def linear(name: str, inputs: int, outputs: int, std: float = 1.0) -> None:
        found[f"{name}.weight"] = normal(outputs, inputs) * std / inputs**0.5
        found[f"{name}.bias"] = normal(outputs) * 0.1

    def norm(name: str, of: int) -> None:
        found[f"{name}.weight"] = 1 + normal(of) * 0.1
        found[f"{name}.bias"] = normal(of) * 0.1

    image = "blip.visual_encoder"
    found[f"{image}.cls_token"] = normal(1, 1, width)
    found[f"{image}.pos_embed"] = normal(1, (size // patch) ** 2 + 1, width) * 0.1
    found[f"{image}.patch_embed.proj.weight"] = normal(width, 3, patch, patch) / patch
    found[f"{image}.patch_embed.proj.bias"] = normal(width) * 0.1
    for number in range(depth):
        block = f"{image}.blocks.{number}"
        norm(f"{block}.norm1", width)
        linear(f"{block}.attn.qkv", width, 3 * width)
        linear(f"{block}.attn.proj", width, width)
        norm(f"{block}.norm2", width)
        linear(f"{block}.mlp.fc1", width, 4 * width)
        linear(f"{block}.mlp.fc2", 4 * width, width)
    norm(f"{image}.norm", width)
    words, hidden = "blip.text_encoder", text["hidden_size"]
    found[f"{words}.embeddings.position_ids"] = torch.arange(text["max_position_embeddings"])[None]
    found[f"{words}.embeddings.word_embeddings.weight"] = normal(text["vocab_size"], hidden)
    found[f"{words}.embeddings.position_embeddings.weight"] = normal(text["max_position_embeddings"], hidden)
    norm(f"{words}.embeddings.LayerNorm", hidden)
    for number in range(text["num_hidden_layers"]):
        layer = f"{words}.encoder.layer.{number}"
        for kind, of in (("attention", hidden), ("crossattention", width)):
            linear(f"{layer}.{kind}.self.query", hidden, hidden)
            linear(f"{layer}.{kind}.self.key", of, hidden)
            linear(f"{layer}.{kind}.self.value", of, hidden)
            linear(f"{layer}.{kind}.output.dense", hidden, hidden)
            norm(f"{layer}.{kind}.output.LayerNorm", hidden)
        linear(f"{layer}.intermediate.dense", hidden, text["intermediate_size"])
        linear(f"{layer}.output.dense", text["intermediate_size"], hidden)
        norm(f"{layer}.output.LayerNorm", hidden)
    linear("blip.vision_proj", width, 256)  # parts of BLIP that rewards do not use
    linear("blip.text_proj", hidden, 256)
    sizes = (hidden, 1024, 128, 64, 16, 1)
    for number, inputs, outputs in zip((0, 2, 4, 6, 7), sizes, sizes[1:], strict=False):
        linear(f"mlp.layers.{number}", inputs, outputs, std=2.0)
    return found


def text_config(vocabulary: int, **changes: int) -> dict[str, object]:
    """Return a configuration with the fields of the published med_config.json; its `encoder_width` is not true."""
    return {
        "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12,
        "num_hidden_layers": 12, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": vocabulary,
        "encoder_width": 768, "add_cross_attention": True, **changes,
    }  # fmt: skip


def save(folder: Path, weights: Mapping[str, torch.Tensor], config: Mapping[str, object]) -> Path:
    """Write the checkpoint's two files, and the vocabulary of a BERT that knows `WORDS`."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(dict(weights), folder / "ImageReward.pt")
    (folder / "med_config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join((*SPECIAL, *WORDS)) + "\n")
    return folder


def save_small(folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint whose images have 32 pixels a side."""
    config = text_config(
        len(SPECIAL) + len(WORDS) + 2, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    sizes = {key: value for key, value in config.items() if isinstance(value, int)}
    return save(folder, state_dict(128, 2, 16, 32, sizes, seed), config)


def save_published_size(folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint of the published size, 1.7 GB, but with few words: ViT-L/16 at 224 pixels, BERT base."""
    config = text_config(len(SPECIAL) + len(WORDS) + 2)
    sizes = {key: value for key, value in config.items() if isinstance(value, int)}
    return save(folder, state_dict(1024, 24, 16, 224, sizes, seed), config)
