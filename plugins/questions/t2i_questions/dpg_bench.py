"""The metric `dpg-bench`: Dense Prompt Graph Benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from t2i_core.api import Evidence, Excluded, Failure, Image, Note, Prompt, PromptQuestion, Row, Unit

from .dependencies import UnknownParent, find_valid_in_order, find_valid_with_ancestors
from .grid import cut_grid
from .judged_questions import JudgedQuestion, average, explain, map_parents, map_right, show_answers
from .options import LOST_QUESTION, DpgBenchOptions
from .question_metric import QuestionMetric, write_answer_row

REFERENCE = Note(
    "variant reference: as the published code, with its faults (dependencies work in the order of the rows)"
)
REFERENCE_GRID = Note(
    "variant reference: as the published code, with its faults (dependencies work in the order of the rows, "
    "categories are those of the last picture)"
)
CORRECTED = Note(
    "variant corrected: not comparable to published values, which have the faults of the published code"
)
LOST = Note(
    "has a question that is not asked: the published code does not read the first row of the file", counted=True
)


class DpgBench(QuestionMetric):
    """Share of questions that are answered rightly and whose parents are, in the variant of the options."""

    name = "dpg-bench"
    options: DpgBenchOptions

    def list_questions(self, prompt: Prompt) -> tuple[PromptQuestion, ...]:
        """Return the questions, without those that the published code does not read."""
        if self.options.variant == "corrected" or LOST_QUESTION not in prompt.facets:
            return prompt.questions
        lost = str(prompt.facets[LOST_QUESTION])
        return tuple(question for question in prompt.questions if question.id != lost)

    def list_pictures(self, image: Image) -> list[Image]:
        """Return the image, or the four pictures of a grid."""
        return [image] if self.options.pictures == 1 else cut_grid(image)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure | Excluded]:
        """Yield the score of one image, and the raw answer to each question about its pictures."""
        observed = unit.one()
        if not self.list_questions(observed.prompt):
            yield Excluded("the published code does not read the only question of the prompt")
            return
        pictures = self.judge(observed)
        if isinstance(pictures, Failure):
            yield pictures
            return
        try:
            validity = [self._find_valid(judged) for judged in pictures]
        except UnknownParent as error:
            yield Excluded(f"the published code leaves the image out: {error}")
            return
        scores = [
            average(judged, {each.question.id: each.right and valid[each.question.id] for each in judged})
            for judged, valid in zip(pictures, validity, strict=True)
        ]
        yield Row(
            "dpg-bench",
            float(np.mean(scores)),
            because=self._explain(pictures, validity),
            evidence=list(_show_pictures(pictures, validity)),
        )
        yield from self._list_variant_notes(observed.prompt)
        last = len(pictures) - 1
        for number, judged in enumerate(pictures):
            if number == last or self.options.variant == "corrected":
                place = {"picture": number + 1} if last else {}
                for each in judged:
                    yield write_answer_row("answer", each, float(each.right), **place)
        if self.options.variant == "corrected":
            yield from self.list_notes(observed)

    def _find_valid(self, judged: Sequence[JudgedQuestion]) -> dict[str, bool]:
        rule = find_valid_in_order if self.options.variant == "reference" else find_valid_with_ancestors
        return rule(map_right(judged), map_parents(judged))

    def _list_variant_notes(self, prompt: Prompt) -> Iterator[Note]:
        if self.options.variant == "corrected":
            yield CORRECTED
            return
        yield REFERENCE if self.options.pictures == 1 else REFERENCE_GRID
        if len(self.list_questions(prompt)) < len(prompt.questions):
            yield LOST

    @staticmethod
    def _explain(pictures: Sequence[Sequence[JudgedQuestion]], validity: Sequence[Mapping[str, bool]]) -> str:
        reasons = [explain(judged, valid) for judged, valid in zip(pictures, validity, strict=True)]
        if len(reasons) == 1:
            return reasons[0]
        return ". ".join(f"picture {number}: {why}" for number, why in enumerate(reasons, 1) if why)


def _show_pictures(
    pictures: Sequence[Sequence[JudgedQuestion]], validity: Sequence[Mapping[str, bool]]
) -> Iterator[Evidence]:
    for number, (judged, valid) in enumerate(zip(pictures, validity, strict=True), 1):
        yield from show_answers(judged, valid, f"picture {number}: " if len(pictures) > 1 else "")
