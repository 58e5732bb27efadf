"""Suites: recipes that plugins ship under a name."""

from __future__ import annotations

import json

import pytest
from t2i_core import evaluate
from t2i_core.api.errors import BadOption, UnknownName

RUDE = "raise SystemExit('imported')"


@pytest.fixture
def bring(install, site):
    """Install a distribution with a suite, whose package cannot be imported."""

    def bring(dist, name, text):
        package = dist.replace("-", "_")
        install(dist, {"t2i.suites": {name: package}}, {f"{package}.plugin": RUDE})
        (site / package / "__init__.py").write_text(RUDE)
        if text:
            (site / package / f"{name}.yaml").write_text(text)

    return bring


TWO = "metrics: [brightness]\nprompts: four\nseeds: 2\n"


def test_a_suite_runs_with_the_model_of_the_command_line(toy, bring, t2i):
    bring("t2i-doe", "nightly", TWO)
    done = t2i("eval", "--suite", "nightly", "--model", "grey", "--json")
    assert done.exit_code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert (result["metric"], result["model"], result["prompts"]) == ("brightness", "grey", "four")


def test_suites_are_listed_without_importing_them(toy, bring, t2i):
    assert "Suites" not in t2i("list-plugins").stdout
    bring("t2i-roe", "weekly", TWO)
    bring("t2i-doe", "nightly", TWO)
    lines = t2i("list-plugins").stdout.splitlines()
    start = lines.index("Suites (t2i eval --suite)")
    assert lines[start - 1 : start + 3] == [
        "",
        "Suites (t2i eval --suite)",
        "  t2i-doe: nightly",
        "  t2i-roe: weekly",
    ]
    assert "Suites" not in t2i("list-plugins", "--kind", "metric").stdout


def test_the_command_line_overrides_a_suite_and_adds_metrics(toy, bring, t2i):
    bring("t2i-doe", "nightly", TWO)
    words = ["eval", "--suite", "t2i-doe/nightly", "--model", "grey", "--seeds", "3", "--dry-run", "--json"]
    (job,) = json.loads(t2i(*words).stdout)["jobs"]
    assert job["seeds"] == [0, 1, 2]
    twice = t2i(*words, "--metric", "toy/brightness")
    assert [job["metric"] for job in json.loads(twice.stdout)["jobs"]] == ["brightness", "toy/brightness"]


def test_python_runs_a_suite_and_overrides_it(toy, bring, tmp_path):
    bring("t2i-doe", "nightly", TWO + "judges: [nobody]\noptions: {grey: {level: 7}}\n")
    given = {"model": "grey", "suite": "nightly", "judge": "meter", "options": {"metric:brightness": {"over": 0}}}
    run = evaluate("toy/brightness", seeds=3, out=tmp_path / "run", **given)
    assert [result.metric for result in run.results] == ["brightness", "toy/brightness"]
    assert {(result.prompts, result.n_seeds) for result in run.results} == {("four", 3)}
    assert {result.scores["bright"].value for result in run.results} == {1}  # with the option given here
    assert max(result.score for result in run.results) < 0.1  # with that of the suite


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"suite": "nightli"}, UnknownName, "unknown suite 'nightli': did you mean 'nightly'"),
        ({"suite": "nightly", "metric": "brightnes"}, UnknownName, "did you mean 'brightness'"),
        ({}, BadOption, "name a metric, or a suite"),
    ],
)
def test_errors_in_python(toy, bring, given, error, said):
    bring("t2i-doe", "nightly", TWO)
    with pytest.raises(error, match=said):
        evaluate(model="grey", **given)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["--suite", "nightli"],
            3,
            "unknown suite 'nightli': did you mean 'nightly'? Installed are gone, nightly, wrong",
        ),
        (["--suite", "gone"], 4, "the package t2i_gone has no file gone.yaml"),
        (["--suite", "wrong"], 4, "suite wrong: line 1, metric: unknown key 'metric': did you mean 'metrics'?"),
        (["--suite", "nightly", "--recipe", "r.yaml"], 2, "--suite and --recipe cannot be given together"),
    ],
)
def test_errors(toy, bring, t2i, words, code, said):
    bring("t2i-doe", "nightly", TWO)
    bring("t2i-gone", "gone", "")
    bring("t2i-wrong", "wrong", "metric: [brightness]\n")
    done = t2i("eval", *words, "--model", "grey")
    assert done.exit_code == code
    assert said in done.stderr


def test_a_suite_of_two_distributions_is_ambiguous(toy, bring, t2i):
    for dist in ("t2i-doe", "t2i-roe"):
        bring(dist, "nightly", TWO)
    done = t2i("eval", "--suite", "nightly", "--model", "grey")
    assert (done.exit_code, "write t2i-doe/nightly or t2i-roe/nightly" in done.stderr) == (5, True)


def test_info_describes_a_suite(toy, bring, t2i):
    bring("t2i-doe", "nightly", TWO)
    text = t2i("info", "nightly").stdout
    assert text.startswith("nightly  suite of t2i-doe ")
    assert "metrics:          brightness\n" in text
    (described,) = json.loads(t2i("info", "t2i-doe/nightly", "--json").stdout)
    assert (described["kind"], described["dist"]) == ("suite", "t2i-doe")
    assert described["values"]["seeds"] == [0, 1]
    bring("t2i-roe", "grey", TWO)
    both = json.loads(t2i("info", "grey", "--json").stdout)
    assert [each["kind"] for each in both] == ["generator", "suite"]
    assert t2i("info", "nighty").exit_code == 3


def test_the_judges_of_a_suite_are_fetched(toy, bring, t2i):
    bring("t2i-doe", "nightly", TWO)
    done = t2i("prefetch", "grey", "--suite", "nightly")
    assert done.exit_code == 0, done.stderr
    assert "generator grey: needs no download\n" in done.stdout
    assert "did you mean" in t2i("prefetch", "grey", "--suite", "nightl").stderr.lower()
