"""From the command line, on tiny checkpoints of the real classes with random weights."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from t2i_selfeval.samples import pair
from typer.testing import CliRunner

FEW = {"trials": 1, "steps": 3}


def words(name: str, **options: Any) -> list[str]:
    return [word for key, value in options.items() for word in ("-o", f"{name}.{key}={json.dumps(value)}")]


@pytest.fixture
def t2i(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run a command; its cache is its own."""
    from t2i_cli.app import app

    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def asked(checkpoint: Any, samples: Any, tmp_path: Path) -> Callable[..., list[Any]]:
    """The words of an evaluation of the tiny Stable Diffusion on four samples."""
    write, to_file = samples

    def give(
        metric: str = "selfeval", model: Path | None = None, count: int = 4, out: str = "run", **options: Any
    ) -> list[Any]:
        file = tmp_path / "samples.jsonl"
        if not file.exists():
            to_file(file, write(tmp_path, count))
        words_of = words(metric, **{**FEW, **options})
        how = ["--device", "cpu", "--out", tmp_path / out, "--json"]
        model = model or checkpoint()
        return ["eval", "--metric", metric, "--model", f"diffusers:{model}", "--prompts", file, *how, *words_of]

    return give


def one_line(done: Any, code: int) -> str:
    """The error's only line."""
    assert done.exit_code == code, done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert "Traceback" not in done.output
    return line


@pytest.mark.long
def test_it_scores_and_says_how(t2i: Any, asked: Any, tmp_path: Path) -> None:
    done = t2i(*asked(exact=True, also_steps=[2]))
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)["results"]
    assert (result["n_ok"], result["n_failed"]) == (4, 0)
    scores = {name: score["value"] for name, score in result["scores"].items()}
    assert -0.25 <= result["score"] <= 0.75
    assert scores["accuracy"] - scores["chance"] == pytest.approx(result["score"])
    assert scores["above_papers_chance"] == pytest.approx(result["score"])
    assert scores["calls"] == scores["calls_unpruned"] == 1 * (3 + 2) * 4
    assert set(result["facets"]["accuracy"]) == {"task", "source"}
    assert any("1 trial x 3 steps, forward conditioning" in note for note in result["notes"])
    table = pd.read_csv(tmp_path / "run" / "measurements.csv")
    headline = table[table["measure"] == "above_chance"]
    assert headline["cluster"].nunique() == 4
    assert set(headline["by_steps"].str.count("=")) == {4}  # 1, 2 and 3 of 3; 2 of 2
    analysed = t2i("analyze", tmp_path / "run", "--out", tmp_path / "out")
    assert analysed.exit_code == 0, analysed.output
    written = {path.name for path in (tmp_path / "out").rglob("*")}
    assert {"selfeval-tasks.csv", "selfeval-tasks.png", "selfeval-trials.png", "selfeval-steps.csv"} <= written
    assert {"selfeval-estimator.csv", "selfeval-calls.csv"} <= written


def test_any_batch_size_gives_the_same_numbers(checkpoint: Any, samples: Any, tmp_path: Path) -> None:
    from t2i_core.api import Query, Setup
    from t2i_core.api.image import load_image
    from t2i_diffusers.generator import Diffusers
    from t2i_diffusers.options import DiffusersOptions
    from t2i_selfeval.estimators import log_likelihood

    (sample,) = samples[0](tmp_path, 1)
    query = Query((load_image(Path(sample.images[0])),), sample.texts, FEW)
    found = []
    for size in (1, 3, 64):
        model = Diffusers(Setup(str(checkpoint()), DiffusersOptions(), "cpu", size))
        ((_, answer),) = model.observe("likelihood", [query])
        found.append(log_likelihood(answer.terms, "q-mean"))
    assert found[1] == pytest.approx(found[0], rel=1e-4)
    assert found[2] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.long
