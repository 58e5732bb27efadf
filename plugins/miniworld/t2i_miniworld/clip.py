"""What the text encoder is trained in, and `mini-clip` is made of: pictures and texts in one space."""

from __future__ import annotations

import torch
from open_clip.timm_model import TimmModel
from torch import Tensor, nn
from transformers import CLIPTextModel, CLIPTokenizer

from t2i_miniworld import text_encoder

#: The trunk's name in timm, and how its last map is pooled: with positions, which relations and numbers need.
TRUNK, POOL = "convnext_atto", "abs_attn"
SIZE, WIDTH = 128, 192
#: Of the pictures' channels, by which they are made even.
MEAN, DEVIATION = 0.5, 0.25


class Clip(nn.Module):
    """Both sides; `scale` and `bias` turn cosines into logits that a text is true of a picture."""

    def __init__(self, tokenizer: CLIPTokenizer) -> None:
        super().__init__()
        self.visual = TimmModel(
            TRUNK, embed_dim=WIDTH, image_size=SIZE, pool=POOL, proj="linear", pretrained=False
        )
        self.text: CLIPTextModel = text_encoder.build(tokenizer)
        self.projection = nn.Linear(self.text.config.hidden_size, WIDTH, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0).log())
        self.bias = nn.Parameter(torch.tensor(-6.0))

    def images(self, pictures: Tensor) -> Tensor:
        """Unit vectors (N, D) of pictures (N, 3, S, S), 0 to 1."""
        return nn.functional.normalize(self.visual((pictures - MEAN) / DEVIATION), dim=-1)

    def texts(self, tokens: Tensor) -> Tensor:
        """Unit vectors (N, D) of texts (N, L), each ended by the tokenizer's end mark."""
        return nn.functional.normalize(self.projection(self.text(tokens).pooler_output), dim=-1)

    def logits(self, images: Tensor, texts: Tensor) -> Tensor:
        """How likely each text is true of each picture (N, M), on the logit scale."""
        return images @ texts.T * self.scale.exp() + self.bias
