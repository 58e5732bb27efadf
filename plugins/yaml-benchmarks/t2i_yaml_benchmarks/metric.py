"""The metric of a benchmark's file: one score for each image, and one for each category of its questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from t2i_core.api import (
    BadPrompts,
    Failure,
    Metric,
    Need,
    ObjectClass,
    Options,
    Prompt,
    Query,
    Row,
    Sample,
    Setup,
    Unit,
)

from t2i_yaml_benchmarks.answer_values import QuestionValue, list_classes, make_query, read_answer
from t2i_yaml_benchmarks.benchmark_file import BenchmarkFile, bind_questions, list_fields
from t2i_yaml_benchmarks.question_fields import CAPABILITY, AskedQuestion, DetectQuestion, Question
from t2i_yaml_benchmarks.question_list import SCORE
from t2i_yaml_benchmarks.scoring import apply_parents, score_categories, score_image


class YamlBenchmark(Metric):
    """Asks the questions of a benchmark's file, and computes its score from the answers."""

    def __init__(self, setup: Setup[Options], file: BenchmarkFile) -> None:
        super().__init__(setup)
        self.file = file
        self.score = file.benchmark.score
        self._bound: dict[tuple[str, str], tuple[Question, ...]] = {}
        asked = {question.kind for question in file.all_questions}
        self.needs = tuple(self._make_need(kind) for kind in CAPABILITY if kind in asked)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts without questions, and prompts that lack a field of a question's text."""
        for prompt in prompts:
            self.list_questions(prompt)

    def list_questions(self, prompt: Prompt) -> tuple[Question, ...]:
        """Return the questions about a prompt.

        Raises:
            BadPrompts: If it has none, or one of its texts has a field that the prompt lacks.
        """
        key = prompt.id, prompt.text
        if key not in self._bound:
            self._bound[key] = self.file.questions.get(key) or self._bind(prompt)
        return self._bound[key]

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        """Yield the score of one image, and that of each category."""
        observed = unit.one()
        questions = self.list_questions(observed.prompt)
        answers = {kind: iter(observed.answers.get(kind, ())) for kind in CAPABILITY}
        values: list[QuestionValue] = []
        for question in questions:
            found = read_answer(question, next(answers[question.kind]).observation)
            if isinstance(found, Failure):
                yield found
                return
            values.append(found)
        values = apply_parents(questions, values)
        because = "; ".join(own.because for own in values if own.because)
        evidence = tuple(each for own in values for each in own.evidence)
        yield Row(SCORE, score_image(self.score, questions, values), because=because, evidence=evidence)
        for name, value in score_categories(questions, values).items():
            yield Row(name, value)

    def _make_need(self, kind: str) -> Need:
        questions = [question for question in self.file.all_questions if question.kind == kind]
        asked = [question for question in questions if isinstance(question, AskedQuestion)]
        by_probability = any(question.by == "probability" and question.values is None for question in asked)
        confidences = [question.confidence for question in questions if isinstance(question, DetectQuestion)]
        return Need(
            kind,
            CAPABILITY[kind],
            queries=partial(self._ask, kind),
            requires=frozenset({"probs"} if by_probability else ()),
            classes=partial(self._list_classes, kind) if kind in ("detect", "classify") else None,
            confidence=min(confidences, default=1.0),
            question=next((question.text for question in asked), ""),
        )

    def _ask(self, kind: str, samples: Sequence[Sample]) -> Sequence[Query]:
        """Return the queries of one kind about a sample."""
        (sample,) = samples
        questions = self.list_questions(sample.prompt)
        return [make_query(question, sample) for question in questions if question.kind == kind]

    def _list_classes(self, kind: str, prompt: Prompt) -> Iterator[ObjectClass]:
        """Yield the classes that the questions of one kind about a prompt name."""
        for question in self.list_questions(prompt):
            if question.kind == kind:
                yield from list_classes(question)

    def _bind(self, prompt: Prompt) -> tuple[Question, ...]:
        """Return the questions about a prompt that the file does not list."""
        found, mistakes = bind_questions(self.file.benchmark.questions, (), list_fields(prompt))
        if mistakes:
            raise BadPrompts(f"{self.file.path}: prompt {prompt.id!r}: {mistakes[0][1]}")
        return found
