"""Components: descriptors with argument and options settled."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic

from ..api.digest import digest_data, drop_places
from ..api.environment import Environment
from ..api.errors import BadModel, BrokenPlugin
from ..api.options import Options, select_result_options
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import (
    INFO_TYPES,
    ExistingImagesInfo,
    InfoT,
    Kind,
    MetricInfo,
    PromptSourceInfo,
    SelfJudgingInfo,
    Setup,
    SinkInfo,
)
from ..api.prompt import ObjectClass
from ..api.redaction import learn_secrets
from ..api.resolver import Identity
from ..files.digest import digest_files
from ..files.package_files import digest_sources, is_in_package
from .code.digest import digest_code, is_installed


@dataclass(frozen=True)
class Component(Generic[InfoT]):
    """A descriptor with argument and options settled, ready to be created.

    Attributes:
        kind: The kind of component.
        spec: The name as the user wrote it (`simulator`, `folder:images`).
        info: The descriptor.
        options: All options, with defaults.
        argument: The text after the colon; None without a colon.
        dist: Name of the distribution.
        version: Version of the distribution.
        module: The plugin's light module.
        given: The options that the user gave.
        own_code: Digest of its code, which the plan settles if the code is in no installed distribution.
        absent: True if its results depend on weights that are not on this machine. Only plans of dry runs have
            such components. Their fingerprints are made up, and nothing in the cache has them.
        environment: The environment that it runs in; None for that of this process.
    """

    kind: Kind
    spec: str
    info: InfoT
    options: Options
    argument: str | None = None
    dist: str = ""
    version: str = ""
    module: str = ""
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)
    own_code: str | None = None
    absent: bool = False
    environment: Environment | None = None

    def __post_init__(self) -> None:
        learn_secrets(self.options)

    def for_argument(self) -> Component[InfoT]:
        """Return the component with the descriptor that holds under its argument and options."""
        if not isinstance(self.info, MetricInfo) or self.info.describe is None:
            return self
        with guard_plugin(self, "to describe its argument"):
            info: Any = self.info.describe(self.argument, self.options)
        return replace(self, info=info)

    @property
    def name(self) -> str:
        """The name without argument."""
        return self.spec.partition(":")[0].rpartition("/")[2]

    @property
    def asked(self) -> str:
        """Name and options as a command takes them: `sd2 -o sd2.revision=main`."""
        texts = {k: v if isinstance(v, str) else json.dumps(v, default=str) for k, v in self.given.items()}
        options = [word for key, text in texts.items() for word in ("-o", f"{self.name}.{key}={text}")]
        return shlex.join([self.spec, *options])

    @property
    def mirror_note(self) -> str | None:
        """Note that a mirror is used; None if it is not."""
        original = self.info.about.original
        if not original:
            return None
        return f"{self.spec}: {original} was withdrawn by its publisher; using the mirror {self.argument}"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that its results depend on: code, weights, argument and options.

        Raises:
            BadModel: If its weights cannot be read.
        """
        return digest_data(
            {
                "kind": self.kind,
                "name": self.info.name,
                "argument": self._place if isinstance(self.info, ExistingImagesInfo) else self.argument,
                "options": select_result_options(self.options),
                "code": self.code_digest,
                "weights": self.weights_digest,
            }
        )

    @cached_property
    def content_digest(self) -> str:
        """SHA-256 (hex) of the same, but without the folders of files: it is equal on every machine."""
        return digest_data(
            {
                "kind": self.kind,
                "name": self.info.name,
                "argument": drop_places(self.argument),
                "options": drop_places(select_result_options(self.options)),
                "code": self.code_digest,
                "weights": self.weights_digest,
            }
        )

    @cached_property
    def weights_digest(self) -> str:
        """SHA-256 (hex) of its weights and of other files that it reads, whatever their names and places.

        Raises:
            BadModel: If they cannot be read.
        """
        if self.absent:
            return "not known"
        list_weights = self.info.loading.weights
        try:
            return digest_files(list_weights(self.argument, self.options) if list_weights else ())
        except OSError as error:
            raise BadModel(f"{self.kind} {self.spec!r}: its weights cannot be read ({error})") from error

    @cached_property
    def judge_fingerprint(self) -> str:
        """SHA-256 (hex) of everything that its answers depend on; a generator that judges itself has more."""
        further = self._judge_code if self.is_installed else ()
        return digest_data([self.fingerprint, self._digest_files(further)]) if further else self.fingerprint

    @property
    def identity(self) -> Identity:
        """By what the process that creates it finds that its code and its weights are the same."""
        return Identity({}, self.fingerprint, self.judge_fingerprint, self.code_digest)

    @property
    def _judge_code(self) -> tuple[str, ...]:
        return self.info.judge_code if isinstance(self.info, SelfJudgingInfo) else ()

    @cached_property
    def is_installed(self) -> bool:
        """True if its code comes from a plugin or from files of an installed distribution."""
        return bool(self.module) or is_installed(self.factory)

    @cached_property
    def code_digest(self) -> str:
        """SHA-256 (hex) of the code that its results depend on.

        Code of an installed distribution counts with its source files, any other with the objects themselves
        (`engine.code.digest`). If these are defined in a package, its files count too, because they may be data.

        Raises:
            UnhashableCode: If the code is in no installed distribution and has no digest; never in a run.
        """
        if self.is_installed:
            return self._digest_files(self.info.code)
        files = self._digest_files((*self.info.code, *self._judge_code)) if is_in_package(self._made_in) else ""
        return digest_data([self.own_code or digest_code(self.factory), files])

    def _digest_files(self, patterns: tuple[str, ...]) -> str:
        try:
            return digest_sources(self.module or self._made_in, patterns)
        except ValueError as error:
            raise BrokenPlugin(f"{self.kind} {self.spec!r} ({self.dist} {self.version}): {error}") from error

    @property
    def factory(self) -> Callable[[Setup[Any]], Any]:
        """The function that creates it; for a prompt source, the function that yields its prompts."""
        return self.info.prompts if isinstance(self.info, PromptSourceInfo) else self.info.create

    @property
    def _made_in(self) -> str:
        """The module of the function that creates it."""
        function = self.factory
        while isinstance(function, partial):
            function = function.func
        return function.__module__

    @property
    def _place(self) -> str | None:
        """The argument of existing images, a path, as an absolute path."""
        return self.argument and str(Path(self.argument).absolute())

    def setup(
        self,
        device: str | None = None,
        batch_size: int | None = None,
        offline: bool = False,
        labels: tuple[ObjectClass, ...] | None = None,
        dry: bool = False,
    ) -> Setup[Any]:
        """Return the setup that its factory takes."""
        return Setup(self.argument, self.options, device, batch_size, offline, labels, dry)

    def manifest(self) -> dict[str, Any]:
        """Return its record for a run's manifest."""
        return {
            "name": self.spec,
            "dist": self.dist,
            "version": self.version,
            "module": self.module,
            "argument": self.argument,
            **({"original": original} if (original := self.info.about.original) else {}),
            **({"metric_version": self.info.version} if isinstance(self.info, MetricInfo) else {}),
            "options": self.options.model_dump(mode="json"),
            "fingerprint": "" if isinstance(self.info, SinkInfo) else self.fingerprint,
        }


def settle_component(info: InfoT, options: Options | None = None, argument: str | None = None) -> Component[InfoT]:
    """Settle a descriptor that does not come from a plugin, for tests and for use from Python."""
    kind = next(k for k, t in INFO_TYPES.items() if isinstance(info, t))
    settled = Component(kind, info.name, info, options if options is not None else info.options(), argument)
    return settled.for_argument()
