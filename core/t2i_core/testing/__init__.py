"""For plugin authors: conformance suites to subclass, and parts to evaluate with, without any model.

Subclass the suite of each kind that a plugin offers in its tests; pytest runs what it inherits:

    from t2i_core.testing import MetricContract

    class TestSharpness(MetricContract):
        module = "t2i_sharpness.plugin"
        name = "sharpness"

A check that cannot hold is waived by name, with the reason:

    waived = {"another_seed_gives_another_image": "the server takes no seed"}

A suite that passes says that core can run the component, not that its numbers are right: add golden values.
"""

from .generators import GeneratorContract
from .judges import JudgeContract
from .metrics import MetricContract
from .parts import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver, sample_images
from .prompt_sources import PromptSourceContract

__all__ = [
    "TEST_JUDGE",
    "TEST_MODEL",
    "TEST_PROMPTS",
    "GeneratorContract",
    "JudgeContract",
    "MetricContract",
    "PromptSourceContract",
    "StaticResolver",
    "sample_images",
]
