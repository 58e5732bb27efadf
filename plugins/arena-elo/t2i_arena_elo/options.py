"""Options of the metrics and the generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from t2i_core.api.options import ExecutionOption, Options

BY = "Facets of prompts at whose levels the analyses look, where prompts have them."


class EloOptions(Options):
    """Options of `elo`."""

    ties: Literal["half", "omit"] = Field(
        "half", description="half: a tie, and both bad, is half a win for each. omit: such battles are left out."
    )
    position: bool = Field(True, description="Fit what it is worth to be shown first, as a term of its own.")
    both_orders: bool = Field(True, description="Ask about each two images in both orders.")
    share: float = Field(
        1.0, gt=0, le=1, description="Share of the pairs of models that is asked about, drawn for each image anew."
    )
    pilot: Path | None = Field(
        None,
        description="A file of battles so far (.csv, .jsonl): pairs of which another battle would tell more are "
        "drawn more often; share is that of all pairs together.",
    )
    definition: str = Field(
        "definition", description="Facet of prompts whose text is shown to the judge too, where prompts have it."
    )
    battles: tuple[Path, ...] = Field(
        (), description="Files of battles (.csv, .jsonl) that are rated; no judge is asked, and no image made."
    )
    by: Annotated[tuple[str, ...], ExecutionOption()] = Field(("subset",), description=BY)
    beside: Annotated[tuple[Path, ...], ExecutionOption()] = Field(
        (),
        description="What the analyses compare with: folders of other runs of elo (by another judge, with "
        "definitions), files of battles, or people's votes as t2i arena serve keeps them.",
    )


class RewardMetricOptions(Options):
    """Options of `reward`."""

    by: Annotated[tuple[str, ...], ExecutionOption()] = Field(("subset",), description=BY)


class WikimediaOptions(Options):
    """Options of the generator `wikimedia`."""

    search: Literal["lemma", "text"] = Field(
        "lemma", description="lemma: the names of the prompt's objects, where it says them. text: its whole text."
    )
    width: int = Field(1024, ge=64, le=4096, description="Pictures that are wider are fetched in this width.")
    server: str = Field("https://commons.wikimedia.org/w/api.php", description="Address of a MediaWiki API.")
    contact: Annotated[str, ExecutionOption()] = Field(
        "no contact given",
        description="Your address or page: the server's operators want to know whom to write to, and may refuse "
        "programs that do not say.",
    )
    timeout: Annotated[float, ExecutionOption()] = Field(30.0, gt=0, description="Seconds to wait for an answer.")
    retries: Annotated[int, ExecutionOption()] = Field(5, ge=0, description="Tries after one without an answer.")

    @field_validator("server")
    @classmethod
    def _of_the_web(cls, text: str) -> str:
        if not text.startswith(("http://", "https://")):
            raise ValueError("want an address that begins with http:// or https://")
        return text

    @field_validator("contact")
    @classmethod
    def _in_a_header(cls, text: str) -> str:
        if not text.strip() or not text.isprintable() or not text.isascii():
            raise ValueError("want an address or a page, in ASCII")
        return text
