"""Fixtures: golden cases, and the simulator's choices for people of the mini world without rendering them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Generated, GeneratorInfo, Instance, ObjectClass, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.laws import leaf_of, worn
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.plugin import DOMAIN
from t2i_miniworld.simulator import cast_of, key_of
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS, SYNSETS

SIDE = 8


class Undrawn:
    """Generator that chooses as the simulator does; its images are noise, and each object has one pixel."""

    def __init__(self, setup: Any) -> None:
        self.options = setup.options

    def generate(self, requests: Any) -> Any:
        for request in requests:
            things = cast_of(self.options, request).things
            # different scenes need different images, because answers are stored by image
            rng = stream("noise", *key_of(self.options, request), repr(things))
            pixels = rng.integers(1, 255, (SIDE, SIDE, 3), dtype=np.uint8)
            instances = tuple(self._instance(thing, slot) for slot, thing in enumerate(things))
            truth = Truth((SIDE, SIDE), instances, request.prompt.scene, request.prompt.text)
            yield request, Generated(pixels, truth=truth)

    def _instance(self, thing: Any, slot: int) -> Instance:
        owned = np.zeros((SIDE, SIDE), bool)
        owned[0, slot] = True
        mask = PackedMask.pack(owned)
        attributes = {"form": thing.form, "synset": leaf_of(thing.kind, thing.form)}
        if thing.coat is not None:
            attributes |= {"coat": thing.coat, **worn(thing.form)}
        cls = ObjectClass(thing.kind, SYNSETS[thing.kind])
        return Instance(cls, thing.paint, mask.box, mask, attributes)


UNDRAWN = GeneratorInfo(
    name="undrawn",
    summary="The simulator's choices, undrawn.",
    options=SimulatorOptions,
    create=Undrawn,
    domain=DOMAIN,
    reads_scene=True,
    labels=lambda argument, options: LABELS,
)


@pytest.fixture(scope="session")
def undrawn() -> GeneratorInfo:
    return UNDRAWN


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    cases = json.loads((Path(__file__).parent / "golden" / "bias.json").read_text())
    return {case["id"]: case for case in cases}.__getitem__
