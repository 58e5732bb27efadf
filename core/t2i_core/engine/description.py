"""The description of a component by its own environment, for a process that cannot import it.

`python -m t2i_core.engine.description` runs in the environment: it finds the component, settles and checks it, and
prints its description. The objects of its libraries stay there.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import SecretStr

from ..api import errors
from ..api.errors import BadOption, BrokenPlugin, T2IError
from ..api.options import has_number, resolve_number, select_result_options
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import ExistingImagesInfo, JudgeInfo, Kind, SelfJudgingInfo
from ..api.prices import find_price
from ..api.resolver import OptionTable, installed_resolver
from ..version import __version__
from .component import Component
from .job import declared_labels
from .lifecycle import fetch_weights, settle_on_machine


@dataclass(frozen=True)
class Question:
    """The component that an environment is asked to describe.

    Attributes:
        kind: Kind of the component.
        spec: Its name as the user wrote it.
        options: The user's options.
        device: The device of the run.
        offline: True if nothing may be downloaded.
        fetch: True to download everything that the component loads.
    """

    kind: Kind
    spec: str
    options: OptionTable
    device: str | None
    offline: bool
    fetch: bool = False


@dataclass(frozen=True)
class ComponentDescription:
    """A component as plain data.

    Attributes:
        core: Version of t2i-core in the environment.
        dist: Its distribution.
        version: The distribution's version.
        module: Its module.
        argument: The argument, which a preset may set.
        options: Its options, settled, as plain JSON data; secrets are left out.
        silent: Names of the options that results do not depend on.
        secrets: Names of the options that are secret.
        fingerprint: Its fingerprint.
        judge_fingerprint: The fingerprint of its answers.
        content_digest: Its digest that is the same on every machine.
        info: The fields of its descriptor that are plain data, in the form of keyword arguments.
        capabilities: For a judge, the capabilities with the fields that they give beyond the required ones; for a
            generator, those in which it judges itself.
        labels: Name and synset of each class; None if it declares none.
        paid: True if its requests may cost money.
        revisions: If its files were fetched, the revisions of its weights; None if it downloads nothing.
    """

    core: str
    dist: str
    version: str
    module: str
    argument: str | None
    options: Mapping[str, Any]
    silent: tuple[str, ...]
    secrets: tuple[str, ...]
    fingerprint: str
    judge_fingerprint: str
    content_digest: str
    info: Mapping[str, Any]
    capabilities: Mapping[str, tuple[str, ...]]
    labels: tuple[tuple[str, str | None], ...] | None
    paid: bool
    revisions: tuple[str, ...] | None = None


def describe(question: Question) -> ComponentDescription:
    """Return the description of a component of this environment.

    Raises:
        T2IError: If something is wrong with it, its argument or its options.
    """
    found: Component[Any] = installed_resolver().component(question.kind, question.spec, question.options)
    by_people = isinstance(found.info, JudgeInfo) and found.info.by_people
    if by_people or isinstance(found.info, ExistingImagesInfo):
        does = "gives people's answers" if by_people else "looks up existing images"
        raise BadOption(f"{describe_component(found)} {does}, which needs no environment; leave that option out")
    revisions = fetch_weights(found, question.device) if question.fetch else None
    found = settle_on_machine(found, question.device, question.offline)
    info = found.info
    if info.loading.check is not None:
        with guard_plugin(found, "to check its argument and options"):
            info.loading.check(found.setup(question.device, offline=question.offline))
    labels = declared_labels(found)
    results = select_result_options(found.options)
    secrets = tuple(name for name, value in found.options if isinstance(value, SecretStr))
    options = found.options.model_dump(mode="json", exclude=set(secrets))
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenPlugin(f"{describe_component(found)}: its options are not plain data ({error})") from error
    return ComponentDescription(
        core=__version__,
        dist=found.dist,
        version=found.version,
        module=found.module,
        argument=found.argument,
        options=options,
        silent=tuple(name for name in type(found.options).model_fields if name not in results),
        secrets=secrets,
        fingerprint=found.fingerprint,
        judge_fingerprint=found.judge_fingerprint,
        content_digest=found.content_digest,
        info=_read_info(found),
        capabilities=_list_capabilities(info),
        labels=None if labels is None else tuple((each.name, each.synset) for each in labels),
        paid=find_price(found) is not None,
        revisions=None if revisions is None else tuple(revisions),
    )


def _read_info(component: Component[Any]) -> dict[str, Any]:
    info = component.info
    domain = info.domain
    plain: dict[str, Any] = {
        "name": info.name,
        "summary": info.summary,
        "about": asdict(info.about),
        "domain": {
            "name": domain.name,
            "summary": domain.summary,
            "judges": dict(domain.judges),
            "metrics": {
                name: {
                    "prompts": each.prompts,
                    "seeds": each.seeds,
                    "judges": dict(each.judges),
                    "options": dict(each.options),
                    "absent": dict(each.absent),
                }
                for name, each in domain.metrics.items()
            },
        },
    }
    if isinstance(info, JudgeInfo):
        option = info.floor if isinstance(info.floor, str) else ""
        is_field = option in type(component.options).model_fields
        is_property = option and not is_field and has_number(type(component.options), option)
        floor = resolve_number(option, component.options) if is_property else info.floor
        return {**plain, "floor": floor, "reads_truth": info.reads_truth}
    return {**plain, "reads_scene": info.reads_scene}


def _list_capabilities(info: Any) -> dict[str, tuple[str, ...]]:
    if isinstance(info, JudgeInfo):
        return {name: tuple(sorted(gives)) for name, gives in info.capabilities.items()}
    return dict.fromkeys(sorted(info.capabilities), ()) if isinstance(info, SelfJudgingInfo) else {}


def encode_answer(answer: ComponentDescription | T2IError) -> bytes:
    """Return a description, or the error in its place, as JSON."""
    if isinstance(answer, T2IError):
        plain = [each if each is None else str(each) for each in answer.args]
        return json.dumps({"error": type(answer).__name__, "args": plain}).encode()
    return json.dumps(asdict(answer), default=str).encode()


def decode_answer(data: bytes) -> ComponentDescription:
    """Return a description from its JSON.

    Raises:
        T2IError: The error that stands in its place, of its own class.
        ValueError: If it is neither.
    """
    try:
        read: dict[str, Any] = json.loads(data)
        if "error" in read:
            kind = getattr(errors, read["error"], BrokenPlugin)
            raise kind(*read["args"])
        labels = read["labels"]
        tuples = {name: tuple(read[name]) for name in ("silent", "secrets")}
        pairs = None if labels is None else tuple((name, synset) for name, synset in labels)
        capabilities = {name: tuple(gives) for name, gives in read["capabilities"].items()}
        return ComponentDescription(**{**read, **tuples, "labels": pairs, "capabilities": capabilities})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not a description: {error}") from error


def main() -> None:
    """Answer the pickled question on standard input; what plugins print goes to standard error."""
    question: Question = pickle.load(sys.stdin.buffer)
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        answer: ComponentDescription | T2IError = describe(question)
    except T2IError as error:
        answer = error
    with os.fdopen(answers, "wb") as file:
        file.write(encode_answer(answer))


if __name__ == "__main__":
    from t2i_core.engine import description  # the pickled question has its class, not the one of `__main__`

    description.main()
