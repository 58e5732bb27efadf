"""Models that get other texts than the prompts': each model once more for each source that changes prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..api.errors import BadOption, BrokenPlugin
from ..api.metric import Metric
from ..api.plugin_guard import describe_component
from ..api.plugin_info import ExistingImagesInfo, MetricInfo, PromptSourceInfo
from ..api.prompt import Prompt
from .component import Component
from .component_finder import ComponentFinder
from .sample import Model


def find_perturbations(finder: ComponentFinder) -> list[Component[PromptSourceInfo]]:
    """Return the sources of `--perturb`.

    Raises:
        BadOption: If a source changes no prompts, or has an argument.
    """
    found = []
    for asked in dict.fromkeys(finder.request.perturb):
        source: Component[PromptSourceInfo] = finder.find("prompt_source", asked)
        if not source.info.changes_prompts:
            raise BadOption(
                f"--perturb {source.spec}: this prompt source changes no prompts of others; name one that does, "
                "such as typos"
            )
        if source.argument is not None:
            raise BadOption(
                f"--perturb {source.spec}: it changes the run's own prompts; leave out ':{source.argument}'"
            )
        finder.check(source)
        found.append(source)
    return found


def add_perturbed(models: Iterable[Model], sources: Sequence[Component[PromptSourceInfo]]) -> list[Model]:
    """Return each model, followed by the same model with the prompts of each source.

    Raises:
        BadOption: If a model has existing images, which no prompt can change.
    """
    found = []
    for model in models:
        found.append(model)
        if sources and isinstance(model.component.info, ExistingImagesInfo):
            raise BadOption(
                f"--perturb {sources[0].spec}: {model.label!r} has existing images, which do not depend on "
                "prompts; name models that draw"
            )
        for source in sources:
            found.append(replace(model, label=f"{model.label} ({source.spec})", perturbation=source))
    return found


def refuse_unperturbed(metric: Component[MetricInfo], instance: Metric, models: Iterable[Model]) -> None:
    """Refuse perturbed models under a metric that needs no generated images, because it would see no difference.

    Raises:
        BadOption: If one is named.
    """
    draws = any(
        way.images == "generated" and way.source == "judge" for need in instance.needs for way in need.ways
    )
    perturbed = next((model for model in models if model.perturbation is not None), None)
    if perturbed is not None and instance.needs and not draws:
        raise BadOption(
            f"--perturb changes the prompts of generated images, and metric {metric.spec!r} uses none; leave one "
            "of them out"
        )


def match_texts(
    source: Component[PromptSourceInfo], prompts: Sequence[Prompt], changed: Sequence[Prompt]
) -> Mapping[str, str]:
    """Return the changed text of each prompt, by its id.

    Raises:
        BrokenPlugin: If the source did not give each prompt once.
    """
    texts = {prompt.id: prompt.text for prompt in changed}
    if len(texts) != len(changed) or texts.keys() != {prompt.id for prompt in prompts}:
        raise BrokenPlugin(
            f"{describe_component(source)} changed {len(prompts)} prompts into {len(changed)} with other ids; "
            "it must give each prompt once"
        )
    return texts
