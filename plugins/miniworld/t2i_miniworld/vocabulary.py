"""Names and synsets of the mini world's classes, without its geometry."""

from __future__ import annotations

from t2i_core.api.prompt import ObjectClass

#: PaintSkills' 21 kinds of things, then TIAM's five, each with its WordNet 3.0 synset. WordNet has no stop sign
#: and no potted plant; the closest synsets are a street sign and a pot plant.
SYNSETS: dict[str, str] = {
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

#: Sub-kinds by kind: synset -> its forms of bodies.
SUBKINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "airplane": {"airliner.n.01": ("airliner",), "propeller_plane.n.01": ("propeller",)},
    "dog": {
        "retriever.n.01": ("retriever",),
        "shepherd_dog.n.01": ("shepherd",),
        "dachshund.n.01": ("dachshund",),
    },
    "boat": {"canoe.n.01": ("canoe",), "dinghy.n.01": ("rowboat",), "motorboat.n.01": ("motorboat",)},
    "chair": {
        "straight_chair.n.01": ("slat-back", "panel-back"),
        "armchair.n.01": ("armchair",),
        "swivel_chair.n.01": ("swivel",),
    },
    "bird": {"duck.n.01": ("duck",), "owl.n.01": ("owl",), "flamingo.n.01": ("flamingo",)},
    "car": {"sedan.n.01": ("sedan",), "hatchback.n.01": ("hatchback",), "sport_utility.n.01": ("suv",)},
}

#: Lowest synsets, each with its kind: the sub-kinds of a kind, or the kind itself if it has none.
LEAVES: dict[str, str] = {
    leaf: kind for kind, synset in SYNSETS.items() for leaf in SUBKINDS.get(kind, {synset: ()})
}

#: Classes of the lowest synsets: a kind has its own name, a sub-kind that of its synset.
LEAF_LABELS: tuple[ObjectClass, ...] = tuple(
    ObjectClass(kind if leaf == SYNSETS[kind] else leaf.partition(".")[0].replace("_", " "), leaf)
    for leaf, kind in LEAVES.items()
)

#: Attributes of a human besides colour; the colour of the coat is one of the eight paints.
HAT, HAIR = ("yes", "no"), ("short", "long")

LABELS: tuple[ObjectClass, ...] = tuple(ObjectClass(name, synset) for name, synset in SYNSETS.items())
