"""The models of one request: generators found and settled, each with its label."""

from __future__ import annotations

from typing import Any

from ..api.errors import BadOption, BrokenPlugin
from ..api.generator import Generator
from ..api.metric import Metric, PairMetric
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import PHOTOGRAPHS, ExistingImagesInfo, GeneratorInfo, MetricInfo, Setup
from ..api.prompt import ObjectClass
from ..api.redaction import redact
from .component import Component
from .component_finder import ComponentFinder
from .job import declared_labels
from .request import ModelRequest
from .sample import Model
from .settled_metric import settle_metric


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
    """Return the models of a request that names none.

    These are the models that the options of its metrics bring, or a stand-in if none of its metrics uses a model;
    otherwise the result is empty.
    """
    found: dict[str, ModelRequest] = {}
    metrics = finder.request.metrics
    for asked in metrics:
        metric: Component[MetricInfo] = finder.find("metric", asked)
        if metric.info.models is not None:
            with guard_plugin(metric, "to say which models its options bring"):
                brought = metric.info.models(metric.options)
            found |= {label: ModelRequest(info, label) for label, info in brought.items() if label not in found}
    if not found and not any(uses_models(settle_metric(asked, PHOTOGRAPHS, finder).instance) for asked in metrics):
        return (ModelRequest(NO_MODEL, NO_MODEL.name),) if metrics else ()
    return tuple(found.values())


def uses_models(metric: Metric) -> bool:
    """Return whether a metric needs generated images, or answers of the model itself.

    A metric that asks judges only about existing images and texts uses no model. One without needs may use it.
    """
    needs = [way for need in metric.needs for way in need.ways]
    asks = any(need.images == "generated" or need.source == "model" for need in needs)
    return asks or not needs or isinstance(metric, PairMetric)


def _refuse_to_generate(setup: Setup[Any]) -> Generator:
    raise AssertionError("a metric that uses no model asked for an image")


NO_MODEL = GeneratorInfo(
    name="no model",
    summary="Stands for the model in results of metrics that use none.",
    create=_refuse_to_generate,
    code=("engine/model_list.py",),
)


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
