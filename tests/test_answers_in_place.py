"""A judge that answers questions truly gives the scores that a judge of masks, boxes or vectors gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from t2i_core import evaluate
from t2i_core.api import Generated, GeneratorInfo, Instance, ObjectClass, Truth
from t2i_core.api.mask import PackedMask
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run
from t2i_miniworld.laws import leaf_of
from t2i_miniworld.options import SimulatorOptions
from t2i_miniworld.plugin import DOMAIN
from t2i_miniworld.simulator import cast_of, key_of
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS, SYNSETS

PAINT = {
    "pink": (255, 192, 203), "red": (255, 0, 0), "yellow": (255, 255, 0), "green": (0, 255, 0),
    "blue": (30, 144, 255), "purple": (128, 0, 128), "black": (0, 0, 0), "white": (255, 255, 255),
    None: (120, 110, 100),
}  # fmt: skip
"""For each colour an sRGB value that TIAM's rule takes for it."""
SIDE = 32
FAULTS = {"drop": 0.3, "wrong_color": 0.3}


class _Flat:
    """Draws the things of a prompt as blocks of paint; some are missing, some have another paint."""

    def __init__(self, setup: Any) -> None:
        self.options = setup.options

    def generate(self, requests: Any) -> Any:
        for request in requests:
            rng = stream("flat", *key_of(self.options, request))
            pixels = rng.integers(60, 190, (SIDE, SIDE, 3), dtype=np.uint8)
            instances = tuple(
                self._draw(thing, paint, slot, pixels)
                for slot, thing in enumerate(cast_of(self.options, request).things)
                if rng.random() >= self.options.drop
                for paint in [thing.paint if rng.random() >= self.options.wrong_color else "black"]
            )
            truth = Truth((SIDE, SIDE), instances, request.prompt.scene, request.prompt.text)
            yield request, Generated(pixels, truth=truth)

    def _draw(self, thing: Any, paint: str | None, slot: int, pixels: Any) -> Instance:
        shown = np.zeros((SIDE, SIDE), bool)
        shown[:, slot * 8 : slot * 8 + 6] = True
        pixels[shown] = PAINT[paint]
        mask = PackedMask.pack(shown)
        synset = leaf_of(thing.kind, thing.form)
        return Instance(ObjectClass(thing.kind, SYNSETS[thing.kind]), paint, mask.box, mask, {"synset": synset})


FLAT = GeneratorInfo(
    name="flat",
    summary="Blocks of paint.",
    options=SimulatorOptions,
    create=_Flat,
    domain=DOMAIN,
    reads_scene=True,
    labels=lambda argument, options: LABELS,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def judge_both_ways(tmp_path: Path, metric: str, own: str, model: ModelRequest, **how: Any) -> tuple[Run, Run]:
    """Evaluate with the oracle as the metric's own judge, and as a judge that is asked questions in its place."""
    first, second = (
        evaluate(metric, model, judge=f"{capability}=oracle", out=tmp_path / capability, **how)
        for capability in (own, "answer")
    )
    return first, second


def rows(run: Run) -> pd.DataFrame:
    table = run.measurements()
    facets = [name for name in ("object", "answer", "group") if name in table]
    names = ["measure", "prompt", "seed", *facets]
    return table[[*names, "value"]].sort_values(names).reset_index(drop=True)


@pytest.mark.long
@pytest.mark.parametrize("prompts", ["tiam-5-2", "tiam-color-2"])
def test_tiam_by_answers_is_tiam_by_masks(tmp_path: Path, prompts: str) -> None:
    model = ModelRequest(FLAT, "flat", FAULTS)
    masks, answers = judge_both_ways(tmp_path, "tiam", "segment", model, prompts=prompts, seeds=3, limit=20)
    assert masks.results[0].n_ok == 60
    assert 0 < (masks.results[0].score or 0) < 1
    pd.testing.assert_frame_equal(rows(masks), rows(answers))
    assert answers.results[0].scores == masks.results[0].scores
    (judge,) = answers.results[0].judges
    assert "answer in place of segment" in judge.why


def test_an_erring_judge_gives_another_score(tmp_path: Path) -> None:
    model = ModelRequest(FLAT, "flat", {})
    how = {"prompts": "tiam-5-1", "seeds": 8, "judge": "answer=oracle"}
    sure = evaluate("tiam", model, out=tmp_path / "sure", **how)
    unsure = evaluate("tiam", model, out=tmp_path / "unsure", options={"oracle": {"answer_error": 0.5}}, **how)
    assert sure.results[0].score == 1
    assert 0.2 < (unsure.results[0].score or 0) < 0.8


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "own", "faults", "how"),
    [
        ("tiam", "segment", FAULTS, {"prompts": "tiam-color-2", "limit": 12}),
        (
            "paintskills",
            "detect",
            {"drop": 0.1, "wrong_color": 0.2, "flip_relation": 0.3, "extra": 0.1},
            {"limit": 40, "options": {"metric:paintskills": {"upper": None, "colours": "all"}}},
        ),
        ("bias", "embed", {"skew": "hat:yes:0.8"}, {"limit": 8}),
    ],
)
def test_on_rendered_scenes(tmp_path: Path, metric: str, own: str, faults: Any, how: Any) -> None:
    model = ModelRequest("simulator", "rendered", {"size": 64, "spp": 1, "workers": 2, **faults})
    first, second = judge_both_ways(tmp_path, metric, own, model, seeds=1, **how)
    pd.testing.assert_frame_equal(rows(first), rows(second))
    assert second.results[0].scores == first.results[0].scores
