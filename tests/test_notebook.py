"""Components that are defined in a notebook, in a real kernel: never served what other code has made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

SETUP = """
import json, threading
from pathlib import Path
import numpy as np
from t2i_core import *
from t2i_core.api import *
from t2i_core.testing import TEST_PROMPTS, StaticResolver

class Mean(Metric):
    derive = Derive("mean", lambda pixels, _: {"mean": np.array([pixels.mean()])})
    needs = (Need("light", "pixels", derive=derive),)
    def measure(self, unit):
        yield Row("mean", float(unit.one().derived("light")["mean"][0]))

def metric(cls):
    return MetricInfo(name="mean", summary="Mean.", create=cls, measures=(Measure("mean", "Mean."),))

MEAN = metric(Mean)

def fill(level):
    with Path("drawn.txt").open("a") as file:
        file.write("x")
    return Generated(np.full((4, 4, 3), level, np.uint8))

def show(model, metric=MEAN, *more):
    '''Evaluate on two prompts; print the score and how many images the generator was asked for.'''
    Path("drawn.txt").write_text("")
    run = evaluate(metric, model, prompts="test-prompts", seeds=1, progress=False,
                   resolver=StaticResolver(TEST_PROMPTS, *more))
    print(json.dumps([run.results[0].score, len(Path("drawn.txt").read_text())]))
"""

GENERATOR = """
class Grey:
    def generate(self, requests):
        for request in requests:
            yield request, fill({level})

GREY = GeneratorInfo(name="grey", summary="Grey.", create=lambda setup: Grey())
"""
CLOSURE = """
def grey(level):
    class Grey:
        def generate(self, requests):
            return ((request, fill(level)) for request in requests)
    return GeneratorInfo(name="grey", summary="Grey.", create=lambda setup: Grey())
"""
COUNTED = """
drawn = []
class Counted(Grey):
    def generate(self, requests):
        for request, image in super().generate(requests):
            drawn.append(request.prompt.id)
            yield request, image
COUNTED = GeneratorInfo(name="grey", summary="Grey.", create=lambda setup: Counted())
"""
METRIC = """
class Mean(Metric):
    derive = Derive("mean", lambda pixels, _: {{"mean": np.array([{derived}])}})
    needs = (Need("light", "pixels", derive=derive),)
    def measure(self, unit):
        yield Row("mean", {factor} * float(unit.one().derived("light")["mean"][0]))
MEAN = metric(Mean)
"""
JUDGE = """
class Says:
    def __init__(self, setup): pass
    def observe(self, capability, queries):
        for query in queries:
            yield query, Reward({answer})
class Asks(Metric):
    needs = (Need("reward", "reward"),)
    def measure(self, unit):
        yield Row("mean", unit.one().one("reward").value)
SAYS = JudgeInfo(name="says", summary="Says.", capabilities={{"reward": frozenset()}}, create=Says)
"""
LOCKED = """
lock = threading.Lock()
class Locked(Grey):
    def generate(self, requests):
        with lock:
            yield from super().generate(requests)
