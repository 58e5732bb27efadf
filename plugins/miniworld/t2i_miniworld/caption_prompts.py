"""Scenes with five references each, drawn from the mini world's grammar."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from t2i_core.api.prompt import Prompt, Scene, SceneObject

from t2i_miniworld.palette import PAINTS
from t2i_miniworld.statements import reading_of
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS
from t2i_miniworld.wording import STYLES, TIAM_COMMA, say

SCENES = 60
REFERENCES = 5
PAINTED = 0.3
"""Probability that the things of a phrase have a paint."""

# without people: captions do not say what they wear
_KINDS = tuple(label for label in LABELS if label.name != "human")


def prompts() -> Iterator[Prompt]:
    """Yield 12 prompts with one to three things of a kind, then 48 with two things of different kinds."""
    texts: set[str] = set()
    draw = 0
    while len(texts) < SCENES:
        rng = stream("captions-mini", draw)
        scene = _draw_scene(rng, pair=len(texts) >= SCENES // 5)
        text = say(reading_of(scene), TIAM_COMMA)
        draw += 1
        if text not in texts:
            texts.add(text)
            kinds = "one kind" if len(scene.objects) == 1 else "two kinds"
            yield Prompt(
                id=text.removeprefix("a photo of ").replace(" ", "-"),
                text=text,
                scene=scene,
                facets={"shows": kinds},
                references=tuple(_write_references(scene, rng)),
            )


def _draw_scene(rng: np.random.Generator, pair: bool) -> Scene:
    kinds = rng.choice(len(_KINDS), 2 if pair else 1, replace=False)
    count = 1 if pair else int(rng.integers(1, 4))
    return Scene(tuple(SceneObject(_KINDS[kind], _draw_paint(rng), count) for kind in kinds))


def _draw_paint(rng: np.random.Generator) -> str | None:
    painted, paint = rng.random(), int(rng.integers(len(PAINTS)))
    return tuple(PAINTS)[paint] if painted < PAINTED else None


def _write_references(scene: Scene, rng: np.random.Generator) -> Iterator[str]:
    styles, shares = tuple(STYLES), np.array(tuple(STYLES.values()))
    for style in rng.choice(len(styles), REFERENCES, p=shares / shares.sum()):
        yield say(reading_of(scene), styles[int(style)], rng)
