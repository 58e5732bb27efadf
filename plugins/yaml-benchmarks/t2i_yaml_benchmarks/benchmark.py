"""The fields of a benchmark's YAML file, each with its type and limits. The JSON schema is generated from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from t2i_yaml_benchmarks.field_types import Count, Number, Text
from t2i_yaml_benchmarks.question_fields import BenchmarkSection, Question


class PromptEntry(BaseModel):
    """One prompt; any other field is a facet, and may stand in the texts of questions.

    The fields of prompt files (`objects`, `relations`, `scene`, `cluster`, `references`) mean the same here.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    prompt: Text | None = Field(None, description="The text. Default: written from the objects.")
    id: Text | None = Field(None, description="Its id in tables. Default: made from the text.")
    objects: list[Any] | str | None = Field(None, description='What it shows: ["dog", "two red cars"].')
    relations: list[Any] | None = Field(None, description='Relations of these: [["dog", "left of", "car"]].')
    cluster: Text | None = Field(None, description="Prompts of one cluster are resampled together.")
    questions: tuple[Question, ...] = Field((), description="Questions about the images of this prompt.")


def _read_prompt(value: Any) -> Any:
    return {"prompt": value} if isinstance(value, str) else value


Entry = Annotated[PromptEntry, BeforeValidator(_read_prompt, json_schema_input_type=str | PromptEntry)]


class ScoreRule(BenchmarkSection):
    """The rule by which the values of the questions about one image become its score."""

    rule: Literal["mean", "all", "any", "product"] = Field(
        "mean",
        description="mean, by the questions' weights; all or any: 1 if all questions, or any, are answered right; "
        "product of the values.",
    )
    weights: dict[str, Annotated[Number, Field(gt=0)]] = Field(
        {},
        description="With the rule mean: weights of the categories. The score is then the mean of those that a "
        "prompt has questions of.",
    )
    at_least: Number | None = Field(
        None, description="Make the score 1 if it is this or more, else 0: the share of such images is reported."
    )

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if self.weights and self.rule != "mean":
            raise ValueError(f"weights: only the rule mean has weights of categories, not {self.rule}")
        return self


def _read_score(value: Any) -> Any:
    return {"rule": value} if isinstance(value, str) else value


def _find_form(value: Any) -> str:
    return "<source>" if isinstance(value, str) else "<list>"


class Benchmark(BenchmarkSection):
    """A benchmark: prompts, questions about their images, and how answers become a score."""

    summary: Text = Field(description="What it measures, in one line.")
    citation: str = Field("", description="The paper or source to cite.")
    prompts: Annotated[
        Annotated[str, Tag("<source>")] | Annotated[tuple[Entry, ...], Tag("<list>")],
        Discriminator(_find_form),
    ] = Field(
        description="The prompts; or a prompt source, as --prompts takes it; or a file of prompts, relative to "
        "this file, whose questions are asked, too."
    )
    questions: tuple[Question, ...] = Field((), description="Questions about the images of every prompt.")
    score: Annotated[
        ScoreRule,
        BeforeValidator(_read_score, json_schema_input_type=Literal["mean", "all", "any", "product"] | ScoreRule),
    ] = Field(ScoreRule(), description="How the answers about an image become its score.")
    facets: tuple[Text, ...] | None = Field(
        None, description="Fields of the prompts above by which scores are reported. Default: all other fields."
    )
    seeds: Count | None = Field(None, ge=1, description="Default number of seeds.")
    judges: dict[str, Text] = Field(
        {}, description="Judge of each capability (answer, detect, classify, reward) for photographs."
    )


def make_schema() -> dict[str, Any]:
    """Return the JSON schema of benchmarks."""
    return Benchmark.model_json_schema()
