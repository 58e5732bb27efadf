"""The contract of sinks."""

from __future__ import annotations

from typing import ClassVar

import pytest
from t2i_core.testing import SinkContract


@pytest.mark.long  # each run of the client is a process
class TestWandb(SinkContract):
    module, name = "t2i_trackers.plugin", "wandb"


class TestMlflow(SinkContract):
    module, name = "t2i_trackers.plugin", "mlflow"


class TestTensorboard(SinkContract):
    module, name = "t2i_trackers.plugin", "tensorboard"


class TestModelCard(SinkContract):
    module, name = "t2i_trackers.plugin", "model-card"


class TestModelCardWithEntries(SinkContract):
    module, name = "t2i_trackers.plugin", "model-card"
    options: ClassVar = {"benchmark": "somebody/prompts"}
