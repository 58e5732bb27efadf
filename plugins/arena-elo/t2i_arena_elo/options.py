"""Options of the metrics and the generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from t2i_core.api.options import BoundedOptions, ExecutionOption, Options

BY = "Facets of prompts by which the analyses break results down; facets that no prompt has are ignored."


class EloOptions(Options):
    """Options of `elo`."""

    ties: Literal["half", "omit"] = Field(
        "half",
        description="half: a tie, or both bad, counts as half a win for each model. omit: drop such battles.",
    )
    position: bool = Field(True, description="Fit the advantage of being shown first as a separate term.")
    protocol: Literal["pairs", "taxonomy"] = Field(
        "pairs",
        description="pairs: every two models on every prompt, in the orders and the share that the options say. "
        "taxonomy: the protocol of the taxonomy image generation benchmark, one battle for each prompt and seed: "
        "a drawn pair of models in a drawn order, judged by the benchmark's question.",
    )
    draw_seed: int = Field(0, ge=0, description="Seed of the draws of pairs and orders.")
    both_orders: bool = Field(True, description="Ask about every pair of images in both orders.")
    share: float = Field(
        1.0, gt=0, le=1, description="Share of the image pairs that the judge is asked about, drawn per image."
    )
    pilot: Path | None = Field(
        None,
        description="File of earlier battles (.csv, .jsonl): pairs of models whose next battle is more "
        "informative are drawn more often. `share` still holds on average over all pairs.",
    )
    active: bool = Field(
        False,
        description="Draw pairs of models by what they tell, in rounds: the answers so far decide which pairs the "
        "next prompts compare. `share` holds on average, and no pair is drawn with less than a tenth of it.",
    )
    until: Literal["best", "ranks"] | None = Field(
        None,
        description="End the battles after the round in which one model is surely the best (best), or each model "
        "is surely better than the next one (ranks).",
    )
    rounds: int = Field(
        8, ge=2, description="Number of rounds of `active` and `until`, of at least ten prompts each if there are."
    )
    definition: str = Field(
        "definition", description="Facet of prompts whose text, if present, the judge sees in addition."
    )
    battles: tuple[Path, ...] = Field(
        (),
        description="Files of battles (.csv, .jsonl) to rate; no judge runs and no image is generated. Without "
        "--model, all models and prompts of the files are rated.",
    )
    by: Annotated[tuple[str, ...], ExecutionOption()] = Field(("subset",), description=BY)
    without: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="Sources of battles on the same prompts without definitions, for the analysis `change by "
        "definitions`.",
    )
    confusion_ties: Annotated[bool, ExecutionOption()] = Field(
        True, description="Count ties in the confusion of verdicts."
    )
    k_factor: Annotated[float, ExecutionOption()] = Field(
        4.0, gt=0, description="Points that a battle moves at most in the analysis `online`."
    )
    beside: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="Sources to compare with in the analyses: folders of other elo runs (another judge, or with "
        "definitions), files of battles, or files of votes from t2i people serve.",
    )

    @model_validator(mode="after")
    def _check_protocol(self) -> Self:
        fields = type(self).model_fields  # a stored run gives all options, so only other values are an error
        names_of_pairs = ("both_orders", "pilot", "share", "active", "until")
        unread = [n for n in names_of_pairs if getattr(self, n) != fields[n].default]
        if self.protocol == "taxonomy" and unread:
            names = ", ".join(unread)
            raise ValueError(f"protocol=taxonomy draws one pair in one order for each prompt; leave out {names}")
        if self.in_rounds and self.battles:
            raise ValueError("active and until choose what a judge is asked; leave them out if battles are given")
        if self.in_rounds and self.pilot:
            raise ValueError("active and until draw pairs by the run's own answers; leave out pilot")
        if self.rounds != fields["rounds"].default and not self.in_rounds:
            raise ValueError("only active and until draw pairs in rounds; set one of them, or leave out rounds")
        if self.active and self.share == 1:
            raise ValueError("active draws a part of the pairs; set share below 1")
        return self

    @property
    def in_rounds(self) -> bool:
        """True if answers decide what the judge is asked next."""
        return self.active or self.until is not None


class RewardMetricOptions(BoundedOptions):
    """Options of `reward`."""

    by: Annotated[tuple[str, ...], ExecutionOption()] = Field(("subset",), description=BY)
    beside: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="Sources of ratings to compare mean rewards with in the analyses: folders of elo runs, files "
        "of battles, or files of votes from t2i people serve.",
    )


class WikimediaOptions(Options):
    """Options of the generator `wikimedia`."""

    search: Literal["lemma", "text"] = Field(
        "lemma",
        description="lemma: search for the names of the prompt's objects, if known. text: for its whole text.",
    )
    width: int = Field(
        1024, ge=64, le=4096, description="Maximum width in pixels; wider pictures are fetched scaled down."
    )
    server: str = Field("https://commons.wikimedia.org/w/api.php", description="Address of a MediaWiki API.")
    contact: Annotated[str, ExecutionOption()] = Field(
        "no contact given",
        description="Your e-mail address or web page, sent with every request. The server may refuse requests "
        "without one.",
    )
    timeout: Annotated[float, ExecutionOption()] = Field(30.0, gt=0, description="Seconds to wait for a response.")
    retries: Annotated[int, ExecutionOption()] = Field(
        5, ge=0, description="Retries after a request without a response."
    )

    @field_validator("server")
    @classmethod
    def _of_the_web(cls, text: str) -> str:
        if not text.startswith(("http://", "https://")):
            raise ValueError("must be an address that begins with http:// or https://")
        return text

    @field_validator("contact")
    @classmethod
    def _in_a_header(cls, text: str) -> str:
        if not text.strip() or not text.isprintable() or not text.isascii():
            raise ValueError("must be an e-mail address or the URL of a page, in ASCII")
        return text
