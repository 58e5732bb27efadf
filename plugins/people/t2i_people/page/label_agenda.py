"""Labelling: people answer the questions of a given list of images, in its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from random import Random

from t2i_core.api.capabilities.answer import VisualQuestion
from t2i_core.api.errors import BadOption

from .agenda import VoteItem, count_things
from .questions import UNKNOWN, StudyQuestion, number_choices


@dataclass(frozen=True)
class LabelItem:
    """Images that people are asked about, with their own questions.

    Attributes:
        models: Label of the model, or of two models to compare.
        prompt: Id of the prompt.
        seeds: Seeds of the images.
        questions: The questions, each with another name.
        probability: Probability with which the item was drawn, in (0, 1]; None if it was not drawn.
    """

    models: tuple[str, ...]
    prompt: str
    seeds: tuple[int, ...]
    questions: tuple[StudyQuestion, ...]
    probability: float | None = None

    @property
    def item(self) -> VoteItem:
        """The item that annotators answer about."""
        return VoteItem(tuple(sorted(self.models)), self.prompt, self.seeds)


def ask_people(question: VisualQuestion, name: str) -> StudyQuestion:
    """Return a metric's question as people are asked it: in the same words, with the choice `cannot-tell` added.

    Args:
        question: The question. It must have choices.
        name: Name under which answers are stored.
    """
    choices = [(value, value[:1].upper() + value[1:]) for value in question.choices]
    return StudyQuestion(
        name, question.text, number_choices([*choices, (UNKNOWN.value, UNKNOWN.label)]), scale=question.ordered
    )


class LabelAgenda:
    """Items in a given order, and how often each was shown.

    Args:
        items: The items.
        each: Number of annotators wanted for an item before those that have enough are shown again.

    Raises:
        BadOption: If there is no item, or two are about the same images.
    """

    def __init__(self, items: Sequence[LabelItem], each: int = 1) -> None:
        self.labels = {label.item: label for label in items}
        if not items:
            raise BadOption("there are no images to label; draw some")
        if len(self.labels) < len(items):
            item, _ = Counter(label.item for label in items).most_common(1)[0]
            raise BadOption(
                f"{' and '.join(item.models)}, prompt {item.prompt!r}: listed twice; join the questions"
            )
        self._each = each
        self._given: Counter[VoteItem] = Counter()

    @property
    def models(self) -> list[str]:
        """Models that are shown, sorted."""
        return sorted({model for item in self.labels for model in item.models})

    def overview(self) -> str:
        """Return the number of images to label, in words."""
        return count_things(len(self.labels), "task")

    def give(self, item: VoteItem) -> None:
        """Count an item as shown once more."""
        self._given[item] += 1

    def choose(self, done: Container[VoteItem], random: Random) -> VoteItem | None:
        """Return the first item, in order, that too few annotators were shown; None if nothing is left."""
        left = [item for item in self.labels if item not in done]
        return min(left, key=lambda item: self._given[item] // self._each, default=None)
