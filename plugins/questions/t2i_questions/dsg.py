"""The metric `dsg`: Davidsonian Scene Graph."""

from __future__ import annotations

from collections.abc import Iterator

from t2i_core.api import Failure, Note, Row, Unit

from .dependencies import find_valid
from .judged_questions import average, explain, map_parents, map_right, show_answers
from .question_metric import QuestionMetric, write_answer_row


class Dsg(QuestionMetric):
    """Share of questions that are answered rightly; an answer counts only if those to its parents are right."""

    name = "dsg"

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the scores of one image, and the answer to each question."""
        observed = unit.one()
        pictures = self.judge(observed)
        if isinstance(pictures, Failure):
            yield pictures
            return
        (judged,) = pictures
        right = map_right(judged)
        valid = find_valid(right, map_parents(judged))
        counted = {each: right[each] and valid[each] for each in right}
        shown = show_answers(judged, valid)
        yield Row("dsg", average(judged, counted), because=explain(judged, valid), evidence=shown)
        yield Row("dsg-without-dependency", average(judged, right), because=explain(judged))
        for each in judged:
            yield write_answer_row("valid-answer", each, float(counted[each.question.id]))
            yield write_answer_row("answer", each, float(each.right))
        yield from self.list_notes(observed)
