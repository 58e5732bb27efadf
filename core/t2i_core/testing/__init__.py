"""Conformance suites for plugin authors to subclass, and parts to evaluate with, without any model.

Subclass the suite of each kind that a plugin offers in its tests; pytest runs the inherited checks:

    from t2i_core.testing import MetricContract

    class TestSharpness(MetricContract):
        module = "t2i_sharpness.plugin"
        name = "sharpness"

A check that cannot hold is waived by name, with the reason:

    waived = {"another_seed_gives_another_image": "the server takes no seed"}

A suite that passes shows that core can run the component, not that its numbers are right: add golden values.
"""

from pkgutil import iter_modules

import pytest

# before they are imported, so that their `assert` statements show the compared values, as those of tests do
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))

from .generators import GeneratorContract  # noqa: E402
from .judges import JudgeContract  # noqa: E402
from .metrics import MetricContract  # noqa: E402
from .parts import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver, sample_images  # noqa: E402
from .prompt_sources import PromptSourceContract  # noqa: E402
from .sinks import SinkContract  # noqa: E402

__all__ = [
    "TEST_JUDGE",
    "TEST_MODEL",
    "TEST_PROMPTS",
    "GeneratorContract",
    "JudgeContract",
    "MetricContract",
    "PromptSourceContract",
    "SinkContract",
    "StaticResolver",
    "sample_images",
]
