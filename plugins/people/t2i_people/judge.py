"""The judge `people`: people's answers about the images, by vote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from t2i_core.api import Failure, Preference, Query, QuestionAnswer, VisualQuestion
from t2i_core.api.capabilities.prefer import Verdict
from t2i_core.api.image import Image
from t2i_core.api.rater_answer import RaterAnswer
from t2i_core.io.answer_meaning import OtherAnswer
from t2i_core.io.answers import BOTH_BAD, LEFT, PREFERENCE, RIGHT, TIE, AnswerFile, HumanAnswer
from t2i_core.io.majority import MajorityRule, find_majority, find_preferred, turn_preference

from .answer_index import AnswerIndex
from .question_match import read_vote

_VERDICTS: Mapping[str, Verdict] = {LEFT: "first", RIGHT: "second", TIE: "tie", BOTH_BAD: "both_bad"}


class PeopleJudge:
    """Answers queries with what people answered about the same images.

    Args:
        file: The answers.
        majority: Which answer of several people counts.
    """

    def __init__(self, file: AnswerFile, majority: MajorityRule = "most") -> None:
        self._file = file
        self._majority: MajorityRule = majority
        self._index = AnswerIndex(file.answers)
        self.settings = {
            "answers": len(file.answers),
            "raters": len({answer.rater for answer in file.answers}),
            "left_out": dict(file.left_out),
        }

    def observe(
        self, capability: str, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, QuestionAnswer | Preference | Failure]]:
        """Yield each query with people's answer; images that nobody was asked about are missing."""
        answer = self._prefer if capability == "prefer" else self._answer
        for query in queries:
            for image in query.images:
                _ = image.pixels  # a damaged image fails, whatever people saw
            in_part = any(image.region is not None for image in query.images)
            yield query, self._miss("people saw whole images, not this part") if in_part else answer(query)

    def _prefer(self, query: Query) -> Preference | Failure:
        asked = [
            found for found in self._index.find([[i] for i in query.images]) if found.answer.question == PREFERENCE
        ]
        if not asked:
            return self._miss("nobody compared these images")
        last = {found.answer.rater: found for found in asked}.values()
        answers = [one.answer.answer if one.as_shown else turn_preference(one.answer.answer) for one in last]
        verdict, margin = find_preferred(answers)
        votes = [
            RaterAnswer(one.answer.rater, _VERDICTS[answer], one.as_shown)
            for one, answer in zip(last, answers, strict=True)
        ]
        return Preference(_VERDICTS[verdict], margin, votes=tuple(votes))

    def _answer(self, query: Query) -> QuestionAnswer | Failure:
        question = VisualQuestion.of(query)
        sides = _split_sides(question, query.images)
        found = list(self._index.find(sides)) if len(sides) < 3 else []
        if question.per_grid and len(query.images) == 1:
            found += self._index.find_with(query.images[0])
        votes = []
        for rater in dict.fromkeys(one.answer.rater for one in found):
            try:
                vote = read_vote(question, [one for one in found if one.answer.rater == rater])
            except OtherAnswer as error:
                return Failure(
                    f"{self._file.path}: {rater} answers {str(error)!r}, which is not one of the choices of "
                    f"{question.text!r}: {', '.join(question.choices)}"
                )
            if vote is not None:
                votes.append(RaterAnswer(rater, vote))
        if not votes:
            return self._miss(_explain_missing(question, [one.answer for one in found]))
        return _count(question, votes, self._majority)

    def _miss(self, reason: str) -> Failure:
        names = ", ".join(dict.fromkeys(answer.question for answer in self._file.answers))
        return Failure(f"{reason} ({self._file.path} has answers to {names})", missing=True)


def _explain_missing(question: VisualQuestion, answers: Sequence[HumanAnswer]) -> str:
    """Return why no answer about the images is an answer to a question.

    Several questions may be asked in the same words, such as one for each group of people; the names by which
    people are asked them tell them apart.
    """
    combinations = [each for choice, every in question.meant_by.items() if choice for each in every]
    names = list(dict.fromkeys(name for combination in combinations for name in combination))
    offered = {
        answer.question: answer.choices for answer in answers if answer.question in names and answer.choices
    }
    if offered:
        asked = "; ".join(f"{name!r} with the choices {', '.join(choices)}" for name, choices in offered.items())
        wanted = ", ".join(dict.fromkeys(value for each in combinations for value in each.values()))
        return f"people were asked {asked}, but the metric needs one of {wanted}; ask with these choices"
    meant = f", or for {' or '.join(map(repr, names))}," if names else ""
    return f"nobody was asked {question.text!r}{meant} about this image"


def _split_sides(question: VisualQuestion, images: Sequence[Image]) -> list[Sequence[Image]]:
    if question.grids is None:
        return [[image] for image in images]
    first = question.grids[0]
    return [images[:first], images[first:]]


def _count(question: VisualQuestion, votes: Sequence[RaterAnswer], rule: MajorityRule) -> QuestionAnswer | Failure:
    """Return the answer of several people: the shares of the choices, and the majority."""
    counts = find_majority((vote.answer for vote in votes), rule)
    if not question.choices:
        if counts.answer is None:
            return Failure(f"people give different answers to {question.text!r}", missing=True)
        return QuestionAnswer(text=counts.answer, votes=tuple(votes))
    shares = np.array([counts.counts.get(choice, 0) / counts.raters for choice in question.choices])
    chosen = None if counts.answer is None else question.choices.index(counts.answer)
    return QuestionAnswer(question.choices, chosen, shares, votes=tuple(votes))
