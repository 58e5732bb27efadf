"""The real Inception network with random weights, saved once a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch_fidelity.feature_extractor_inceptionv3 as original
from filelock import FileLock
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder


@pytest.fixture(scope="session")
def random_inception(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with weights of torch-fidelity's own class, drawn so that images come out apart.

    Made once for all processes that run tests.
    """
    own = tmp_path_factory.getbasetemp()
    file = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "inception.pth"
    with FileLock(f"{file}.lock"):
        if not file.is_file():
            _draw(file)
    return file


def _draw(file: Path) -> None:
    torch.manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        # the class has no way to be made without weights
        patch.setattr(original, "load_state_dict_from_url", lambda *args, **kwargs: {})
        patch.setattr(original.FeatureExtractorInceptionV3, "load_state_dict", lambda self, state: None)
        network = original.FeatureExtractorInceptionV3("inception-v3-compat", ["2048"])
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(module.weight)
        network.fc.weight.mul_(10)
    torch.save(network.state_dict(), file)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
