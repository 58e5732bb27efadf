"""Text encoder of `mini` and `mini-clip`: a small CLIPTextModel, trained separately for each."""

from __future__ import annotations

from mini_tokenizer import LENGTH
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer


def build(tokenizer: CLIPTokenizer, width: int = 192, layers: int = 4) -> CLIPTextModel:
    """Return an encoder with random weights. Its attention heads have 64 dimensions, as in CLIP."""
    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=4 * width,
            projection_dim=width,
            num_hidden_layers=layers,
            num_attention_heads=width // 64,
            max_position_embeddings=LENGTH,
            hidden_act="gelu",
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
