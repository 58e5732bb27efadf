"""COCO's 80 classes, each with its WordNet 3.0 noun synset, for judges trained on COCO and metrics that use them.

If a name means a plant and the food it gives, the synset is the food, as in ImageNet's labels; if it means several
things, the one that COCO's annotators drew around (the mouse is a device). WordNet 3.0 has no stop sign and no
potted plant: the nearest are a street sign and a pot plant.
"""

from __future__ import annotations

from t2i_core.api.prompt import ObjectClass

# beside each synset its offset in WordNet 3.0's data.noun, so that it can be looked up
_SYNSETS = {
    "person": "person.n.01",  # 00007846
    "bicycle": "bicycle.n.01",  # 02834778
    "car": "car.n.01",  # 02958343
    "motorcycle": "motorcycle.n.01",  # 03790512
    "airplane": "airplane.n.01",  # 02691156
    "bus": "bus.n.01",  # 02924116
    "train": "train.n.01",  # 04468005
    "truck": "truck.n.01",  # 04490091
    "boat": "boat.n.01",  # 02858304
    "traffic light": "traffic_light.n.01",  # 06874185
    "fire hydrant": "fireplug.n.01",  # 03346898
    "stop sign": "street_sign.n.01",  # 06794110
    "parking meter": "parking_meter.n.01",  # 03891332
    "bench": "bench.n.01",  # 02828884
    "bird": "bird.n.01",  # 01503061
    "cat": "cat.n.01",  # 02121620
    "dog": "dog.n.01",  # 02084071
    "horse": "horse.n.01",  # 02374451
    "sheep": "sheep.n.01",  # 02411705
    "cow": "cow.n.01",  # 02403454
    "elephant": "elephant.n.01",  # 02503517
    "bear": "bear.n.01",  # 02131653
    "zebra": "zebra.n.01",  # 02391049
    "giraffe": "giraffe.n.01",  # 02439033
    "backpack": "backpack.n.01",  # 02769748
    "umbrella": "umbrella.n.01",  # 04507155
    "handbag": "bag.n.04",  # 02774152
    "tie": "necktie.n.01",  # 03815615
    "suitcase": "bag.n.06",  # 02773838
    "frisbee": "frisbee.n.01",  # 03397947
    "skis": "ski.n.01",  # 04228054
    "snowboard": "snowboard.n.01",  # 04251791
    "sports ball": "ball.n.01",  # 02778669
    "kite": "kite.n.03",  # 03621473
    "baseball bat": "baseball_bat.n.01",  # 02799175
    "baseball glove": "baseball_glove.n.01",  # 02800213
    "skateboard": "skateboard.n.01",  # 04225987
    "surfboard": "surfboard.n.01",  # 04363559
    "tennis racket": "tennis_racket.n.01",  # 04409806
    "bottle": "bottle.n.01",  # 02876657
    "wine glass": "wineglass.n.01",  # 04592099
    "cup": "cup.n.01",  # 03147509
    "fork": "fork.n.01",  # 03383948
    "knife": "knife.n.01",  # 03623556
    "spoon": "spoon.n.01",  # 04284002
    "bowl": "bowl.n.01",  # 02881193
    "banana": "banana.n.02",  # 07753592
    "apple": "apple.n.01",  # 07739125
    "sandwich": "sandwich.n.01",  # 07695965
    "orange": "orange.n.01",  # 07747607
    "broccoli": "broccoli.n.02",  # 07714990
    "carrot": "carrot.n.03",  # 07730207
    "hot dog": "hotdog.n.02",  # 07697537
    "pizza": "pizza.n.01",  # 07873807
    "donut": "doughnut.n.02",  # 07639069
    "cake": "cake.n.03",  # 07628870
    "chair": "chair.n.01",  # 03001627
    "couch": "sofa.n.01",  # 04256520
    "potted plant": "pot_plant.n.01",  # 11536230
    "bed": "bed.n.01",  # 02818832
    "dining table": "dining_table.n.01",  # 03201208
    "toilet": "toilet.n.02",  # 04446521
    "tv": "television_receiver.n.01",  # 04405907
    "laptop": "laptop.n.01",  # 03642806
    "mouse": "mouse.n.04",  # 03793489
    "remote": "remote_control.n.01",  # 04074963
    "keyboard": "computer_keyboard.n.01",  # 03085013
    "cell phone": "cellular_telephone.n.01",  # 02992529
    "microwave": "microwave.n.02",  # 03761084
    "oven": "oven.n.01",  # 03862676
    "toaster": "toaster.n.02",  # 04442312
    "sink": "sink.n.01",  # 04223580
    "refrigerator": "refrigerator.n.01",  # 04070727
    "book": "book.n.02",  # 02870092
    "clock": "clock.n.01",  # 03046257
    "vase": "vase.n.01",  # 04522168
    "scissors": "scissors.n.01",  # 04148054
    "teddy bear": "teddy.n.01",  # 04399382
    "hair drier": "hand_blower.n.01",  # 03483316
    "toothbrush": "toothbrush.n.01",  # 04453156
}

CLASSES = {name: ObjectClass(name, synset) for name, synset in _SYNSETS.items()}
"""Classes by name, in the order of COCO's annotations, by which most checkpoints number them."""

_OTHER_NAMES = {
    "man": "person", "woman": "person", "child": "person", "boy": "person", "girl": "person", "human": "person",
    "bike": "bicycle", "motorbike": "motorcycle", "plane": "airplane", "aeroplane": "airplane",
    "stoplight": "traffic light", "hydrant": "fire hydrant", "rucksack": "backpack", "necktie": "tie",
    "tennis racquet": "tennis racket", "wineglass": "wine glass", "doughnut": "donut", "sofa": "couch",
    "houseplant": "potted plant", "television": "tv", "computer mouse": "mouse", "tv remote": "remote",
    "remote control": "remote", "computer keyboard": "keyboard", "mobile phone": "cell phone",
    "cellphone": "cell phone", "smartphone": "cell phone", "microwave oven": "microwave", "fridge": "refrigerator",
    "hair dryer": "hair drier",
}  # fmt: skip
"""Other names of classes in prompts; `computer mouse`, `tv remote` and `computer keyboard` are GenEval's."""

NAMES = (*CLASSES.values(), *(ObjectClass(name, _SYNSETS[cls]) for name, cls in _OTHER_NAMES.items()))
"""The classes under all their names, COCO's own first."""
