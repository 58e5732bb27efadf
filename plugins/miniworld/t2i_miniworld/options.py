"""Options of the mini world's components."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator
from t2i_core.api import ExecutionOption, Options

#: Maximum of `seed_sd` and `prompt_sd`; with larger effects every rate is 0 or 1.
MOST_SD = 10.0

Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Deviation = Annotated[float, Field(ge=0, le=MOST_SD, allow_inf_nan=False)]


class SimulatorOptions(Options):
    """Options of the generator `simulator`."""

    size: int = Field(128, ge=64, le=1024, description="Side of the square picture in pixels.")
    spp: int = Field(16, ge=1, le=4096, description="Samples (light paths) per pixel.")
    drop: Rate = Field(0.0, description="Probability that an object is left out, for each but the first.")
    wrong_object: Rate = Field(0.0, description="Probability that an object is replaced by another kind.")
    wrong_color: Rate = Field(0.0, description="Probability that a coloured object gets another colour.")
    swap_colors: Rate = Field(0.0, description="Probability that the objects exchange their colours.")
    extra: Rate = Field(0.0, description="Probability that a picture shows one extra object.")
    flip_relation: Rate = Field(0.0, description="Probability that the first relation's objects exchange places.")
    misspell: Rate = Field(0.0, description="Probability that a word on a sign or board is misspelt.")
    hyponyms: Literal["uniform", "fixed", "skewed"] = Field(
        "uniform",
        description="Which hyponyms of a class are drawn: uniform, always the same one, or by Zipf's law.",
    )
    skew: str = Field(
        "",
        description="What humans wear if the prompt leaves it open, such as "
        "hat:yes:0.8 (ATTRIBUTE:VALUE:RATE,...).",
    )
    seed_sd: Deviation = Field(0.0, description="Standard deviation of a seed's effect on the logit of all rates.")
    prompt_sd: Deviation = Field(
        0.0, description="Standard deviation of a prompt's effect on the logit of all rates."
    )
    salt: int = Field(0, description="Changes all random draws: layouts, choices, faults and effects.")
    workers: Annotated[int | None, Field(ge=1), ExecutionOption()] = Field(
        None, description="Processes that draw; one per core by default."
    )

    @field_validator("skew")
    @classmethod
    def _readable(cls, text: str) -> str:
        if text:
            # imported here because the laws import the geometry, which reading options does not need
            from t2i_miniworld.laws import parse_skews

            parse_skews(text)
        return text


class QuestionOptions(Options):
    """Options of the prompt sources `selfeval-mini-*`."""

    limit: int = Field(
        60,
        ge=5,
        description="Maximum number of samples of each task. Questions are complete, so there may be fewer.",
    )
    seed: int = Field(0, ge=0, description="Seed of the questions and their pictures.")
    repeats: int = Field(
        1,
        ge=1,
        description="Number of draws of questions, with this seed and those that follow, under the facet repeat.",
    )
    size: int = Field(128, ge=64, le=1024, description="Side of the square pictures in pixels.")
    workers: Annotated[int | None, Field(ge=1), ExecutionOption()] = Field(
        None, description="Processes that draw; one per core by default."
    )


class OracleOptions(Options):
    """Options of the judge `oracle`, which errs only on preferences, answers and captions, at these rates."""

    prefer_error: Rate = Field(0.0, description="Probability that the worse of two images is preferred.")
    prefer_first: Rate = Field(
        0.0, description="Probability that the image shown first is preferred, regardless of content."
    )
    answer_error: Rate = Field(
        0.0,
        description="Probability that a question with choices is answered with another choice than the true one.",
    )
    caption_error: Rate = Field(
        0.0, description="Probability that a caption calls one of the things another kind than it is."
    )
