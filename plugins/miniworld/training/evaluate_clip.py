"""Measure how often the true caption is nearest among ten: ``python evaluate_clip.py DATA CLIP``.

Each unseen picture and aspect (object, colour, count, relation, attribute) has one true caption and nine that are
false only in that aspect; pictures without nine such captions are skipped. For the aspect `any`, the nine are
captions of other pictures that are false of this one. With --text, CLIP is a folder of `train_text`, and
annotations replace the pictures, which gives an upper bound. With --hats, DATA has people (made with `--purpose
people`), the texts are HATS, and the output is how often the first is nearer, for people with and without a hat.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import train_clip
import train_text
from altered import ASPECTS, wrong_statement
from captions import caption, statement
from mini_clip import Clip, TextSide
from numpy.typing import NDArray
from t2i_core.api import Instance
from t2i_core.statistics import wilson
from t2i_miniworld.phrases import Reading, read
from t2i_miniworld.statements import holds
from t2i_miniworld.wording import PAINTSKILLS, TIAM, say
from torch import Tensor
from train_text import ideal, tokens
from training_data import load
from transformers import CLIPTokenizer

OTHERS = 9
#: Texts about a human with and without a hat, as in questions of `bias`.
HATS = ("a photo of a human with a hat", "a photo of a human without a hat")
_TRIES = 60


def candidates(
    shown: tuple[Instance, ...], aspect: str, pool: list[str], rng: np.random.Generator
) -> list[str] | None:
    """Return a true caption and `OTHERS` different false ones, or None if fewer are found."""
    if aspect == "any":
        wrong = [text for text in dict.fromkeys(pool) if not holds(read(text), shown)][:OTHERS]
        return [caption(shown, rng), *wrong] if len(wrong) == OTHERS else None
    right = _phrase(_find_statement(shown, aspect, rng))
    found: dict[str, None] = {}
    for _ in range(_TRIES):
        reading = wrong_statement(shown, aspect, rng, tries=1)
        if reading is not None and _mentions(reading, aspect):
            found[_phrase(reading)] = None
        if len(found) == OTHERS:
            return [right, *found]
    return None


def _find_statement(shown: tuple[Instance, ...], aspect: str, rng: np.random.Generator) -> Reading:
    """Return a true statement, one that mentions the aspect if one of 20 does."""
    readings = [statement(shown, rng) for _ in range(20)]
    return next((reading for reading in readings if _mentions(reading, aspect)), readings[0])


def _mentions(reading: Reading, aspect: str) -> bool:
    said = {
        "colour": any(phrase.paints for phrase in reading.phrases),
        "relation": bool(reading.sides),
        "attribute": any(phrase.worn for phrase in reading.phrases),
    }
    return said.get(aspect, True)


def _phrase(reading: Reading) -> str:
    """Return the statement in plain words: relations in PaintSkills', everything else in TIAM's."""
    return say(reading, PAINTSKILLS if reading.sides else TIAM)


@torch.no_grad()
def pictures_at(clip: Clip, images: NDArray[np.uint8]) -> Tensor:
    """Return the vectors of pictures (N, S, S, 3)."""
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    return torch.cat([clip.images(batch.float() / 255) for batch in pixels.split(50)])


@torch.no_grad()
def measure(
    tokenizer: CLIPTokenizer, told: TextSide, vectors: Tensor, shown: list[tuple[Instance, ...]], seed: int = 0
) -> dict[str, tuple[int, int]]:
    """Return for each aspect how often the true caption of ten is nearest, and the number of pictures."""
    rng = np.random.default_rng(seed)
    pool = [caption(one, rng) for one in shown]
    found = {}
    for aspect in ("any", *ASPECTS):
        right = tried = 0
        for one, vector in zip(shown, vectors, strict=True):
            texts = candidates(one, aspect, [pool[at] for at in rng.permutation(len(pool))[:60]], rng)
            if texts is not None:
                tried += 1
                right += int((told.texts(tokens(tokenizer, texts)) @ vector).argmax() == 0)
        found[aspect] = right, tried
    return found


@torch.no_grad()
def hats(
    tokenizer: CLIPTokenizer, told: TextSide, vectors: Tensor, shown: list[tuple[Instance, ...]]
) -> dict[str, tuple[int, int]]:
    """Return for people with and without a hat how often the text with one is nearer, and their number."""
    nearer = (vectors @ told.texts(tokens(tokenizer, list(HATS))).T).argmax(dim=1) == 0
    worn = torch.tensor(
        [any(one.attributes.get("hat") == "yes" for one in things) for things in shown], dtype=torch.bool
    )
    sides = {"hats, of people with one": nearer[worn], "hats, of people without": nearer[~worn]}
    return {name: (int(said.sum()), len(said)) for name, said in sides.items()}


def main() -> None:
    """Read the command line, measure, and print with Wilson's 95 % intervals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("clip", type=Path)
    parser.add_argument("--scenes", type=int, default=1_000)
    parser.add_argument("--text", action="store_true", help="CLIP is a folder of train_text")
    parser.add_argument("--hats", action="store_true", help="DATA has people: measure who counts as wearing a hat")
    given = parser.parse_args()
    drawn = list(load(given.data, "heldout"))
    truths = [truth for one in drawn for truth in one.truths][: given.scenes]
    if given.text:
        tokenizer, told = train_text.trained(given.clip)
        vectors = told.scenes(ideal(truths).float())
    else:
        tokenizer, clip = train_clip.trained(given.clip)
        told = clip.told
        vectors = pictures_at(clip, np.concatenate([one.images for one in drawn])[: given.scenes])
    measured = hats if given.hats else measure
    found = measured(tokenizer, told, vectors, [truth.instances for truth in truths])
    for aspect, (right, tried) in found.items():
        if tried:
            low, high = wilson(right, tried)
            print(f"{aspect}: {right} of {tried}, {right / tried:.3f} ({low:.3f} to {high:.3f})")
        else:
            print(f"{aspect}: no picture has nine such captions")


if __name__ == "__main__":
    main()
