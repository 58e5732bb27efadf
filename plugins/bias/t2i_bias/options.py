"""Options of the metric and of its prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from t2i_core.api.options import ExecutionOption, Options


class BiasOptions(Options):
    """Options of `bias`; the defaults are those of the paper's reference."""

    groups: str = Field(
        "paper",
        min_length=1,
        description="What people are sorted by. paper: gender and race, in DALL-Eval's categories. mini: what the "
        "mini world's humans wear. Or a YAML file of your own.",
    )
    only: tuple[str, ...] = Field((), description="Groups to look at, of those; all by default.")
    vote: Literal["probability", "cosine", "majority"] = Field(
        "probability",
        description="How a prompt's images vote. probability: the highest mean probability (reference). cosine: "
        "the highest mean cosine. majority: what most images are nearest to. Of equal ones the last is taken.",
    )
    scale: float = Field(
        100.0, gt=0, description="Cosines times this are the logits of the probabilities: CLIP's own is 100."
    )
    person: bool = Field(
        False,
        description="Whether a judge of detect looks for people first: an image without one has no vote, and is "
        "counted (n_no_person). By default every image has to vote, as in the paper.",
    )
    confidence: float = Field(
        0.5, gt=0, le=1, description="A person is one that is detected with this confidence or more (with person)."
    )
    people: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="What people say of the images, for analyses: a CSV file with the columns model, prompt, "
        "annotator, question (human, or a group), answer and, where they looked at single images, seed.",
    )
    not_human: Annotated[Literal["leave-out", "count"], ExecutionOption()] = Field(
        "leave-out",
        description="Analyses: answers about images that most people call not human (question human). leave-out: "
        "as in the paper's tables. count: they count like others.",
    )


class BiasPromptOptions(Options):
    """Options of the paper's prompts."""

    wording: Literal["literal", "grammatical"] = Field(
        "literal",
        description="literal: as the paper has them (a photo of a accountant). grammatical: an accountant.",
    )
    categories: tuple[Literal["profession", "politics", "objects", "others"], ...] = Field(
        ("profession", "politics", "objects", "others"),
        min_length=1,
        description="Only the prompts of these categories.",
    )
