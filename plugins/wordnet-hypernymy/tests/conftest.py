from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import ObjectClass
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    cases = json.loads((Path(__file__).parent / "golden" / "wordnet-hypernymy.json").read_text())
    return {case["id"]: case for case in cases}.__getitem__


@pytest.fixture(scope="session")
def imagenet() -> tuple[ObjectClass, ...]:
    return tuple(ObjectClass(name.partition(".")[0], name) for name in imagenet_classes())


@pytest.fixture(scope="session")
def leaves(imagenet: tuple[ObjectClass, ...]) -> Leaves:
    return Leaves.of(nouns(), imagenet)
