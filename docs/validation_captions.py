"""Write the part of docs/validation.md about metrics of captions: ``python docs/validation_captions.py OUT``.

The oracle's caption follows from what a picture shows, so its CIDEr does too. The truth is the mean over prompts
of CIDEr under all faults, each with its probability.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from t2i_captioning.cider import compute_cider
from t2i_captioning.ptb import tokenize
from t2i_captioning.references import InverseFrequencies
from t2i_core import ModelRequest, Run
from t2i_core.api import Caption, Prompt
from t2i_miniworld.caption_prompts import SCENES
from t2i_miniworld.captions import Thing, write_caption
from t2i_miniworld.vocabulary import LABELS
from validation_lines import Line
from validation_page import write_part, write_row
from validation_runs import ORACLE, Said, kept

SALTS, SEEDS = 2, 4
"""Number of salts, and of pictures of each prompt for each salt: 480 pictures for each row."""
DROP, ERROR = 0.4, 0.3

HEAD = """
## Captions

The oracle captions what a picture shows: kinds, numbers and paints in the plainest wording. CIDEr compares this
with five references of each prompt, drawn from the same grammar. Its truth is the mean over all {prompts} prompts
of `captions-mini` of CIDEr under all faults, each with its probability; without a fault it is {ideal:.4f}, because
references name things in other words, too. `drop` loses objects of the picture; `caption_error` is a fault of the
captioner, which calls one thing another kind. Each row is simulated {salts} times, with {seeds} images of each
prompt. The truth holds for these prompts alone, so the intervals are about new seeds (`--interval seeds`). {salts}
simulations are few, so the mean is the test: it must lie within 4 standard errors (SE) of the truth. The SE
follows from the spread of the {draws} means by salt and seed.

    python docs/validation_captions.py OUT

| simulated faults | metric | judge | truth | mean | off | SE of the mean | intervals that contain it | images |
|---|---|---|---|---|---|---|---|---|
"""


def list_things(prompt: Prompt) -> list[Thing]:
    """Return what a prompt asks for, thing by thing."""
    assert prompt.scene is not None
    return [(one.cls, one.colour) for one in prompt.scene.objects for _ in range(one.count)]


def drop_things(things: Sequence[Thing], rate: float) -> Iterator[tuple[float, list[Thing]]]:
    """Yield what may be drawn with its probability, if each thing after the first is lost at a rate."""
    first, *others = things
    for count in range(len(others) + 1):
        chance = rate ** (len(others) - count) * (1 - rate) ** count
        for drawn in combinations(others, count):
            yield chance, [first, *drawn]


def rename_things(things: Sequence[Thing], rate: float) -> Iterator[tuple[float, list[Thing]]]:
    """Yield what may be named with its probability, if one thing is called another kind at a rate."""
    yield 1 - rate, list(things)
    for at, (kind, paint) in enumerate(things):
        others = [label for label in LABELS if label != kind]
        for other in others:
            yield rate / len(things) / len(others), [*things[:at], (other, paint), *things[at + 1 :]]


def expect_cider(prompts: Sequence[Prompt], drop: float = 0.0, error: float = 0.0) -> float:
    """Return the expected CIDEr of the oracle's captions under faults."""
    idf = InverseFrequencies(prompt.references for prompt in prompts)
    return float(np.mean([_expect_one(prompt, idf, drop, error) for prompt in prompts]))


def _expect_one(prompt: Prompt, idf: InverseFrequencies, drop: float, error: float) -> float:
    references = [tokenize(text) for text in prompt.references]
    total = 0.0
    for drawn_at, drawn in drop_things(list_things(prompt), drop):
        for named_at, named in rename_things(drawn, error):
            if chance := drawn_at * named_at:
                caption = write_caption(named)
                assert isinstance(caption, Caption)
                total += chance * compute_cider(tokenize(caption.text), references, idf)
    return total


def measure_captions(out: Path, salts: int = SALTS) -> tuple[list[Said], float]:
    """Return the lines, and CIDEr without a fault."""
    lost = _draw(out / "drop", salts, {"drop": DROP})
    named = _draw(out / "error", salts, {}, {"oracle": {"caption_error": ERROR}})
    used = lost.prompts()
    said = [
        _read(lost, "objects lost: Σ d^|D| (1 - d)^(n - |D|) CIDEr_D", {"drop": DROP}, expect_cider(used, DROP)),
        _read(
            named, "things misnamed: (1 - e) CIDEr + e CIDEr_wrong", {"caption_error": ERROR},
            expect_cider(used, error=ERROR),
        ),
    ]  # fmt: skip
    return said, expect_cider(used)


def _draw(out: Path, salts: int, put_in: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Run:
    """Evaluate pictures of the simulator, a model for each salt."""
    models = [
        ModelRequest("simulator", f"salt {salt}", {**ORACLE, **put_in, "salt": salt}) for salt in range(salts)
    ]
    return kept(
        "cider", models, prompts="captions-mini", seeds=SEEDS, interval="seeds", judge="oracle", out=out,
        options=dict(options or {}),
    )  # fmt: skip


def _read(run: Run, title: str, put_in: Mapping[str, Any], truth: float) -> Said:
    line = Line(title, "cider", "cider", "captions-mini", put_in, lambda *_: truth)
    values = tuple((one.score, *one.ci) for one in run.results)
    # with the prompts fixed, the images of a salt and a seed are one independent draw
    draws = run.measurements().groupby(["model", "seed"], observed=True)["value"].mean()
    error = float(draws.std() / np.sqrt(len(draws)))
    return Said(line, line.oracle, truth, truth, values, len(run.samples()), error)


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    said, ideal = measure_captions(out)
    head = HEAD.format(prompts=SCENES, ideal=ideal, salts=SALTS, seeds=SEEDS, draws=SALTS * SEEDS)
    part = head + "".join(write_row(one, one.expected) for one in said) + "\n"
    write_part(Path(__file__).name, part)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
