"""Small checkpoints of the real classes, saved by the library's own save; one is trained for some seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import torch
import yaml
from filelock import FileLock
from numpy.typing import NDArray
from t2i_core.api.image import Image, load_image
from t2i_torch_support.testing import one_thread  # noqa: F401  for all tests of this folder
from t2i_ultralytics import coco
from t2i_ultralytics.library import tasks  # before anything else imports ultralytics, and writes settings

SIDE = 96
"""Side of the pictures that the trained network knows."""
PERSON, CAR = 0, 2
COCO = tuple(label.name for label in coco.LABELS)
_COLOURS = {PERSON: (220, 30, 30), CAR: (30, 60, 220)}

Scene = tuple[NDArray[np.uint8], dict[int, NDArray[np.uint8]]]
Save = Callable[..., Path]


def scene(seed: int, size: tuple[int, int] = (SIDE, SIDE)) -> Scene:
    """A picture of a red box (a person) and a blue disc (a car) on grey noise, and the mask of each by its class.

    size: width and height
    """
    rng = np.random.default_rng(seed)
    width, height = size
    pixels = rng.integers(100, 150, (height, width, 3)).astype(np.uint8)
    left, right = rng.permutation([PERSON, CAR])
    masks = {}
    for cls, middle in ((left, width // 4), (right, 3 * width // 4)):
        x, y = middle + rng.integers(-4, 5), rng.integers(height // 4, 3 * height // 4)
        mask = np.zeros((height, width), np.uint8)
        a, b = rng.integers(12, 20, 2)
        if cls == PERSON:
            cv2.rectangle(mask, (int(x - a), int(y - b)), (int(x + a), int(y + b)), 1, -1)
        else:
            cv2.ellipse(mask, (int(x), int(y)), (int(a), int(b)), 0, 0, 360, 1, -1)
        pixels[mask > 0] = _COLOURS[int(cls)]
        masks[int(cls)] = mask
    return pixels, masks


def picture(folder: Path, seed: int, size: tuple[int, int] = (SIDE, SIDE)) -> Image:
    """The picture of a scene as a kept image."""
    file = folder / f"{seed}-{size[0]}x{size[1]}.png"
    cv2.imwrite(str(file), cv2.cvtColor(scene(seed, size)[0], cv2.COLOR_RGB2BGR))
    return load_image(file)


def network(described: str = "yolov8n-seg.yaml", names: tuple[str, ...] = COCO) -> Any:
    """A network of random weights, of one of the library's own descriptions with fewer channels."""
    torch.manual_seed(0)
    segments = "-seg" in described
    config = tasks.yaml_model_load(described)
    config |= {"nc": len(names), "scale": "t", "scales": {"t": [0.33, 0.125, 256]}}
    made = (tasks.SegmentationModel if segments else tasks.DetectionModel)(config, verbose=False)
    made.names, made.task = dict(enumerate(names)), "segment" if segments else "detect"
    return made


@pytest.fixture(scope="session")
def small() -> SimpleNamespace:
    """The functions of this file that tests call."""
    return SimpleNamespace(scene=scene, picture=picture, network=network, PERSON=PERSON, CAR=CAR)


@pytest.fixture(scope="session")
def save() -> Save:
    """Saves a network as the library does: `YOLO.save`."""

    def save(network: Any, file: Path) -> Path:
        from ultralytics import YOLO

        described = file.with_name("described.yaml")  # of a name such as yolo11x the library guesses
        described.write_text(yaml.safe_dump({k: v for k, v in network.yaml.items() if k != "yaml_file"}))
        model = YOLO(str(described), task=network.task)
        model.model = network
        model.save(file)
        return file

    return save


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, save: Save) -> Path:
    """A segmenter that knows the red boxes and blue discs of `scene`, trained by the library's own loss.

    Trained once for all processes that run tests.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "yolo"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "trained.lock"):
        if not (folder / "trained.pt").is_file():
            made = network()
            learn(made)
            save(made, folder / "making.pt").rename(folder / "trained.pt")
    return folder / "trained.pt"


def learn(made: Any, steps: int = 64, batch: int = 4) -> None:
    """Train a segmenter on scenes."""
    from ultralytics.cfg import get_cfg

    made.args = get_cfg(overrides={"overlap_mask": False, "mask_ratio": 4})
    made.train()
    for layer in made.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = 0.2  # the library's 0.03 is for thousands of steps
    optimizer = torch.optim.AdamW(made.parameters(), lr=4e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=6e-3, total_steps=steps, pct_start=0.15)
    for step in range(steps):
        loss, _ = made.loss(_batch(range(step * batch, (step + 1) * batch)))
        optimizer.zero_grad()
        loss.sum().backward()
        torch.nn.utils.clip_grad_norm_(made.parameters(), 10)
        optimizer.step()
        schedule.step()
    made.eval()


def _batch(seeds: range) -> dict[str, torch.Tensor]:
    """Scenes in the form of the library's data sets: boxes as middle and size, relative; a mask per thing."""
    scenes = [scene(seed) for seed in seeds]
    things = [(i, cls, mask) for i, (_, masks) in enumerate(scenes) for cls, mask in masks.items()]
    boxes = []
    for _, _, mask in things:
        y, x = np.nonzero(mask)
        x0, y0, x1, y1 = x.min(), y.min(), x.max() + 1, y.max() + 1
        boxes.append([(x0 + x1) / 2 / SIDE, (y0 + y1) / 2 / SIDE, (x1 - x0) / SIDE, (y1 - y0) / SIDE])
    small = [cv2.resize(mask, (SIDE // 4, SIDE // 4), interpolation=cv2.INTER_AREA) for _, _, mask in things]
    return {
        "img": torch.from_numpy(np.stack([pixels for pixels, _ in scenes])).permute(0, 3, 1, 2).float() / 255,
        "batch_idx": torch.tensor([i for i, _, _ in things]),
        "cls": torch.tensor([[cls] for _, cls, _ in things]).float(),
        "bboxes": torch.tensor(boxes).float(),
        "masks": torch.from_numpy(np.stack(small)).float(),
    }
