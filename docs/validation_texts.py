"""Write the part of docs/validation.md about text in images: ``python docs/validation_texts.py OUT``.

The simulator writes words on signs and misspells each with the rate r, so every score of `text-rendering` is
known. Another judge is compared with the oracle on the same images.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core import ModelRequest, Run
from t2i_core.api import Prompt
from t2i_miniworld.sign_classes import TEXT
from t2i_miniworld.sign_prompts import EACH
from validation_lines import Line
from validation_page import write_part, write_row
from validation_runs import ORACLE, Said, kept

METRIC, SOURCE = "text-rendering", "signs-mini"
SALTS, SEEDS, RATE = 2, 4, 0.3
"""Number of salts, and of pictures of each prompt for each salt: 384 pictures for each row."""
SIZES = (128, 256, 512)
JUDGE = "rapidocr"
ALIKE: dict[str, Any] = {"metric:text-rendering": {"upper": None}}

HEAD = """
## Text in images

The simulator writes words on signs and boards (`signs-mini`: {prompts} prompts with a word, a phrase or two
signs) and misspells each word with the rate r: one letter becomes another one. n: words of a prompt; L: their
letters. The oracle reads what is written. Each row is simulated {salts} times, with {seeds} images of each prompt;
the truth holds for these prompts alone, so the intervals are about new seeds (`--interval seeds`). The mean must
lie within 4 standard errors (SE) of the truth. The SE follows from the spread of the {draws} means by salt and
seed.

    python docs/validation_texts.py OUT

| simulated faults | metric | judge | truth | mean | off | SE of the mean | intervals that contain it | images |
|---|---|---|---|---|---|---|---|---|
"""

READ = """
How well `rapidocr` reads: the same images, one of each prompt, under both judges. `read right` is the share of
images on which its `exact` is the oracle's.

| size | misspelt | judge | exact | word accuracy | edit distance | read right | images |
|---|---|---|---|---|---|---|---|
"""


def list_words(prompt: Prompt) -> list[str]:
    """Return the words that a prompt asks for."""
    assert prompt.scene is not None
    return [word for one in prompt.scene.objects for word in one.attributes[TEXT].split()]


def expect_scores(prompts: Sequence[Prompt], rate: float) -> dict[str, float]:
    """Return the expected scores, if each word is misspelt in one letter at a rate."""
    words = [list_words(prompt) for prompt in prompts]
    return {
        "exact": float(np.mean([(1 - rate) ** len(own) for own in words])),
        "word-accuracy": 1 - rate,
        "edit-distance": float(np.mean([rate * len(own) / len("".join(own)) for own in words])),
    }


def measure_texts(out: Path, salts: int = SALTS) -> list[Said]:
    """Return the lines of the oracle."""
    models = [
        ModelRequest("simulator", f"salt {salt}", {**ORACLE, "misspell": RATE, "salt": salt})
        for salt in range(salts)
    ]
    run = kept(
        METRIC, models, prompts=SOURCE, seeds=SEEDS, interval="seeds", judge="oracle", out=out, options=ALIKE
    )
    truths = expect_scores(run.prompts(), RATE)
    titles = {
        "exact": "words misspelt: all are right, (1 - r)^n",
        "word-accuracy": "words misspelt: share of right ones, 1 - r",
        "edit-distance": "words misspelt: letters to change, r n / L",
    }
    return [_read(run, title, measure, truths[measure]) for measure, title in titles.items()]


def _read(run: Run, title: str, measure: str, truth: float) -> Said:
    line = Line(title, METRIC, measure, SOURCE, {"misspell": RATE}, lambda *_: truth)
    scores = [one.scores[measure] for one in run.results]
    table = run.measurements()
    draws = table[table["measure"] == measure].groupby(["model", "seed"], observed=True)["value"].mean()
    error = float(draws.std() / np.sqrt(len(draws)))
    values = tuple((one.value, *one.ci) for one in scores)
    return Said(line, line.oracle, truth, truth, values, len(run.samples()), error)  # type: ignore[arg-type]


def compare_judges(out: Path) -> Iterator[str]:
    """Yield the rows of images that two judges read."""
    for size in SIZES:
        for rate in (0.0, RATE):
            model = ModelRequest("simulator", "signs", {"size": size, "spp": 8, "misspell": rate})
            run = kept(
                METRIC,
                [model],
                prompts=SOURCE,
                seeds=1,
                judges=["oracle", JUDGE],
                out=out / f"{size}-{rate}",
                options=ALIKE,
            )
            yield from _write_judges(run, size, rate)


def _write_judges(run: Run, size: int, rate: float) -> Iterator[str]:
    table = run.measurements()
    exact = table[table["measure"] == "exact"].pivot(index=["prompt", "seed"], columns="by", values="value")
    for result in run.results:
        own: Mapping[str, Any] = result.scores
        values = [f"{own[measure].value:.3f}" for measure in ("exact", "word-accuracy", "edit-distance")]
        alike = float((exact[result.by] == exact["oracle"]).mean())
        cells = (str(size), f"{rate:g}", str(result.by), *values, f"{alike:.3f}", str(len(exact)))
        yield f"| {' | '.join(cells)} |\n"


def write(out: Path) -> None:
    """Draw what is missing; write the part of the page."""
    said = measure_texts(out / "oracle")
    head = HEAD.format(prompts=3 * EACH, salts=SALTS, seeds=SEEDS, draws=SALTS * SEEDS)
    rows = "".join(write_row(one, one.expected) for one in said)
    part = head + rows + READ + "".join(compare_judges(out)) + "\n"
    write_part(Path(__file__).name, part)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
