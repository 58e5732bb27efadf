"""The judge `detector-vqa`: answers questions by what a coloured detector finds.

References:
    Cho, Zala, Bansal: Visual Programming for Text-to-Image Generation and Evaluation (VPEval). NeurIPS 2023.
    arXiv:2305.15328: questions are read first, then answered by modules of vision.
"""

from __future__ import annotations

from typing import Any

from t2i_core.api import Detections, Failure, Query, QuestionAnswer, Setup, VisualQuestion
from t2i_core.api.judge import Capability
from t2i_core.io.scene_grammar import UnreadText
from t2i_core.io.vocabulary import Vocabulary

from .checkpoints import CheckpointPlace
from .coloured import ColouredDetector
from .detection_answers import UnansweredQuestion, answer_by_detections
from .options import DetectorOptions
from .scene_questions import read_question


class DetectorAnswerer(ColouredDetector):
    """Answers questions about objects, numbers, colours and places, with probabilities.

    The network sees each image once for all questions of a batch about it, and those at the start of the next.
    """

    def __init__(self, setup: Setup[DetectorOptions], place: CheckpointPlace) -> None:
        super().__init__(setup, place)
        self._vocabulary = Vocabulary("the detector", self._labels)
        self._seen: dict[str, Detections] = {}

    def detect(self, queries: list[Query]) -> list[Detections]:
        """Return the detections in each query's image."""
        return super().answers("detect", queries)

    def answers(self, capability: Capability, queries: list[Query]) -> list[Any]:
        """Return the answers to a batch of questions."""
        images = {query.images[0].identity: query.images[0] for query in queries if len(query.images) == 1}
        self._seen = {key: seen for key, seen in self._seen.items() if key in images}
        new = [key for key in images if key not in self._seen]
        self._seen |= zip(new, self.detect([Query((images[each],)) for each in new]), strict=True)
        return [self._answer(query) for query in queries]

    def _answer(self, query: Query) -> QuestionAnswer | Failure:
        if len(query.images) > 1:
            return Failure("this judge answers questions about one image", final=True)
        question = VisualQuestion.of(query)
        try:
            asked = read_question(question, self._vocabulary)
            return answer_by_detections(question, asked, self._seen[query.images[0].identity])
        except (UnreadText, UnansweredQuestion) as error:
            return Failure(
                f"cannot answer {question.text!r}: {error}; this judge answers questions about objects, their "
                "numbers, colours and places; name another --judge answer=NAME for other questions",
                final=True,
            )
