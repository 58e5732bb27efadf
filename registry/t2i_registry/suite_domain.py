"""The parts of a suite that fit the images of a model: its judges, and its prompts for one metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import T2IError
from t2i_core.api.plugin_info import PHOTOGRAPHS, GeneratorInfo, JudgeInfo
from t2i_core.api.resolver import split_judge
from t2i_core.engine.request import Request
from t2i_core.engine.request_values import split_prompts

if TYPE_CHECKING:
    from .registry import Registry


def fit_domain(suite: Mapping[str, Any], models: Any, registry: Registry) -> dict[str, Any]:
    """Return the values of a suite without what is made for images of another domain than the models'.

    A judge serves images of its own domain. Prompts that the suite names for one metric serve photographs. Metrics
    of other models keep the judges and prompts of their domain. A component that is not installed, or broken, is
    reported later.

    Args:
        suite: Values of the request's fields that the suite sets.
        models: The user's models, as the field of the request takes them; may be empty.
        registry: Finds components.
    """
    request = Request(models=models or suite.get("models", ()))
    specs = [each.spec for model in request.models for each in model.expand()]
    domains = {domain for spec in specs if (domain := _find_domain("generator", spec, registry))}
    if not domains:
        return dict(suite)
    fitted = dict(suite)
    if "judges" in suite:
        fitted["judges"] = tuple(_keep_judges(suite["judges"], domains, registry))
    if "default_prompts" in suite and domains != {PHOTOGRAPHS.name}:
        fitted["default_prompts"] = tuple(word for word in suite["default_prompts"] if not split_prompts(word)[0])
    return fitted


def _keep_judges(words: tuple[str, ...], domains: set[str], registry: Registry) -> Iterator[str]:
    for word in words:
        domain = _find_domain("judge", split_judge(word)[1], registry)
        if domain is None or domain in domains:
            yield word


def _find_domain(kind: str, spec: Any, registry: Registry) -> str | None:
    """Return the domain of a component, by its name or its descriptor; None if it cannot be found."""
    if isinstance(spec, GeneratorInfo):
        return spec.domain.name
    try:
        ((entry, _),) = registry.find_any(f"{kind}:{spec}")
        info = registry.describe(entry).info
    except T2IError:
        return None
    return info.domain.name if isinstance(info, GeneratorInfo | JudgeInfo) else None
