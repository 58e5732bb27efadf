"""Battles by rule: drawn from known strengths, or written as rows of a run's table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from t2i_arena_elo.battles import Battles
from t2i_arena_elo.rows import rows_of_unit

HERE = Path(__file__).parent


def _tournament(rng, theta, prompts, gamma=0.0, effect=0.0, each=1):
    """Every two models in both orders on every prompt, which moves each model's strength by a draw of `effect`."""
    models = len(theta)
    a, b = np.triu_indices(models, 1)
    left, right = np.concatenate([a, b]), np.concatenate([b, a])
    left, right = (np.tile(np.repeat(side, each), prompts).astype(np.int32) for side in (left, right))
    prompt = np.repeat(np.arange(prompts, dtype=np.int32), len(left) // prompts)
    moved = theta + rng.normal(0, effect, (prompts, models)) if effect else np.tile(theta, (prompts, 1))
    odds = expit(moved[prompt, left] - moved[prompt, right] + gamma)
    names, ids = [f"m{i}" for i in range(models)], [f"p{i}" for i in range(prompts)]
    verdict = np.where(rng.random(len(left)) < odds, 0, 1)
    return Battles.coded(names, ids, left=left, right=right, prompt=prompt, verdict=verdict)


def _table_of(battles, **facets):
    """The rows that the metric measures, as a run's table has them."""
    lines = []
    for battle in battles:
        a, b = sorted((battle.left, battle.right))
        for row in rows_of_unit([battle], a):
            lines.append(
                {
                    "model_a": a, "model_b": b, "prompt": battle.prompt, "cluster": battle.prompt,
                    "seed": battle.seed, "measure": row.measure, "value": row.value, **row.facets,
                    **{name: of[battle.prompt] for name, of in facets.items()},
                }
            )  # fmt: skip
    return pd.DataFrame(lines)


@pytest.fixture(scope="session")
def tournament():
    return _tournament


@pytest.fixture(scope="session")
def table_of():
    return _table_of


@pytest.fixture(scope="session")
def golden():
    cases = {case["id"]: case for case in json.loads((HERE / "golden" / "arena-elo.json").read_text())}
    return cases.__getitem__
