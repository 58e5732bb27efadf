from __future__ import annotations

import json
import os
import re
import shlex
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

EVAL = ("eval", "--metric", "brightness", "--model", "grey", "--prompts", "four", "--seeds", "4")


@pytest.mark.long
def test_json_is_alone_on_standard_output(toy, t2i_process):
    done = t2i_process(*EVAL, "--json", "--out", "run")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert set(data) == {"run", "results", "comparisons", "agreements"}
    (result,) = data["results"]
    assert (result["metric"], result["as"], result["n_ok"]) == ("brightness", "grey", 16)
    assert result["judge"]["name"] == "meter"
    assert "only installed judge" in result["judge"]["why"]
    assert result["ci"][0] <= result["score"] <= result["ci"][1]
    assert "noise on standard output" in done.stderr
    assert "noise of a child" in done.stderr
    assert re.search(r"images of grey: 16/16 images in ", done.stderr)
    assert json.loads(Path("run/run.json").read_text())["results"] == data["results"]


def test_for_people_there_is_plan_table_and_folder(toy, t2i):
    result = t2i(*EVAL, "--out", "run")
    assert result.exit_code == 0, result.stderr
    out = result.stdout
    assert "images: 16 to make" in out
    assert re.search(r"reward: meter \(the only installed judge", out)
    assert re.search(r"brightness +grey +0\.\d{3} +\[0\.\d{3}, 0\.\d{3}\] +four \(4\) +16 +0 +0 +meter", out)
    assert re.search(r"brightness +grey +bright +1\.000", out)  # named scores
    facet = r"brightness +grey +size +small +0\.\d{3}"
    assert not re.search(facet, out)
    assert re.search(r"not shown: \d+ scores by facet", out)
    *_, verdict, folder = out.splitlines()
    assert re.fullmatch(r"grey scores 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] on brightness", verdict)
    assert folder.startswith("folder: run (scores")
    again = t2i(*EVAL, "--out", "run", "--facets")
    assert re.search(facet, again.stdout)
    assert "not shown" not in again.stdout
    assert "images: 0 to make, 16 kept already" in again.stdout


def test_prompts_of_one_text_are_said(toy, install, t2i):
    source = """
        from t2i_core.api import Prompt, PromptSourceInfo, hookimpl
        @hookimpl
        def t2i_prompt_sources():
            def prompts(setup):
                return [Prompt(id=name, text=name[0]) for name in ("a1", "a2", "b1")]
            return [PromptSourceInfo(name="alike", summary="Texts that stand twice.", prompts=prompts)]
    """
    install("x-alike", {"t2i.prompt_sources": {"alike": "x_alike"}}, {"x_alike": source})
    words = ("generate", "--model", "grey", "--seeds", "1", "--dry-run", "--prompts")
    plan = t2i(*words, "alike").stdout
    assert "images: 2 to make" in plan
    assert "\nalike: 1 share their text with another but differ in id or expectation: all 3 count" in plan
    assert "share their text" not in t2i(*words, "four").stdout


def test_dry_run_makes_nothing(toy, t2i):
    result = t2i(*EVAL, "--dry-run", "--out", "run")
    assert result.exit_code == 0
    assert "images: 16 to make" in result.stdout
    assert not Path("run").exists()
    plan = json.loads(t2i(*EVAL, "--dry-run", "--json").stdout)
    assert plan["images"]["to_make"] == 16
    assert plan["jobs"][0]["judges"][0]["name"] == "meter"


