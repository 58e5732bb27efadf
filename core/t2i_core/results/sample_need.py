"""The line that ends a comparison without a verdict: how many prompts would show a difference."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from .typed import Count, Number, Typed

FIXED_PROMPTS = "these prompts, new seeds"
"""The question of intervals that hold the prompts fixed, as `statistics.design.QUESTIONS` has it: whoever reads a
run imports no statistics."""


class SampleNeed(Typed):
    """The number of prompts and seeds that would show a difference."""

    margin: Number = Field(
        description="the difference to be seen, in the unit of the measure; not the observed one"
    )
    power: Number = Field(description="the chance of seeing it, in one unadjusted test")
    prompts: Count | None = Field(
        description="the number of prompts; null if no design of up to a million prompts and 64 seeds is enough"
    )
    seeds: Count | None = Field(description="the number of seeds of each prompt; null if it stays the same")
    reached: bool = Field(
        description="whether the comparison already has that power, with its own prompts and seeds"
    )


def describe_sample_needs(needs: Sequence[SampleNeed | None], interval: str) -> str | None:
    """Return one line for the comparisons of one metric that have no verdict.

    Args:
        needs: The design that each of them needs; None if it is not known.
        interval: Method and question of their interval.

    Returns:
        The line; None if the interval holds the prompts fixed, so that more prompts ask another question.
    """
    if interval.endswith(FIXED_PROMPTS):
        return None
    known = [need for need in needs if need is not None]
    if not known:
        return "t2i power RUN --margin NUMBER tells how many prompts would show a difference of NUMBER"
    margin = f"a difference of {known[0].margin:g} with power {known[0].power:g}"
    if all(need.reached for need in known):
        return f"these images suffice to see {margin}; for a smaller one: t2i power RUN --margin NUMBER"
    known = [need for need in known if not need.reached]
    if any(need.prompts is None for need in known):
        return f"no design within reach shows {margin}; try a larger one with t2i power RUN --margin NUMBER"
    largest = max(known, key=lambda need: (need.prompts or 0) * (need.seeds or 1))
    grid = f"{largest.prompts:,} prompts"
    if largest.seeds is None:
        grid += ", with as many seeds as here"
    else:
        images = (largest.prompts or 0) * largest.seeds
        grid += f" x {largest.seeds} seeds ({images:,} images a model)"
    return f"to see {margin}: about {grid}; t2i power RUN has other designs"
