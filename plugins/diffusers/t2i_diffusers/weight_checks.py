"""Check for missing and foreign weights while the parts of a pipeline load.

Libraries only log missing weights and continue with random values (transformers) or without values (diffusers).
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

from .message_filters import hide_messages
from .sources import CheckpointSource

_LEGACY = re.compile(r"(^|\.)position_ids$")
"""Weights in old files that no model reads any more."""

_LOADS = "from_pretrained"

_REPORTS = ("Some weights of ", "LOAD REPORT")
"""Starts of the libraries' messages on weights, without colours and names."""

_log = logging.getLogger(__name__)


@contextmanager
def whole_weights(source: CheckpointSource) -> Iterator[None]:
    """Raise BadModel for every model loaded in this context whose files lack weights or have other shapes.

    Two base classes load all models of a pipeline; their reports already consider tied weights and renamed ones.
    """
    own = {base: vars(base)[_LOADS] for base in (ModelMixin, PreTrainedModel)}
    for base, method in own.items():
        setattr(base, _LOADS, classmethod(_report_missing(source, method)))
    try:
        with hide_messages(_REPORTS, ("diffusers.models.modeling_utils", "transformers.modeling_utils")):
            yield
    finally:
        for base, method in own.items():
            setattr(base, _LOADS, method)


def _report_missing(source: CheckpointSource, method: Any) -> Callable[..., Any]:
    def from_pretrained(cls: type, place: Any, *args: Any, **kwargs: Any) -> Any:
        if issubclass(cls, PreTrainedModel):
            kwargs.setdefault("ignore_mismatched_sizes", True)  # otherwise the report has no details
        wanted = kwargs.pop("output_loading_info", False)
        model, report = method.__get__(None, cls)(place, *args, output_loading_info=True, **kwargs)
        if problem := _problem(cls, Path(place), report):
            raise BadModel(f"{source}: its {problem}")
        if unknown := sorted(key for key in report["unexpected_keys"] if not _LEGACY.search(key)):
            message = "%s: %s holds weights that %s does not use: %s"
            _log.warning(message, source, place, cls.__name__, _list_some(unknown))
        return (model, report) if wanted else model

    return from_pretrained


def _problem(cls: type, folder: Path, report: Mapping[str, Any]) -> str | None:
    if mismatched := sorted(report["mismatched_keys"]):
        key, given, wanted = mismatched[0]
        return (
            f"{folder.name} does not fit its config: {key} has the shape {list(given)}, but the config requires "
            f"{list(wanted)}; use files of one model"
        )
    if missing := sorted(report["missing_keys"]):
        return (
            f"{folder.name} lacks {_list_some(missing)}: the weights of {cls.__name__} in {folder} are incomplete "
            "or are of another model"
        )
    return None


def _list_some(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"
