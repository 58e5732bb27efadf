"""Code digests of a run's components, computed once, before work starts."""

from __future__ import annotations

import secrets
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...api.errors import NotReused
from ...api.metric_input import Need
from ..component import Component
from ..job import Job
from ..sample import Model
from .digest import UnhashableCode, digest_code

_CHANGED_BY_WORK: dict[str, str] = {}
"""The digest of code before a run, by its digest afterwards.

State that code changes while it works (a counter, a model that it loads when first used) is not a setting, so the
next run in this process treats it as the same code.
"""


class CodeKeys:
    """Settles the code digests of components and functions that are in no installed distribution.

    They are settled once per run, so they do not change while the run works, whatever the code does to its own
    globals. Code without a digest gets a random key, and t2i warns if results are stored under it.
    """

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._unhashable: dict[int, str] = {}
        self._alive: list[object] = []  # an id is only valid while its object lives
        self._warned: set[str] = set()

    def settle(self, component: Component[Any]) -> Component[Any]:
        """Return a component with its code digest settled; one of an installed distribution stays as it is."""
        if component.kind == "prompt_source" or component.is_installed:  # prompts are in the keys themselves
            return component
        digest = self._digest(component.factory)
        if component.kind != "metric":
            self._warn(f"{component.kind} {component.spec!r}", component.factory)
        return replace(component, own_code=digest)

    def of_derived(self, need: Need, metric: Component[Any]) -> str | None:
        """Return the digest of a need's derive function; None if the metric's own digest covers it."""
        if need.derive is None or metric.is_installed:
            return None
        digest = self._digest(need.derive.function)
        self._warn(f"metric {metric.spec!r}, derived {need.derive.name!r}", need.derive.function, metric.factory)
        return digest

    def _digest(self, code: object) -> str:
        """Return the digest, or a random key that is the same for one object in one run."""
        if id(code) not in self._digests:
            self._alive.append(code)
            try:
                digest = digest_code(code)
                self._digests[id(code)] = _CHANGED_BY_WORK.get(digest, digest)
            except UnhashableCode as error:
                self._unhashable[id(code)] = str(error)
                self._digests[id(code)] = f"this run alone: {secrets.token_hex(16)}"
        return self._digests[id(code)]

    def _warn(self, whose: str, *codes: object) -> None:
        """Warn once that the results of this code are not reused, if any of it has no digest."""
        reasons = [self._unhashable[id(code)] for code in codes if id(code) in self._unhashable]
        if reasons and whose not in self._warned:
            self._warned.add(whose)
            _warn_caller(
                f"{whose}: t2i cannot tell whether its code has changed, because a value has no digest: "
                f"{reasons[0]}. Later runs do not reuse its results, and this run cannot be resumed. To change "
                "that, create the value inside `create`, or give its class `__getstate__`."
            )


def follow_changes(jobs: Sequence[Job], models: Iterable[Model]) -> None:
    """Remember the changes that a run's work has made to its own code."""
    components: list[Component[Any]] = [*(job.metric for job in jobs), *(model.component for model in models)]
    needs = [served for job in jobs for served in job.needs]
    components += [served.choice.judge for served in needs if served.choice is not None]
    keys: dict[int, tuple[object, str | None]] = {id(c.factory): (c.factory, c.own_code) for c in components}
    for served in needs:
        if served.need.derive is not None:
            keys[id(served.need.derive.function)] = (served.need.derive.function, served.derive_code)
    for code, before in keys.values():
        if before is not None:
            with suppress(UnhashableCode):  # the next run reports it
                after = digest_code(code)
                if after != before:
                    _CHANGED_BY_WORK[after] = before


def _warn_caller(message: str) -> None:
    """Warn in every run, at the line of the user's code that called t2i."""
    frame = sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("t2i_core"):
        frame = frame.f_back
    where = frame.f_globals.get("__name__", "__main__")
    warnings.warn_explicit(message, NotReused, frame.f_code.co_filename, frame.f_lineno, module=where)