def test_several_models_are_compared(toy, t2i):
    Path("two.yaml").write_text(
        "metrics: brightness\n"
        "models:\n"
        "  - grey\n"
        "  - {model: grey, label: dark, settings: {level: 20}}\n"
        "prompts: four\n"
        "seeds: 4\n"
    )
    table = t2i("eval", "--recipe", "two.yaml").stdout
    assert re.search(r"brightness +grey +dark +0\.\d{3} +\[", table)
    assert "p (Holm)" in table
    data = json.loads(t2i("eval", "--recipe", "two.yaml", "--json").stdout)
    assert [(r["as"], r["settings"]) for r in data["results"]] == [("grey", {}), ("dark", {"level": 20})]
    (comparison,) = data["comparisons"]
    assert (comparison["a"], comparison["b"]) == ("grey", "dark")
    assert {key for key in comparison if key.startswith("p")} == {"p_adjusted", "p_unadjusted"}
    assert comparison["diff"] == pytest.approx(108 / 255, abs=1e-3)


@pytest.mark.long
def test_options_reach_their_component(toy, t2i):
    data = json.loads(t2i(*EVAL, "-o", "grey.level=200", "--json").stdout)
    assert data["results"][0]["score"] > 0.78
    for words, code, part in [
        (("-o", "grey.level=lots"), 6, "option 'level' of generator 'grey' must be"),
        (("-o", "grey.lvl=1"), 6, "unknown option 'lvl' of generator 'grey': did you mean 'level'?"),
        (("-o", "gray.level=1"), 3, "did you mean 'grey'?"),
        (("-o", "grey"), 6, "must be NAME.KEY=VALUE"),
        (("--seeds", "many"), 6, "--seeds must be a number of seeds"),
        (("--shard", "3/2"), 6, "--shard must be I/N"),
        (("--batch-size", "none"), 6, "--batch-size must be a whole number from 1, or auto (got 'none')"),
        (("--max-failed", "3"), 6, "--max-failed must be between 0 and 1 (got 3)"),
        (("--judge", "metre"), 3, "unknown judge 'metre': did you mean 'meter'?"),
        (("--judge", "segment=meter"), 0, ""),
        (("--metric", "brightnes"), 3, "unknown metric 'brightnes': did you mean 'brightness'?"),
        (("--prompts", "absent.txt"), 10, "absent.txt"),
        (("--recipe", "absent.yaml"), 13, "recipe absent.yaml: no such file"),
        (("--interval", "both"), 2, "--interval"),
    ]:
        result = t2i(*EVAL, *words, "--dry-run")
        assert result.exit_code == code, (words, result.output)
        assert part in result.stderr
        if code > 2:
            assert result.stderr.startswith("error: ")
            assert result.stderr.count("\n") == 1, result.stderr


def test_missing_names_are_a_usage_error(toy, t2i):
    assert t2i("eval", "--model", "grey").exit_code == 2
    assert "name a metric" in t2i("eval", "--model", "grey").stderr
    assert "name a model" in t2i("eval", "--metric", "brightness").stderr


def test_a_failed_run_prints_its_results_first(toy, t2i):
    result = t2i(*EVAL, "-o", "grey.fail=2", "--json")
    assert result.exit_code == 8
    assert json.loads(result.stdout)["results"][0]["n_failed"] == 8
    assert "error: brightness on grey: 8 of 16 samples failed" in result.stderr
    assert t2i(*EVAL, "-o", "grey.fail=2", "--max-failed", "0.5").exit_code == 0


def test_a_run_that_measured_nothing_says_so_when_it_is_analyzed(toy, report, t2i):
    assert t2i(*EVAL, "-o", "grey.fail=1", "--out", "run").exit_code == 8
    assert (
        "the run has failed and measured nothing: brightness on grey: no sample has a value"
        in t2i("analyze", "run").stderr
    )


