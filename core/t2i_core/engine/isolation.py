"""Components in their own environments: described by the environment, created only by a worker in it."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import SecretStr, create_model

from ..api.cache_folder import find_cache_folder
from ..api.digest import digest_data
from ..api.environment import ENVIRONMENT, Environment, EnvironmentRequest
from ..api.errors import BadOption, BrokenPlugin, MissingDependency
from ..api.executor import ExecutorInfo
from ..api.options import ExecutionOption, Options, select_result_options
from ..api.plugin_info import (
    About,
    Defaults,
    Domain,
    GeneratorInfo,
    InfoT,
    JudgeInfo,
    Kind,
    Price,
    SelfJudgingInfo,
    Setup,
)
from ..api.prompt import ObjectClass
from ..api.redaction import redact
from ..api.resolver import Identity
from ..version import __version__
from .component import Component
from .description import ComponentDescription, Question, decode_answer


@dataclass(frozen=True)
class IsolatedComponent(Component[InfoT]):
    """A component in its own environment, which this process need not be able to import.

    Its options are those that the environment settled, as plain data, with the requirements as `environment`.

    Attributes:
        described: What the environment says about it.
        question: What the environment was asked.
    """

    described: ComponentDescription | None = None
    question: Question | None = None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of its own fingerprint in the environment, and of the versions that the user asked for."""
        return self._digest(self._description.fingerprint)

    @cached_property
    def judge_fingerprint(self) -> str:
        """The same for its answers."""
        return self._digest(self._description.judge_fingerprint)

    @cached_property
    def content_digest(self) -> str:
        """The same without the folders of files."""
        assert self.environment is not None
        return digest_data([self._description.content_digest, sorted(self.environment.versions.items())])

    @property
    def identity(self) -> Identity:
        """By what a process in the environment finds that its code and its weights are the same."""
        described = self._description
        return Identity(described.options, described.fingerprint, described.judge_fingerprint)

    @cached_property
    def code_digest(self) -> str:
        """The digest of its code, in its own fingerprint."""
        return self._description.fingerprint

    def manifest(self) -> dict[str, Any]:
        """Return its record, with the versions of its environment."""
        assert self.environment is not None
        return {**super().manifest(), "environment": dict(self.environment.versions)}

    @property
    def _description(self) -> ComponentDescription:
        assert self.described is not None
        return self.described

    def _digest(self, own: str) -> str:
        assert self.environment is not None
        options = select_result_options(self.options)
        options.pop(ENVIRONMENT)
        return digest_data([own, options, sorted(self.environment.versions.items())])


