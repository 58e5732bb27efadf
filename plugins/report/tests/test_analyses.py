"""`t2i analyze`. What it prints and writes is tested with the command line, in cli/tests/test_evaluating.py."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
from t2i_report.analyses import _why_nothing


def test_a_run_of_excluded_samples_has_not_failed() -> None:
    run = SimpleNamespace(results={"results": [{}]}, measurements=lambda: pd.DataFrame(), failed=None)
    assert _why_nothing(run) == "the run measured nothing; failures.csv says why, sample by sample"
