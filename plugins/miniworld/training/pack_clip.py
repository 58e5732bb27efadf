"""Pack `mini-clip` as an open_clip folder: ``python plugins/miniworld/training/pack_clip.py CLIP OUT``.

CLIP is a folder of `train_clip`. OUT has safetensors in half precision and the tokenizer, and `open-clip:OUT`
loads it. The image tower is already open_clip's; the text tower is the same network with other names of weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import train_clip
from mini_clip import DEVIATION, MEAN, SIZE, TRUNK, WIDTH, Clip
from open_clip import CLIP, set_model_preprocess_cfg
from open_clip.push_to_hf_hub import save_for_hf
from torch import Tensor
from transformers import CLIPTextModel

_NAME = "mini-clip"
#: Names of a block's parts in transformers and in open_clip.
_PARTS = {
    "layer_norm1": "ln_1",
    "self_attn.out_proj": "attn.out_proj",
    "layer_norm2": "ln_2",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
}


def pack(folder: Path, out: Path) -> Path:
    """Write the folder and return it."""
    tokenizer, trained = train_clip.trained(folder)
    config = _config(trained.told.text)
    network = CLIP(**config)
    network.load_state_dict(weights(trained))
    looks = {
        "size": SIZE,
        "mean": (MEAN,) * 3,
        "std": (DEVIATION,) * 3,
        "interpolation": "bilinear",
        "resize_mode": "squash",
    }
    set_model_preprocess_cfg(network, looks)
    save_for_hf(network.half(), tokenizer, config, str(out), safe_serialization=True)
    return out


def weights(trained: Clip) -> dict[str, Tensor]:
    """Return the weights under the names of open_clip's CLIP."""
    return {
        **{f"visual.{name}": value for name, value in trained.visual.state_dict().items()},
        **_text_weights(trained.told.text),
        "text_projection": trained.told.projection.weight.T.contiguous(),
        "logit_scale": trained.told.scale.detach(),
        "logit_bias": trained.told.bias.detach(),
    }


def _text_weights(encoder: CLIPTextModel) -> dict[str, Tensor]:
    ours = encoder.state_dict()
    found = {
        "token_embedding.weight": ours["embeddings.token_embedding.weight"],
        "positional_embedding": ours["embeddings.position_embedding.weight"],
    }
    for end in ("weight", "bias"):
        found[f"ln_final.{end}"] = ours[f"final_layer_norm.{end}"]
        for number in range(encoder.config.num_hidden_layers):
            old, new = f"encoder.layers.{number}.", f"transformer.resblocks.{number}."
            for part, name in _PARTS.items():
                found[f"{new}{name}.{end}"] = ours[f"{old}{part}.{end}"]
            three = [ours[f"{old}self_attn.{letter}_proj.{end}"] for letter in "qkv"]
            found[f"{new}attn.in_proj_{end}"] = torch.cat(three)
    return found


def _config(encoder: CLIPTextModel) -> dict[str, Any]:
    """Return open_clip's config of the same network."""
    told = encoder.config
    return {
        "embed_dim": WIDTH,
        "init_logit_bias": 0.0,
        "vision_cfg": {
            "timm_model_name": TRUNK,
            "timm_model_pretrained": False,
            "timm_pool": "avg",
            "timm_proj": "",
            "image_size": SIZE,
        },
        "text_cfg": {
            "context_length": told.max_position_embeddings,
            "vocab_size": told.vocab_size,
            "width": told.hidden_size,
            "heads": told.num_attention_heads,
            "layers": told.num_hidden_layers,
            "hf_tokenizer_name": _NAME,
        },
    }


def main() -> None:
    """Read the command line, pack, and print the size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clip", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    out = pack(given.clip, given.out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
