"""LoRAs: their files, what the fingerprint contains of them, and how they are added to a pipeline.

diffusers adds them through the package peft, an extra of this package.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadModel, BadOption, MissingDependency
from t2i_core.api.text import describe_error
from t2i_core.files.digest import digest_file
from t2i_torch_support import hub_files
from t2i_torch_support.weights import check_file

from .message_filters import hide_messages
from .options import LoraOptions

_HARMLESS, _LOGGERS = ("No LoRA keys associated to",), ("diffusers.loaders.lora_base", "diffusers.loaders.peft")
"""diffusers' message for each part of a pipeline that a LoRA does not change."""

WEIGHTS = "pytorch_lora_weights.safetensors"
"""The name under which diffusers saves a LoRA."""


def check_loras(loras: Sequence[LoraOptions], spec: str, offline: bool) -> None:
    """Check the LoRAs' files, without loading them.

    Raises:
        MissingDependency: peft is not installed.
        BadModel: A LoRA is not there, is damaged, or is a pickle; NotHere if a download would help.
    """
    if loras and find_spec("peft") is None:
        raise MissingDependency("the option lora needs the package peft; install t2i-diffusers[lora]")
    for lora in loras:
        find_file(lora, spec, offline)


def find_file(lora: LoraOptions, spec: str, offline: bool) -> Path:
    """Return the file of a LoRA; download it if it is in a repository and not on this machine.

    Raises:
        BadModel: There is no such file, it is damaged, or it is a pickle; NotHere if it cannot be fetched now.
    """
    where, place = f"option lora: {lora.model}", Path(lora.model)
    if place.is_dir():
        file = place / (lora.file or WEIGHTS)
        if not file.is_file():
            found = sorted(f.name for f in place.glob("*.safetensors"))
            hint = f"; it has {', '.join(found)}: name one with the field file" if found else ""
            raise BadModel(f"{where}: holds no {lora.file or WEIGHTS}{hint}")
    elif place.is_file():
        file = place
    elif place.suffix == ".safetensors" or not hub_files.is_repository(lora.model):
        raise BadModel(f"{where}: is not a file, a folder or a repository (ORG/NAME) that exists")
    else:
        file = hub_files.fetch_from_hub(lora.model, (lora.file or WEIGHTS,), lora.revision, offline, spec)
    if file.suffix != ".safetensors":
        raise BadModel(f"{where}: {file.name} is not a .safetensors file; t2i loads no pickles of LoRAs")
    return check_file(file, None, where)


def pin(lora: LoraOptions, spec: str, offline: bool) -> LoraOptions:
    """Return a LoRA with the commit of its repository; one on this machine has none."""
    if Path(lora.model).exists():
        if lora.revision is not None:
            raise BadOption(f"option lora: {lora.model} is on this machine, so it has no revision")
        return lora
    find_file(lora, spec, offline)
    file = lora.file or WEIGHTS
    return lora.model_copy(
        update={"revision": hub_files.resolve_commit(lora.model, file, lora.revision, offline, spec)}
    )


def list_weights(loras: Sequence[LoraOptions]) -> Iterator[Path | str]:
    """Yield what images depend on: files on this machine, or repository, commit and file."""
    for lora in loras:
        if Path(lora.model).exists():
            yield find_file(lora, "", offline=True)
        else:
            yield f"{lora.model}@{lora.revision}/{lora.file or WEIGHTS}"


def add_loras(pipe: Any, loras: Sequence[LoraOptions], spec: str, offline: bool) -> list[Mapping[str, Any]]:
    """Add LoRAs to a pipeline, and return their records for the manifest.

    Raises:
        BadModel: A LoRA does not fit the pipeline.
    """
    records: list[Mapping[str, Any]] = []
    for number, lora in enumerate(loras):
        file = find_file(lora, spec, offline)
        name, before = f"lora{number}", _count_parts(pipe)
        arguments: dict[str, Any] = {"weight_name": file.name, "adapter_name": name, "use_safetensors": True}
        try:
            with hide_messages(_HARMLESS, _LOGGERS), warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Already found a `peft_config`")  # of a second LoRA
                pipe.load_lora_weights(str(file.parent), **arguments)
        except Exception as error:  # of torch, peft and diffusers, for weights of another architecture
            raise BadModel(
                f"option lora: {lora.model} does not fit {type(pipe).__name__} ({describe_error(error)})"
            ) from error
        if _count_parts(pipe) == before:
            raise BadModel(f"option lora: {lora.model} has no weights of a LoRA for {type(pipe).__name__}")
        records.append(
            {
                "model": lora.model,
                "file": file.name,
                "revision": lora.revision,
                "weight": lora.weight,
                "sha256": digest_file(file),
            }
        )
    if loras:
        pipe.set_adapters([f"lora{number}" for number in range(len(loras))], [lora.weight for lora in loras])
    return records


def _count_parts(pipe: Any) -> int:
    """Return how many pairs of a part and a LoRA there are."""
    return sum(map(len, pipe.get_list_adapters().values()))
