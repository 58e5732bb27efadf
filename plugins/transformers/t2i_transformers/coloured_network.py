"""A detector and its head of colours as one network to train, and the loss of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from t2i_core.api import ObjectClass
from torch import Tensor, nn
from torch.nn import functional
from transformers.loss.loss_for_object_detection import HungarianMatcher
from transformers.loss.loss_rt_detr import RTDetrHungarianMatcher

from .coloured import TOGETHER, save_head

UNKNOWN = -100
"""The colour of a thing whose colour nobody knows: it counts nothing."""

Labels = Sequence[Mapping[str, Tensor]]
"""For each image class_labels (n,), boxes (n, 4) as centre and extent in shares of the image, colours (n,)."""


class Coloured(nn.Module):
    """A detector of transformers, and a linear head of colours on its decoder's last hidden states.

    classes: what the detector's heads tell apart, in order; their synsets are kept with it
    """

    def __init__(self, network: Any, classes: Sequence[ObjectClass], colours: Sequence[str]) -> None:
        super().__init__()
        self.network = network
        self.classes, self.colours = tuple(classes), tuple(colours)
        self.head = nn.Linear(network.config.d_model, len(self.colours))
        config = network.config
        if config.model_type in TOGETHER:
            self.matcher: nn.Module = HungarianMatcher(config.class_cost, config.bbox_cost, config.giou_cost)
        else:
            self.matcher = RTDetrHungarianMatcher(config)

    def losses(self, pixels: Tensor, labels: Labels) -> dict[str, Tensor]:
        """The loss to make small, and its parts: the model's own, and the cross-entropy of colours.

        Colours are read from the queries that the library's own matcher gives to the things; queries that
        learn to undo noise (RT-DETR's, which come first) have no part in it. Beside them how many of the colours
        that are known are right.
        """
        out = self.network(pixel_values=pixels, labels=[dict(one) for one in labels])
        plain = slice(-self.network.config.num_queries, None)
        queries = {"logits": out.logits[:, plain], "pred_boxes": out.pred_boxes[:, plain]}
        guesses = self.head(out.last_hidden_state[:, plain])
        matched = self.matcher(queries, labels)
        said = torch.cat([guess[of] for guess, (of, _) in zip(guesses, matched, strict=True)])
        true = torch.cat([one["colours"][to] for one, (_, to) in zip(labels, matched, strict=True)])
        known = int((true != UNKNOWN).sum())
        # a sum over nothing, and not a mean, where no colour is known
        colour = functional.cross_entropy(said, true, ignore_index=UNKNOWN, reduction="sum") / max(1, known)
        right = (said.argmax(-1) == true).sum() / max(1, known)
        return {"loss": out.loss + colour, "objects": out.loss, "colour": colour, "colours_right": right}

    def save(self, processor: Any, folder: Path, half: bool = False) -> None:
        """Write what the judge `coloured-detector` reads. half: in half precision, which changes the network."""
        if half:
            self.half()
        synsets = {str(number): one.synset for number, one in enumerate(self.classes) if one.synset}
        self.network.config.update({"colours": list(self.colours), "synsets": synsets})
        self.network.save_pretrained(folder)
        processor.save_pretrained(folder)
        save_head(self.head, folder)


def named(classes: Sequence[ObjectClass]) -> dict[str, Any]:
    """What a config of the library says of classes: their names."""
    return {
        "id2label": {number: one.name for number, one in enumerate(classes)},
        "label2id": {one.name: number for number, one in enumerate(classes)},
    }
