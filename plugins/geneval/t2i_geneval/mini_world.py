"""The mini world's classes and colours, for prompts that its models can draw."""

from __future__ import annotations

from t2i_core.api.prompt import ObjectClass

from .prompt_builder import PromptBuilder

_SYNSETS = {
    "human": "person.n.01",
    "airplane": "airplane.n.01",
    "bike": "bicycle.n.01",
    "bus": "bus.n.01",
    "dog": "dog.n.01",
    "boat": "boat.n.01",
    "van": "van.n.05",
    "train": "train.n.01",
    "fire hydrant": "fireplug.n.01",
    "stop sign": "street_sign.n.01",
    "backpack": "backpack.n.01",
    "chair": "chair.n.01",
    "dining table": "dining_table.n.01",
    "skateboard": "skateboard.n.01",
    "bench": "bench.n.01",
    "suitcase": "bag.n.06",
    "traffic light": "traffic_light.n.01",
    "bird": "bird.n.01",
    "bear": "bear.n.01",
    "bed": "bed.n.01",
    "potted plant": "pot_plant.n.01",
    "car": "car.n.01",
    "refrigerator": "refrigerator.n.01",
    "giraffe": "giraffe.n.01",
    "elephant": "elephant.n.01",
    "zebra": "zebra.n.01",
}
CLASSES = {name: ObjectClass(name, synset) for name, synset in _SYNSETS.items()}
"""The classes by their names."""
COLOURS = ("red", "yellow", "green", "blue", "purple", "pink", "black", "white")
"""The colours, in GenEval's order."""
MINI = PromptBuilder(tuple(CLASSES), COLOURS, samples=20, plurals={"bench": "benches"})
"""Builds the prompts of `geneval-mini`."""