@pytest.mark.long
def test_an_interrupted_run_says_how_to_go_on(toy, t2i_process):
    words = (*EVAL, "-o", "grey.stop=3", "--out", "a  run")
    done = t2i_process(*words)
    assert done.returncode == 130
    assert (
        "error: interrupted; finished work is kept, and the same command resumes it: "
        f"{shlex.join(['t2i', *words])}\n"
    ) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_an_interrupted_fresh_run_goes_on_without_fresh(toy, t2i, t2i_process):
    done = t2i_process(*EVAL, "-o", "grey.stop=3", "--fresh", "--out", "run")
    assert done.returncode == 130
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: interrupted"))
    assert "would repeat it because of --fresh" in line
    resume = shlex.split(line.rpartition(": ")[2])
    assert resume == ["t2i", *EVAL, "-o", "grey.stop=3", "--out", "run", "--no-fresh"]
    assert "2 kept already" in t2i(*resume[1:], "--dry-run").stdout


@pytest.mark.long
def test_under_uv_run_the_line_says_so(toy, t2i_process, monkeypatch):
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    done = t2i_process(*EVAL, "-o", "grey.stop=3")
    assert "the same command resumes it: uv run t2i eval" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("swallowed", "number"),
    [
        ("", signal.SIGTERM),
        ("into another error", signal.SIGINT),
        ("nowhere to be seen", signal.SIGTERM),
        pytest.param("", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("into another error", signal.SIGTERM, marks=pytest.mark.long),
        pytest.param("nowhere to be seen", signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_a_run_in_order_whoever_swallows_it(swallowed, number, toy, t2i, t2i_process, monkeypatch):
    monkeypatch.setenv("TOY_SIGNAL", f"{int(number)} {swallowed}")
    done = t2i_process(*EVAL, "--out", "run")
    assert done.returncode == 128 + number
    assert "the same command resumes it: t2i eval" in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    monkeypatch.delenv("TOY_SIGNAL")
    assert t2i(*EVAL, "--out", "run").exit_code == 0


def _all_that_comes(terminal):
    shown = b""
    with suppress(OSError):  # so Linux says that nobody writes any more
        while part := os.read(terminal, 4096):
            shown += part
    return shown


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of POSIX")
def test_a_second_signal_ends_a_run_at_once_and_leaves_the_terminal_as_it_was(toy, t2i_process, monkeypatch):
    monkeypatch.setenv("TOY_SIGNAL", f"{int(signal.SIGINT)} twice")
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = os.openpty()
    with ThreadPoolExecutor() as beside:  # a terminal holds 4 kB that nobody has read
        reading = beside.submit(_all_that_comes, ours)
        done = t2i_process(*EVAL, "--out", "run", stderr=theirs)
        os.close(theirs)
        shown = reading.result()
    os.close(ours)
    assert done.returncode == -signal.SIGINT
    assert b"\x1b[?25l" in shown
    assert b"\x1b[?25h" in shown.rpartition(b"\x1b[?25l")[2]


def test_shards(toy, t2i):
    first = t2i(*EVAL, "--shard", "1/2", "--out", "run")
    assert first.exit_code == 0, first.stderr
    assert "images: 8 to make, 0 kept already\nobservations: 8 to make, 0 kept already\n" in first.stdout
    assert "\nonly part 1 of 2 of the prompts and seeds\n" in first.stdout
    assert "part 1 of 2 is done" in first.stderr
    assert t2i(*EVAL, "--shard", "2/2", "--out", "run").exit_code == 0
    assert "images: 0 to make, 16 kept" in t2i(*EVAL, "--out", "run").stdout


def test_generate_makes_what_eval_takes(toy, t2i):
    words = ("--model", "grey", "--prompts", "four", "--seeds", "4")
    made = t2i("generate", *words, "--out", "images", "--json")
    assert made.exit_code == 0, made.stderr
    found = json.loads(made.stdout)
    assert found.pop("images_per_second") > 0
    assert found == {
        "run": str(Path("images").absolute()),
        "n_ok": 16,
        "n_failed": 0,
        "n_missing": 0,
        "n_made": 16,
        "datasets": [
            {
                "model": "grey",
                "images": "images/grey",
                "metadata": "images/grey/metadata.jsonl",
                "n_images": 16,
                "n_truncated": 0,
            }
        ],
    }
    assert "images: 0 to make, 16 kept already" in t2i(*EVAL).stdout
    again = t2i("generate", *words, "--out", "images").stdout
    assert "images: 16 ok, 0 failed, 0 missing\nmade now: 0\n" in again
    assert "data set of grey: images/grey (16 in metadata.jsonl)\n" in again
    assert json.loads(t2i("generate", *words, "--out", "images", "--json").stdout)["images_per_second"] is None


@pytest.mark.long
def test_generate_speaks_of_images_alone(toy, t2i, t2i_process):
    words = ("generate", "--model", "grey", "--prompts", "four", "--seeds", "4", "-o", "grey.fail=2")
    done = t2i_process(*words, "--out", "images", "--max-failed", "0.5")
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.search(r"^model +prompts +seeds *\ngrey +four \(4\) +4 \(0-3\) *\nimages: 16 to make", done.stdout)
    assert not re.search("metric|judge|observations|measuring", said)
    without = t2i("generate", "--model", "grey")
    assert without.stderr.startswith("error: grey has no default prompts; ")
    assert "images: 8 ok, 8 failed, 0 missing" in done.stdout
    assert re.search(r"^made now: 8, [\d.]+/s$", done.stdout, re.MULTILINE)
    plan = json.loads(t2i(*words, "--dry-run", "--json").stdout)
    assert set(plan) == {"folder", "executor", "jobs", "images", "sinks", "notes"}
    assert set(plan["jobs"][0]) == {"model", "as", "settings", "prompts", "n_prompts", "seeds"}


def test_generate_leaves_out_what_a_recipe_measures_with(toy, t2i):
    recipe = (
        "metrics: brightness\njudges: reward=meter\nmodels: grey\nprompts: four\nseeds: 2\n"
        "options: {brightness: {a: 1}, meter: {b: 1}, 'judge:meter': {c: 1}, grey: {level: 7}"
    )
    Path("r.yaml").write_text(recipe + "}\n")
    done = t2i("generate", "--recipe", "r.yaml", "--dry-run", "--json")
    assert done.exit_code == 0, done.stderr
    plan = json.loads(done.stdout)
    assert (plan["jobs"][0]["settings"], plan["images"]["to_make"]) == ({"level": 7}, 8)
    for more, part in [("gray: {level: 7}", "'gray'"), ("'generator:meter': {b: 1}", "options.generator:meter")]:
        Path("r.yaml").write_text(f"{recipe}, {more}}}\n")
        wrong = t2i("generate", "--recipe", "r.yaml", "--dry-run")
        assert wrong.exit_code == 3
        assert part in wrong.stderr
    said = t2i("generate", "--model", "grey", "--prompts", "four", "-o", "meter.b=1", "--dry-run")
    assert said.exit_code == 3


def test_a_shard_of_images_says_what_it_made(toy, t2i):
    words = ("generate", "--model", "grey", "--prompts", "four", "--seeds", "4", "--out", "images")
    first = t2i(*words, "--shard", "1/2")
    assert first.exit_code == 0, first.stderr
    assert re.search(r"^made now: 8, [\d.]+/s$", first.stdout, re.MULTILINE)
    assert "run the same command without --shard" in first.stderr
    assert not Path("images/images").exists()
    second = json.loads(t2i(*words, "--shard", "2/2", "--json").stdout)
    assert (set(second), second["n_made"]) == ({"run", "n_made", "images_per_second"}, 8)
    whole = json.loads(t2i(*words, "--json").stdout)
    assert (whole["n_ok"], whole["n_made"], whole["datasets"][0]["n_images"]) == (16, 0, 16)


def test_runs_and_analyze(toy, report, t2i):
    assert t2i("runs").stdout == "no runs in t2i-runs\n"
    assert t2i("runs", "elsewhere").exit_code == 11
    t2i(*EVAL, "--out", "t2i-runs/one")
    assert re.search(r"one +done +\d{4}-.* brightness +grey +0\.", t2i("runs").stdout)
    (run,) = json.loads(t2i("runs", "--json").stdout)
    assert run["scores"][0]["metric"] == "brightness"
    text = t2i("analyze", "t2i-runs/one", "--out", "tables")
    assert text.exit_code == 0, text.stderr
    assert "brightness prompts: Means of prompts." in text.stdout
    assert (Path("tables/one/brightness-prompts.csv")).read_text().startswith("model,prompt,value\ngrey,p0,")
    (data,) = json.loads(t2i("analyze", "t2i-runs/one", "--json").stdout)
    assert len(data["analyses"][0]["table"]) == 4
    assert t2i("analyze", "t2i-runs").exit_code == 11


def test_analyses_take_their_own_options(toy, report, t2i):
    t2i(*EVAL, "-o", "grey.level=100", "--out", "run")
    text = t2i("analyze", "run", "-o", "brightness.called=Levels")
    assert "brightness prompts: Levels of prompts." in text.stdout
    (data,) = json.loads(t2i("analyze", "run", "--json").stdout)
    settings = data["analyses"][1]
    assert settings["summary"] == "others: None"
    assert settings["table"] == [{"0": "grey", "1": "{'level': 100}"}]
    measured = t2i("analyze", "run", "-o", "brightness.over=0.9")
    assert (measured.exit_code, "was already measured" in measured.stderr) == (6, True)
    unknown = t2i("analyze", "run", "-o", "brightnes.called=x")
    assert (unknown.exit_code, "did you mean 'brightness'" in unknown.stderr) == (3, True)


def test_tables_of_runs_that_are_called_alike_lie_apart(toy, report, t2i):
    for folder, level in (("a/run", 7), ("b/run", 200)):
        assert t2i(*EVAL, "--out", folder, "-o", f"grey.level={level}").exit_code == 0
    assert t2i("analyze", "a/run", "b/run", "--out", "tables").exit_code == 0
    dark, light = (Path(f"tables/{name}/brightness-prompts.csv").read_text() for name in ("run", "run-2"))
    assert float(dark.split(",")[-1]) < 0.1 < float(light.split(",")[-1])


@pytest.mark.long
def test_a_fault_of_t2i_is_one_line_unless_asked(toy, t2i_process, monkeypatch, install):
    install("x-command", {"t2i.commands": {"fault": "x_command:app"}}, {"x_command": FAULT})
    done = t2i_process("fault")
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: a fault in t2i itself, please report it: KeyError: 'oops' \[.*x_command.py:5\] .*\n", done.stderr
    )
    assert "Traceback" in t2i_process("--debug", "fault").stderr
    monkeypatch.setenv("T2I_DEBUG", "1")
    assert "Traceback" in t2i_process("info", "gray").stderr


FAULT = """\
import typer
app = typer.Typer()
@app.command()
def fault() -> None:
    {}["oops"]
"""


SINKS = """
    from t2i_core.api import Loading, Options, SinkInfo, hookimpl
    from t2i_core.api.errors import BadFolder, BadModel
    class Where(Options):
        project: str = "none"
    class Sink:
        def __init__(self, error): self.error = error
        def write(self, run, progress):
            if self.error: raise self.error
            (run.folder / "scores.txt").write_text(str([result.score for result in run.results]))
    def check(setup):
        if setup.options.project == "closed":
            raise BadModel("no access to the project")
    @hookimpl
    def t2i_sinks():
        sinks = {"good": None, "bad": OSError("gone"), "full": BadFolder("disk: is full")}
        sinks["stop"] = KeyboardInterrupt()
        return [
            SinkInfo(name=name, summary="S.", create=lambda setup, error=error: Sink(error), options=Where,
                     loading=Loading(check=check))
            for name, error in sinks.items()
        ]
"""


@pytest.fixture
def sinks(toy, install):
    names = ("good", "bad", "full", "stop")
    install("x-sinks", {"t2i.sinks": dict.fromkeys(names, "x_sinks")}, {"x_sinks": SINKS})


@pytest.mark.long
def test_a_sink_that_fails_leaves_the_results_and_sets_the_exit_code(sinks, t2i):
    done = t2i(*EVAL, "--sink", "bad", "--sink", "full", "--sink", "good", "--out", "run", "--json")
    assert done.exit_code == 4
    assert json.loads(done.stdout)["results"][0]["n_ok"] == 16
    assert Path("run/scores.txt").is_file()
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ")] == [
        "error: sink 'bad' (x-sinks 1.0, x_sinks) failed to write the run: OSError: gone",
        "error: sink 'full' (x-sinks 1.0, x_sinks): disk: is full",
    ]
    assert json.loads(Path("run/run.json").read_text())["status"] == "done"
    assert t2i("generate", *EVAL[3:], "--sink", "full", "--out", "images").exit_code == 11
    unknown = t2i(*EVAL, "--sink", "goood", "--out", "never")
    assert (unknown.exit_code, unknown.stderr) == (3, "error: unknown sink 'goood': did you mean 'good'?\n")
    Path("r.yaml").write_text("metrics: brightness\nmodels: grey\nprompts: four\nsinks: [good, goood]\n")
    assert "line 4, sinks.1: unknown sink 'goood'" in t2i("eval", "--recipe", "r.yaml", "--out", "never").stderr
    assert not Path("never").exists()
    assert t2i("eval", "--recipe", "r.yaml", "--sink", "good", "--dry-run").exit_code == 0


def test_the_plan_names_the_sinks(sinks, t2i):
    named = (*EVAL, "--sink", "good", "--sink", "bad", "--dry-run")
    assert "\nsinks: good, bad\n" in t2i(*named).stdout
    assert json.loads(t2i(*named, "--json").stdout)["sinks"] == ["good", "bad"]
    assert "sinks" not in t2i(*EVAL, "--dry-run").stdout


def test_a_failed_run_is_written_to_its_sinks_and_keeps_its_exit_code(sinks, t2i):
    done = t2i(*EVAL, "-o", "grey.fail=1", "--sink", "bad", "--sink", "good", "--out", "run")
    assert done.exit_code == 8
    assert Path("run/scores.txt").read_text() == "[None]"
    failed, verdict = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert failed.startswith("error: sink 'bad'")
    assert "no sample has a value" in verdict


def test_sinks_wait_for_the_run_without_shard(sinks, t2i):
    words = (*EVAL, "--sink", "good", "--out", "run")
    shard = t2i(*words, "--shard", "1/2")
    assert shard.exit_code == 0
    assert "run the same command without --shard for the scores, which also writes to the sinks" in shard.stderr
    assert not Path("run/scores.txt").exists()
    assert t2i(*words).exit_code == 0
    assert Path("run/scores.txt").is_file()


def test_an_interrupt_in_a_sink_leaves_a_run_that_is_done(sinks, t2i):
    done = t2i(*EVAL, "--sink", "stop", "--sink", "good", "--out", "run")
    assert done.exit_code == 130
    assert "error: interrupted; finished work is kept" in done.stderr
    assert json.loads(Path("run/run.json").read_text())["status"] == "done"
    assert not Path("run/scores.txt").exists()


def test_prefetch_does_not_check_sinks(sinks, t2i):
    closed = "metrics: brightness\nmodels: grey\nprompts: four\nsinks: good\noptions: {good: {project: closed}}\n"
    Path("r.yaml").write_text(closed)
    assert "no access to the project" in t2i("eval", "--recipe", "r.yaml").stderr
    for words in (("r.yaml",), ("good", "-o", "good.project=closed")):
        done = t2i("prefetch", *words)
        assert (done.exit_code, done.stderr) == (0, "")
