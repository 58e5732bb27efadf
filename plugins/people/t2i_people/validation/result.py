"""Metrics beside people: the lines of the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from .agreement import Statistic
from .human_values import HumanValues
from .metric_values import MetricValues
from .model_means import ModelMean
from .model_pairs import HumanPreference, MetricDifference

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Predictor:
    """Predictor that is compared with people.

    Attributes:
        metric: The metric; None for a single person beside the others, which is what a metric can reach.
        by: The metric's judges, if the run has several.
        measure: The measure; empty for a person.
        facet: Level of the column of `--by`; empty without one.
        direction: `higher` if higher values are better; `lower` (signs are flipped); `none` if neither is better;
            `not known`, if the metric is not installed. Signs stay as they are for the last two.
    """

    metric: str | None
    by: str | None = None
    measure: str = ""
    facet: str = ""
    direction: Literal["higher", "lower", "none", "not known"] = "higher"


PERSON = Predictor(None)


def name_predictor(values: MetricValues) -> Predictor:
    """Return the predictor whose values these are."""
    return Predictor(values.metric, values.by, values.measure, values.facet, values.direction)


@dataclass(frozen=True)
class Agreement:
    """One line of the table: one statistic of a metric, or of a single person, beside people.

    Attributes:
        question: The question that people answered.
        level: `image` (what was shown at once), `prompt`, or `model` (pairs of models for preferences).
        a: First model, for correlations over the prompts of one pair of models; else empty.
        b: Second model of the pair.
        predictor: The metric and measure, or the person.
        statistic: The statistic.
        n_people: Number of people who answered the question.
    """

    question: str
    level: Literal["image", "prompt", "model"]
    a: str
    b: str
    predictor: Predictor
    statistic: Statistic
    n_people: int


@dataclass(frozen=True)
class Difference:
    """A metric's difference of two models, beside people's preference between them.

    Attributes:
        preference: People's preference.
        predictor: The metric and measure.
        difference: The metric's difference.
    """

    preference: HumanPreference
    predictor: Predictor
    difference: MetricDifference


@dataclass(frozen=True)
class Mean:
    """A model's mean rating beside the metric's mean.

    Attributes:
        question: The question.
        predictor: The metric and measure.
        mean: The means.
    """

    question: str
    predictor: Predictor
    mean: ModelMean


@dataclass(frozen=True)
class Validation:
    """Metrics beside people.

    Attributes:
        questions: People's answers to each question.
        agreements: The table.
        preferences: People's preference between each two models.
        differences: The metrics' differences of the same models.
        means: Mean ratings of models beside the metrics' means.
        notes: What was left out, and why.
    """

    questions: tuple[HumanValues, ...]
    agreements: tuple[Agreement, ...]
    preferences: tuple[HumanPreference, ...]
    differences: tuple[Difference, ...]
    means: tuple[Mean, ...]
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return one row per line of the table."""
        import pandas as pd

        return pd.DataFrame([_flatten(line) for line in self.agreements])

    def to_json(self) -> dict[str, Any]:
        """Return the output of `--json` as plain data."""
        return {
            "questions": [
                {
                    "question": each.question,
                    "form": each.form,
                    "answers": len(each.table),
                    "items": len(each.table.drop_duplicates(["models", "prompt", "seeds"])),
                    "people": each.n_people,
                }
                for each in self.questions
            ],
            "agreements": [_flatten(line) for line in self.agreements],
            "preferences": [asdict(each) for each in self.preferences],
            "differences": [
                {
                    "question": each.preference.question,
                    "a": each.preference.a,
                    "b": each.preference.b,
                    **asdict(each.predictor),
                    **asdict(each.difference),
                }
                for each in self.differences
            ],
            "means": [
                {"question": each.question, **asdict(each.predictor), **asdict(each.mean)} for each in self.means
            ],
            "notes": list(self.notes),
        }


def _flatten(line: Agreement) -> dict[str, Any]:
    values = asdict(line.statistic)
    place = {"question": line.question, "level": line.level, "a": line.a, "b": line.b}
    return {
        **place,
        **asdict(line.predictor),
        "statistic": values.pop("name"),
        **values,
        "n_people": line.n_people,
    }
