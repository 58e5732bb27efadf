"""Score images for texts with the package image-reward, in its own environment.

    python imagereward_scores.py FOLDER IMAGE... < texts.json

FOLDER holds ImageReward.pt, med_config.json and vocab.txt; the scores go to scores.json there. The package reads
its tokenizer from the folder `bert-base-uncased` of the working directory. It knows one size of network; for
weights of another size, this script gives it encoder and head of that size.
"""

import importlib
import json
import sys
import types
from pathlib import Path

import torch
from PIL import Image


def main() -> None:
    """Load the checkpoint, score each image for each text, and write the scores, (images, texts)."""
    folder = Path(sys.argv[1])
    sys.modules["clip"] = types.ModuleType("clip")  # only other scores of the package use it
    package = importlib.import_module("ImageReward")
    model_module = importlib.import_module("ImageReward.ImageReward")  # hidden by a class of the same name
    weights = torch.load(folder / "ImageReward.pt", weights_only=True)
    image = "blip.visual_encoder"
    _, positions, width = weights[f"{image}.pos_embed"].shape
    patch = weights[f"{image}.patch_embed.proj.weight"].shape[-1]
    size = round((positions - 1) ** 0.5) * patch
    if (width, size) != (1024, 224):
        vit = importlib.import_module("ImageReward.models.BLIP.vit")
        depth = sum(key.startswith(image) and key.endswith("norm1.weight") for key in weights)
        encoder = vit.VisionTransformer(size, patch, embed_dim=width, depth=depth, num_heads=width // 64)
        blip = importlib.import_module("ImageReward.models.BLIP.blip_pretrain")
        blip.create_vit = lambda *_: (encoder, width)
        head = model_module.MLP(weights["mlp.layers.0.weight"].shape[1])
        model_module.MLP = lambda _: head
    model = package.load(str(folder / "ImageReward.pt"), "cpu", med_config=str(folder / "med_config.json"))
    model.preprocess = model_module._transform(size)
    texts = json.load(sys.stdin)
    scores = [[model.score(text, Image.open(file)) for text in texts] for file in sys.argv[2:]]
    (folder / "scores.json").write_text(json.dumps(scores))


main()
