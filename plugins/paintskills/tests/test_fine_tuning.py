"""Fine-tuning raises PaintSkills' scores: `mini-tuned` is above `mini-single`, from which it was tuned."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2i_core.engine.evaluation import evaluate


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tuned_model_is_above_the_one_it_was_tuned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    alone = {"metric:paintskills-count": {"upper": None}}
    run = evaluate(
        "paintskills-count",
        ["mini-tuned", "mini-single"],
        seeds=4,
        limit=12,
        options=alone,
        interval="prompts",
        device="cpu",
        out=tmp_path / "run",
    )
    (comparison,) = run.comparisons
    assert (comparison.a, comparison.b, comparison.n) == ("mini-tuned", "mini-single", 48)
    assert comparison.ci is not None
    assert comparison.ci[0] > 0
