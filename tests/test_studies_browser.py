"""Three studies of DALL-Eval from the page to their tables: simulated people vote with a browser.

They see what is really drawn, and err at a known rate.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import simulated_components
import simulated_groups
from t2i_bias.groups import read_groups
from t2i_cli.app import app
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api.image import Truth
from t2i_core.io.rater_rules import Rules
from t2i_people.page.app import make_app
from t2i_people.page.form_choice import choose_form
from t2i_people.page.guard import Access
from t2i_people.page.study import VotingStudy
from t2i_people.page.study_setup import StudyRequest, open_voting_study
from t2i_web_support.server import listen, make_server
from typer.testing import CliRunner

pytestmark = pytest.mark.long  # a browser votes
SMALL = {"size": 64, "spp": 1, "workers": 1}
PEOPLE = ("Ann", "Bob", "Cid")
SOON = "((later) => { setTimeout = (act) => later(act, 0); })(setTimeout);"
"""Makes the page take answers at once, not only when the second click of a double click can no longer arrive."""
Answer = Callable[[list[Truth], np.random.Generator], dict[str, str]]
"""What a simulated person answers about the images of a task."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def ask(browser: Any, run: Run, request: StudyRequest, answer: Answer) -> VotingStudy:
    """Serve a study, and have each person answer all of its tasks on the page."""
    samples = run.samples()
    truths = dict(zip(zip(samples["model"], samples["prompt"], samples["seed"], strict=True),
                      run.truths(samples["digest"]), strict=True))  # fmt: skip
    with ExitStack() as stack:
        study = stack.enter_context(open_voting_study(request, print))
        at = stack.enter_context(listen("127.0.0.1", 0))
        server = make_server(make_app(study, Access("secret"), print), None)
        thread = threading.Thread(target=server.run, args=([at],))
        thread.start()
        stack.callback(thread.join)
        stack.callback(lambda: setattr(server, "should_exit", True))
        for number, name in enumerate(PEOPLE):
            page = browser.new_context().new_page()
            page.add_init_script(SOON)
            page.set_default_timeout(120_000)  # other work on the machine may slow the page down
            page.goto(f"http://127.0.0.1:{at.getsockname()[1]}/")
            page.get_by_label("Your name").fill(name)
            settle(page)  # earlier clicks are ignored
            page.get_by_role("button", name="Begin").click()
            vote(page, study, number + 1, truths, answer)
            page.context.close()
        return study


def vote(page: Any, study: VotingStudy, annotator: int, truths: dict[Any, Any], answer: Answer) -> None:
    """Answer all tasks of one person."""
    rng = np.random.default_rng(annotator)
    saved = 0
    while True:
        page.wait_for_selector("#saved")
        settle(page)
        tasks = page.locator('form[action="/vote"] input[name=task]')
        if not tasks.count():
            break
        task = study.store.task(annotator, tasks.input_value())
        assert task is not None
        shown = [truths[task.left, task.prompt, seed] for seed in task.seeds]
        given = answer(shown, rng)
        if page.locator("fieldset").count():
            for name, value in given.items():
                choose(page, name, value)
            page.get_by_role("button", name="Save and continue").click()
        else:
            ((name, value),) = given.items()
            page.locator(f'button[name="{name}"][value="{value}"]').click()
        saved += 1
        page.get_by_text(f"{saved} vote{'' if saved == 1 else 's'} saved", exact=True).wait_for()


def settle(page: Any) -> None:
    """Wait until the page takes answers."""
    page.wait_for_load_state("load")
    if page.evaluate("typeof SETTLING") == "number":
        page.wait_for_selector("body[data-settled]")


def choose(page: Any, name: str, value: str) -> None:
    """Choose an answer to one of several questions."""
    menu = page.locator(f'select[name="{name}"]')
    if menu.count():
        menu.select_option(value)
    else:
        page.locator(f'input[name="{name}"][value="{value}"]').check()


