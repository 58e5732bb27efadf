"""Write simulated answers of people for the mini versions of tables: no person has seen these images.

    python plugins/wordnet-hypernymy/training/mini_answers.py

For Tables 2, 3 and 12 of the hypernymy paper, three simulated people compare three pairs of images of each synset
in `mini-synsets.csv`. They prefer the simulator that makes fewer mistakes, with a probability that differs between
synsets, so that shares and correlations exist. For the taxonomy benchmark they judge each two models on each
concept in `mini-concepts.csv`, with the strengths in `STRENGTHS`.
"""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "t2i_wordnet_hypernymy" / "paper_tables"
BASELINE = "careful"
LOSES = {"astray": 0.25, "wayward": 0.4}
"""Mean probability that a model is preferred to the baseline."""
TIES = 0.1
PEOPLE, PAIRS = 3, 3
TASKS = {"mini-captions.csv": 0, "mini-diversity.csv": 1}
"""Seed of each file's answers."""
CORPORA = ("LAION-400M", "LAION-2B", "COYO")
STRENGTHS = {
    "mini-battles.csv": {"mini": 300.0, "mini-tiny": 100.0, "mini-early": 0.0},
    "mini-battles-plain.csv": {"mini": 250.0, "mini-tiny": 150.0, "mini-early": 0.0},
}
"""Elo ratings of the models in each file of battles."""


def write_counts(path: Path) -> None:
    """Write invented numbers of captions in three corpora of each synset in `mini-synsets.csv`."""
    random = np.random.default_rng(2)
    with (FOLDER / "mini-synsets.csv").open() as synsets, path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["synset", *CORPORA])
        for line in csv.DictReader(synsets):
            common = random.lognormal(6, 2)
            out.writerow([line["synset"], *(round(common * random.lognormal(0, 0.3)) for _ in CORPORA)])


def write_battles(path: Path, strengths: dict[str, float]) -> None:
    """Write the battles of one file: each person judges each two models on each concept once."""
    random = np.random.default_rng(len(path.stem))
    with (FOLDER / "mini-concepts.csv").open() as concepts, path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["prompt", "left", "right", "verdict", "subset", "judge", "human"])
        for concept in csv.DictReader(concepts):
            prompt = f"{concept['lemma']} ({concept['synset']})"
            for a, b in combinations(strengths, 2):
                for person in range(PEOPLE):
                    left, right = (a, b) if random.random() < 0.5 else (b, a)
                    chance = 1 / (1 + 10 ** ((strengths[right] - strengths[left]) / 400))
                    won = "left" if random.random() < chance else "right"
                    verdict = "tie" if random.random() < TIES else won
                    judge = f"simulated {person + 1}"
                    out.writerow([prompt, left, right, verdict, concept["subset"], judge, "yes"])


def write_answers(path: Path, seed: int) -> None:
    """Write the answers of one task."""
    random = np.random.default_rng(seed)
    lines = (FOLDER / "mini-synsets.csv").read_text().splitlines()[1:]
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["synset", "model_a", "model_b", "annotator", "item", "choice"])
        for synset in (line.rpartition(",")[2] for line in lines):
            for model, mean in LOSES.items():
                chance = float(np.clip(random.normal(mean, 0.15), 0.05, 0.95))
                for item in range(PAIRS):
                    for person in range(PEOPLE):
                        draw = random.random()
                        choice = "tie" if draw < TIES else "a" if random.random() < chance else "b"
                        out.writerow([synset, model, BASELINE, f"simulated {person + 1}", item + 1, choice])


if __name__ == "__main__":
    for name, seed in TASKS.items():
        write_answers(FOLDER / name, seed)
    write_counts(FOLDER / "mini-captions-counted.csv")
    for name, strengths in STRENGTHS.items():
        write_battles(FOLDER / name, strengths)
