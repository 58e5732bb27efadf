"""Comparison of a run's judge with a person's labels of its pictures.

``python hand_labels.py sheet RUN OUT.png`` draws the pictures: a row for each prompt, a column for
each seed. ``... blank RUN OUT.csv`` writes a table of them (prompt, seed, and digest of the picture), in which the
person fills in `shown` with yes or no: does the picture show everything that the prompt names? ``... compare RUN
OUT.csv`` then prints how often person and judge agree. ``... answers RUN OUT.csv --to ANSWERS.csv`` writes the
labels as people's answers, which `t2i correct` and the judge `people` read.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_core.results.run import Run, load_run
from t2i_core.statistics import wilson

_FIELDS = ("prompt", "seed", "digest", "shown")
TILE, GAP, LEFT, TOP = 112, 4, 150, 20
_ANSWERS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Label:
    """A person's answer about one picture."""

    prompt: str
    seed: int
    digest: str
    shown: bool


def read_labels(file: Path) -> list[Label]:
    """Read a CSV file of answers.

    Raises:
        SystemExit: If a line has an answer other than yes or no.
    """
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    for number, row in enumerate(rows, start=2):
        if row["shown"] not in _ANSWERS:
            raise SystemExit(f"{file}, line {number}: 'shown' must be yes or no (got {row['shown']!r})")
    return [Label(row["prompt"], int(row["seed"]), row["digest"], _ANSWERS[row["shown"]]) for row in rows]


def write_blank(run: Run, file: Path) -> None:
    """Write the CSV file of a run's pictures, with an empty column `shown`."""
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(_FIELDS)
        writer.writerows((one.prompt, one.seed, one.digest, "") for one in _drawn(run))


def agreement(run: Run, labels: list[Label]) -> Counter[tuple[bool, bool]]:
    """Count the answers of person and judge: whether (the person, the judge) saw everything that the prompt names.

    Raises:
        SystemExit: If a label is about a picture that the run does not have.
    """
    values = run.measurements()
    values = values[(values["metric"] == "tiam") & (values["measure"] == "tiam")]
    columns = (values[name].to_list() for name in ("prompt", "seed", "value"))
    said = {(prompt, int(seed)): value == 1 for prompt, seed, value in zip(*columns, strict=True)}
    digests = {(one.prompt, int(one.seed)): one.digest for one in _drawn(run)}
    found: Counter[tuple[bool, bool]] = Counter()
    for label in labels:
        key = label.prompt, label.seed
        if digests.get(key) != label.digest:
            raise SystemExit(f"{run.folder}: has another picture of {label.prompt!r}, seed {label.seed}, or none")
        found[label.shown, said[key]] += 1
    return found


def write_people_answers(run: Run, labels: list[Label], file: Path) -> None:
    """Write labels as people's answers: each names the kind of thing that its prompt asks for, or none.

    The labels count as a random part of the run's pictures. A picture is found by its prompt and seed: on another
    processor, the same model draws pictures that differ in a few pixels.

    Raises:
        SystemExit: If a prompt asks for more than one kind, or the run does not have a picture.
    """
    scenes = {prompt.id: prompt.scene for prompt in run.prompts()}
    pictures = {(one.prompt, int(one.seed)): one for one in _drawn(run)}
    answers = []
    for label in labels:
        scene, picture = scenes.get(label.prompt), pictures.get((label.prompt, label.seed))
        if scene is None or len(scene.objects) != 1 or picture is None:
            raise SystemExit(f"{run.folder}: has no picture of one thing of {label.prompt!r}, seed {label.seed}")
        named = scene.objects[0].cls.name if label.shown else "none"
        shown = ShownImages(picture.model, (label.seed,), (picture.digest,))
        share = len(labels) / len(pictures)
        answers.append(HumanAnswer("person", "object", named, (shown,), label.prompt, probability=share))
    write_answers(file, answers)


def sheet(run: Run) -> Image.Image:
    """Draw a run's pictures, a row for each prompt and a column for each seed."""
    drawn, images = list(_drawn(run)), run.images()
    prompts = list(dict.fromkeys(one.prompt for one in drawn))
    seeds = sorted({int(one.seed) for one in drawn})
    step = TILE + GAP
    page = Image.new("RGB", (LEFT + len(seeds) * step, TOP + len(prompts) * step), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(12)
    for column, seed in enumerate(seeds):
        pen.text((LEFT + column * step + TILE // 2, TOP // 2), str(seed), "black", font, anchor="mm")
    for row, prompt in enumerate(prompts):
        pen.text((LEFT - 6, TOP + row * step + TILE // 2), prompt, "black", font, anchor="rm")
    for one in drawn:
        place = LEFT + seeds.index(int(one.seed)) * step, TOP + prompts.index(one.prompt) * step
        page.paste(images[one.Index].pil().resize((TILE, TILE)), place)
    return page


def _drawn(run: Run) -> Iterator[Any]:
    samples = run.samples()
    yield from samples[samples["status"] == "ok"].itertuples()


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sheet", "blank", "compare", "answers"))
    parser.add_argument("run", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--to", type=Path, help="file for people's answers (CSV)")
    given = parser.parse_args()
    run = load_run(given.run)
    if given.what == "sheet":
        sheet(run).save(given.file, optimize=True)
    elif given.what == "blank":
        write_blank(run, given.file)
    elif given.what == "answers":
        if given.to is None:
            raise SystemExit("name the file for the answers with --to")
        write_people_answers(run, read_labels(given.file), given.to)
    else:
        found = agreement(run, read_labels(given.file))
        agreed, count = found[True, True] + found[False, False], found.total()
        low, high = wilson(agreed, count)
        print(f"agree on {agreed} of {count}, {agreed / count:.3f} ({low:.3f} to {high:.3f})")
        print(f"the judge misses {found[True, False]} of {found[True, True] + found[True, False]} that are shown")
        print(f"and sees {found[False, True]} of {found[False, True] + found[False, False]} that are not")


if __name__ == "__main__":
    main()
