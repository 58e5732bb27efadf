"""The metric `tifa`: questions with choices, answered by choosing or in the judge's own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import (
    Failure,
    Need,
    Note,
    Observed,
    Prompt,
    PromptQuestion,
    Query,
    QuestionAnswer,
    Row,
    Sample,
    Setup,
    TableMetric,
    Unit,
    VisualQuestion,
)

from .cosine import compute_cosine
from .judged_questions import (
    JudgedQuestion,
    average,
    explain,
    judge_question,
    map_right,
    normalise_words,
    show_answers,
)
from .options import TifaMetricOptions
from .question_metric import NEED, QuestionMetric, write_answer_row

if TYPE_CHECKING:
    import pandas as pd

TEXTS = "texts"
BY_CHOICE = Note(
    "the judge chose among the choices; in published scores it answers in its own words (answers=free)"
)


class Tifa(TableMetric, QuestionMetric):
    """Share of questions that are answered rightly, mean over captions.

    A free answer that is not a choice means the choice whose text embedding is nearest, which is asked for
    afterwards.
    """

    name = "tifa"
    options: TifaMetricOptions
    aggregates: ClassVar[frozenset[str]] = frozenset({"tifa"})

    def __init__(self, setup: Setup[TifaMetricOptions]) -> None:
        super().__init__(setup)
        self.free = self.options.answers == "free"
        if self.free:
            self.needs = (
                Need(NEED, "answer", queries=_ask_freely, question="{question}"),
                Need(TEXTS, "embed", queries=_ask_for_texts, after=NEED),
            )

    def judge(self, observed: Observed) -> list[list[JudgedQuestion]] | Failure:
        """Return the questions with the choices that were chosen or meant."""
        if not self.free:
            return super().judge(observed)
        texts = _list_texts(observed.prompt, observed.all(NEED))
        vectors = {text: embedding.values for text, embedding in zip(texts, observed.all(TEXTS), strict=True)}
        found = []
        for question, answer in zip(observed.prompt.questions, observed.all(NEED), strict=True):
            judged = _judge_free_answer(question, answer, vectors)
            if isinstance(judged, Failure):
                return judged
            found.append(judged)
        return [found]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the score of one image, and the answer to each question."""
        observed = unit.one()
        pictures = self.judge(observed)
        if isinstance(pictures, Failure):
            yield pictures
            return
        (judged,) = pictures
        score = average(judged, map_right(judged))
        yield Row("tifa", score, because=explain(judged), evidence=show_answers(judged))
        for each in judged:
            yield write_answer_row("answer", each, float(each.right))
        if not self.free:
            yield BY_CHOICE
        yield from self.list_notes(observed)

    def prepare(self, table: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the images' scores, and the number of each image's caption."""
        captions = table["prompt"].astype("category").cat.codes
        return np.asarray(table["value"], np.float64), np.asarray(captions, np.intp)

    def aggregate(
        self, table: tuple[NDArray[np.float64], NDArray[np.intp]], weights: NDArray[np.float64]
    ) -> Mapping[str, float]:
        """Return the standard deviation over captions."""
        values, captions = table
        if not len(values):
            return {}
        images = np.bincount(captions)
        totals = np.bincount(captions, weights)
        there = totals > 0
        means = np.bincount(captions, weights * values)[there] / totals[there]
        return {"tifa-stdev": compute_deviation(means, (totals / np.maximum(images, 1))[there])}


def compute_deviation(means: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return the sample standard deviation (n - 1) of captions' means, each counted several times.

    Args:
        means: Mean of each caption, shape (captions,).
        counts: How often each counts, shape (captions,).

    Returns:
        The deviation; NaN for a single caption.
    """
    total = counts.sum()
    if total <= 1:
        return float("nan")
    centre = counts @ means / total
    return float(np.sqrt(counts @ (means - centre) ** 2 / (total - 1)))


def choose_by_similarity(
    answer: str, choices: Sequence[str], vectors: Mapping[str, NDArray[np.floating]]
) -> str | Failure:
    """Return the choice that a free answer means: itself if it is one, else the one with the nearest embedding.

    If an embedding is 0, it is near no other: that is a failure.

    Args:
        answer: The answer.
        choices: The choices; of equally near ones the first.
        vectors: Embeddings of the answer and all choices by text, each of shape (d,).

    References:
        Yushi-Hu/tifa, tifascore/vqa_models.py and mc_sbert.py.
    """
    if answer in choices:
        return answer
    cosines = []
    for choice in choices:
        cosine = compute_cosine(vectors[answer], vectors[choice])
        if isinstance(cosine, Failure):
            return cosine
        cosines.append(cosine)
    return choices[int(np.argmax(cosines))]


def _judge_free_answer(
    question: PromptQuestion, answer: QuestionAnswer, vectors: Mapping[str, NDArray[np.floating]]
) -> JudgedQuestion | Failure:
    if not question.choices:
        return judge_question(question, answer)
    said = normalise_words(answer.text)
    meant = choose_by_similarity(said, question.choices, vectors)
    if isinstance(meant, Failure):
        return meant
    right = meant in question.answers
    words = said if meant == said else f"{said} ({meant})"
    return JudgedQuestion(question, words, right, float(right), False)


def _ask_freely(samples: Sequence[Sample]) -> Sequence[Query]:
    (sample,) = samples
    if sample.image is None:
        raise ValueError("these questions are about generated images")
    return [VisualQuestion(question.text).about(sample.image) for question in sample.prompt.questions]


def _ask_for_texts(samples: Sequence[Sample]) -> Sequence[Query]:
    """Return the queries for the embeddings that tell what an image's free answers mean."""
    (sample,) = samples
    answers = [answer.observation for answer in sample.answers]
    return [Query(texts=(text,)) for text in _list_texts(sample.prompt, answers)]


def _list_texts(prompt: Prompt, answers: Sequence[QuestionAnswer]) -> list[str]:
    """Return the texts whose embeddings tell what an image's free answers mean."""
    texts: list[str] = []
    for question, answer in zip(prompt.questions, answers, strict=True):
        said = normalise_words(answer.text)
        if question.choices and said not in question.choices:
            texts += [said, *question.choices]
    return list(dict.fromkeys(texts))
