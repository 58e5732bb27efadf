"""The models of one request: generators found and settled, each with its label."""

from __future__ import annotations

from typing import Any

from ..api.errors import BadOption, BrokenPlugin
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import ExistingImagesInfo, GeneratorInfo, MetricInfo
from ..api.prompt import ObjectClass
from ..api.redaction import redact
from .component import Component
from .component_finder import ComponentFinder
from .job import declared_labels
from .request import ModelRequest
from .sample import Model


def list_models(finder: ComponentFinder) -> list[Model]:
    """Return the models of a request, in its order.

    Raises:
        BadOption: If two have the same label, or a setting is wrong.
    """
    models = [_find_model(m, finder) for asked in finder.request.models for m in asked.expand()]
    labels = [m.label for m in models]
    for label in labels:
        if labels.count(label) > 1:
            raise BadOption(f"two models have the label {label!r}; give each its own label")
    return models


def bring_models(finder: ComponentFinder) -> tuple[ModelRequest, ...]:
    """Return the models that the options of a request's metrics bring, because the user named none.

    Raises:
        BadOption: If they bring none.
    """
    found: dict[str, ModelRequest] = {}
    for asked in finder.request.metrics:
        metric: Component[MetricInfo] = finder.find("metric", asked)
        if metric.info.models is not None:
            with guard_plugin(metric, "to say which models its options bring"):
                brought = metric.info.models(metric.options)
            found |= {label: ModelRequest(info, label) for label, info in brought.items() if label not in found}
    if not found:
        raise BadOption(
            "no model to evaluate; name one with --model (t2i list-plugins --kind generator shows them)"
        )
    return tuple(found.values())


def label_generator(generator: Component[GeneratorInfo], label: str, settings: dict[str, Any]) -> Model:
    """Return a generator as a model with a label; ask existing images whether prompts share their seeds."""
    info, why = generator.info, None
    if isinstance(info, ExistingImagesInfo) and info.unshared_seeds is not None:
        with guard_plugin(generator, "to say whether prompts share its seeds"):
            why = info.unshared_seeds(generator.setup())
            if not isinstance(why, str | None):
                raise TypeError(f"gave {type(why).__name__}; it must give a reason in words, or None")
    return Model(generator, label, settings, why, _list_classes(generator))


def _find_model(asked: ModelRequest, finder: ComponentFinder) -> Model:
    found = finder.find("generator", asked.spec, asked.settings)
    finder.check(found)
    settings = " ".join(f"{k}={v}" for k, v in asked.settings.items())
    label = redact(asked.label or f"{found.spec} {settings}".strip())
    given = finder.options_for("generator", found.name)
    return label_generator(found, label, {**given, **asked.settings})


def _list_classes(generator: Component[GeneratorInfo]) -> tuple[ObjectClass, ...] | None:
    """Return the classes that a generator declares; None if it declares none."""
    classes = declared_labels(generator)
    if classes is None:
        return None
    if strange := next((each for each in classes if not isinstance(each, ObjectClass)), None):
        raise BrokenPlugin(f"{describe_component(generator)}: its labels must be ObjectClass, got {strange!r}")
    return classes
