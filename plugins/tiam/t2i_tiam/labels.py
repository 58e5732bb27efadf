"""The label sets of the paper's study, each label with its WordNet 3.0 noun synset.

Where a label names a plant and what is eaten of it, the synset is the food, as in ImageNet's labels. Offsets in
WordNet 3.0's data.noun stand beside the synsets, so that they can be looked up.
"""

from __future__ import annotations

from t2i_core.prompts import ObjectClass

_SYNSETS = {
    "airplane": "airplane.n.01",  # 02691156
    "apple": "apple.n.01",  # 07739125
    "banana": "banana.n.02",  # 07753592
    "bear": "bear.n.01",  # 02131653
    "bench": "bench.n.01",  # 02828884
    "bicycle": "bicycle.n.01",  # 02834778
    "bird": "bird.n.01",  # 01503061
    "boat": "boat.n.01",  # 02858304
    "broccoli": "broccoli.n.02",  # 07714990
    "bus": "bus.n.01",  # 02924116
    "cake": "cake.n.03",  # 07628870
    "car": "car.n.01",  # 02958343
    "carrot": "carrot.n.03",  # 07730207
    "cat": "cat.n.01",  # 02121620
    "chair": "chair.n.01",  # 03001627
    "couch": "sofa.n.01",  # 04256520
    "cow": "cow.n.01",  # 02403454
    "dog": "dog.n.01",  # 02084071
    "donut": "doughnut.n.02",  # 07639069
    "elephant": "elephant.n.01",  # 02503517
    "fire hydrant": "fireplug.n.01",  # 03346898
    "giraffe": "giraffe.n.01",  # 02439033
    "horse": "horse.n.01",  # 02374451
    "hot dog": "hotdog.n.02",  # 07697537
    "motorcycle": "motorcycle.n.01",  # 03790512
    "orange": "orange.n.01",  # 07747607
    "oven": "oven.n.01",  # 03862676
    "pizza": "pizza.n.01",  # 07873807
    "refrigerator": "refrigerator.n.01",  # 04070727
    "sandwich": "sandwich.n.01",  # 07695965
    "sheep": "sheep.n.01",  # 02411705
    "train": "train.n.01",  # 04468005
    "truck": "truck.n.01",  # 04490091
    "zebra": "zebra.n.01",  # 02391049
}

LABELS = {name: ObjectClass(name, synset) for name, synset in _SYNSETS.items()}
"""Every label of the study by its name."""


def _pick(names: str) -> tuple[ObjectClass, ...]:
    return tuple(LABELS[name] for name in names.split(", "))


LABELS_24 = _pick(
    "bicycle, car, motorcycle, truck, fire hydrant, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, "
    "zebra, giraffe, banana, apple, broccoli, carrot, chair, couch, oven, refrigerator"
)
LABELS_28 = _pick(
    "bicycle, car, motorcycle, airplane, bus, train, truck, boat, bird, cat, dog, horse, sheep, cow, elephant, "
    "bear, zebra, giraffe, banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake"
)
LABELS_5 = _pick("car, refrigerator, giraffe, elephant, zebra")
COLOURS_6 = ("red", "green", "blue", "purple", "pink", "yellow")
