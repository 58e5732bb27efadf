"""The example benchmarks in YAML, on the mini world, judged by the oracle and by people."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core import Run, evaluate
from t2i_yaml_benchmarks.benchmark_file import read_benchmark
from t2i_yaml_benchmarks.question_fields import AskedQuestion
from typer.testing import CliRunner

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[1] / "examples" / "yaml-benchmarks"
SKILLS, WORLD = str(EXAMPLES / "skills.yaml"), str(EXAMPLES / "world-knowledge.yaml")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def run_skills(out: Path, **faults: float) -> Run:
    options = {"simulator": {"size": 64, **faults}}
    return evaluate(f"yaml:{SKILLS}", "simulator", judge="oracle", seeds=2, options=options, out=out)


def test_a_world_without_faults_has_every_skill(tmp_path: Path) -> None:
    run = run_skills(tmp_path / "run")
    (result,) = run.results
    assert (result.score, result.n_ok, result.prompts) == (1, 12, f"yaml:{SKILLS}")
    by_skill = result.facets["score"]["skills"]
    assert {level: found.value for level, found in by_skill.items()} == dict.fromkeys(
        ("attribute", "counting", "spatial relation", "scene"), 1
    )


def test_wrong_colours_cost_the_skill_of_attributes_alone(tmp_path: Path) -> None:
    (result,) = run_skills(tmp_path / "run", wrong_color=1).results
    by_skill = {level: found.value for level, found in result.facets["score"]["skills"].items()}
    assert by_skill["attribute"] == 0
    assert by_skill["spatial relation"] == by_skill["scene"] == 1
    assert by_skill["counting"] == 0.5  # two elephants are right, three red cars are not
    assert result.score == pytest.approx(0.5)


RATINGS = {"consistency": "2100", "realism": "1220", "aesthetic quality": "2012"}
"""The rating of each prompt's image, in the order of the file."""


def test_ratings_of_people_are_weighted(tmp_path: Path) -> None:
    file = read_benchmark(WORLD)
    assert file.prompts is not None
    rows = []
    for number, prompt in enumerate(file.prompts):
        for question in file.questions[prompt.id, prompt.text]:
            assert isinstance(question, AskedQuestion)
            rating = RATINGS[question.category][number]
            rows.append(("Ann", "rating", question.text, rating, "mini", prompt.id, 0))
    answers = tmp_path / "answers.csv"
    with answers.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("rater", "question", "text", "answer", "model", "prompt", "seed"), *rows])

    run = evaluate(f"yaml:{WORLD}", "mini", judge=f"people:{answers}", out=tmp_path / "run")
    (result,) = run.results
    means = {name: sum(map(int, ratings)) / 2 / 4 for name, ratings in RATINGS.items()}
    assert {name: result.scores[name].value for name in RATINGS} == pytest.approx(means)
    weights = {"consistency": 0.7, "realism": 0.2, "aesthetic quality": 0.1}
    assert result.score == pytest.approx(sum(weights[name] * mean for name, mean in means.items()))
    assert list(result.facets["score"]) == ["field"]  # `meaning` is for the questions alone


def test_the_command_line_names_mistakes_and_shows_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my-bench.yaml").write_text(
        "summary: s\nprompts: [a dog]\nquestions: [{text: 'Is there a dog?', answer: ys}]\n"
    )
    words = ["eval", "--metric", "yaml:my-bench.yaml", "--model", "simulator", "--judge", "oracle"]
    done = CliRunner().invoke(app, words)
    expected = "my-bench.yaml: line 3, questions.0.answer: 'ys' is not among the choices yes, no"
    assert (done.exit_code, done.stderr.strip()) == (6, f"error: {expected}")

    Path("my-bench.yaml").write_text(
        "summary: s\nprompts: [{prompt: a dog, objects: [dog]}]\nquestions: ['Is there a dog?']\nseeds: 2\n"
    )
    done = CliRunner().invoke(app, [*words, "--out", "run"])
    assert done.exit_code == 0, done.output
    assert "yaml:my-bench.yaml" in done.stdout
    for command in (["runs", "show", "run"], ["report", "run", "--out", "report.html"], ["analyze", "run"]):
        assert CliRunner().invoke(app, command).exit_code == 0


def test_info_shows_what_a_file_measures() -> None:
    shown = CliRunner().invoke(app, ["info", f"metric:yaml:{WORLD}"]).stdout
    for text in ("Ratings by a vision-language model", "aesthetic quality", "WISE", "answer: "):
        assert text in shown


def test_runs_under_other_questions_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (
        "summary: s\nprompts: [{prompt: a dog, objects: [dog]}]\nquestions: ['Is there a QUESTION?']\nseeds: 3\n"
    )
    for name, asked in (("one", "dog"), ("two", "car")):
        Path("bench.yaml").write_text(text.replace("QUESTION", asked))
        evaluate("yaml:bench.yaml", "simulator", judge="oracle", out=name)
    done = CliRunner().invoke(app, ["compare", "one", "two"])
    assert done.exit_code == 11
    assert "yaml:bench.yaml: the metric's versions differ" in done.stderr
