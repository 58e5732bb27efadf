"""Captions of pictures of the mini world, written from the ground truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from t2i_core.api import Caption, Failure, Instance, ObjectClass

from t2i_miniworld.annotations import leaf_of
from t2i_miniworld.phrases import Phrase, Reading
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS
from t2i_miniworld.wording import TIAM_COMMA, say

NOTHING = "an empty scene"

Thing = tuple[ObjectClass, str | None]
"""Class and paint of a thing."""


def describe_picture(shown: Sequence[Instance], rate: float, digest: str) -> Caption | Failure:
    """Return the caption of a picture: its things by kind, number and paint, in the plainest wording.

    Args:
        shown: Objects and relations in the picture.
        rate: Probability that one of the things is called another kind.
        digest: The picture's digest; the same picture always gets the same caption.
    """
    things: list[Thing] = [(_kind_of(one), one.colour) for one in shown]
    return write_caption(misname_thing(things, rate, digest))


def write_caption(things: Sequence[Thing]) -> Caption | Failure:
    """Return the caption of things, in their order; those of one kind and paint are counted together."""
    if not things:
        return Caption(NOTHING)
    phrases = tuple(
        Phrase(frozenset(leaves_under(kind)), count, (paint,) if paint else ())
        for (kind, paint), count in Counter(things).items()
    )
    try:
        return Caption(say(Reading(phrases), TIAM_COMMA))
    except ValueError as error:
        return Failure(f"the mini world's grammar cannot describe the picture: {error}")


def misname_thing(things: Sequence[Thing], rate: float, digest: str) -> list[Thing]:
    """Return the things, one of them under another kind with the probability `rate`."""
    found, rng = list(things), stream("caption", digest)
    if found and rng.random() < rate:
        at = int(rng.integers(len(found)))
        kind, paint = found[at]
        others = [label for label in LABELS if label != kind]
        found[at] = others[int(rng.integers(len(others)))], paint
    return found


def _kind_of(one: Instance) -> ObjectClass:
    leaf = leaf_of(one)
    return next(label for label in LABELS if leaf in leaves_under(label))
