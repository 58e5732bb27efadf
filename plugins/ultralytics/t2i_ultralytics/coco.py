"""COCO's 80 classes, in the order in which YOLO's checkpoints number them, each with its WordNet 3.0 noun synset.

Where a name stands for a plant and for what is eaten of it, the synset is the food; where it stands for several
things, the one that COCO's annotators drew around (the mouse is a device). WordNet 3.0 has no stop sign
and no potted plant: the nearest are a street sign and a pot plant.
"""

from __future__ import annotations

from t2i_core import ObjectClass

_SYNSETS = {
    "person": "person.n.01",
    "bicycle": "bicycle.n.01",
    "car": "car.n.01",
    "motorcycle": "motorcycle.n.01",
    "airplane": "airplane.n.01",
    "bus": "bus.n.01",
    "train": "train.n.01",
    "truck": "truck.n.01",
    "boat": "boat.n.01",
    "traffic light": "traffic_light.n.01",
    "fire hydrant": "fireplug.n.01",
    "stop sign": "street_sign.n.01",
    "parking meter": "parking_meter.n.01",
    "bench": "bench.n.01",
    "bird": "bird.n.01",
    "cat": "cat.n.01",
    "dog": "dog.n.01",
    "horse": "horse.n.01",
    "sheep": "sheep.n.01",
    "cow": "cow.n.01",
    "elephant": "elephant.n.01",
    "bear": "bear.n.01",
    "zebra": "zebra.n.01",
    "giraffe": "giraffe.n.01",
    "backpack": "backpack.n.01",
    "umbrella": "umbrella.n.01",
    "handbag": "bag.n.04",
    "tie": "necktie.n.01",
    "suitcase": "bag.n.06",
    "frisbee": "frisbee.n.01",
    "skis": "ski.n.01",
    "snowboard": "snowboard.n.01",
    "sports ball": "ball.n.01",
    "kite": "kite.n.03",
    "baseball bat": "baseball_bat.n.01",
    "baseball glove": "baseball_glove.n.01",
    "skateboard": "skateboard.n.01",
    "surfboard": "surfboard.n.01",
    "tennis racket": "tennis_racket.n.01",
    "bottle": "bottle.n.01",
    "wine glass": "wineglass.n.01",
    "cup": "cup.n.01",
    "fork": "fork.n.01",
    "knife": "knife.n.01",
    "spoon": "spoon.n.01",
    "bowl": "bowl.n.01",
    "banana": "banana.n.02",
    "apple": "apple.n.01",
    "sandwich": "sandwich.n.01",
    "orange": "orange.n.01",
    "broccoli": "broccoli.n.02",
    "carrot": "carrot.n.03",
    "hot dog": "hotdog.n.02",
    "pizza": "pizza.n.01",
    "donut": "doughnut.n.02",
    "cake": "cake.n.03",
    "chair": "chair.n.01",
    "couch": "sofa.n.01",
    "potted plant": "pot_plant.n.01",
    "bed": "bed.n.01",
    "dining table": "dining_table.n.01",
    "toilet": "toilet.n.02",
    "tv": "television_receiver.n.01",
    "laptop": "laptop.n.01",
    "mouse": "mouse.n.04",
    "remote": "remote_control.n.01",
    "keyboard": "computer_keyboard.n.01",
    "cell phone": "cellular_telephone.n.01",
    "microwave": "microwave.n.02",
    "oven": "oven.n.01",
    "toaster": "toaster.n.02",
    "sink": "sink.n.01",
    "refrigerator": "refrigerator.n.01",
    "book": "book.n.02",
    "clock": "clock.n.01",
    "vase": "vase.n.01",
    "scissors": "scissors.n.01",
    "teddy bear": "teddy.n.01",
    "hair drier": "hand_blower.n.01",
    "toothbrush": "toothbrush.n.01",
}

LABELS = tuple(ObjectClass(name, synset) for name, synset in _SYNSETS.items())
"""The classes in order."""


def classes(names: tuple[str, ...]) -> tuple[ObjectClass, ...]:
    """Return the classes of a checkpoint by its names: COCO's own, or names alone, whose sense nobody said."""
    return LABELS if names == tuple(_SYNSETS) else tuple(ObjectClass(name) for name in names)
