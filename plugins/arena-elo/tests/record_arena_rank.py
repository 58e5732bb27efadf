"""Draw sets of battles and write what arena-rank makes of them to arena_rank.json, beside this file.

    pip install arena-rank==0.1.1 && python record_arena_rank.py

In its own environment: arena-rank brings jax. Sets of 2 to 50 models, 60 battles a model, of strengths that
are drawn; ties and both bad are among them. The seed is fixed, the same version writes the same file.
"""

import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

MODELS = (2, 3, 5, 10, 20, 50)
BATTLES = 60
TIES, BOTH_BAD = 0.15, 0.05
PRECISION = {"ftol": 1e-15, "gtol": 1e-12}
WINNERS = {"left": "model_a", "right": "model_b", "tie": "tie", "both-bad": "both_bad"}


def battles(rng, models):
    """Draw battles between models of drawn strengths: left, right, verdict."""
    strength = rng.normal(0, 0.5, models)
    for _ in range(BATTLES * models):
        left, right = (int(model) for model in rng.choice(models, 2, replace=False))
        chance, neither = rng.random(2)
        verdict = "left" if chance < 1 / (1 + np.exp(strength[right] - strength[left])) else "right"
        if neither < TIES + BOTH_BAD:
            verdict = "tie" if neither < TIES else "both-bad"
        yield f"m{left}", f"m{right}", verdict


def rated(fights):
    """Return rating and 95 % sandwich interval of each model, by arena-rank."""
    table = pd.DataFrame(fights, columns=["model_a", "model_b", "verdict"])
    data = PairDataset.from_pandas(table.assign(winner=table["verdict"].map(WINNERS)))
    found = BradleyTerry(len(data.competitors), **PRECISION).compute_ratings_and_cis(data)
    columns = (found["competitors"], found["ratings"], found["rating_lower"], found["rating_upper"])
    return {model: [round(float(one), 6) for one in rest] for model, *rest in zip(*columns, strict=True)}


def main():
    """Draw, rate, write."""
    rng = np.random.default_rng(0)
    sets = []
    for models in MODELS:
        fights = list(battles(rng, models))
        counted = [[*fight, count] for fight, count in sorted(Counter(fights).items())]
        sets.append({"battles": counted, "ratings": rated(fights)})
    how = ", ".join(f"{name}={value}" for name, value in PRECISION.items())
    head = f"arena-rank {version('arena-rank')}, BradleyTerry({how}): rating and 95 % sandwich interval"
    out = Path(__file__).with_name("arena_rank.json")
    out.write_text(json.dumps({"made_with": head, "sets": sets}, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
