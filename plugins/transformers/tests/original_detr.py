"""A DETR in its own layout, written from the paper: modules have the names that its checkpoints have.

References:
    N. Carion et al., End-to-End Object Detection with Transformers (2020), section 3.2 and Appendix A.4.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import resnet50
from torchvision.ops.misc import FrozenBatchNorm2d

WIDTH, HEADS, FFN = 16, 2, 24


class Layer(nn.Module):
    """A layer of the encoder, or of the decoder, which also attends to the image."""

    def __init__(self, decodes: bool) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(WIDTH, HEADS)
        if decodes:
            self.multihead_attn = nn.MultiheadAttention(WIDTH, HEADS)
            self.norm3 = nn.LayerNorm(WIDTH)
        self.linear1, self.linear2 = nn.Linear(WIDTH, FFN), nn.Linear(FFN, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def attend(self, x: Tensor, places: Tensor) -> Tensor:
        found: Tensor = self.self_attn(x + places, x + places, x)[0]
        return self.norm1(x + found)  # type: ignore[no-any-return]

    def widen(self, x: Tensor) -> Tensor:
        return x + self.linear2(self.linear1(x).relu())  # type: ignore[no-any-return]


class OriginalDETR(nn.Module):
    """The network; `forward` takes (1, 3, H, W) and returns logits, boxes and, with a head, colours."""

    def __init__(self, classes: int, queries: int = 7, colours: int = 0) -> None:
        super().__init__()
        body: Any = resnet50(weights=None, norm_layer=FrozenBatchNorm2d)
        del body.fc, body.avgpool
        self.backbone = nn.ModuleList([nn.ModuleDict({"body": body})])
        self.input_proj = nn.Conv2d(2048, WIDTH, 1)
        self.transformer = nn.ModuleDict(
            {
                "encoder": nn.ModuleDict({"layers": nn.ModuleList([Layer(False), Layer(False)])}),
                "decoder": nn.ModuleDict({"layers": nn.ModuleList([Layer(True)]), "norm": nn.LayerNorm(WIDTH)}),
            }
        )
        self.query_embed = nn.Embedding(queries, WIDTH)
        self.class_embed = nn.Linear(WIDTH, classes + 1)
        self.bbox_embed = nn.ModuleDict(
            {"layers": nn.ModuleList([nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 4)])}
        )
        if colours:
            self.color_embed = nn.Linear(WIDTH, colours + 1)

    def forward(self, pixels: Tensor) -> dict[str, Tensor]:
        body: Any = self.backbone[0]["body"]  # type: ignore[index]
        x = body.maxpool(body.relu(body.bn1(body.conv1(pixels))))
        features = self.input_proj(body.layer4(body.layer3(body.layer2(body.layer1(x)))))
        height, width = features.shape[-2:]
        places = place_sines(height, width).flatten(0, 1)[:, None]
        memory = features.flatten(2).permute(2, 0, 1)
        parts: Any = self.transformer
        for layer in parts["encoder"]["layers"]:
            memory = layer.norm2(layer.widen(layer.attend(memory, places)))
        queries = self.query_embed.weight[:, None]
        hidden = torch.zeros_like(queries)
        for layer in parts["decoder"]["layers"]:
            hidden = layer.attend(hidden, queries)
            looked = layer.multihead_attn(hidden + queries, memory + places, memory)[0]
            hidden = layer.norm3(layer.widen(layer.norm2(hidden + looked)))
        hidden = parts["decoder"]["norm"](hidden)[:, 0]
        first, second, third = self.bbox_embed["layers"]  # type: ignore[misc]
        found = {
            "logits": self.class_embed(hidden),
            "boxes": third(second(first(hidden).relu()).relu()).sigmoid(),
        }
        if hasattr(self, "color_embed"):
            found["colours"] = self.color_embed(hidden)
        return found


def place_sines(height: int, width: int) -> Tensor:
    """Return sines and cosines of the rows, then of the columns, shape (height, width, WIDTH)."""
    half = WIDTH // 2
    frequency = 10000 ** (2 * torch.arange(half).div(2, rounding_mode="floor") / half)

    def along(count: int) -> Tensor:
        at = torch.arange(1, count + 1) / (count + 1e-6) * 2 * math.pi
        angles = at[:, None] / frequency
        return torch.stack([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=2).flatten(1)

    rows = along(height)[:, None].expand(height, width, half)
    columns = along(width)[None].expand(height, width, half)
    return torch.cat([rows, columns], dim=2)


def save_original(file: Path, colours: int = 0, classes: int = 5, **settings: Any) -> OriginalDETR:
    """Save a random network as DETR's training does, and return it."""
    torch.manual_seed(3)
    network = OriginalDETR(classes, colours=colours).eval()
    for name, tensor in network.state_dict().items():
        if ".bn" in name or "downsample.1" in name:  # frozen statistics that are not the trivial ones
            tensor.copy_(torch.rand_like(tensor) * 0.3 + (0.9 if name.endswith(("var", "weight")) else -0.15))
    nn.init.normal_(network.class_embed.weight, std=2)
    given = argparse.Namespace(
        nheads=HEADS, output_dir=Path("output/object"), **{"num_classes": classes, **settings}
    )
    optimizer = torch.optim.AdamW(network.parameters())
    torch.save(
        {"model": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "args": given}, file
    )
    return network
