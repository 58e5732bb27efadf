"""The judges of a suite, which serve images of their own domain alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2i_core.api.errors import T2IError
from t2i_core.api.plugin_info import GeneratorInfo, JudgeInfo
from t2i_core.api.resolver import split_judge
from t2i_core.engine.request import Request
from t2i_registry import Registry


def keep_judges(values: Mapping[str, Any], registry: Registry) -> tuple[str, ...]:
    """Return the judges of a suite that are made for the images of a model.

    For other images, metrics keep the judges of their domain. A judge or a model that is not installed, or broken,
    is reported later.

    Args:
        values: Values of the request's fields.
        registry: Finds components.
    """
    request = Request(**values)
    specs = [each.spec for model in request.models for each in model.expand()]
    domains = {_find_domain("generator", str(spec), registry) for spec in specs}
    kept = []
    for word in request.judges:
        domain = _find_domain("judge", split_judge(word)[1], registry)
        if not domains or domain in domains or domain is None:
            kept.append(word)
    return tuple(kept)


def _find_domain(kind: str, spec: str, registry: Registry) -> str | None:
    """Return the domain of a component; None if it cannot be found."""
    try:
        ((entry, _),) = registry.find_any(f"{kind}:{spec}")
        info = registry.describe(entry).info
    except T2IError:
        return None
    return info.domain.name if isinstance(info, GeneratorInfo | JudgeInfo) else None
