"""Judge `oracle`: answers from the ground truth that is stored with a rendered image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    QuestionAnswer,
    ReadText,
    Reward,
    Segments,
    Truth,
    VisualQuestion,
)
from t2i_core.api.judge import Capability

from t2i_miniworld.annotations import leaf_of
from t2i_miniworld.captions import describe_picture
from t2i_miniworld.options import OracleOptions
from t2i_miniworld.oracle_embedding import embed_image, embed_text
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.question_answers import answer, err
from t2i_miniworld.scene_match import find_share
from t2i_miniworld.sign_classes import TEXT
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS

_COLOURS = tuple(PAINTS)
_NO_TRUTH = "no truth is kept with this image; the oracle judges only what the simulator drew"
#: Logit of a certain answer; the others are 0, so its softmax probability is 1 - e^-100.
_CERTAIN = 100.0


@dataclass(frozen=True)
class Oracle:
    """The ideal judge. ``labels`` are the classes of its answers: `LABELS` or `LEAF_LABELS`."""

    labels: tuple[ObjectClass, ...] = LABELS
    options: OracleOptions = field(default_factory=OracleOptions)

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Observation | Failure]]:
        """Yield each query with its answer; an image without ground truth is a failure."""
        for query in queries:
            yield query, self._answer(capability, query)

    def _answer(self, capability: Capability, query: Query) -> Observation | Failure:
        if capability == "embed" and not query.images:
            return embed_text(query.texts[0])
        if capability == "prefer":
            return prefer(query, self.options)
        if capability == "answer":
            return answer_question(query, self.options)
        shown = query.images[0].truth
        if shown is None:
            return Failure(_NO_TRUTH)
        if capability == "reward":
            return _reward_for(shown, query.texts)
        if capability == "read":
            return read_signs(shown)
        if capability in ("caption", "embed") and any(TEXT in instance.attributes for instance in shown.instances):
            return Failure("the oracle has no words for signs; it reads them (capability read)")
        if capability == "classify":
            return classify(shown, self.labels)
        if capability == "embed":
            return embed_image(shown)
        if capability == "caption":
            return describe_picture(shown.instances, self.options.caption_error, query.images[0].digest)
        segments = segment(shown, self.labels)
        return segments.without_masks() if capability == "detect" else segments


def segment(shown: Truth, labels: tuple[ObjectClass, ...] = LABELS) -> Segments:
    """Return every visible thing with its mask, class and colour (unpainted things have no colour).

    Signs are none of its classes.
    """
    known = [instance for instance in shown.instances if TEXT not in instance.attributes]
    classes = [_class_of(instance, labels) for instance in known]
    colours = np.zeros((len(classes), len(_COLOURS)), np.float32)
    for row, instance in enumerate(known):
        if instance.colour is not None:
            colours[row, _COLOURS.index(instance.colour)] = 1
    return Segments(
        size=shown.size,
        boxes=np.array([instance.box for instance in known], np.float32).reshape(-1, 4),
        scores=np.ones(len(classes), np.float32),
        classes=np.array(classes, np.int16),
        labels=labels,
        class_probs=np.eye(len(labels), dtype=np.float32)[classes],
        colours=colours,
        colour_names=_COLOURS,
        masks=tuple(instance.mask for instance in known),
    )


def classify(shown: Truth, labels: tuple[ObjectClass, ...] = LABELS) -> ClassScores | Failure:
    """Return the class of the thing with the most visible pixels."""
    known = [instance for instance in shown.instances if TEXT not in instance.attributes]
    if not known:
        return Failure("the picture shows nothing that could be classified")
    largest = max(known, key=lambda instance: instance.mask.area())
    logits = np.zeros(len(labels), np.float32)
    logits[_class_of(largest, labels)] = _CERTAIN
    return ClassScores(logits, labels)


def read_signs(shown: Truth) -> ReadText:
    """Return the text of every sign with the box of the sign, from left to right."""
    signs = sorted((one for one in shown.instances if TEXT in one.attributes), key=lambda one: one.box)
    return ReadText(
        size=shown.size,
        lines=tuple(sign.attributes[TEXT] for sign in signs),
        boxes=np.array([sign.box for sign in signs], np.float32).reshape(-1, 4),
        scores=np.ones(len(signs), np.float32),
    )


def reward(shown: Truth) -> Reward | Failure:
    """Return the share of the requested things and relations that the picture shows, from 0 to 1."""
    if shown.asked is None or not shown.asked.objects:
        return Failure("it is not known what this image was to show")
    return Reward(find_share(shown.asked, shown.instances))


def prefer(query: Query, options: OracleOptions) -> Preference | Failure:
    """Return the image with the higher reward, or a tie, with errors at the rates of the options.

    The errors are drawn from the two images in their order, so the same question always gets the same answer.
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


def answer_question(query: Query, options: OracleOptions) -> QuestionAnswer | Failure:
    """Return the answer to a question about one image, with errors at the rate of the options."""
    if len(query.images) > 1:
        return Failure("the oracle answers questions about one image")
    (image,) = query.images
    if image.truth is None:
        return Failure(_NO_TRUTH)
    try:
        question = VisualQuestion.of(query)
    except (ValueError, TypeError, KeyError) as error:
        return Failure(f"the oracle cannot read the question: {error}")
    found = answer(question, image.truth)
    return found if isinstance(found, Failure) else err(found, options.answer_error, image.digest, *query.texts)


def _reward_for(shown: Truth, texts: tuple[str, ...]) -> Reward | Failure:
    if texts != (shown.text,):
        return Failure("the oracle knows what this image's own prompt asked for, and no other text")
    return reward(shown)


def _class_of(instance: Instance, labels: tuple[ObjectClass, ...]) -> int:
    names = (instance.cls.synset, leaf_of(instance))
    return next(number for number, label in enumerate(labels) if label.synset in names)