class Isolation:
    """Returns components in their own environments, each described once.

    Args:
        executor: Builds the environments.
        device: The device of the run.
        offline: True if nothing may be downloaded.
        note: Called with a message before an environment is built.
    """

    def __init__(
        self,
        executor: ExecutorInfo,
        device: str | None,
        offline: bool,
        note: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._executor, self._device, self._offline, self._note = executor, device, offline, note
        self._built: dict[str, Environment] = {}
        self._found: dict[str, Component[Any]] = {}

    def __call__(self, kind: Kind, spec: str, options: Mapping[str, Any], own: str | None) -> Component[Any]:
        """Return a component, checked and settled by its environment, which is built if need be.

        Args:
            kind: `generator` or `judge`.
            spec: The component as the user named it.
            options: The user's options.
            own: The installed distribution that offers it; None if it is not installed.

        Raises:
            BadOption: If the requirements are not valid, or the executor has no environments.
            T2IError: Any that the build or the component raises.
        """
        key = digest_data([kind, spec, repr(sorted(options.items())), own])
        if key not in self._found:
            self._found[key] = self._find(kind, spec, options, own)
        return self._found[key]

    def _find(self, kind: Kind, spec: str, options: Mapping[str, Any], own: str | None) -> Component[Any]:
        whose = f"{kind} {spec!r}"
        build = self._executor.build_environment
        if build is None:
            raise BadOption(f"option 'environment' of {whose}: executor {self._executor.name!r} cannot build one")
        given = {name: value for name, value in options.items() if name != ENVIRONMENT}
        wanted = options[ENVIRONMENT]
        if not isinstance(wanted, str | list | tuple) or not all(isinstance(each, str) for each in wanted):
            raise BadOption(f"option 'environment' of {whose} must be a list of requirements (got {wanted!r})")
        request = EnvironmentRequest(whose, wanted, own, find_cache_folder().absolute(), self._offline, self._note)
        wish = repr((wanted, own))
        if wish not in self._built:
            self._built[wish] = build(request)
        environment = self._built[wish]
        name = spec.partition(":")[0]
        question = Question(kind, spec, {f"{kind}:{name}": given}, self._device, self._offline)
        described = _ask(environment, question, whose)
        if described.core != __version__:
            raise BrokenPlugin(
                f"{whose}: its environment has t2i-core {described.core}, but this process {__version__}; "
                "they must be the same"
            )
        settled = _make_options(described, given, environment.requirements)
        return IsolatedComponent(
            kind=kind,
            spec=spec.strip(),
            info=_make_info(kind, described),
            options=settled,
            argument=described.argument,
            dist=described.dist,
            version=described.version,
            module=described.module,
            given=options,
            environment=environment,
            described=described,
            question=question,
        )


def fetch_isolated(component: IsolatedComponent[Any]) -> list[str] | None:
    """Have a component download everything that it loads, in its environment; return what `fetch_weights` returns.

    Raises:
        T2IError: If a download fails, or something is wrong with the component.
    """
    assert component.environment is not None
    assert component.question is not None
    question = replace(component.question, fetch=True)
    revisions = _ask(component.environment, question, f"{component.kind} {component.spec!r}").revisions
    return None if revisions is None else list(revisions)


def _ask(environment: Environment, question: Question, whose: str) -> ComponentDescription:
    """Ask an environment to describe a component."""
    try:
        asked = subprocess.run(
            [environment.python, "-P", "-m", "t2i_core.engine.description"],
            input=pickle.dumps(question),
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise BrokenPlugin(f"{whose} cannot be described by its environment: {error.strerror or error}") from error
    try:
        return decode_answer(asked.stdout)
    except ValueError as error:
        lines = asked.stderr.decode(errors="replace").strip().splitlines()
        reason = redact(lines[-1].strip()) if lines else f"its process ended with code {asked.returncode}"
        raise BrokenPlugin(f"{whose} cannot be described by its environment: {reason}") from error


def _make_options(
    described: ComponentDescription, given: Mapping[str, Any], requirements: Sequence[str]
) -> Options:
    """Return the settled options as a model whose fields take any plain data."""
    fields: dict[str, Any] = {name: (Any, value) for name, value in described.options.items()}
    fields |= {name: (SecretStr, ...) for name in described.secrets if name in given}
    fields |= {
        name: (Annotated[kind, ExecutionOption()], value)
        for name, (kind, value) in fields.items()
        if name in described.silent
    }
    fields[ENVIRONMENT] = (tuple[str, ...], tuple(requirements))
    model = create_model("IsolatedOptions", __base__=Options, **fields)
    named = {name: described.options[name] for name in given if name in described.options}
    named |= {name: given[name] for name in given if name in described.secrets}
    return model(**named)


def _make_info(kind: Kind, described: ComponentDescription) -> Any:
    plain = described.info
    domain = plain["domain"]
    classes = described.labels
    labels = None if classes is None else tuple(ObjectClass(*each) for each in classes)
    shared: dict[str, Any] = {
        **plain,
        "about": About(**plain["about"]),
        "domain": Domain(
            domain["name"],
            domain["summary"],
            domain["judges"],
            {name: Defaults(**each) for name, each in domain["metrics"].items()},
        ),
        "labels": None if labels is None else lambda argument, options: labels,
        "create": _refuse,
        "price": lambda options: _UNKNOWN_PRICE if described.paid else None,
    }
    if kind == "judge":
        offered = {name: frozenset(gives) for name, gives in described.capabilities.items()}
        return JudgeInfo(**shared, capabilities=offered)
    if described.capabilities:
        return SelfJudgingInfo(**shared, capabilities=frozenset(described.capabilities))
    return GeneratorInfo(**shared)


_UNKNOWN_PRICE = Price(
    most=lambda item, capability: 0.0,
    unknown="leave its option environment out, because t2i cannot limit the requests of another process",
)
"""The price of a paid component, whose own price stays in its environment."""


def _refuse(setup: Setup[Any]) -> Any:
    raise MissingDependency("it runs only in its own environment; add --executor ray")
