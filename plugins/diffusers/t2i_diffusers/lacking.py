"""Whether weights are all there, and of this model, told while parts of a pipeline are loaded.

Libraries only log what a file lacks, and go on with random numbers (transformers), or none (diffusers).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diffusers import ModelMixin
from t2i_core.api.errors import BadModel
from transformers import PreTrainedModel

from .quiet import leaving_out
from .sources import CheckpointSource

_LEGACY = re.compile(r"(^|\.)position_ids$")
"""What old files hold and no model reads any more."""

_LOADS = "from_pretrained"

_REPORTS = ("Some weights of ", "LOAD REPORT")
"""How libraries begin to tell of weights, but for colours and a name."""

_log = logging.getLogger(__name__)


@contextmanager
def whole_weights(source: CheckpointSource) -> Iterator[None]:
    """Have every model that is loaded meanwhile tell of its weights.

    Loading raises BadModel where its files lack some, or hold some of another shape. All models that a pipeline
    loads are loaded by two base classes, whose reports have tied weights and translated names settled already.
    """
    own = {base: vars(base)[_LOADS] for base in (ModelMixin, PreTrainedModel)}
    for base, method in own.items():
        setattr(base, _LOADS, classmethod(_telling(source, method)))
    try:
        with leaving_out(_REPORTS, ("diffusers.models.modeling_utils", "transformers.modeling_utils")):
            yield
    finally:
        for base, method in own.items():
            setattr(base, _LOADS, method)


def _telling(source: CheckpointSource, method: Any) -> Callable[..., Any]:
    def from_pretrained(cls: type, place: Any, *args: Any, **kwargs: Any) -> Any:
        if issubclass(cls, PreTrainedModel):
            kwargs.setdefault("ignore_mismatched_sizes", True)  # or else it only says that there are some
        wanted = kwargs.pop("output_loading_info", False)
        model, report = method.__get__(None, cls)(place, *args, output_loading_info=True, **kwargs)
        if problem := _problem(cls, Path(place), report):
            raise BadModel(f"{source}: its {problem}")
        if unknown := sorted(key for key in report["unexpected_keys"] if not _LEGACY.search(key)):
            message = "%s: %s holds weights that %s has no place for: %s"
            _log.warning(message, source, place, cls.__name__, _some(unknown))
        return (model, report) if wanted else model

    return from_pretrained


def _problem(cls: type, folder: Path, report: Mapping[str, Any]) -> str | None:
    if mismatched := sorted(report["mismatched_keys"]):
        key, given, wanted = mismatched[0]
        return (
            f"{folder.name} does not fit its config: {key} has the shape {list(given)}, and its config wants "
            f"{list(wanted)}: they are of different models"
        )
    if missing := sorted(report["missing_keys"]):
        return (
            f"{folder.name} lacks {_some(missing)}: the weights in {folder} are not all of {cls.__name__}'s, or "
            "are of another model"
        )
    return None


def _some(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"
