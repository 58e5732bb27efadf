"""Samples: choices (an image with one right and several wrong captions) and pairs (two images with two captions).

Both are instances of core's `Prompt`, so any prompt source and any prompt file (JSON lines) can provide them:

| field     | in a choice                                       | in a pair (Winoground)                   |
|-----------|---------------------------------------------------|------------------------------------------|
| `text`    | the right caption                                 | the first image's caption                |
| `images`  | the image's path                                  | both paths                               |
| `texts`   | all candidate captions, shuffled by a seed        | two captions, in the order of the images |
| `answer`  | the index of the right caption in `texts`         | None                                     |
| `cluster` | the source image, if several samples share one    | the same                                 |
| `facets`  | `task` (one of `TASKS`) and `source` (`tifa`, `clevr`, `aro`, `mini`, ...) | `source`, any others |

A query asks for the likelihood of one image under several captions. A choice is one query. A pair is two queries,
one per image, each with both captions; if one of them fails, the sample fails.
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
"""Chance level of each task in the paper's Table 2."""

PAIRS = "winoground"
"""Name of the task of pairs."""

PAIR_CHANCE: Mapping[str, float] = {"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}
"""The scores of pairs, with their chance levels for random scores of images under captions."""

REPEAT = "repeat"
"""The facet of samples that were drawn several times: 1 for the first draw. Each repeat has its own noise, too."""

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
    """Return a sample of one image.

    Args:
        id: The id of the sample.
        image: Path of the image.
        right: The right caption.
        wrong: The wrong captions.
        task: The task.
        source: The data set.
        seed: The captions are shuffled by this seed and the id.
        cluster: Name of the source image, if several samples share it; if None, the path of the image.
        facets: Further facets.
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
    """Return a sample of two images with their captions."""
    return Prompt(
        id=id,
        text=captions[0],
        facets={"task": PAIRS, "source": source, **(facets or {})},
        images=images,
        texts=captions,
    )


def find_fault(prompt: Prompt, images: int) -> str | None:
    """Return why a prompt is not a valid choice (one image) or pair (two images); None if it is valid."""
    if len(prompt.images) != images:
        wanted = "one image" if images == 1 else "two images"
        return f"`images` must hold {wanted} (got {len(prompt.images)}); use prompts that have images"
    if len(prompt.texts) < 2:
        return f"`texts` must hold at least two captions (got {len(prompt.texts)})"
    if len(set(prompt.texts)) < len(prompt.texts):
        return "`texts` must hold distinct captions; remove the repeated caption"
    if images == 1:
        last = len(prompt.texts) - 1
        if prompt.answer is None or not 0 <= prompt.answer <= last:
            return f"`answer` must be the index of the right caption in `texts`, 0 to {last} (got {prompt.answer})"
        if prompt.text != prompt.texts[prompt.answer]:
            return f"`text` must be the right caption, texts[{prompt.answer}]"
        if not prompt.facets.get("task"):
            return "the facet `task` is missing; name the task of the sample"
        if not isinstance(repeat := prompt.facets.get(REPEAT, 1), int) or repeat < 1:
            return f"the facet `repeat` must be a whole number from 1 (got {repeat!r})"
    elif len(prompt.texts) != images:
        return f"`texts` must hold one caption for each of the two images (got {len(prompt.texts)})"
    elif prompt.text != prompt.texts[0]:
        return "`text` must be the caption of the first image, texts[0]"
    return None
