"""Questions to a component in another process, where `hash` gives other numbers and sets have another order.

This file runs as a script there, so that only the modules that the component needs are imported.
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
    done = subprocess.run(
        [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"],
        input=pickle.dumps(question),
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"the other process failed:\n{done.stderr.decode(errors='replace')}"
    return pickle.loads(done.stdout)


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


def _answer() -> None:
    """Answer the question on the standard input; the component's own output goes to the standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    module, kind, name, options, argument, asked = pickle.load(sys.stdin.buffer)
    (info,) = (each for each in getattr(import_module(module), f"t2i_{kind}s")() if each.name == name)
    answer = _WORK[kind](settle_component(info, info.options(**options), argument), asked)
    with os.fdopen(out, "wb") as file:
        pickle.dump(answer, file)


if __name__ == "__main__":
    _answer()
