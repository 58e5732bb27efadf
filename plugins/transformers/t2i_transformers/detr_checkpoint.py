"""Conversion of DETR's own checkpoints: ``python -m t2i_transformers.detr_checkpoint FILE OUT --classes JSON``.

FILE is a `checkpoint.pth` that facebookresearch/detr wrote, or PaintSkills' version of it with a head of colours.
JSON has the categories of its training data in COCO's format, such as `object_train_bounding_boxes.json`. OUT is a
folder for the judge `transformers-detector:OUT`, or with colours for `coloured-detector:OUT`.

Nothing of FILE is run: only weights and plain settings are read.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import torch
from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadModel, BadOption, T2IError
from t2i_core.api.text import describe_error
from t2i_torch_support.weights import explain_load_error
from torch import Tensor, nn

from .class_names import read_class

Weights = dict[str, Tensor]
PAINTSKILLS_COLOURS = ("red", "blue", "yellow", "white", "purple", "green")
"""PaintSkills' colours in the order of its metadata.json, which is that of the head's outputs."""
_SIDE, _LONGEST = 800, 1333

_RENAMED = (
    (r"backbone\.0\.body\.", "model.backbone.conv_encoder.model."),
    (r"transformer\.(encoder|decoder)\.layers\.(\d+)\.", r"model.\1.layers.\2."),
    (r"transformer\.decoder\.norm\.", "model.decoder.layernorm."),
    (r"input_proj\.", "model.input_projection."),
    (r"query_embed\.", "model.query_position_embeddings."),
    (r"class_embed\.", "class_labels_classifier."),
    (r"bbox_embed\.", "bbox_predictor."),
)
"""Beginnings of names in DETR's own layout, and in that of transformers' checkpoints on the hub."""
_IN_LAYERS = {
    "encoder": {"norm1": "self_attn_layer_norm", "norm2": "final_layer_norm"},
    "decoder": {
        "norm1": "self_attn_layer_norm", "norm2": "encoder_attn_layer_norm", "norm3": "final_layer_norm",
        "multihead_attn": "encoder_attn",
    },
}  # fmt: skip
_FFN = {"linear1": "fc1", "linear2": "fc2"}
COLOUR_HEAD = "color_embed."


def convert_weights(original: Mapping[str, Tensor]) -> Weights:
    """Return DETR's weights under the names that transformers' checkpoints on the hub have.

    The projections of query, key and value, which are one matrix there, become three.

    Args:
        original: Weights in DETR's own layout, without a colour head.

    Raises:
        BadModel: A name does not belong to DETR.
    """
    found: Weights = {}
    for name, tensor in original.items():
        new = next((re.sub(f"^{old}", to, name) for old, to in _RENAMED if re.match(old, name)), None)
        if new is None:
            raise BadModel(f"{name!r} is not among the weights of a DETR")
        if parts := re.match(r"model\.(encoder|decoder)\.layers\.\d+\.(\w+)", new):
            own = {**_IN_LAYERS[parts[1]], **_FFN}.get(parts[2], parts[2])
            new = new[: parts.start(2)] + own + new[parts.end(2) :]
        if new.endswith(("in_proj_weight", "in_proj_bias")):
            start, kind = new.rsplit("in_proj_", 1)
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                found[f"{start}{letter}_proj.{kind}"] = part.clone()
        else:
            found[new] = tensor
    return found


def read_checkpoint(file: Path) -> tuple[Weights, Mapping[str, Any]]:
    """Return the weights of a checkpoint, and its training settings, if it has any.

    Raises:
        BadModel: The file cannot be read, has more than weights and plain settings, or is not a DETR's.
    """
    # the settings are an argparse.Namespace with the path of the output folder; both are only data
    allowed: list[Any] = [
        argparse.Namespace,
        (PurePosixPath, "pathlib.PosixPath"),
        (PurePosixPath, "pathlib._local.PosixPath"),
    ]
    try:
        with torch.serialization.safe_globals(allowed):
            found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # of many types: no file, no archive, a pickle with code
        raise BadModel(f"{file}: cannot be read as weights ({explain_load_error(error)})") from error
    weights = found.get("model", found) if isinstance(found, Mapping) else None
    if not isinstance(weights, Mapping) or "class_embed.weight" not in weights:
        raise BadModel(f"{file}: has no weights of a DETR (`class_embed.weight`)")
    settings = found.get("args") or {}
    if isinstance(settings, argparse.Namespace):
        settings = vars(settings)
    if not isinstance(settings, Mapping):
        raise BadModel(f"{file}: its training settings (`args`) must have names (got a {type(settings).__name__})")
    return dict(weights), settings


def read_categories(file: Path) -> dict[int, ObjectClass]:
    """Return the classes of annotations in COCO's format by their numbers.

    Raises:
        BadOption: The file is not valid.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {int(one["id"]): read_class(str(one["name"]), one.get("synset")) for one in data["categories"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadOption(
            f"{file}: must be COCO annotations with categories, each with id and name ({describe_error(error)})"
        ) from error


def make_config(
    weights: Mapping[str, Tensor], settings: Mapping[str, Any], names: Mapping[int, ObjectClass]
) -> Any:
    """Return transformers' config of a DETR.

    Args:
        weights: Weights in DETR's own layout.
        settings: Training settings.
        names: Classes by number.

    Raises:
        BadModel: transformers has no such DETR, or a class has no output.
    """
    from transformers import DetrConfig

    if settings.get("pre_norm") or settings.get("masks") or settings.get("position_embedding", "sine") != "sine":
        raise BadModel(
            "transformers has no DETR with pre_norm, masks or learned positions, as this one was trained"
        )
    rows = len(weights["class_embed.weight"]) - 1  # the last is "no object"
    if outside := [one.name for number, one in names.items() if not 0 <= number < rows]:
        raise BadModel(
            f"the checkpoint has {rows} classes, so {outside[0]!r} has no output; name its own categories"
        )
    labels = {n: names[n].name if n in names else "N/A" for n in range(rows)}
    synsets = {str(n): one.synset for n, one in names.items() if one.synset}
    ffn = "transformer.{}.layers.0.linear1.weight"
    depth = {part: _count(weights, rf"transformer\.{part}\.layers\.(\d+)\.") for part in _IN_LAYERS}
    return DetrConfig(
        backbone="resnet101" if _count(weights, r"backbone\.0\.body\.layer3\.(\d+)\.") > 6 else "resnet50",
        use_timm_backbone=True,
        use_pretrained_backbone=False,
        dilation=bool(settings.get("dilation", False)),
        d_model=weights["query_embed.weight"].shape[1],
        num_queries=len(weights["query_embed.weight"]),
        encoder_layers=depth["encoder"],
        decoder_layers=depth["decoder"],
        encoder_ffn_dim=len(weights[ffn.format("encoder")]),
        decoder_ffn_dim=len(weights[ffn.format("decoder")]),
        encoder_attention_heads=int(settings.get("nheads", 8)),
        decoder_attention_heads=int(settings.get("nheads", 8)),
        id2label=labels,
        label2id={name: n for n, name in labels.items()},
        synsets=synsets,
    )


def _count(weights: Mapping[str, Tensor], pattern: str) -> int:
    return 1 + max((int(found[1]) for name in weights if (found := re.match(pattern, name))), default=-1)


def convert(file: Path, out: Path, names: Mapping[int, ObjectClass], colours: Sequence[str] = ()) -> bool:
    """Convert a checkpoint.

    Args:
        file: DETR's checkpoint.
        out: Folder to write, new or empty. It appears when the converted weights have been checked.
        names: Classes by number.
        colours: Names of the colours, if the checkpoint has a head of colours.

    Returns:
        Whether it has a head of colours.

    Raises:
        BadModel: The checkpoint cannot be converted; the message names the file.
        BadOption: The number of colours does not fit, or the folder has other files.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise BadOption(f"{out}: is not an empty folder; name a new one")
    from .coloured import save_head

    weights, settings = read_checkpoint(file)
    head = {name: weights.pop(name) for name in list(weights) if name.startswith(COLOUR_HEAD)}
    count = len(head[f"{COLOUR_HEAD}bias"]) - 1 if head else 0
    if head and count != len(colours):
        raise BadOption(f"{file}: has {count} colours; name as many with --colours (got {len(colours)})")
    try:
        config = make_config(weights, settings, names)
        converted = convert_weights(weights)
    except BadModel as error:
        raise BadModel(f"{file}: {error}") from error
    except KeyError as error:
        raise BadModel(f"{file}: lacks a DETR's weight {error}") from error
    if head:
        config.update({"colours": list(colours)})
    whole = out.absolute()
    whole.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{whole.name}.", dir=whole.parent) as scratch:
        part = Path(scratch) / whole.name
        part.mkdir()
        _save_network(file, config, converted, part)
        if head:
            linear = nn.Linear(config.d_model, len(colours))
            # the last output is "no object", which the reference code leaves out
            linear.load_state_dict({kind: head[f"{COLOUR_HEAD}{kind}"][:-1] for kind in ("weight", "bias")})
            save_head(linear, part)
        part.replace(whole)
    return bool(head)


def _save_network(file: Path, config: Any, converted: Weights, out: Path) -> None:
    """Write a network as transformers reads it. Raises BadModel if the weights do not fit it."""
    from safetensors.torch import save_file
    from transformers import DetrForObjectDetection, DetrImageProcessor

    from .loaded_checkpoint import hide_reports

    config.architectures = [DetrForObjectDetection.__name__]
    config.save_pretrained(out)
    save_file({name: tensor.contiguous() for name, tensor in converted.items()}, out / "model.safetensors",
              metadata={"format": "pt"})  # fmt: skip
    with hide_reports():
        try:
            network, report = DetrForObjectDetection.from_pretrained(
                out, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
        except RuntimeError as error:  # a shape
            raise BadModel(f"{file}: does not fit a DETR of transformers ({explain_load_error(error)})") from error
        if wrong := [*_list_names(report, "missing_keys"), *_list_names(report, "unexpected_keys")]:
            raise BadModel(f"{file}: does not fit a DETR of transformers, for example {wrong[0]}")
        network.save_pretrained(out)
        DetrImageProcessor(size={"shortest_edge": _SIDE, "longest_edge": _LONGEST}).save_pretrained(out)


def _list_names(report: Mapping[str, Any], key: str) -> Iterator[str]:
    yield from sorted(map(str, report.get(key, ())))


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line and convert."""
    parser = argparse.ArgumentParser(prog="python -m t2i_transformers.detr_checkpoint", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--classes", type=Path, required=True, help="annotations with the categories (JSON)")
    parser.add_argument(
        "--colours", default=",".join(PAINTSKILLS_COLOURS), help="in the order of the head's outputs, with commas"
    )
    given = parser.parse_args(words)
    try:
        coloured = convert(given.file, given.out, read_categories(given.classes), given.colours.split(","))
    except T2IError as error:
        sys.exit(f"error: {error}")
    print(f"--judge {'coloured-detector' if coloured else 'transformers-detector'}:{given.out}")


if __name__ == "__main__":
    main()
