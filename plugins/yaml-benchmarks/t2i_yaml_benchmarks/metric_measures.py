"""The measures of a benchmark's file, and a number for the version of its rules."""

from __future__ import annotations

from t2i_core.api import Measure
from t2i_core.api.digest import digest_data

from t2i_yaml_benchmarks.benchmark_file import BenchmarkFile
from t2i_yaml_benchmarks.question_list import SCORE, bound_values

_DIGITS = 10
"""Hexadecimal digits of the digest that make the number of a version."""


def list_measures(file: BenchmarkFile) -> tuple[Measure, ...]:
    """Return the measures: the score, and the mean of each category of questions, in the order of the file."""
    questions, score = file.all_questions, file.benchmark.score
    low, high = bound_values(questions, score.rule) if score.at_least is None else (0.0, 1.0)
    found = [Measure(SCORE, _describe_score(file), low, high, facets=("*",))]
    for name in dict.fromkeys(question.category for question in questions if question.category):
        own = [question for question in questions if question.category == name]
        found.append(Measure(name, f"Mean of the questions about {name}.", *bound_values(own)))
    return tuple(found)


def _describe_score(file: BenchmarkFile) -> str:
    score = file.benchmark.score
    text = {
        "mean": "Weighted mean of the categories" if score.weights else "Mean of the questions",
        "all": "Whether all questions are answered right",
        "any": "Whether any question is answered right",
        "product": "Product of the questions",
    }[score.rule]
    return f"{text}, mean over images." if score.at_least is None else f"{text}: share from {score.at_least:g} on."


def number_version(file: BenchmarkFile) -> int:
    """Return a number that changes with the questions and the score, so that runs under other rules do not mix."""
    own = {
        f"{id} {text}": [question.model_dump(mode="json") for question in questions]
        for (id, text), questions in file.questions.items()
    }
    rules = file.benchmark.model_dump(mode="json", include={"questions", "score"})
    return int(digest_data([rules, own])[:_DIGITS], 16)
