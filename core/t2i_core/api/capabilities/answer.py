"""Answers to questions about one image, two images or two grids of images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..failure import Failure
from ..judge import FOR_PEOPLE, Query
from ..observation import SOME, Labels, Observation, QueryShape, check_text
from ..prompt import Scene
from ..rater_answer import RaterAnswer, check_rater_answers, read_rater_answers

if TYPE_CHECKING:
    from ..image import Image

YES_NO = ("yes", "no")
"""The choices of a question that asks whether something is so."""

ROUNDING = 0.01
"""Tolerance of the sum of probabilities, because some judges compute in half precision."""


@dataclass(frozen=True)
class VisualQuestion:
    """A question about images, in words, so that people, vision-language models and programs can answer it.

    Attributes:
        text: The question.
        choices: The possible answers, two or more; empty for an answer in free text.
        ordered: True if the choices are ordered from the lowest to the highest, as those of a rating scale.
        grids: For a question about two grids of images, the number of images in each.
        scene: For a question with the choices `YES_NO`: the answer is yes if the image shows all of this scene
            and, possibly, more. Judges that compute answers use it in place of the words.
        meant_by: For choices, people's answers to other questions, by name, that mean them: `{"yes":
            [{"object": "dog"}, {"object A": "dog"}], "no": []}`. Each combination is enough. A choice without
            combinations is meant by all other answers to these questions, and the choice `""`, which need not be
            among the choices, by people who choose none. Only judges of people's answers use it.
        per_grid: True if people's answer about several images of a prompt together holds for each of them.
    """

    text: str
    choices: tuple[str, ...] = ()
    ordered: bool = False
    grids: tuple[int, int] | None = None
    scene: Scene | None = None
    meant_by: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    per_grid: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a question must have a text")
        if len(self.choices) == 1 or len(set(self.choices)) < len(self.choices):
            raise ValueError(f"question {self.text!r}: there must be two or more different choices, or none")
        if self.scene is not None and self.choices != YES_NO:
            raise ValueError(f"question {self.text!r}: a question about a scene must have the choices yes and no")
        if odd := set(self.meant_by) - {*self.choices, ""}:
            raise ValueError(f"question {self.text!r}: meant_by has {min(odd)!r}, which is not one of its choices")

    def about(self, *images: Image) -> Query:
        """Return the query that asks this about one image, two images, or the images of two grids in order.

        Raises:
            ValueError: If the number of images does not fit the question.
        """
        if len(images) not in ((sum(self.grids),) if self.grids else (1, 2)):
            expected = f"{sum(self.grids)} images" if self.grids else "one image or two"
            raise ValueError(f"question {self.text!r}: it must be about {expected} (got {len(images)})")
        params: dict[str, Any] = {}
        if self.ordered:
            params["ordered"] = True
        if self.grids is not None:
            params["grids"] = list(self.grids)
        if self.scene is not None:
            params["scene"] = self.scene.to_json()
        if self.meant_by or self.per_grid:
            meant_by = {choice: list(map(dict, own)) for choice, own in self.meant_by.items()}
            params[FOR_PEOPLE] = {"meant_by": meant_by, "per_grid": self.per_grid}
        return Query(images, (self.text, *self.choices), params)

    @classmethod
    def of(cls, query: Query) -> VisualQuestion:
        """Return the question of a query of the capability `answer`, with its params as typed fields."""
        text, *choices = query.texts
        grids, scene = query.params.get("grids"), query.params.get("scene")
        people = query.params.get(FOR_PEOPLE, {})
        return cls(
            text=text,
            choices=tuple(choices),
            ordered=bool(query.params.get("ordered", False)),
            grids=(int(grids[0]), int(grids[1])) if grids else None,
            scene=Scene.from_json(scene) if isinstance(scene, Mapping) else None,
            meant_by=people.get("meant_by", {}),
            per_grid=bool(people.get("per_grid", False)),
        )


@dataclass(frozen=True)
class QuestionAnswer(Observation, capability="answer"):
    """The answer to a question about one image, two images or two grids of images.

    Attributes:
        choices: The choices of the question; empty for free text.
        chosen: Index of the choice; None for free text, or if the judge chooses none because it cannot tell.
        probs: float64 (len(choices),), probability of each choice, if the judge gives them. Their sum is at most
            1; it is less if the judge may have answered something else. The choice need not be the most probable
            one: a model that samples its answer may choose another.
        text: The answer in free text; for a question with choices the judge's own words, if it gives any.
        votes: If people gave the answer, what each of them answered: a choice or `cannot-tell`. Then `probs` are
            the shares of the choices, and `chosen` is the majority.
    """

    queries = (QueryShape(images=SOME, texts=SOME, role="the question, then its choices"),)
    extras = ("probs",)

    choices: tuple[str, ...] = ()
    chosen: int | None = None
    probs: NDArray[np.float64] | None = None
    text: str = ""
    votes: tuple[RaterAnswer, ...] = ()

    @property
    def choice(self) -> str | None:
        """The chosen choice in words; None if the judge chose none."""
        return None if self.chosen is None else self.choices[self.chosen]

    def explain_no_choice(self) -> Failure:
        """Return why there is no choice. People without a majority count as missing, any other judge as failed."""
        if self.votes:
            return Failure("people have no majority: they are divided, or cannot tell", missing=True)
        what = "answered neither yes nor no" if self.choices == YES_NO else "chose none of the choices"
        return Failure(f"the judge {what}")

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weight of each choice, with sum 1: its probability, or 1 for the one that was chosen.

        Returns:
            float64 of shape (len(choices),), or None if no choice has any weight.
        """
        if self.probs is not None and self.probs.sum() > 0:
            return np.asarray(self.probs / self.probs.sum(), np.float64)
        return None if self.chosen is None else np.eye(len(self.choices))[self.chosen]

    def expected_value(self, values: Sequence[float]) -> float | None:
        """Return the mean of the choices' values, weighted by `weights`; None if no choice has any weight.

        Args:
            values: The value of each choice, shape (len(choices),).
        """
        weights = self.weights()
        return None if weights is None else float(weights @ np.asarray(values, np.float64))

    def check_fields(self) -> None:
        """Raise if the stored form would alter a field."""
        check_text("text", self.text)
        check_rater_answers(self.votes)
        for choice in self.choices:
            check_text("choice", choice)
        if self.chosen is not None and (not isinstance(self.chosen, int) or isinstance(self.chosen, bool)):
            raise TypeError(f"gave a choice of type {type(self.chosen).__name__}; it must be an index")
        if self.probs is not None and np.shape(self.probs) != (len(self.choices),):
            raise ValueError(f"gave probs of shape {np.shape(self.probs)} for {len(self.choices)} choices")

    def check(self, query: Query) -> None:
        """Raise if this does not answer the question: other choices, or probabilities out of range."""
        if self.choices != (expected := tuple(query.texts[1:])):
            raise ValueError(f"answered with other choices than {', '.join(expected) or 'free text'}")
        if self.chosen is not None and not 0 <= self.chosen < len(self.choices):
            raise ValueError(f"gave the choice {self.chosen} of {len(self.choices)}")
        if not self.choices and not self.text.strip():
            raise ValueError("gave no text, and the question has no choices")
        if self.probs is not None and len(self.probs):
            if self.probs.min() < 0:
                raise ValueError(f"gave a probability of {self.probs.min():.3g}")
            if self.probs.sum() > 1 + ROUNDING:
                raise ValueError(f"gave probabilities whose sum is {self.probs.sum():.3g}, more than 1")

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: the fields as a JSON list."""
        probs = None if self.probs is None else np.asarray(self.probs, np.float64).tolist()
        return json.dumps([list(self.choices), self.chosen, probs, self.text, self.votes]).encode()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote; earlier versions kept no votes."""
        choices, chosen, probs, text, *votes = json.loads(data)
        shares = None if probs is None else np.array(probs, np.float64)
        return cls(tuple(choices), chosen, shares, text, read_rater_answers(*votes) if votes else ())

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the choice that the brightness of the image points to, with probabilities; else it in words."""
        choices = tuple(query.texts[1:])
        if not choices:
            return cls(text=f"an image with a mean of {colour.mean():.1f}")
        bright = float(colour.mean()) / 255
        chosen = min(int(bright * len(choices)), len(choices) - 1)
        probs = np.full(len(choices), 0.5 / len(choices))
        probs[chosen] += 0.25 + bright / 4
        return cls(choices, chosen, probs)

    @classmethod
    def sample_queries(cls, images: Sequence[Image], text: str) -> list[Query]:
        """Return questions of each kind: yes or no, a rating, free text, two images, two grids."""
        first, second = images[0], images[-1]
        return [
            *(VisualQuestion(f"Does this image show {text}?", YES_NO).about(image) for image in images),
            VisualQuestion(f'How well does this image fit the text "{text}"?', tuple("12345"), ordered=True).about(
                first
            ),
            VisualQuestion("What does this image show?").about(first),
            VisualQuestion(f'Which image fits the text "{text}" better?', ("the first", "the second")).about(
                first, second
            ),
            VisualQuestion(
                "Which group of images is more diverse?", ("the first", "the second"), grids=(2, 2)
            ).about(first, second, second, first),
        ]
