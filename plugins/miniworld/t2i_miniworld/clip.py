"""What the text encoder is trained in, and `mini-clip` is made of: texts, scenes and pictures in one space.

Two trainings: `train_text` brings texts to where the scenes are that they are true of, as annotations tell them;
`train_clip` then brings pictures there, and leaves the texts where they are.
"""

from __future__ import annotations

import torch
from open_clip.timm_model import TimmModel
from torch import Tensor, nn
from transformers import CLIPTextModel, CLIPTokenizer

from t2i_miniworld import classifier, oracle_embedding, text_encoder

#: The picture tower's name in timm: the mini-classifier's, so that it can begin with what that has learnt.
TRUNK = classifier.ARCHITECTURE
SIZE, WIDTH = 128, 384
#: Of the pictures' channels, by which they are made even: as the classifier has them.
MEAN, DEVIATION = 0.5, 0.25


class TextSide(nn.Module):
    """Texts and annotated scenes; `scale` and `bias` turn cosines into logits that a text is true of a scene."""

    def __init__(self, tokenizer: CLIPTokenizer) -> None:
        super().__init__()
        self.text: CLIPTextModel = text_encoder.build(tokenizer)
        self.projection = nn.Linear(self.text.config.hidden_size, WIDTH, bias=False)
        # The ideal embedding has a dimension for each thing that may be said: far more than a network needs.
        self.scene = nn.Sequential(nn.Linear(oracle_embedding.size(), 512), nn.GELU(), nn.Linear(512, WIDTH))
        self.scale = nn.Parameter(torch.tensor(10.0).log())
        self.bias = nn.Parameter(torch.tensor(-6.0))

    def texts(self, tokens: Tensor) -> Tensor:
        """Unit vectors (N, D) of texts (N, L), each ended by the tokenizer's end mark."""
        return nn.functional.normalize(self.projection(self.text(tokens).pooler_output), dim=-1)

    def scenes(self, ideal: Tensor) -> Tensor:
        """Unit vectors (N, D) of scenes, given as the ideal embedding (N, `oracle_embedding.size()`) has them."""
        # What is true of a scene is then near 1, as a network likes its input.
        return nn.functional.normalize(self.scene(8 * ideal), dim=-1)

    def logits(self, seen: Tensor, texts: Tensor) -> Tensor:
        """How likely each text is true of each scene or picture (N, M), on the logit scale."""
        return seen @ texts.T * self.scale.exp() + self.bias


class Clip(nn.Module):
    """Pictures beside them."""

    def __init__(self, told: TextSide) -> None:
        super().__init__()
        # Without a projection of open_clip's the trunk's own last layer is one.
        self.visual = TimmModel(TRUNK, embed_dim=WIDTH, image_size=SIZE, pool="avg", proj="", pretrained=False)
        self.told = told

    def images(self, pictures: Tensor) -> Tensor:
        """Unit vectors (N, D) of pictures (N, 3, S, S), 0 to 1."""
        return nn.functional.normalize(self.visual((pictures - MEAN) / DEVIATION), dim=-1)
