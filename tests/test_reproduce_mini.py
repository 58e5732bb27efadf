"""The papers that plugins bring: all printed values are there, recipes are valid, mini versions run in small."""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_cli.evaluation import CommandEvaluator
from t2i_core.api.errors import BadOption
from t2i_registry import Registry
from t2i_reproduce.grid import make_grid
from t2i_reproduce.paper import PaperModel, PaperRun
from t2i_reproduce.paper_file import read_paper
from t2i_reproduce.paper_list import PaperFile, list_papers
from t2i_reproduce.paper_runs import NeededRun, find_default_seeds
from t2i_reproduce.reproduction import plan_reproductions
from typer.testing import CliRunner

REGISTRY = Registry()
PAPERS = list_papers(REGISTRY)
ENTRIES = {entry.name: (file, entry) for file in PAPERS.files for entry in file.entries}
GOLDEN = Path(__file__).parent / "golden" / "printed_values.txt"

QUICKEST = "tiam"
"""The paper whose mini version takes less than half a minute; the others take minutes together."""


def list_golden() -> dict[str, tuple[int, str]]:
    """Return the number of values and the SHA-256 of each table's file, as the published tables have them."""
    lines = (line.split() for line in GOLDEN.read_text().splitlines() if not line.startswith("#"))
    return {name: (int(count), digest) for name, count, digest in lines}


def run(words: Sequence[str]) -> str:
    done = CliRunner().invoke(app, ["reproduce", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(params=PAPERS.files, ids=lambda file: f"{file.dist}-{file.name}")
def file(request: pytest.FixtureRequest) -> PaperFile:
    found: PaperFile = request.param
    return found


def test_every_printed_value_is_there() -> None:
    stored = {}
    for paper in PAPERS.files:
        for table in paper.entries:
            path = paper.path.with_name(f"{table.name}.csv")
            if path.is_file():  # tables of pictures have no values
                content = path.read_bytes()
                values = sum("value" in line for line in csv.DictReader(content.decode().splitlines()))
                stored[table.name] = (values, hashlib.sha256(content).hexdigest())
    assert stored == list_golden()


def test_every_file_of_values_belongs_to_a_table() -> None:
    for folder in {file.path.parent for file in PAPERS.files}:
        assert {path.stem for path in folder.glob("*-[0-9]*.csv")} <= set(ENTRIES)


@pytest.mark.long
def test_every_component_and_option_of_a_paper_exists(file: PaperFile) -> None:
    paper = read_paper(file.path)
    evaluator = CommandEvaluator(REGISTRY, {})
    for side in (paper, paper.mini):
        for name, described in side.runs.items():
            models = {key: side.models[key] for key in described.models if side.models[key].model is not None}
            if models:
                recipe = NeededRun(name, described, models).make_recipe()
                request = evaluator.make_request(recipe, f"{file.name}, runs.{name}")
                assert len(request.models) == len(models)


@pytest.mark.parametrize(
    ("metrics", "model", "seeds"),
    [
        (["paintskills-spatial", "paintskills-object"], "sd14", 50),  # the largest default
        ("tiam", "mini", 24),  # the mini world's default
        ("clipscore", "sd14", 1),  # without a default
    ],
)
def test_a_recipe_without_seeds_has_the_metrics_own(metrics: list[str] | str, model: str, seeds: int) -> None:
    described = PaperRun(models=["a"], recipe={"metrics": metrics}, n_prompts=1)
    needed = NeededRun("all", described, {"a": PaperModel(model=model, names=["A"])})
    assert find_default_seeds(needed, REGISTRY) == seeds


def test_people_see_the_same_models_and_images_for_tables_4_and_5() -> None:
    file, _ = ENTRIES["dalleval-4"]
    paper, values = read_paper(file.path), file.path.with_name("dalleval-4.csv")
    tuned = {cell.source.model for cell in make_grid(paper.tables["4"], paper, values).cells}
    for skill in ("object", "count", "color", "spatial"):
        (how,) = paper.runs[skill].answers.values()
        words = shlex.split(how.split("`")[1])
        assert {words[at + 1] for at, word in enumerate(words) if word == "--model"} == {
            paper.models[key].names[0] for key in tuned if key is not None
        }
        assert words[words.index("--limit") + 1] == "50"


@pytest.mark.parametrize("mini", [False, True], ids=["paper", "mini"])
def test_every_entry_has_a_plan_without_network_and_weights(
    file: PaperFile, mini: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2i_reproduce.reproduction.read_paper", cache(read_paper))  # once for all its entries
    for entry in file.entries:
        (plan,) = plan_reproductions([(file, entry)], [], mini)
        costs = plan.estimate_costs(CommandEvaluator(REGISTRY, {}))
        content = plan.wanted[0]
        reasons = [cell.reason for cell in content.grid.cells]
        assert costs or content.entry.shown_by or all(reasons), entry.name
        if mini and content.grid.cells:
            assert len(content.grid.rows) > 0
            assert not all(reasons) or content.entry.mini.notes, entry.name


def test_a_row_of_a_whole_paper_leaves_out_tables_without_it() -> None:
    file = next(file for file in PAPERS.files if file.name == "hypernymy")
    (plan,) = plan_reproductions([(file, entry) for entry in file.entries], ["Latent Diffusion"], mini=False)
    kept = {each.name.name for each in plan.wanted}
    assert "hypernymy-3" in kept
    assert not kept & {"hypernymy-7", "hypernymy-figure-2"}  # classifiers are its rows, and a figure has none
    with pytest.raises(BadOption, match="no such row"):
        plan_reproductions([(file, entry) for entry in file.entries], ["Diffusion"], mini=False)


def test_every_table_and_figure_is_listed() -> None:
    listed = json.loads(run(["--list", "--json"]))
    assert [entry["name"] for entry in listed] == list(ENTRIES)
    assert not PAPERS.problems


def test_files_of_one_paper_share_no_name_of_a_run() -> None:
    taken: dict[tuple[str, str], str] = {}  # with --out, a run's folder has its name
    for file in PAPERS.files:
        paper = read_paper(file.path)
        for run_name in {*paper.runs, *paper.mini.runs}:
            assert taken.setdefault((file.name, run_name), file.dist) == file.dist


@pytest.mark.parametrize(
    "paper",
    [
        pytest.param(paper, marks=pytest.mark.long if paper == QUICKEST else pytest.mark.slow)
        for paper in sorted({file.name for file in PAPERS.files})
    ],
)
@pytest.mark.timeout(900)
def test_the_mini_version_of_a_paper_runs(paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    words = [paper, "--mini", "--seeds", "2", "--limit", "6", "--device", "cpu", "--json"]
    made = json.loads(run([*words, "--out", str(tmp_path / "runs")]))
    assert {entry["name"] for entry in made} == {name for name, (file, _) in ENTRIES.items() if file.name == paper}
    measured = 0
    for entry in made:
        cells = entry.get("cells", [])
        assert all(cell["because"] or cell["measured"] is not None for cell in cells), entry["name"]
        for cell in cells:
            if isinstance(cell["measured"], float):
                measured += 1
                low, high = cell["ci"] or (cell["measured"], cell["measured"])
                assert low <= cell["measured"] <= high, (entry["name"], cell)
    assert measured > 20
