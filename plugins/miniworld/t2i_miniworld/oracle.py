"""Judge `oracle`: says what is really drawn, from the truth kept with a rendered image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from t2i_core.api import (
    ClassScores,
    Failure,
    Instance,
    ObjectClass,
    Observation,
    Preference,
    Query,
    Relation,
    Reward,
    Scene,
    SceneObject,
    Segments,
    Truth,
)
from t2i_core.api.judge import Capability

from t2i_miniworld.annotations import leaf_of, relation_of
from t2i_miniworld.options import OracleOptions
from t2i_miniworld.oracle_embedding import embed_image, embed_text
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS

_COLOURS = tuple(PAINTS)
_NO_TRUTH = "no truth is kept with this image; the oracle judges only what the simulator drew"
#: A logit so far above the others (0) that softmax gives it all but e^-100.
_CERTAIN = 100.0


@dataclass(frozen=True)
class Oracle:
    """The ideal judge; ``labels`` are the classes it answers in: `LABELS`, or `LEAF_LABELS`."""

    labels: tuple[ObjectClass, ...] = LABELS
    options: OracleOptions = field(default_factory=OracleOptions)

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Answer each query from the truth; an image without one is a failure."""
        for query in queries:
            yield query, self._answer(capability, query)

    def _answer(self, capability: Capability, query: Query) -> Observation | Failure:
        if capability == "embed" and not query.images:
            return embed_text(query.texts[0])
        if capability == "prefer":
            return prefer(query, self.options)
        shown = query.images[0].truth
        if shown is None:
            return Failure(_NO_TRUTH)
        if capability == "reward":
            return _reward_for(shown, query.texts)
        if capability == "classify":
            return classify(shown, self.labels)
        if capability == "embed":
            return embed_image(shown)
        segments = segment(shown, self.labels)
        return segments.without_masks() if capability == "detect" else segments


def segment(shown: Truth, labels: tuple[ObjectClass, ...] = LABELS) -> Segments:
    """Every visible thing: its mask, its class and colour with certainty (an unpainted one has no colour)."""
    classes = [_class_of(instance, labels) for instance in shown.instances]
    colours = np.zeros((len(classes), len(_COLOURS)), np.float32)
    for row, instance in enumerate(shown.instances):
        if instance.colour is not None:
            colours[row, _COLOURS.index(instance.colour)] = 1
    return Segments(
        size=shown.size,
        boxes=np.array([instance.box for instance in shown.instances], np.float32).reshape(-1, 4),
        scores=np.ones(len(classes), np.float32),
        classes=np.array(classes, np.int16),
        labels=labels,
        class_probs=np.eye(len(labels), dtype=np.float32)[classes],
        colours=colours,
        colour_names=_COLOURS,
        masks=tuple(instance.mask for instance in shown.instances),
    )


def classify(shown: Truth, labels: tuple[ObjectClass, ...] = LABELS) -> ClassScores | Failure:
    """The class of the thing that shows most pixels."""
    if not shown.instances:
        return Failure("nothing is drawn that could be classified")
    largest = max(shown.instances, key=lambda instance: instance.mask.area())
    logits = np.zeros(len(labels), np.float32)
    logits[_class_of(largest, labels)] = _CERTAIN
    return ClassScores(logits, labels)


def reward(shown: Truth) -> Reward | Failure:
    """The share of what is asked that is there: things, each as asked, and relations between them.

    A drawn thing answers one asked thing at most; of all ways to match them the best counts.
    """
    if shown.asked is None or not shown.asked.objects:
        return Failure("it is not known what this image was to show")
    wanted = [number for number, one in enumerate(shown.asked.objects) for _ in range(one.count)]
    total = len(wanted) + len(shown.asked.relations)
    return Reward(_best(shown.asked, wanted, shown.instances, {}) / total)


def prefer(query: Query, options: OracleOptions) -> Preference | Failure:
    """The image with more of what is asked, or a tie; wrongly so, or the first whatever it shows, at set rates.

    Whether it errs is drawn from the two images as they are shown, so that the same question gets the same answer.
    """
    values: list[float] = []
    for image in query.images:
        found = Failure(_NO_TRUTH) if image.truth is None else _reward_for(image.truth, query.texts)
        if isinstance(found, Failure):
            return found
        values.append(found.value)
    margin = values[0] - values[1]
    biased, wrong = stream("prefer", *(image.digest for image in query.images), *query.texts).random(2)
    if biased < options.prefer_first:
        return Preference("first", margin=margin)
    if wrong < options.prefer_error:
        margin = -margin
    return Preference("tie" if margin == 0 else "first" if margin > 0 else "second", margin=margin)


def _reward_for(shown: Truth, texts: tuple[str, ...]) -> Reward | Failure:
    if texts != (shown.text,):
        return Failure("the oracle knows what this image's own prompt asked for, and no other text")
    return reward(shown)


def fits(instance: Instance, wanted: SceneObject) -> bool:
    """Whether a drawn thing is what was asked for: its leaf under the class, its colour, its attributes."""
    return (
        leaf_of(instance) in leaves_under(wanted.cls)
        and wanted.colour in (None, instance.colour)
        and all(instance.attributes.get(name) == value for name, value in wanted.attributes.items())
    )


def _best(asked: Scene, wanted: Sequence[int], left: Sequence[Instance], taken: dict[int, Instance]) -> int:
    """The most that can be right: the asked things still ``wanted`` matched to the drawn ones ``left``."""
    if not wanted:
        return sum(_holds(relation, taken) for relation in asked.relations)
    # Left unanswered, or answered by each of the fitting ones in turn.
    first, rest = wanted[0], wanted[1:]
    best = _best(asked, rest, left, taken)
    for number, instance in enumerate(left):
        if fits(instance, asked.objects[first]):
            others = [*left[:number], *left[number + 1 :]]
            best = max(best, 1 + _best(asked, rest, others, {**taken, first: instance}))
    return best


def _holds(relation: Relation, taken: dict[int, Instance]) -> bool:
    subject, object_ = taken.get(relation.subject), taken.get(relation.object)
    return subject is not None and object_ is not None and relation_of(subject, object_) == relation.predicate


def _class_of(instance: Instance, labels: tuple[ObjectClass, ...]) -> int:
    names = (instance.cls.synset, leaf_of(instance))
    return next(number for number, label in enumerate(labels) if label.synset in names)
