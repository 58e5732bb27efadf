"""A detector with its colour head as one network for training, and the loss of both."""

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
"""Label of an unknown colour, which the loss ignores."""

Labels = Sequence[Mapping[str, Tensor]]
"""For each image: class_labels (n,), boxes (n, 4) as centre and size in shares of the image, colours (n,)."""


class Coloured(nn.Module):
    """A detector of transformers with a linear colour head on the decoder's last hidden states.

    Attributes:
        network: The detector.
        classes: Classes in the order of the detector's logits; their synsets are saved with the model.
        colours: Names of the colours in the order of the head's logits.
        head: The colour head.
        matcher: Matches queries with objects, as in the detector's loss.
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
        """Return the training loss and its parts.

        The loss is the detector's loss plus the cross-entropy of colours, for the queries that the library's
        matcher assigns to objects. RT-DETR's denoising queries, which come first, have no colour loss.

        Args:
            pixels: Images (N, 3, H, W).
            labels: Labels of each image.

        Returns:
            `loss`, its parts `objects` and `colour`, and `colours_right`: the share of known colours predicted
            correctly.
        """
        out = self.network(pixel_values=pixels, labels=[dict(one) for one in labels])
        plain = slice(-self.network.config.num_queries, None)
        queries = {"logits": out.logits[:, plain], "pred_boxes": out.pred_boxes[:, plain]}
        guesses = self.head(out.last_hidden_state[:, plain])
        matched = self.matcher(queries, labels)
        predicted = torch.cat([guess[of] for guess, (of, _) in zip(guesses, matched, strict=True)])
        true = torch.cat([one["colours"][to] for one, (_, to) in zip(labels, matched, strict=True)])
        known = int((true != UNKNOWN).sum())
        # the mean of an empty batch would be NaN; its sum is 0
        colour = functional.cross_entropy(predicted, true, ignore_index=UNKNOWN, reduction="sum") / max(1, known)
        right = (predicted.argmax(-1) == true).sum() / max(1, known)
        return {"loss": out.loss + colour, "objects": out.loss, "colour": colour, "colours_right": right}

    def save(self, processor: Any, folder: Path, half: bool = False) -> None:
        """Write a checkpoint for the judge `coloured-detector`.

        Args:
            processor: Image processor, saved with it.
            folder: Where to write.
            half: Convert to half precision, which changes this network too.
        """
        if half:
            self.half()
        synsets = {str(number): one.synset for number, one in enumerate(self.classes) if one.synset}
        self.network.config.update({"colours": list(self.colours), "synsets": synsets})
        self.network.save_pretrained(folder)
        processor.save_pretrained(folder)
        save_head(self.head, folder)


def make_label_config(classes: Sequence[ObjectClass]) -> dict[str, Any]:
    """Return the entries for class names in a config of transformers."""
    return {
        "id2label": {number: one.name for number, one in enumerate(classes)},
        "label2id": {one.name: number for number, one in enumerate(classes)},
    }
