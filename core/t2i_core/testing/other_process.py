"""The same question in another process, where `hash` gives other numbers and sets have another order.

This file is run as a script there, so that nothing is imported that the component does not need.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.prompt import Prompt
from t2i_core.engine.component import Component, settle_component

if TYPE_CHECKING:
    from t2i_core.api.observation import Labels

HASH_SEEDS = ("1000003", "2000003")
"""Seeds of `hash`. Two may give a small set one order: what is cheap is tried with all."""


def answer_in_another_process(
    component: Component[Any], module: str, asked: Any, hash_seed: str = HASH_SEEDS[0]
) -> Any:
    """Ask a component in another process: prompts for labels, images of requests, the labels of a judge.

    module:     the component's light module
    hash_seed:  seed of its `hash`
    """
    options = component.options.model_dump()
    question = (module, component.kind, component.name, options, component.argument, asked)
    done = subprocess.run(
        [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"],
        input=pickle.dumps(question),
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"it cannot be asked in another process:\n{done.stderr.decode(errors='replace')}"
    return pickle.loads(done.stdout)


def _prompts(asked: Component[Any], labels: Labels | None) -> list[Prompt]:
    found = asked.info.prompts(asked.setup(labels=labels))
    return [replace(prompt, facets=dict(prompt.facets)) for prompt in found]


def _images(asked: Component[Any], requests: Sequence[ImageRequest]) -> list[Any]:
    model = asked.info.create(asked.setup())
    try:
        drawn = {id(request): answer for request, answer in model.generate(iter(requests))}
    finally:
        if hasattr(model, "close"):
            model.close()
    answers = [drawn[id(request)] for request in requests]
    return [Generated(each.image) if isinstance(each, Generated) else each for each in answers]


def _labels(asked: Component[Any], _: None) -> Labels | None:
    labels: Labels | None = asked.info.labels(asked.argument, asked.options)
    return labels


_WORK: Mapping[str, Callable[[Component[Any], Any], Any]] = {
    "prompt_source": _prompts,
    "generator": _images,
    "judge": _labels,
}


def _answer() -> None:
    """Answer the question that stands in the standard input; what the component prints goes to the errors."""
    out = os.dup(1)
    os.dup2(2, 1)
    module, kind, name, options, argument, asked = pickle.load(sys.stdin.buffer)
    (info,) = (each for each in getattr(import_module(module), f"t2i_{kind}s")() if each.name == name)
    answer = _WORK[kind](settle_component(info, info.options(**options), argument), asked)
    with os.fdopen(out, "wb") as file:
        pickle.dump(answer, file)


if __name__ == "__main__":
    _answer()