def invoke(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def analyze(run: Run, option: str) -> Callable[[str], pd.DataFrame]:
    """Run all analyses of a run; returns what reads the table of a name."""
    out = run.folder.parent / "analyses"
    invoke("analyze", run.folder, "-o", option, "--out", out)

    def read(name: str) -> pd.DataFrame:
        (file,) = out.glob(f"*/*-{name}.csv")
        return pd.read_csv(file)

    return read


# Likert ---------------------------------------------------------------------------------------------------------


def rate(shown: list[Truth], rng: np.random.Generator) -> dict[str, str]:
    """Rate by the share of the requested objects that are drawn; one rating of ten is random."""
    (truth,) = shown
    assert truth.asked is not None
    drawn = sum(any(each.cls.same_as(one.cls) for each in truth.instances) for one in truth.asked.objects)
    right = 1 + round(4 * drawn / len(truth.asked.objects))
    return {"rating": str(rng.integers(1, 6) if rng.random() < 0.1 else right)}


def test_a_likert_study(folder: Path, browser: Any) -> None:
    """Means with intervals, and rank correlations with r-precision and clipscore per image, prompt and model."""
    models = [ModelRequest("simulator", f"drop {share}", {**SMALL, "drop": share}) for share in (0.0, 0.4, 0.8)]
    run = evaluate(
        ["r-precision", "clipscore"], models, prompts="tiam-5-2", limit=8, seeds=1, judge="embed=oracle",
        options={"r-precision": {"candidates": 6, "upper": None}}, out=folder / "run",
    )  # fmt: skip
    votes = folder / "likert.sqlite"
    request = StudyRequest(
        [run.folder], votes, form=choose_form("rating"), each=3, limit=6, rules=Rules(fastest=0)
    )
    ask(browser, run, request, rate)
    tally = json.loads(invoke("people", "tally", votes, "--json"))
    means = {line["model"]: line["mean"] for line in tally["ratings"]}
    assert means["drop 0.0"] > means["drop 0.4"] > means["drop 0.8"]
    for line in tally["ratings"]:
        low, high = line["ci"]
        assert 1 <= low < line["mean"] < high <= 5
    found = json.loads(invoke("people", "validate", run.folder, votes, "--json"))
    lines = {
        (line["metric"], line["level"], line["statistic"]): line
        for line in found["agreements"] if line["measure"] in ("r-precision", "clipscore")
    }  # fmt: skip
    for metric in ("r-precision", "clipscore"):
        for statistic in ("rho", "tau-b"):
            line = lines[metric, "image", statistic]
            assert line["n_prompts"] == 6
            assert -1 < line["lo"] < line["value"] < line["hi"] < 1
            assert (metric, "model", statistic) in lines
    assert lines["clipscore", "image", "rho"]["lo"] > 0


# components -----------------------------------------------------------------------------------------------------


def test_a_component_study(folder: Path, browser: Any) -> None:
    """Tables 4 and 5: people's accuracy by model and skill, also of the ground truth, and phi over models."""
    faults = {"forgets": {"drop": 0.5}, "confuses": {"wrong_color": 0.7, "flip_relation": 0.7}}
    skills = ("object", "count", "color", "spatial")
    run = evaluate(
        [f"paintskills-{skill}" for skill in skills],
        [ModelRequest("simulator", label, {**SMALL, **fault}) for label, fault in faults.items()],
        limit=2, seeds=1, judge="detect=oracle",
        options={
            **{f"prompt_source:paintskills-{skill}": {"objects": ["dog", "chair", "bus"]} for skill in skills},
            **{f"metric:paintskills-{skill}": {"upper": "simulator", "upper_settings": SMALL} for skill in skills},
        },
        out=folder / "run",
    )  # fmt: skip
    votes = folder / "components.sqlite"
    request = StudyRequest([run.folder], votes, form=choose_form("components"), each=3, rules=Rules(fastest=0))

    def name_components(shown: list[Truth], rng: np.random.Generator) -> dict[str, str]:
        return simulated_components.err(simulated_components.describe(shown[0]), rng, 0.05)

    ask(browser, run, request, name_components)
    read = analyze(run, f"paintskills-object.answers={votes}")
    table = read("people")
    bound = "upper bound (simulator)"
    assert table[["model", "skill"]].to_numpy().tolist() == [
        [model, skill] for model in (*faults, bound) for skill in (*skills, "average")
    ]
    rows = table.set_index(["model", "skill"])
    assert rows.loc[(bound, "average"), "people"] > 0.9
    own = rows[[model != bound for model, _ in rows.index]]
    assert (own["people"] - own["metric"]).abs().max() <= 1 / 2  # people err, the oracle does not
    assert (own["images"].xs("object", level="skill") + own["ties"].xs("object", level="skill") == 2).all()
    phi = read("phi-by-skill").set_index("skill")
    assert list(phi.index) == [*skills, "average"]
    assert (phi.loc[list(skills), "models"] == 2).all()
    assert phi["phi"].drop("average").dropna().min() > 0


# groups of people -----------------------------------------------------------------------------------------------


def test_a_study_of_groups(folder: Path, browser: Any) -> None:
    """Tables 9 and 10, Figures 7 and 8: people's votes by category of prompts beside the judge's."""
    models = {"skewed": {"skew": "hat:yes:1.0"}, "even": {}}
    run = evaluate(
        "bias", [ModelRequest("simulator", label, {**SMALL, **skew}) for label, skew in models.items()],
        prompts="bias-mini", limit=6, seeds=3, judge="embed=oracle",
        options={"bias": {"groups": "mini", "only": ["hat"]}}, out=folder / "run",
    )  # fmt: skip
    groups = read_groups("mini", ["hat"])
    file = folder / "hat.yaml"
    file.write_text("hat: {categories: [hat, no hat]}\n")
    votes = folder / "people.sqlite"
    request = StudyRequest([run.folder], votes, form=choose_form(people=str(file)), each=3, rules=Rules(fastest=0))

    def name_groups(shown: list[Truth], rng: np.random.Generator) -> dict[str, str]:
        return simulated_groups.err(simulated_groups.describe(shown, groups), groups, rng, 0.1)

    ask(browser, run, request, name_groups)
    read = analyze(run, f"bias.people={votes}")
    people = read("people").set_index("model")
    assert (people["asked"] == 6).all()
    assert (people["mad-n-1 one-hot"] == 1).all()
    assert people.loc["skewed", "mad people"] > people.loc["even", "mad people"]
    assert (people["agreement"] >= 0.5).all()
    assert people.loc["even", "kappa low"] < people.loc["even", "kappa"]  # all images of the other show hats
    shares = read("people-hat")
    assert set(shares["category"]) == {"all", "alone", "animal", "object"}
    assert set(shares["who"]) == {"people", "judge"}
    unanimous = read("unanimous-by-category")
    assert (unanimous["unanimous"] <= unanimous["asked"]).all()
    assert unanimous["unanimous"].sum() > 0
    agreements, disagreements = read("agreements"), read("disagreements")
    assert len(agreements) + len(disagreements) == people["n"].sum()
    with sqlite3.connect(votes) as database:
        (count,) = database.execute("select count(*) from votes").fetchone()
    assert count == 3 * 12
