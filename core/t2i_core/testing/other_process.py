"""Questions to a component in another process, where `hash` gives other numbers and sets have another order.

This file runs as a script there, so that none of the modules that the tests import helps a component.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.prompt import Prompt
from t2i_core.engine.component import Component, settle_component

if TYPE_CHECKING:
    from t2i_core.api.observation import Labels

HASH_SEEDS = ("1000003", "2000003")
"""Values of PYTHONHASHSEED. A small set may have the same order under both, so cheap checks try all."""


def answer_in_another_process(
    component: Component[Any], module: str, asked: Any, hash_seed: str = HASH_SEEDS[0]
) -> Any:
    """Ask a component in another process: a source for prompts, a generator for images, a judge for its labels.

    Args:
        component: The component.
        module: The component's light module.
        asked: The labels for a prompt source, the requests for a generator, None for a judge.
        hash_seed: Value of PYTHONHASHSEED there.

    Returns:
        The prompts, images or labels.
    """
    options = component.options.model_dump()
    question = (module, component.kind, component.name, options, component.argument, asked)
    return _start_process(hash_seed).ask((dict(os.environ), Path.cwd(), sys.path, question))


class _OtherProcess:
    """A process that answers one question after another: what components import, it imports once."""

    def __init__(self, hash_seed: str) -> None:
        self._errors = TemporaryFile("a+b")  # noqa: SIM115 - open as long as the process runs
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        atexit.register(self.stop)

    def ask(self, question: Any) -> Any:
        """Return the answer. A process that fails is replaced before the next question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._errors.truncate(0)
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError):
            _start_process.cache_clear()
            self.stop()
            self._errors.seek(0)
            errors = self._errors.read().decode(errors="replace")
            raise AssertionError(f"the other process failed:\n{errors}") from None

    def stop(self) -> None:
        """End the process."""
        atexit.unregister(self.stop)
        self._process.terminate()
        self._process.wait()


@cache
def _start_process(hash_seed: str) -> _OtherProcess:
    return _OtherProcess(hash_seed)


def _give_prompts(asked: Component[Any], labels: Labels | None) -> list[Prompt]:
    found = asked.info.prompts(asked.setup(labels=labels))
    return [replace(prompt, facets=dict(prompt.facets)) for prompt in found]


def _give_images(asked: Component[Any], requests: Sequence[ImageRequest]) -> list[Any]:
    model = asked.info.create(asked.setup())
    try:
        drawn = {id(request): answer for request, answer in model.generate(iter(requests))}
    finally:
        if hasattr(model, "close"):
            model.close()
    answers = [drawn[id(request)] for request in requests]
    return [Generated(each.image) if isinstance(each, Generated) else each for each in answers]


def _give_labels(asked: Component[Any], _: None) -> Labels | None:
    labels: Labels | None = asked.info.labels(asked.argument, asked.options)
    return labels


_WORK: Mapping[str, Callable[[Component[Any], Any], Any]] = {
    "prompt_source": _give_prompts,
    "generator": _give_images,
    "judge": _give_labels,
}


def _serve() -> None:
    """Answer the questions on the standard input; the components' own output goes to the standard error."""
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        while True:
            try:
                environment, folder, sys.path[:], question = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            pickle.dump(_answer(*question), out)
            out.flush()


def _answer(
    module: str, kind: str, name: str, options: Mapping[str, Any], argument: str | None, asked: Any
) -> Any:
    (info,) = (each for each in getattr(import_module(module), f"t2i_{kind}s")() if each.name == name)
    return _WORK[kind](settle_component(info, info.options(**options), argument), asked)


if __name__ == "__main__":
    _serve()