LOCKED = GeneratorInfo(name="locked", summary="Grey.", create=lambda setup: Locked())
"""

GLOBAL = GENERATOR.format(level="LEVEL")
HELPER = GENERATOR.format(level="shade()")

CELLS: list[tuple[str, str, list[float]]] = [
    ("a new generator", GENERATOR.format(level=10) + "show(GREY)", [10, 2]),
    ("the same cell again", GENERATOR.format(level=10) + "show(GREY)", [10, 0]),
    ("another constant", GENERATOR.format(level=200) + "show(GREY)", [200, 2]),
    ("the first constant again", GENERATOR.format(level=10) + "show(GREY)", [10, 0]),
    ("a closure", CLOSURE + "show(grey(30))", [30, 2]),
    ("it closes over another value", "show(grey(40))", [40, 2]),
    ("it closes over the first value", "show(grey(30))", [30, 0]),
    ("a global", "LEVEL = 50" + GLOBAL + "show(GREY)", [50, 2]),
    ("the global is another", "LEVEL = 60\nshow(GREY)", [60, 2]),
    ("the global as it was", "LEVEL = 50\nshow(GREY)", [50, 0]),
    ("a helper function", "def shade(): return 70" + HELPER + "show(GREY)", [70, 2]),
    ("the helper is another", "def shade(): return 80\nshow(GREY)", [80, 2]),
    ("one that counts", GENERATOR.format(level=90) + COUNTED + "show(COUNTED)", [90, 2]),
    ("counts again", "show(COUNTED)\nassert len(drawn) in (0, 2)", [90, 0]),
    ("a metric", METRIC.format(derived="pixels.mean()", factor=1) + "show(COUNTED, MEAN)", [90, 0]),
    ("it measures otherwise", METRIC.format(derived="pixels.mean()", factor=2) + "show(COUNTED, MEAN)", [180, 0]),
    ("it derives otherwise", METRIC.format(derived="7", factor=2) + "show(COUNTED, MEAN)", [14, 0]),
    ("a judge", JUDGE.format(answer=0.25) + "show(COUNTED, metric(Asks), SAYS)", [0.25, 0]),
    ("another answer", JUDGE.format(answer=0.75) + "show(COUNTED, metric(Asks), SAYS)", [0.75, 0]),
]  # fmt: skip
UNHASHABLE = [
    ("no digest", LOCKED + "show(LOCKED)", [90, 2]),
    ("no digest, again", "show(LOCKED)", [90, 2]),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))


def executed(cells: list[tuple[str, str, list[float]]], folder: Path) -> dict[str, tuple[Any, str]]:
    """Run cells in a new kernel; by the cell's name what it printed and what it wrote to standard error."""
    sources = [SETUP, *(source for _, source, _ in cells)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    found = {}
    for (name, _, _), cell in zip(cells, notebook.cells[1:], strict=True):
        streams = {"stdout": "", "stderr": ""}
        for output in cell.outputs:
            streams[output["name"]] += output["text"]
        found[name] = (json.loads(streams["stdout"]), streams["stderr"])
    return found


@pytest.mark.long
def test_a_redefined_component_is_not_served_what_another_has_made(tmp_path: Path) -> None:
    cells = [*CELLS, *UNHASHABLE]
    found = executed(cells, tmp_path)
    assert {name: printed for name, (printed, _) in found.items()} == {name: wanted for name, _, wanted in cells}
    for name, (_, warned) in found.items():
        if name.startswith("no digest"):
            assert warned.count("NotReused") == 1
            assert "generator 'locked'" in warned
            assert "the global 'lock' of Locked.generate (_thread.lock)" in warned
        else:
            assert warned == ""
    again = executed(CELLS, tmp_path)  # the same notebook in a new kernel
    assert {name: printed for name, (printed, _) in again.items()} == {
        name: [score, 0] for name, _, (score, _) in CELLS
    }


EXAMPLES = Path(__file__).parent.parent / "examples"
FOUND = """
import json
print(json.dumps({
    "scores": {result.label: result.score for result in run.results},
    "differences": {comparison.b: [comparison.diff, comparison.n] for comparison in run.comparisons[:2]},
    "made": run.made.images,
    "history": scorer.history[["score", "diff"]].values.tolist(),
    "panels": len(run.plot().spec["data"]["values"]),
}))
"""


@pytest.mark.long
def test_the_example_notebook_compares_a_changed_model(tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / "models-in-memory.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    notebook.cells.append(nbformat.v4.new_code_cell(FOUND))
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    found = json.loads(notebook.cells[-1].outputs[0]["text"])
    scores = found["scores"]
    assert list(scores) == ["6 steps", "1 step", "wordy"]
    assert scores["6 steps"] > scores["1 step"]  # one step leaves noise
    assert found["differences"] == {
        label: [pytest.approx(scores["6 steps"] - scores[label]), 8] for label in ("1 step", "wordy")
    }
    assert found["made"] == 16  # the images of the unchanged model were there
    (first, _), (second, difference) = found["history"]
    assert second - first == pytest.approx(difference)
    assert second < first  # noise on the weights
    shown = [{kind for output in cell.outputs for kind in output.get("data", {})} for cell in code]
    assert [kinds >= {"text/html"} for kinds in shown] == [False, True, True, True, False, True, True]
    assert {"application/vnd.vegalite.v5+json", "image/svg+xml"} <= shown[4]
    bars = [output for output in code[2].outputs if output["output_type"] == "display_data"]
    assert len(bars) == 1  # drawn again in place
    assert "images of wordy" in bars[0]["data"]["text/html"]
    assert "8/8" in bars[0]["data"]["text/html"]


@pytest.mark.long
def test_the_tutorial_goes_from_a_run_to_a_table_for_a_paper(tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / "from-a-run-to-a-paper.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    run, difference, plot, gallery, analyses, analysis, table, latex, signature = (
        cell.outputs[-1] for cell in code
    )
    verdict = "careful is better than forgetful on tiam"
    assert f"<p><strong>{verdict}" in run["data"]["text/html"]
    assert "differences by prompt" in difference["data"]["text/html"]
    assert "image/svg+xml" in plot["data"]
    pictures = gallery["data"]["text/html"]
    assert pictures.count("data:image/webp;base64") == 6
    assert pictures.count("<strong>0.000</strong>") == pictures.count("not found") == 6
    assert "<code>object by position</code>" in analyses["data"]["text/html"]
    assert "data:image/svg+xml;base64" in analysis["data"]["text/html"]
    assert "| careful | **1.00** " in table["data"]["text/markdown"]
    assert "careful & \\textbf{1.00} " in latex["text"]
    assert "metric:tiam|version:" in signature["data"]["text/plain"]
