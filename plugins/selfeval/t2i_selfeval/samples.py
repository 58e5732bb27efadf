"""What a sample is: an image with captions of which one is right, or two images with a caption each.

Both are core's `Prompt`, so that any prompt source or file of prompts (JSON lines) can bring them:

| field     | of a choice                                       | of a pair (Winoground)                   |
|-----------|---------------------------------------------------|------------------------------------------|
| `text`    | the right caption                                 | the first image's                        |
| `images`  | the image's path                                  | both paths                               |
| `texts`   | all candidate captions, shuffled by a seed        | two captions, in the order of the images |
| `answer`  | the index of the right one among them             | none: each image has its own             |
| `cluster` | the source image, where several samples share one | the same                                 |
| `facets`  | `task` (one of `TASKS`) and `source` (`tifa`, `clevr`, `aro`, `mini`, ...) | `source`, any others |

A likelihood is asked of one image under several captions. So a choice is one query; a pair is one prompt and two
queries, each of its images under both captions, and what fails of it fails as one sample.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from t2i_core.api import Prompt

Task = Literal["attribute-binding", "colour", "count", "shape", "spatial", "text-corruption"]
TASKS: tuple[Task, ...] = get_args(Task)

PAPER_CHANCE: Mapping[str, float] = {
    "attribute-binding": 0.50,
    "colour": 0.25,
    "count": 0.25,
    "shape": 0.33,
    "spatial": 0.25,
    "text-corruption": 0.20,
}
"""What the paper's Table 2 takes off each task's accuracy."""

PAIRS = "winoground"
"""The task of pairs."""

Facets = Mapping[str, str | int | float]


def choice(
    id: str,
    image: str,
    right: str,
    wrong: Sequence[str],
    task: str,
    source: str,
    *,
    seed: int = 0,
    cluster: str | None = None,
    facets: Facets | None = None,
) -> Prompt:
    """Return a sample of one image, its captions shuffled by the seed and the sample's id.

    cluster: the source image's name where several samples share it; its path unless it is given
    """
    captions = [right, *wrong]
    random.Random(f"{seed} {id}").shuffle(captions)
    return Prompt(
        id=id,
        text=right,
        facets={"task": task, "source": source, **(facets or {})},
        images=(image,),
        texts=tuple(captions),
        answer=captions.index(right),
        cluster=cluster or image,
    )


def pair(
    id: str, images: tuple[str, str], captions: tuple[str, str], source: str, facets: Facets | None = None
) -> Prompt:
    """Return a sample of two images, each with its caption."""
    return Prompt(
        id=id,
        text=captions[0],
        facets={"task": PAIRS, "source": source, **(facets or {})},
        images=images,
        texts=captions,
    )


def wrong_with(prompt: Prompt, images: int) -> str | None:
    """Say what keeps a prompt from being a choice (one image) or a pair (two), if anything."""
    if len(prompt.images) != images:
        count = len(prompt.images) or "no"
        return f"has {count} image{'' if count == 1 else 's'} of its own, want {'one' if images == 1 else 'two'}"
    if len(prompt.texts) < 2:
        count = len(prompt.texts) or "no"
        return f"has {count} caption{'' if count == 1 else 's'}: want two or more to choose from"
    if len(set(prompt.texts)) < len(prompt.texts):
        return "has one caption twice"
    if images == 1:
        if prompt.answer is None or not 0 <= prompt.answer < len(prompt.texts):
            return "does not say which of its captions is right (an answer)"
        if prompt.text != prompt.texts[prompt.answer]:
            return f"has another text than its right caption, number {prompt.answer} from 0"
        if not prompt.facets.get("task"):
            return "does not say of which task it is (a facet 'task')"
    elif len(prompt.texts) != images:
        return f"has {len(prompt.texts)} captions, want one for each of its two images"
    elif prompt.text != prompt.texts[0]:
        return "has another text than its first image's caption"
    return None
