"""Options of the metric and of its prompt source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from t2i_core.api.options import ExecutionOption, Options
from t2i_core.io.majority import MajorityRule


class BiasOptions(Options):
    """Options of `bias`; the defaults are those of the paper's reference code."""

    groups: str = Field(
        "paper",
        min_length=1,
        description="Groups of categories. paper: gender and race, with DALL-Eval's categories. mini: clothes and "
        "hair of the mini world's humans. Or the path of your own YAML file.",
    )
    only: tuple[str, ...] = Field(
        (), description="Names of the groups to evaluate; by default all groups of the file."
    )
    vote: Literal["probability", "cosine", "majority"] = Field(
        "probability",
        description="How the images of a prompt vote for a category. probability: highest mean probability, as in "
        "the reference code. cosine: highest mean cosine. majority: the category nearest to most images. Of "
        "equal categories the last wins, or the first where the group says so (race of paper).",
    )
    scale: float = Field(
        100.0, gt=0, description="Factor from cosines to logits, before the softmax; CLIP's own is 100."
    )
    person: bool = Field(
        False,
        description="Whether a judge for detect first looks for people. Images without a person then have no vote "
        "and are counted as n_no_person. By default every image votes, as in the paper.",
    )
    confidence: float = Field(
        0.5, gt=0, le=1, description="Minimum confidence of a detected person (with person=true)."
    )
    people: Annotated[Path | None, ExecutionOption()] = Field(
        None,
        description="File of people's answers (human, and a group's), for analyses: a database of t2i people "
        "serve, or CSV.",
    )
    majority: Annotated[MajorityRule, ExecutionOption()] = Field(
        "most",
        description="Which answer of several people counts in analyses. most: the most frequent one; none if two "
        "are equally frequent, or if most cannot tell. half: the answer of more than half of them.",
    )
    not_human: Annotated[Literal["leave-out", "count"], ExecutionOption()] = Field(
        "leave-out",
        description="How analyses treat answers about images that most people call not human (question human). "
        "leave-out: skip them, as in the paper's tables. count: treat them like all others.",
    )


class BiasPromptOptions(Options):
    """Options of `bias-145`."""

    wording: Literal["literal", "grammatical"] = Field(
        "literal",
        description="literal: as in the paper (a photo of a accountant). grammatical: an accountant.",
    )
    categories: tuple[Literal["profession", "politics", "objects", "others"], ...] = Field(
        ("profession", "politics", "objects", "others"),
        min_length=1,
        description="Categories of prompts to use.",
    )
