"""Questions to a component in another process, where `hash` gives other numbers and sets have another order.

This file runs as a script there, so that none of the modules that the tests import helps a component. Modules that
one component imports stay imported for the next.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
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
    pickled = pickle.dumps((dict(os.environ), Path.cwd(), question))
    key = (hash_seed, *sys.path)  # two plugins may have modules of one name
    process = _PROCESSES.pop(key, None) or _OtherProcess(hash_seed)
    answer = process.ask(pickled)
    _PROCESSES[key] = process
    return answer


class _OtherProcess:
    """A process that answers one question after another: what components import, it imports once."""

    def __init__(self, hash_seed: str) -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - open as long as the process runs
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        atexit.register(self.stop)

    def ask(self, question: bytes) -> Any:
        """Return the answer to a pickled question.

        Raises:
            AssertionError: If the process fails; its errors are in the message.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        began = self._errors.seek(0, os.SEEK_END)
        try:
            pickle.dump((sys.path, question), self._process.stdin)
            self._process.stdin.flush()
            return pickle.loads(pickle.load(self._process.stdout))
        except Exception as error:
            with suppress(subprocess.TimeoutExpired):  # it ends by itself when it has written its error
                self._process.communicate(timeout=10)
            self.stop(close=False)
            self._errors.seek(began)
            errors = self._errors.read().decode(errors="replace") or repr(error)
            self._errors.close()
            raise AssertionError(f"the other process failed:\n{errors}") from error

    def stop(self, close: bool = True) -> None:
        """End the process, and close its files unless the errors are still to be read."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._process.communicate()
        if close:
            self._errors.close()


_PROCESSES: dict[tuple[str, ...], _OtherProcess] = {}
"""The process for each hash seed and module path; a failed one is dropped."""


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
    """Answer the questions on the standard input. Components find it empty, and their output is set aside."""
    with os.fdopen(os.dup(0), "rb") as questions, os.fdopen(os.dup(1), "wb") as answers:
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        while True:
            try:
                sys.path[:], pickled = pickle.load(questions)
            except EOFError:
                return
            environment, folder, question = pickle.loads(pickled)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            pickle.dump(pickle.dumps(_answer(*question)), answers)
            answers.flush()


def _answer(
    module: str, kind: str, name: str, options: Mapping[str, Any], argument: str | None, asked: Any
) -> Any:
    (info,) = (each for each in getattr(import_module(module), f"t2i_{kind}s")() if each.name == name)
    return _WORK[kind](settle_component(info, info.options(**options), argument), asked)


if __name__ == "__main__":
    _serve()
