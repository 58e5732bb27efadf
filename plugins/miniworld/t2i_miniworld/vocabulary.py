"""The mini world's classes by name, for who must not load its geometry."""

from __future__ import annotations

from t2i_core.prompts import ObjectClass

#: Kinds of things, each with its WordNet 3.0 synset.
SYNSETS: dict[str, str] = {
    "car": "car.n.01",
    "refrigerator": "refrigerator.n.01",
    "giraffe": "giraffe.n.01",
    "elephant": "elephant.n.01",
    "zebra": "zebra.n.01",
    "airplane": "airplane.n.01",
    "dog": "dog.n.01",
    "chair": "chair.n.01",
}

LABELS: tuple[ObjectClass, ...] = tuple(ObjectClass(name, synset) for name, synset in SYNSETS.items())


def find(cls: ObjectClass) -> str | None:
    """Return the name of the kind that is this class, None where the mini world has no such thing."""
    return next((label.name for label in LABELS if label.same_as(cls)), None)
