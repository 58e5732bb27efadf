"""Judge `coloured-detector`, on small DETRs and RT-DETRs that transformers itself saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from t2i_core.api import ObjectClass, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_registry import Registry
from t2i_transformers.checkpoints import COLOURS

NAME = "coloured-detector"
KINDS = ("coloured_detr", "coloured_rt_detr")


class TestContract(JudgeContract):
    module = "t2i_transformers.plugin"
    name = NAME

    @pytest.fixture(autouse=True)
    def _folder(self, coloured_rt_detr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(coloured_rt_detr))


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def detected(tiny: Any, folder: Path, images: list[Image], batch: int = 5) -> list[Any]:
    judge = tiny.made(NAME, folder, batch, floor=0)
    found: list[Any] = tiny.ask(judge, "detect", [Query((image,)) for image in images])
    return found


def at_most_one(probabilities: torch.Tensor) -> torch.Tensor:
    """Rows of probabilities: the highest stays, the rest are made smaller to sum to what it leaves, if to more."""
    rows = []
    for row in probabilities.tolist():
        best = row.index(max(row))
        rest = sum(row) - row[best]
        share = min(1, (1 - row[best]) / rest)
        rows.append([value if at == best else value * share for at, value in enumerate(row)])
    return torch.tensor(rows)


@pytest.mark.long
def test_it_is_what_the_librarys_own_network_says(tiny: Any, folder: Path, images: list[Image]) -> None:
    """Classes of DETR share one softmax with none, those of RT-DETR stand apart; colours are of their queries."""
    from transformers import AutoImageProcessor, AutoModelForObjectDetection

    network = AutoModelForObjectDetection.from_pretrained(folder).eval()
    processor, head = AutoImageProcessor.from_pretrained(folder), load_file(folder / COLOURS)
    for image, found in zip(images, detected(tiny, folder, images), strict=True):
        with torch.inference_mode():
            out = network(**processor(images=image.pil(), return_tensors="pt"))
            colours = (out.last_hidden_state @ head["weight"].T + head["bias"]).softmax(-1)[0]
        together = network.config.model_type == "detr"
        probs = out.logits[0].softmax(-1)[:, :-1] if together else out.logits[0].sigmoid()
        np.testing.assert_allclose(found.scores, probs.max(-1).values, atol=1e-5)
        np.testing.assert_allclose(found.class_probs, at_most_one(probs), atol=1e-5)
        np.testing.assert_allclose(found.colours, colours, atol=1e-5)
        np.testing.assert_allclose(found.colours.sum(axis=1), 1, atol=1e-5)
        assert (found.classes == found.class_probs.argmax(axis=1)).all()
        assert (found.scores == found.class_probs.max(axis=1)).all()
        assert found.labels == (ObjectClass("cat", "cat.n.01"), ObjectClass("dog", "dog.n.01"), ObjectClass("hat"))
        assert found.colour_names == ("red", "blue", "natural")
    assert np.ptp(found.colours, axis=0).max() > 0.01  # queries differ: the test can tell them apart


@pytest.mark.long
@pytest.mark.parametrize("kin", ["RTDetrV2", "DFine"])
def test_kin(tiny: Any, tmp_path: Path, images: list[Image], kin: str) -> None:
    """They are trained and asked as RT-DETR is: with noise to undo, and by the same queries."""
    from t2i_transformers.coloured_network import Coloured

    folder = tiny.save_coloured(tmp_path, kin)
    network, processor = tiny.rt_detr(kin)
    coloured = Coloured(network, [ObjectClass("a")] * 3, ("red", "blue")).train()
    label = {
        "boxes": torch.tensor([[0.3, 0.4, 0.2, 0.2], [0.7, 0.6, 0.3, 0.4]]),
        "class_labels": torch.tensor([0, 2]),
        "colours": torch.tensor([1, 0]),
    }
    found = coloured.losses(torch.rand(2, 3, 64, 64), [label, label])
    found["loss"].backward()
    assert coloured.head.weight.grad.abs().sum() > 0
    library = type(network).from_pretrained(folder).eval()
    for image, ours in zip(images, detected(tiny, folder, images), strict=True):
        with torch.inference_mode():
            out = library(**processor(images=image.pil(), return_tensors="pt"))
        np.testing.assert_allclose(ours.class_probs, at_most_one(out.logits[0].sigmoid()), atol=1e-4)


def test_company_changes_nothing(tiny: Any, folder: Path, images: list[Image]) -> None:
    pairs = zip(detected(tiny, folder, images), detected(tiny, folder, images, batch=1), strict=True)
    for together, alone in pairs:
        np.testing.assert_allclose(together.boxes, alone.boxes, atol=1e-3)
        np.testing.assert_allclose(together.class_probs, alone.class_probs, atol=1e-4)
        np.testing.assert_allclose(together.colours, alone.colours, atol=1e-4)


def test_the_registry_knows_it(coloured_rt_detr: Path, images: list[Image]) -> None:
    found = Registry().component("judge", f"{NAME}:{coloured_rt_detr}", {})
    assert found.info.capabilities == {"detect": frozenset({"class_probs", "colour"})}
    setup = Setup(found.argument, found.options, "cpu", None, offline=True)
    found.info.loading.check(setup)
    ((_, answer),) = found.info.create(setup).observe("detect", [Query((images[0],))])
    assert answer.colours.shape == (len(answer), 3)


def broken(folder: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_its_answers_depend_on_its_head(tiny: Any, coloured_detr: Path) -> None:
    info = tiny.OFFERED[NAME]
    assert coloured_detr / COLOURS in list(info.loading.weights(str(coloured_detr), info.options()))


def test_other_checkpoints_than_coloured_detectors_are_refused(
    tiny: Any, coloured_detr: Path, tmp_path: Path
) -> None:
    info, copy = tiny.OFFERED[NAME], broken(coloured_detr, tmp_path)
    setup = Setup(str(copy), info.options(), "cpu", None, offline=True)
    info.loading.check(setup)
    save_file({"weight": torch.zeros(2, 16), "bias": torch.zeros(2)}, copy / COLOURS)
    with pytest.raises(BadModel, match=r"does not fit its colours: it must hold .*\(3, 16\).*got .*\(2, 16\)"):
        info.create(setup)
    (copy / COLOURS).unlink()
    with pytest.raises(BadModel, match=COLOURS):
        info.loading.check(setup)
    config = json.loads((copy / "config.json").read_text())
    del config["colours"]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadModel, match=r"lists no colours .*train_coloured_detector"):
        info.loading.check(setup)
