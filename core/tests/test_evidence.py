"""Why a value is what it is: words in the measurement table, and the regions of the worst samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from t2i_core.api import Evidence, Metric, Row, Unit
from t2i_core.api.errors import BadFolder, BrokenPlugin
from t2i_core.api.mask import PackedMask
from t2i_core.api.metric_output import Measure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.evidence import MOST
from t2i_core.results.run import Run, load_run
from t2i_core.testing import TEST_MODEL, TEST_PROMPTS, StaticResolver

MASK = np.zeros((8, 6), bool)
MASK[2:5, 1:4] = True
MASK[0, 0] = True


class Explained(Metric):
    """Gives each sample its seed as a value, and says why."""

    needs = ()

    def __init__(self, setup: object) -> None:
        pass

    def measure(self, unit: Unit) -> Iterable[Row]:
        assert unit.seed is not None
        regions = [Evidence("whole", mask=PackedMask.pack(MASK)), Evidence("part", box=(1, 2, 3, 4.5))]
        if unit.seed % 3:
            yield Row("seed", unit.seed, because=f"seed {unit.seed} is small", evidence=regions)
        else:
            yield Row("seed", unit.seed)


EXPLAINED = MetricInfo(
    name="explained",
    summary="The seed.",
    create=Explained,
    measures=(Measure("seed", "The seed.", higher_is_better=True),),
)


def run_explained(folder: Path, seeds: int, info: MetricInfo = EXPLAINED) -> Run:
    prompts = TEST_PROMPTS.name
    return evaluate(info, TEST_MODEL, prompts=prompts, seeds=seeds, limit=1, out=folder,
                    resolver=StaticResolver(TEST_PROMPTS))  # fmt: skip


def test_a_row_says_why_and_shows_where(tmp_path: Path) -> None:
    run = run_explained(tmp_path / "run", 4)
    table = run.measurements().set_index("seed")["because"]
    assert table.dropna().to_dict() == {1: "seed 1 is small", 2: "seed 2 is small"}
    found = load_run(run.folder).evidence()
    assert found == run.evidence()
    assert [(row.seed, row.value, row.because) for row in found] == [
        (1, 1.0, "seed 1 is small"),
        (2, 2.0, "seed 2 is small"),
    ]
    whole, part = found[0].regions
    assert (whole.label, whole.box, part.box) == ("whole", [0, 0, 4, 5], [1, 2, 3, 4.5])
    assert whole.segmentation is not None
    packed = coco_mask.frPyObjects(whole.segmentation.model_dump(), *whole.segmentation.size)
    assert (coco_mask.decode(packed).astype(bool) == MASK).all()


@pytest.mark.parametrize(("higher", "first"), [(True, 1), (False, 3 * MOST - 1), (None, 1)])
def test_the_worst_samples_keep_their_evidence(tmp_path: Path, higher: bool | None, first: int) -> None:
    measure = replace(EXPLAINED.measures[0], higher_is_better=higher)
    run = run_explained(tmp_path / "run", 3 * MOST, replace(EXPLAINED, measures=(measure,)))
    kept = run.evidence()
    assert len(kept) == MOST
    assert kept[0].seed == first
    values = [row.value for row in kept]
    assert values == sorted(values, reverse=higher is False)


def test_altered_evidence_is_refused(tmp_path: Path) -> None:
    run = run_explained(tmp_path / "run", 2)
    (run.folder / "evidence.jsonl").write_text("{}\n")
    with pytest.raises(BadFolder, match="is not as the run wrote it"):
        load_run(run.folder).evidence()


def test_without_evidence_there_is_no_file(tmp_path: Path) -> None:
    run = run_explained(tmp_path / "run", 1)
    assert not (run.folder / "evidence.jsonl").exists()
    assert run.evidence() == []
    assert "because" not in run.measurements()


@pytest.mark.parametrize("wrong", [{"because": 3}, {"evidence": ["box"]}])
def test_invalid_reasons_are_errors_of_the_plugin(tmp_path: Path, wrong: dict[str, object]) -> None:
    class Wrong(Explained):
        def measure(self, unit: Unit) -> Iterable[Row]:
            yield Row("seed", 1.0, **wrong)  # type: ignore[arg-type]

    with pytest.raises(BrokenPlugin):
        run_explained(tmp_path / "run", 1, replace(EXPLAINED, create=Wrong))
