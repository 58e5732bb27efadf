"""Index of people's answers by the images that were shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from t2i_core.api.image import Image
from t2i_core.io.answers import HumanAnswer, ShownImages

Side = Sequence[Image]
"""The images of one side of a query."""

_Key = tuple[object, ...]


class FoundAnswer(NamedTuple):
    """An answer about the images of a query.

    Attributes:
        answer: The answer.
        as_shown: False if the person saw the two sides in the other order than the query has them.
    """

    answer: HumanAnswer
    as_shown: bool


class AnswerIndex:
    """People's answers by the images that they are about.

    Images are found by their digests. Answers that name no digests are found by model, prompt and seeds. An answer
    about an image of one prompt says nothing about the same image for another prompt.

    Args:
        answers: The answers.
    """

    def __init__(self, answers: Iterable[HumanAnswer]) -> None:
        self._exact: dict[_Key, list[HumanAnswer]] = {}
        self._parts: dict[_Key, list[HumanAnswer]] = {}
        for answer in answers:
            keys = [_key_of_shown(side, answer.prompt) for side in answer.shown]
            self._exact.setdefault(_join(keys), []).append(answer)
            if len(keys) == 1:
                for part in _list_parts(answer.shown[0], answer.prompt):
                    self._parts.setdefault(part, []).append(answer)

    def find(self, sides: Sequence[Side]) -> Iterator[FoundAnswer]:
        """Yield the answers about exactly these images, on one side or on two in either order."""
        for keys in (list(map(_key_by_digest, sides)), list(map(_key_by_place, sides))):
            if None in keys:
                continue
            for answer in self._exact.get(_join(keys), ()):
                if _fits_prompt(answer, sides):
                    yield FoundAnswer(answer, _is_as_shown(answer, keys, sides))

    def find_with(self, image: Image) -> Iterator[FoundAnswer]:
        """Yield the answers about several images of one side, this image among them."""
        keys: list[_Key] = [("image", image.digest)]
        if image.place is not None:
            model, prompt, seed = image.place
            keys += [("place", prompt, model, seed), ("place", prompt, model, None)]
        for key in keys:
            for answer in self._parts.get(key, ()):
                if _fits_prompt(answer, [[image]]):
                    yield FoundAnswer(answer, True)


def _key_of_shown(side: ShownImages, prompt: str) -> _Key:
    if side.digests:
        return ("images", *sorted(side.digests))
    return ("place", prompt, side.model, *sorted(side.seeds))


def _key_by_digest(side: Side) -> _Key:
    return ("images", *sorted(image.digest for image in side))


def _key_by_place(side: Side) -> _Key | None:
    """Return the key of images by model, prompt and seeds; None if they are not known, or of several models."""
    places = [image.place for image in side if image.place is not None]
    if len(places) < len(side) or len({place[:2] for place in places}) != 1:
        return None
    return ("place", places[0].prompt, places[0].model, *sorted(place.seed for place in places))


def _list_parts(side: ShownImages, prompt: str) -> list[_Key]:
    """Return the key of each image of a side that shows several, or all images of a prompt."""
    if side.digests:
        return [("image", digest) for digest in set(side.digests)] if len(side.digests) > 1 else []
    if len(side.seeds) == 1:
        return []
    return [("place", prompt, side.model, seed) for seed in dict.fromkeys(side.seeds or (None,))]


def _join(keys: Sequence[_Key | None]) -> _Key:
    """Return the key of one side or two, the same in either order."""
    return tuple(sorted(keys, key=repr))


def _fits_prompt(answer: HumanAnswer, sides: Sequence[Side]) -> bool:
    """Return whether an answer is about the prompt of the images, as far as both are known."""
    prompts = {image.place.prompt for side in sides for image in side if image.place is not None}
    return not answer.prompt or not prompts or prompts == {answer.prompt}


def _is_as_shown(answer: HumanAnswer, keys: Sequence[_Key | None], sides: Sequence[Side]) -> bool:
    if keys[0] != keys[-1]:
        return _key_of_shown(answer.shown[0], answer.prompt) == keys[0]
    # two models with the same image: only their labels tell the sides apart
    place = sides[0][0].place
    return place is None or answer.shown[0].model in ("", place.model)
