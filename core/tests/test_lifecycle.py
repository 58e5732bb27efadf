"""Release of a component's memory."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType

import pytest
from t2i_core.api import GeneratorInfo
from t2i_core.api.executor import ComponentSettings
from t2i_core.engine import lifecycle
from t2i_core.engine.component import settle_component
from t2i_core.engine.lifecycle import open_component


class Cyclic:
    """Refers to itself, as networks do whose parts know them."""

    def __init__(self) -> None:
        self.itself = self


INFO = GeneratorInfo(name="cyclic", summary="Draws nothing.", create=lambda setup: Cyclic())


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has imported torch, and whose objects the garbage collector searches."""
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setattr(lifecycle, "_frozen", lifecycle._FrozenObjects())
    gc.unfreeze()
    yield
    gc.freeze()


def test_components_are_released_when_they_are_closed_even_in_a_cycle() -> None:
    component, how = settle_component(INFO), ComponentSettings()
    with open_component(component, how) as outer:
        first = weakref.ref(outer)
        with open_component(component, how) as inner:
            second = weakref.ref(inner)
            del inner
        assert second() is None
        del outer
    assert first() is None


def test_only_objects_that_came_with_a_component_are_searched() -> None:
    older = Cyclic()
    alive = weakref.ref(older)
    with open_component(settle_component(INFO), ComponentSettings()):
        assert gc.get_freeze_count()
        del older
    assert not gc.get_freeze_count()
    assert alive() is not None  # left to the next collection of everything
    gc.collect()
    assert alive() is None


def test_objects_that_the_caller_froze_stay_frozen() -> None:
    gc.freeze()
    with open_component(settle_component(INFO), ComponentSettings()):
        pass
    assert gc.get_freeze_count()


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()
    count, counts = gc.get_freeze_count, []

    def note_count() -> int:
        counts.append(count())
        return counts[-1]

    monkeypatch.setattr(gc, "get_freeze_count", note_count)
    component = settle_component(INFO)
    for _ in range(2):
        with open_component(component, ComponentSettings()), open_component(component, ComponentSettings()):
            pass
    assert [number > 0 for number in counts] == [True]
