"""Looks at a growing run: nested full rectangles of prompts and seeds."""

from __future__ import annotations

from dataclasses import dataclass

from .sample_size import FEWEST_PROMPTS

LOOKS = 10
"""Number of looks: each saves images and loads the models once more."""

FIRST_SEEDS, MORE_SEEDS = 8, 16
"""Number of seeds under which prompts grow, before further seeds are drawn for all of them: the second where the
first look is then at most a fifth of the run.

The degrees of freedom of the two-way variance follow the seeds if images vary most, so that a test with fewer
seeds can hardly stop early; more seeds cost images where prompts vary most.
"""

_LARGEST_FIRST = 0.2

_PROMPT_SHARE = 0.6


@dataclass(frozen=True)
class Look:
    """The samples of each model that have been drawn when a run looks at its results.

    Attributes:
        prompts: Number of prompts, the first ones in the plan's order.
        seeds: Number of seeds of each prompt, the first ones.
    """

    prompts: int
    seeds: int

    @property
    def images(self) -> int:
        """Number of images of each model."""
        return self.prompts * self.seeds


def plan_looks(prompts: int, seeds: int, count: int = LOOKS, most_images: int | None = None) -> tuple[Look, ...]:
    """Return the looks at a run of at most this many prompts and seeds.

    Prompts grow first, in equal steps under the same few seeds. Then seeds grow for all prompts, each time by
    about the same factor. No look has fewer than ten prompts, because its interval would be rough.

    Args:
        prompts: Number of prompts.
        seeds: Number of seeds.
        count: Number of looks; there are fewer if steps would be empty.
        most_images: Most images of each model. Seeds are reduced first, down to `FIRST_SEEDS`, and then prompts.

    Returns:
        The looks; the last one is the planned end of the run.

    Raises:
        ValueError: If there are fewer than ten prompts, or `most_images` does not suffice for them.
    """
    if prompts < FEWEST_PROMPTS:
        raise ValueError(f"looks need at least {FEWEST_PROMPTS} prompts, got {prompts}")
    first = min(seeds, FIRST_SEEDS)
    if most_images is not None:
        seeds = min(seeds, max(first, most_images // prompts))
        prompts = min(prompts, most_images // seeds)
        if prompts < FEWEST_PROMPTS:
            raise ValueError(
                f"looks need at least {FEWEST_PROMPTS} prompts x {first} seeds, {FEWEST_PROMPTS * first} images "
                f"of each model, got {most_images}"
            )
    if count == 1:
        return (Look(prompts, seeds),)
    if _LARGEST_FIRST * prompts * seeds >= FEWEST_PROMPTS * MORE_SEEDS:
        first = min(seeds, MORE_SEEDS)
    steps = count if seeds == first else max(1, round(count * _PROMPT_SHARE))
    looks = [Look(max(FEWEST_PROMPTS, round(prompts * step / steps)), first) for step in range(1, steps + 1)]
    growth = seeds / first
    looks += [
        Look(prompts, round(first * growth ** (step / (count - steps)))) for step in range(1, count - steps + 1)
    ]
    return tuple(dict.fromkeys(looks))
