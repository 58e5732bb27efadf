"""A denoiser of the user's own in place of the checkpoint's: the option `denoiser`. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadModel

from .hub import folder_with
from .options import DiffusersOptions
from .sources import DENOISERS, CheckpointSource, list_parts, read_object
from .wholeness import find_model_problems

if TYPE_CHECKING:
    import torch

_CONFIG = "config.json"

_MUST_AGREE = (
    "in_channels", "out_channels", "cross_attention_dim", "joint_attention_dim", "pooled_projection_dim",
    "caption_channels", "encoder_hid_dim", "addition_embed_type", "guidance_embeds",
)  # fmt: skip
"""Entries of a denoiser's config on which what it takes from the other parts and gives to them depends."""


def check_denoiser(options: DiffusersOptions) -> None:
    """Raise BadModel if the folder of the option `denoiser` holds no denoiser with its weights."""
    if options.denoiser is None:
        return
    folder = Path(options.denoiser)
    if not folder.is_dir():
        raise BadModel(f"option denoiser: {folder} is not a folder")
    if not (folder / _CONFIG).is_file():
        inside = next((folder / name for name in DENOISERS if (folder / name / _CONFIG).is_file()), None)
        hint = f"; name {inside}" if inside else f": it must hold {_CONFIG} and weights, as diffusers saves them"
        raise BadModel(f"option denoiser: {folder} holds no denoiser{hint}")
    for problem in find_model_problems("denoiser", folder, None, pickles=False):
        raise BadModel(f"option denoiser: {problem}")


def find_replaced_part(
    source: CheckpointSource, index: Mapping[str, Any], options: DiffusersOptions, offline: bool
) -> str | None:
    """Return the name of the part that the option `denoiser` replaces; None without the option.

    Raises:
        BadModel: The folder holds no denoiser, or one that does not fit the pipeline's other parts; NotHere if the
            config of the checkpoint's own denoiser cannot be fetched.
    """
    if options.denoiser is None or source.option:
        return None
    check_denoiser(options)
    part = next((name for name in DENOISERS if name in list_parts(index)), None)
    if part is None:
        raise BadModel(f"option denoiser: {index['_class_name']} has no {' or '.join(DENOISERS)}")
    given, file = read_object(Path(options.denoiser) / _CONFIG), f"{part}/{_CONFIG}"
    own = read_object(folder_with(source, file, offline) / file)
    for key in ("_class_name", *_MUST_AGREE):
        if key in given and key in own and given[key] != own[key]:
            raise BadModel(
                f"option denoiser: {options.denoiser} does not fit {source}: its {key} is {given[key]}, but the "
                f"{part} of the checkpoint has {own[key]}"
            )
    return part


def list_denoiser_files(options: DiffusersOptions) -> list[Path]:
    """Return the files of the option `denoiser`, in a stable order."""
    if options.denoiser is None:
        return []
    check_denoiser(options)
    found = Path(options.denoiser).iterdir()
    return sorted(file for file in found if file.is_file() and not file.name.startswith("."))


def load_denoiser(options: DiffusersOptions, dtype: torch.dtype) -> Any:
    """Return the denoiser of the option's folder, which `find_replaced_part` has checked."""
    import diffusers

    assert options.denoiser is not None
    name = read_object(Path(options.denoiser) / _CONFIG).get("_class_name")
    found = getattr(diffusers, str(name), None)
    if not (isinstance(found, type) and issubclass(found, diffusers.ModelMixin)):
        raise BadModel(
            f"option denoiser: {options.denoiser}: diffusers {diffusers.__version__} has no model {name}"
        )
    cls: Any = found  # diffusers' base class declares no from_pretrained
    return cls.from_pretrained(options.denoiser, torch_dtype=dtype, use_safetensors=True, local_files_only=True)
