"""Judge `oracle`: says what is really drawn, from the truth kept with a rendered image."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from t2i_core import ClassScores, Detections, Embedding, Failure, Query, Reward, Scene, Segments, Truth
from t2i_core.judging import Capability
from t2i_core.observations import Observation

from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import LABELS, find

_NAMES = tuple(label.name for label in LABELS)
_COLOURS = tuple(PAINTS)
#: A logit so far above the others (0) that softmax gives it all but e^-100.
_CERTAIN = 100.0
_MENTION = re.compile(rf"\b(?:({'|'.join(_COLOURS)})\s+)?({'|'.join(_NAMES)})s?\b", re.IGNORECASE)


class Oracle:
    """The ideal judge."""

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Answer each query from the truth; an image without one is a failure."""
        for query in queries:
            yield query, _answer(capability, query)


def segment(shown: Truth) -> Segments:
    """Every visible thing: its mask, its class and colour with certainty (an unpainted one has no colour)."""
    kinds = _kinds(shown)
    colours = np.zeros((len(kinds), len(_COLOURS)), np.float32)
    for row, instance in enumerate(shown.instances):
        if instance.colour is not None:
            colours[row, _COLOURS.index(instance.colour)] = 1
    return Segments(
        size=shown.size,
        boxes=np.array([instance.box for instance in shown.instances], np.float32).reshape(-1, 4),
        scores=np.ones(len(kinds), np.float32),
        classes=np.array(kinds, np.int16),
        labels=LABELS,
        class_probs=np.eye(len(LABELS), dtype=np.float32)[kinds],
        colours=colours,
        colour_names=_COLOURS,
        masks=tuple(instance.mask for instance in shown.instances),
    )


def detect(shown: Truth) -> Detections:
    """Every visible thing, without its mask."""
    return segment(shown).without_masks()


def classify(shown: Truth) -> ClassScores | Failure:
    """The class of the thing that shows most pixels."""
    if not shown.instances:
        return Failure("nothing is drawn that could be classified")
    largest = max(range(len(shown.instances)), key=lambda number: shown.instances[number].mask.area())
    logits = np.zeros(len(LABELS), np.float32)
    logits[_kinds(shown)[largest]] = _CERTAIN
    return ClassScores(logits, LABELS)


def reward(shown: Truth) -> Reward | Failure:
    """The share of the asked things that are there, each in its colour; a drawn thing answers one of them."""
    if shown.asked is None or not shown.asked.objects:
        return Failure("it is not known what this image was to show")
    return Reward(_answered(shown, shown.asked) / sum(wanted.count for wanted in shown.asked.objects))


def embed_image(shown: Truth) -> Embedding:
    """Counts of the things drawn, by class and by colour and class; `embed_text` counts what a text names."""
    return _counted([(i.cls.name, i.colour) for i in shown.instances])


def embed_text(text: str) -> Embedding:
    """Counts of the mini world's things that a text names, each with the colour that stands before it."""
    mentions = [(name.lower(), colour.lower() or None) for colour, name in _MENTION.findall(text)]
    return _counted(mentions)


_ANSWERS: dict[Capability, Callable[[Truth], Observation | Failure]] = {
    "segment": segment,
    "detect": detect,
    "classify": classify,
    "reward": reward,
    "embed": embed_image,
}


def _answer(capability: Capability, query: Query) -> Observation | Failure:
    if capability == "embed" and not query.images:
        return embed_text(query.texts[0])
    shown = query.images[0].truth
    if shown is None:
        return Failure("no truth is kept with this image; the oracle judges only what the simulator drew")
    if capability == "reward" and query.texts != (shown.text,):
        return Failure("the oracle knows what this image's own prompt asked for, and no other text")
    return _ANSWERS[capability](shown)


def _counted(things: list[tuple[str, str | None]]) -> Embedding:
    plain = np.zeros(len(_NAMES), np.float32)
    painted: NDArray[np.float32] = np.zeros((len(_COLOURS), len(_NAMES)), np.float32)
    for name, colour in things:
        plain[_NAMES.index(name)] += 1
        if colour is not None:
            painted[_COLOURS.index(colour), _NAMES.index(name)] += 1
    return Embedding(np.concatenate([plain, painted.ravel()]))


def _answered(shown: Truth, asked: Scene) -> int:
    left = list(shown.instances)
    answered = 0
    for wanted in asked.objects:
        for _ in range(wanted.count):
            fitting = next(
                (i for i in left if wanted.cls.same_as(i.cls) and wanted.colour in (None, i.colour)), None
            )
            if fitting is not None:
                left.remove(fitting)
                answered += 1
    return answered


def _kinds(shown: Truth) -> list[int]:
    return [_NAMES.index(str(find(instance.cls))) for instance in shown.instances]
