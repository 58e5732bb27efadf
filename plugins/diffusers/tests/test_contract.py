"""The conformance suite, on a tiny checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Setup
from t2i_core.engine.component import Component
from t2i_core.testing import GeneratorContract
from t2i_core.testing.parts import settle
from t2i_diffusers import plugin


class TestDiffusers(GeneratorContract):
    module = "t2i_diffusers.plugin"
    name = "diffusers"
    options = {"steps": 1, "dtype": "float32"}  # noqa: RUF012
    tolerance = 2.0

    @pytest.fixture(autouse=True)
    def _argument(self, checkpoint: Any) -> None:
        type(self).argument = str(checkpoint("StableDiffusionPipeline")[0])


@pytest.fixture
def component(checkpoint: Any) -> Component[Any]:
    """The generator on a tiny checkpoint."""
    from t2i_diffusers.plugin import t2i_generators

    info = next(i for i in t2i_generators() if i.name == "diffusers")
    return settle(info, {}, str(checkpoint("StableDiffusionPipeline")[0]))


def test_the_precision_left_open_is_the_devices(component: Any) -> None:
    resolve = component.info.loading.resolve
    assert resolve(Setup(component.argument, component.options, "cuda:1")).dtype == "float16"
    assert resolve(Setup(component.argument, component.options, "mps")).dtype == "float16"
    assert resolve(Setup(component.argument, component.options, "cpu")).dtype == "float32"
    chosen = component.options.model_copy(update={"dtype": "bfloat16"})
    assert resolve(Setup(component.argument, chosen, "cpu")).dtype == "bfloat16"


def test_images_depend_on_all_code_but_what_only_describes_counts_or_refuses(component: Any) -> None:
    folder = Path(plugin.__file__).parent
    depends = {*component.info.code, *component.info.judge_code}
    rest = {file.name for file in folder.glob("*.py")} - depends
    describes = {"__init__.py", "preset_classes.py", "presets.py", "sizes.py", "stable_diffusion_parts.py"}
    assert rest == {
        *describes,
        "weight_checks.py",
        "mirrors.py",
        "message_filters.py",
        "tokens.py",
        "wholeness.py",
    }


def test_other_weights_are_another_model_and_offloading_is_not(component: Any, tiny: Any, tmp_path: Any) -> None:
    def fingerprint(seed: int, **options: Any) -> str:
        folder = tiny.save(tiny.stable_diffusion, tmp_path / "model", seed)
        return str(settle(component.info, options, str(folder)).fingerprint)

    first = fingerprint(0)
    assert fingerprint(1) != first
    assert fingerprint(0) == first
    assert fingerprint(0, offload="model") == first
    assert fingerprint(0, guidance=3) != first