def test_it_goes_on_at_the_sample_where_it_stopped(
    t2i: Any, asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from t2i_diffusers.likelihood import Likelihood

    answer, answered = Likelihood._terms, []

    def until(self: Any, query: Any, want: Any) -> Any:
        if len(answered) == 1:
            raise KeyboardInterrupt
        answered.append(query)
        return answer(self, query, want)

    monkeypatch.setattr(Likelihood, "_terms", until)
    assert t2i(*asked()).exit_code == 130
    again: list[Any] = []
    monkeypatch.setattr(Likelihood, "_terms", lambda *given: again.append(given) or answer(*given))
    done = t2i(*asked())
    assert done.exit_code == 0, done.output
    assert (len(answered), len(again)) == (1, 3)
    first = json.loads(done.stdout)["results"][0]
    monkeypatch.setattr(Likelihood, "_terms", answer)
    undisturbed = t2i(*asked(), "--fresh")
    assert json.loads(undisturbed.stdout)["results"][0]["scores"] == first["scores"]


def test_an_unreadable_image_is_a_failed_sample_and_no_more(t2i: Any, asked: Any, tmp_path: Path) -> None:
    command = asked("selfeval-elbo")
    (tmp_path / "3.png").write_bytes(b"no image")
    done = t2i(*command)
    assert done.exit_code == 8  # one of four failed
    (result,) = json.loads(done.stdout)["results"]
    assert (result["n_ok"], result["n_failed"]) == (3, 1)
    failures = pd.read_csv(tmp_path / "run" / "failures.csv")
    assert failures["prompt"].tolist() == ["colour-3"]
    assert failures["reason"].str.contains("not an image").all()


def test_a_guidance_scale_is_refused(t2i: Any, asked: Any) -> None:
    assert "a guided mean is not the mean of the model's density" in one_line(t2i(*asked(guidance=7.5)), 6)


def test_a_sample_of_one_caption_is_refused(t2i: Any, asked: Any, samples: Any, tmp_path: Path) -> None:
    (sample,) = samples[0](tmp_path, 1)
    samples[1](tmp_path / "samples.jsonl", [replace(sample, texts=sample.texts[:1], answer=0)])
    assert "at least two captions (got 1)" in one_line(t2i(*asked()), 10)


def test_a_scheduler_without_betas_is_refused(t2i: Any, asked: Any, checkpoint: Any, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint(), tmp_path / "model"))
    from diffusers import EDMEulerScheduler

    EDMEulerScheduler().save_pretrained(folder / "scheduler")
    index = json.loads((folder / "model_index.json").read_text())
    index["scheduler"] = ["diffusers", "EDMEulerScheduler"]
    (folder / "model_index.json").write_text(json.dumps(index))
    line = one_line(t2i(*asked(model=folder)), 12)
    assert "EDMEulerScheduler has no betas" in line


def test_a_flow_is_asked_for_its_errors_alone(t2i: Any, asked: Any, checkpoint: Any, tmp_path: Path) -> None:
    flow = checkpoint("StableDiffusion3Pipeline")
    small = words("diffusers", height=32, width=32)
    line = one_line(t2i(*asked(model=flow), *small), 6)
    assert "a flow does not have" in line
    assert "selfeval-elbo" in line
    done = t2i(*asked("selfeval-elbo", model=flow, weights="bound", out="errors"), *small)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["results"][0]["n_ok"] == 4


def test_pairs_by_each_estimator(t2i: Any, asked: Any, samples: Any, checkpoint: Any, tmp_path: Path) -> None:
    whole = samples[0](tmp_path, 4)
    pairs = [
        pair(f"pair-{n}", (a.images[0], b.images[0]), (a.text, b.text), "test")
        for n, (a, b) in enumerate(pairwise(whole))
    ]
    file = samples[1](tmp_path / "samples.jsonl", pairs)
    metrics = {"winoground": {"minus_empty": True}, "winoground-elbo": {}}
    named = [word for name, own in metrics.items() for word in ["--metric", name, *words(name, **FEW, **own)]]
    how = ["--prompts", file, "--device", "cpu", "--out", tmp_path / "run", "--json"]
    done = t2i("eval", *named, "--model", f"diffusers:{checkpoint()}", *how)
    assert done.exit_code == 0, done.output
    by_likelihood, by_errors = json.loads(done.stdout)["results"]
    for result, captions in ((by_likelihood, 3), (by_errors, 2)):
        scores = {name: score["value"] for name, score in result["scores"].items()}
        assert list(scores) == ["text", "image", "group", "calls"]
        assert scores["group"] <= min(scores["text"], scores["image"])
        assert scores["calls"] == 2 * 1 * 3 * captions
        assert any("16.7 %" in note for note in result["notes"])


def test_right_captions_are_prompts(t2i: Any, asked: Any, samples: Any, tmp_path: Path) -> None:
    asked()  # writes the file
    file = tmp_path / "samples.jsonl"
    how = ("--seeds", "1", "--dry-run", "--json", "--out", tmp_path / "run")
    done = t2i("generate", "--model", "simulator", "--prompts", f"selfeval-captions:{file}", *how)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["images"]["to_make"] == 4
    refused = t2i("generate", "--model", "simulator", "--prompts", "selfeval-captions:selfeval-mini", *how)
    assert "must be a file of samples" in one_line(refused, 10)


def test_a_dry_run_draws_no_pictures(t2i: Any, tmp_path: Path) -> None:
    done = t2i("eval", "--metric", "selfeval", "--model", "mini", "--device", "cpu", "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    plan = json.loads(done.stdout)
    assert (plan["observations"]["to_make"], plan["observations"]["kept"]) == (360, 0)
    assert plan["folder"] is None  # it is named after the pictures
    assert "360 images that prompts bring are not there yet: the run makes them first" in plan["notes"]
    assert not list((tmp_path / "cache").rglob("*.png"))
    shown = t2i("eval", "--metric", "selfeval", "--model", "mini", "--device", "cpu", "--dry-run", "--out", "here")
    assert "observations: 360 to make" in shown.stdout
    assert "folder: here" in shown.stdout
