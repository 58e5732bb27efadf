"""Networks of `mini-clip`, with texts, scenes and pictures in one space. They also train the encoder of `mini`.

There are two trainings: `train_text` aligns texts with the annotated scenes of which they are true; then
`train_clip` aligns pictures with their scenes and keeps the texts fixed.
"""

from __future__ import annotations

import classifier
import text_encoder
import torch
from open_clip.timm_model import TimmModel
from t2i_miniworld import oracle_embedding
from torch import Tensor, nn
from transformers import CLIPTextModel, CLIPTokenizer

#: Architecture of the image tower in timm, the same as `mini-classifier`, whose weights initialise it.
TRUNK = classifier.ARCHITECTURE
SIZE, WIDTH = 128, 384
#: Normalisation of the pictures' channels, the same as in the classifier.
MEAN, DEVIATION = 0.5, 0.25


class TextSide(nn.Module):
    """Encoders of texts and annotated scenes; `scale` and `bias` convert cosines to logits of truth."""

    def __init__(self, tokenizer: CLIPTokenizer) -> None:
        super().__init__()
        self.text: CLIPTextModel = text_encoder.build(tokenizer)
        self.projection = nn.Linear(self.text.config.hidden_size, WIDTH, bias=False)
        # the ideal embedding has one dimension for each fact: far more than a network needs
        self.scene = nn.Sequential(nn.Linear(oracle_embedding.size(), 512), nn.GELU(), nn.Linear(512, WIDTH))
        self.scale = nn.Parameter(torch.tensor(10.0).log())
        self.bias = nn.Parameter(torch.tensor(-6.0))

    def texts(self, tokens: Tensor) -> Tensor:
        """Return unit vectors (N, D) of texts (N, L), each ending with the tokenizer's end token."""
        return nn.functional.normalize(self.projection(self.text(tokens).pooler_output), dim=-1)

    def scenes(self, ideal: Tensor) -> Tensor:
        """Return unit vectors (N, D) of scenes, given as ideal embeddings (N, `oracle_embedding.size()`)."""
        # scale the inputs so that true facts have values near 1
        return nn.functional.normalize(self.scene(8 * ideal), dim=-1)

    def logits(self, seen: Tensor, texts: Tensor) -> Tensor:
        """Return the logits (N, M) that each text is true of each scene or picture."""
        return seen @ texts.T * self.scale.exp() + self.bias


class Clip(nn.Module):
    """`TextSide` with an image tower."""

    def __init__(self, told: TextSide) -> None:
        super().__init__()
        # without open_clip's projection, the last layer of the trunk is the projection
        self.visual = TimmModel(TRUNK, embed_dim=WIDTH, image_size=SIZE, pool="avg", proj="", pretrained=False)
        self.told = told

    def images(self, pictures: Tensor) -> Tensor:
        """Return unit vectors (N, D) of pictures (N, 3, S, S), 0 to 1."""
        return nn.functional.normalize(self.visual((pictures - MEAN) / DEVIATION), dim=-1)
