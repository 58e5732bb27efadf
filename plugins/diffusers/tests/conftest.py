"""Tiny checkpoints, built once per run, and what is asked of them."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from t2i_core.api import Failure, Generated, ImageRequest, ObjectClass, Prompt, Scene, SceneObject, Setup
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder


@pytest.fixture(scope="session")
def tiny() -> Any:
    """The module `tiny.py` beside this file."""
    name = "t2i_diffusers_tiny"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("tiny.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def checkpoint(
    tiny: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, dict[str, Any]]]:
    """Give the folder of a class's tiny checkpoint, and options to draw with.

    Made once for all processes that run tests.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def give(pipeline: str) -> tuple[Path, dict[str, Any]]:
        case = tiny.CASES[pipeline]
        folder = shared / f"diffusers-{pipeline}"
        parts = {name: folder / name for name in ("model", *case.stages)}
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                making = own / pipeline
                for name, build in {"model": case.build, **case.stages}.items():
                    tiny.save(build, making / name)
                making.rename(folder)
        options = dict(case.options)
        options |= {name: {**options[name], "model": str(parts[name])} for name in case.stages}
        return parts["model"], options

    return give


@pytest.fixture
def model(checkpoint: Any, tiny: Any) -> Callable[..., Any]:
    """Load a class's tiny checkpoint as the generator."""
    from t2i_diffusers.attend_excite import PIPELINE
    from t2i_diffusers.generator import Diffusers
    from t2i_diffusers.options import DiffusersOptions

    def load(pipeline: str = "StableDiffusionPipeline", batch_size: int | None = None, **changes: Any) -> Any:
        folder, options = checkpoint(pipeline)
        setup = Setup(str(folder), DiffusersOptions(**{**options, **changes}), "cpu", batch_size)
        return Diffusers(setup, PIPELINE if tiny.CASES[pipeline].of == "attend-excite" else None)

    return load


def prompt(text: str, *names: str) -> Prompt:
    """A prompt that expects some objects."""
    return Prompt(text, text, Scene(tuple(SceneObject(ObjectClass(name)) for name in names)))


@pytest.fixture(scope="session")
def requests() -> list[ImageRequest]:
    """Seven images of prompts of several lengths under several seeds."""
    prompts = (
        prompt("a photo of a cat", "cat"),
        prompt("a red dog on the lawn, next to a blue giraffe", "dog", "giraffe"),
        prompt("a car", "car"),
    )
    return [ImageRequest(p, seed, seed) for p in prompts for seed in (0, 1, 2)][:7]


def answers(model: Any, requests: list[ImageRequest]) -> list[Generated | Failure]:
    """Answer requests, in their order."""
    found = {id(request): answer for request, answer in model.generate(iter(requests))}
    return [found[id(request)] for request in requests]


@pytest.fixture(scope="session")
def draw() -> Callable[..., list[Any]]:
    """Answer requests, in their order."""
    return answers
