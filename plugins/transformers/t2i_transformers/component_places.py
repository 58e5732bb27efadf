"""Places of a component's checkpoint and processor, and the options that depend on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import Setup

from .options import CheckpointOptions, precision

if TYPE_CHECKING:
    from .checkpoints import CheckpointPlace


def find_places(
    name: str, argument: str | None, options: CheckpointOptions
) -> tuple[CheckpointPlace, CheckpointPlace | None]:
    """Return the place of the checkpoint, and the place of a separate processor if the options name one.

    Args:
        name: The component's name.
        argument: A folder or ORG/NAME.
        options: The component's options.
    """
    from . import checkpoints

    given = getattr(options, "processor", None)
    spec = f"{name}:{argument}"
    if not given:
        return checkpoints.find(spec, argument or "", options.revision), None
    spec = f"{spec} -o {name}.processor={given}"  # the arguments of `t2i prefetch`
    repository, _, revision = (given, "", "") if Path(given).expanduser().is_dir() else given.partition("@")
    own = checkpoints.find(spec, argument or "", options.revision)
    return own, checkpoints.find(spec, repository, revision or None)


def pin(setup: Setup[Any], place: CheckpointPlace, processor: CheckpointPlace | None) -> dict[str, Any]:
    """Return the options that depend on the device and on the state of repositories, with definite values."""
    from t2i_torch_support.device import get_device_type

    from . import checkpoints

    changes: dict[str, Any] = {}
    if place.folder is None:
        changes["revision"] = checkpoints.commit(place, setup.offline)
    if processor is not None and processor.folder is None:
        changes["processor"] = f"{processor.name}@{checkpoints.commit(processor, setup.offline)}"
    if setup.options.dtype == "auto":
        changes["dtype"] = precision(get_device_type(setup.device))
    return changes
