"""Checkpoints in a single safetensors file: their configuration, and how they are loaded.

A single file holds weights only. Configurations and tokenizers come from the folder or repository of a pipeline
with the same parts: the option `config`, or the repository that diffusers names for files with these weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel

CONFIGS = ("*.json", "*/*.json", "*/*.txt", "*/*.model")
"""Files of a repository that hold no weights."""


def is_single_file(model: str) -> bool:
    """Return whether a model is a safetensors file on this machine."""
    return model.endswith(".safetensors") and Path(model).expanduser().is_file()


def find_config(file: Path) -> str:
    """Return the repository whose configuration diffusers uses for a file, told by the names of its weights.

    Raises:
        BadModel: The file is damaged, or holds one part of a pipeline only.
    """
    import torch
    from diffusers.loaders import single_file_utils
    from safetensors import safe_open
    from t2i_torch_support.weights import check_file

    check_file(file, None, "diffusers")
    with safe_open(file, "pt") as opened:
        shapes = {
            name: torch.empty(opened.get_slice(name).get_shape(), device="meta")
            for name in opened.keys()  # noqa: SIM118
        }
    kind = single_file_utils.infer_diffusers_model_type(shapes)
    parts = single_file_utils.CHECKPOINT_KEY_NAMES
    # files of an unknown kind count as Stable Diffusion 1 there
    if kind == "v1" and parts["v1"] not in shapes:
        raise BadModel(
            f"{file}: its weights are of no known kind of checkpoint; name the folder or repository of a pipeline "
            "with the same parts in the option config"
        )
    return str(single_file_utils.DIFFUSERS_DEFAULT_PIPELINE_PATHS[kind]["pretrained_model_name_or_path"])


def load_single_file(cls: Any, file: Path, folder: Path, **arguments: Any) -> Any:
    """Load a pipeline from a file, with the configuration of a folder.

    Raises:
        BadModel: The class cannot be loaded from one file, or the file lacks weights.
    """
    if not hasattr(cls, "from_single_file"):
        raise BadModel(f"{file}: diffusers cannot load {cls.__name__} from a single file")
    pipe = cls.from_single_file(str(file), config=str(folder), local_files_only=True, **arguments)
    for name, part in pipe.components.items():
        if not hasattr(part, "named_parameters"):
            continue
        # weights that the file lacks stay on the meta device
        if lacking := [key for key, weight in part.named_parameters() if weight.is_meta]:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise BadModel(f"{file}: lacks {lacking[0]}{more} of the {name} ({type(part).__name__}) of {folder}")
    return pipe
