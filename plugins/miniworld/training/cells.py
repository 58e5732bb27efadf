"""Content of each cell of a grid over a picture, as an auxiliary training target for intermediate features.

From a vector or a list of boxes alone, a network learns only slowly which pixels they refer to.
"""

from __future__ import annotations

import torch
from t2i_core.api import Truth
from t2i_miniworld.annotations import leaf_of
from t2i_miniworld.laws import ATTRIBUTES
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LEAVES
from torch import Tensor, nn

#: Number of cells along each side.
CELLS = 8
_KINDS, _LOOKS = (None, *LEAVES), (None, *PAINTS)
#: Sizes of the groups of values of a cell; one value of each group is true. The ground counts as a kind.
GROUPS = (len(_KINDS), len(_LOOKS), *map(len, ATTRIBUTES.values()))


def cells_of(truth: Truth) -> Tensor:
    """Return the fraction of each cell with each leaf or ground, each look, and each attribute of humans.

    Returns:
        (sum(GROUPS), CELLS, CELLS), 0 to 1.
    """
    kinds, looks, *worn = (torch.zeros(size, CELLS, CELLS) for size in GROUPS)
    for one in truth.instances:
        mask = torch.from_numpy(one.mask.unpack()).float()
        share = nn.functional.adaptive_avg_pool2d(mask[None, None], CELLS)[0, 0]
        kinds[_KINDS.index(leaf_of(one))] += share
        looks[_LOOKS.index(one.colour)] += share
        for (attribute, values), own in zip(ATTRIBUTES.items(), worn, strict=True):
            if attribute in one.attributes:
                own[values.index(one.attributes[attribute])] += share
    kinds[0] = 1 - kinds[1:].sum(dim=0)
    return torch.cat([kinds, looks, *worn])


def cells_loss(logits: Tensor, true: Tensor) -> Tensor:
    """Return the cross-entropy of the content of cells (N, sum(GROUPS), CELLS, CELLS)."""
    (kinds, *rest), (true_kinds, *true_rest) = logits.split(GROUPS, dim=1), true.split(GROUPS, dim=1)
    loss = -(true_kinds * kinds.log_softmax(dim=1)).sum(dim=1).mean()
    for own, wanted in zip(rest, true_rest, strict=True):
        loss = loss - (wanted * own.log_softmax(dim=1)).sum() / wanted.sum().clamp(min=1) / 4
    return loss
