"""One file of people's answers, made by the page's store, serves all metrics and analyses; its CSV form too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from t2i_arena_elo.battle_files import write_battles
from t2i_arena_elo.battles import Battle
from t2i_arena_elo.ratings import rate
from t2i_arena_elo.rows import battles_of
from t2i_bias.options import BiasOptions
from t2i_bias.people_comparison import compare_with_people as compare_bias
from t2i_core import evaluate
from t2i_core.api import Generated, GeneratorInfo, NoJudge, Prompt, Study
from t2i_core.engine.request import ModelRequest
from t2i_core.io.answers import PREFERENCE, find_places, read_answers, write_answers
from t2i_core.results.run import Run
from t2i_miniworld.plugin import DOMAIN
from t2i_paintskills.people_comparison import compare_with_people as compare_skills
from t2i_people.page.form_choice import show_people
from t2i_people.page.forms import describe
from t2i_people.page.records import VoteTask
from t2i_people.page.store import VotingStore
from t2i_people.page.study_file import read_form
from t2i_selfeval.votes import compare_with_people as compare_selfeval
from t2i_wordnet_hypernymy.preferences import preferences

METRICS = ["tiam", "paintskills", "bias", "elo"]
PROMPTS: dict[str, Prompt] = {}


class _Noise:
    """Draws noise, and notes the prompts."""

    def __init__(self, salt: int) -> None:
        self.salt = salt

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            PROMPTS[request.prompt.id] = request.prompt
            yield (
                request,
                Generated(
                    np.random.default_rng((self.salt, request.noise_seed)).integers(0, 255, (8, 8, 3), np.uint8)
                ),
            )


def _create(salt: int, _: Any) -> _Noise:
    return _Noise(salt)


def model(label: str) -> ModelRequest:
    create = partial(_create, len(label))
    info = GeneratorInfo(name=label, summary="Noise.", create=create, domain=DOMAIN, reads_scene=True)
    return ModelRequest(info, label, {})


def run(out: Path, votes: Path, metrics: Any = METRICS) -> Run:
    return evaluate(
        metrics,
        [model("good"), model("bad")],
        judge=f"people:{votes}",
        out=out,
        limit=6,
        seeds=2,
        noise="per-prompt",
        options={"metric:paintskills": {"upper": None}} if "paintskills" in metrics else {},
    )


def describe_scene(prompt: Prompt) -> dict[str, str]:
    """Return the components of a prompt's scene, as people name them."""
    names = ("object", "number", "colour", "object A", "object B", "relation")
    found = dict.fromkeys(names, "none")
    scene = prompt.scene
    assert scene is not None
    if len(scene.objects) == 1:
        (one,) = scene.objects
        return found | {"object": one.cls.name, "number": str(one.count), "colour": one.colour or "none"}
    a, b = scene.objects
    relation = scene.relations[0].predicate if scene.relations else "none"
    return found | {"object A": a.cls.name, "object B": b.cls.name, "relation": relation}


def fill(path: Path, samples: pd.DataFrame) -> None:
    """Answer as three people would on the page: what is shown, who is seen, and which image is better."""
    store = VotingStore(path)
    components = read_form("components").questions
    people = show_people(
        {"hat": ("hat", "no hat"), "hair": ("short", "long"), "coat": ("red", "blue")}, 1
    ).questions
    questions = [describe(each) for each in (*components, *people)]
    scenes = [prompt.scene for prompt in PROMPTS.values() if prompt.scene is not None]
    names = sorted({one.cls.name for scene in scenes for one in scene.objects})
    for question in questions:
        if question["name"].startswith("object"):
            question["choices"] += names  # as a study file may have it, for tiam's objects
    store.put_study(questions=questions, question="Which is better?")
    named = [
        (str(label), str(prompt), int(seed), str(digest))
        for label, prompt, seed, digest in samples[["model", "prompt", "seed", "digest"]].itertuples(index=False)
    ]
    ids = dict(zip([row[:3] for row in named], store.put_pictures(named), strict=True))
    store.put_prompts((prompt, PROMPTS[prompt].text, "") for prompt in samples["prompt"].unique())
    for number, name in enumerate(("Ann", "Bob", "Cid")):
        annotator = store.add_annotator(name)
        tasks: list[tuple[VoteTask, dict[str, str]]] = []
        for label, prompt, seed in ids:
            seen = describe_scene(PROMPTS[prompt])
            wrong = dict.fromkeys(seen, "none")
            shown = wrong if label == "bad" or name == "Cid" else seen
            hat = "hat" if (label == "good") == (name != "Cid") else "no hat"
            answers = {**shown, "human": "yes", "hat": hat, "hair": "cannot-tell", "coat": "red"}
            picture = (ids[label, prompt, seed],)
            task = VoteTask("", 0, "vote", prompt, label, "", (seed,), picture, ())
            tasks.append((task, answers))
            if label == "good":
                sides = [("good", picture), ("bad", (ids["bad", prompt, seed],))]
                (left, lefts), (right, rights) = sides[:: -1 if (seed + number) % 2 else 1]
                better = "bad" if name == "Cid" and seed == 1 else "good"
                said = {PREFERENCE: "left" if left == better else "right"}
                tasks.append((VoteTask("", 0, "vote", prompt, left, right, (seed,), lefts, rights), said))
        with store.changing():
            for place, (task, answers) in enumerate(tasks, 1):
                own = replace(task, id=f"{name}-{place}", place=place)
                store.add_task(annotator.id, own)
                store.add_vote(own.id, answers)
    store._db.execute("update votes set seconds = 5")
    store.close()


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, pd.DataFrame]]:
    """A file of the page, its CSV form, and the samples that it is about."""
    folder = tmp_path_factory.mktemp("votes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        (folder / "none.csv").write_text("rater,question,answer,prompt,left\nAnn,mood,good,elsewhere,m\n")
        first = run(folder / "first", folder / "none.csv")
        assert first.failed is not None
        assert all(result.n_missing and not result.n_failed for result in first.results)
        fill(folder / "votes.sqlite", first.samples())
        write_answers(folder / "votes.csv", read_answers(folder / "votes.sqlite").answers)
        yield folder / "votes.sqlite", folder / "votes.csv", first.samples()


@pytest.fixture(scope="module")
def runs(votes: tuple[Path, Path, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    return {path.suffix: run(folder / path.suffix[1:], path) for path in votes[:2]}


@pytest.mark.long
def test_one_file_judges_every_metric(runs: dict[str, Run]) -> None:
    found = {(result.metric, result.label): result for result in runs[".sqlite"].results}
    assert runs[".sqlite"].failed is None
    for name in ("tiam", "paintskills"):
        assert (found[name, "good"].score, found[name, "bad"].score) == (1, 0)
    shares = found["bias", "good"].facets["vote-share"]["answer"]
    assert (shares["hat: hat"].value, shares["coat: red"].value) == (1, 1)
    assert "hair: short" not in shares  # nobody can tell
    assert found["bias", "bad"].facets["vote-share"]["answer"]["hat: no hat"].value == 1
    assert (found["elo", "good"].score or 0) > (found["elo", "bad"].score or 0)


@pytest.mark.long
def test_elo_has_a_row_for_each_vote_and_keeps_who_gave_it(runs: dict[str, Run]) -> None:
    table = runs[".sqlite"].measurements()
    table = table[table["metric"] == "elo"]
    assert len(table) == 6 * 2 * 3
    assert table.groupby("rater", observed=True).size().to_dict() == {"Ann": 12, "Bob": 12, "Cid": 12}
    assert set(table["human"]) == {"yes"}
    # Cid prefers the other model in every second image, whichever side it was on
    assert table.groupby("rater", observed=True)["value"].mean().to_dict() == {"Ann": 1, "Bob": 1, "Cid": 0.5}
    assert set(table["shown"]) == {"first", "second"}
    assert rate(battles_of(table), rounds=100).clusters == "prompts x annotators"


@pytest.mark.long
def test_the_table_gives_the_results_of_the_database(runs: dict[str, Run]) -> None:
    one, other = (each.results for each in runs.values())
    assert [(r.metric, r.label, r.scores, r.facets) for r in one] == [
        (r.metric, r.label, r.scores, r.facets) for r in other
    ]


@pytest.mark.long
def test_a_table_of_places_gives_them_too(
    votes: tuple[Path, Path, pd.DataFrame], runs: dict[str, Run], tmp_path: Path
) -> None:
    places = pd.read_csv(votes[1], dtype=str).drop(columns=["left_images", "right_images"])
    places.to_csv(tmp_path / "places.csv", index=False)
    found = run(tmp_path / "run", tmp_path / "places.csv", ["paintskills", "elo"])
    scores = {(r.metric, r.label): r.scores for r in runs[".csv"].results}
    assert {(r.metric, r.label): r.scores for r in found.results} == {
        key: own for key, own in scores.items() if key[0] in ("paintskills", "elo")
    }


@pytest.mark.long
def test_one_file_serves_the_analyses(
    votes: tuple[Path, Path, pd.DataFrame], runs: dict[str, Run], tmp_path: Path
) -> None:
    table, samples = runs[".sqlite"].measurements(), votes[2]
    places = find_places(samples)
    tables: list[dict[str, pd.DataFrame]] = []
    for path in votes[:2]:
        own = {metric: table[table["metric"] == metric] for metric in METRICS}
        study = Study(own["bias"], samples, tmp_path, find_images=runs[".sqlite"].images)
        found = list(compare_bias(study, BiasOptions(groups="mini"), path))
        assert found[0].table["agreement"].dropna().tolist() == [1] * found[0].table["agreement"].notna().sum()
        skills = own["paintskills"].assign(skill=own["paintskills"]["measure"])
        found += compare_skills(path, skills, places, "new")
        by_people, over_models = found[-2].table, found[-1].table.set_index("skill")
        assert (by_people["agreement"] == 1).all()
        assert over_models.loc["average", "phi"] == 1
        prompts = own["elo"]["prompt"].astype(str).unique()
        index = pd.MultiIndex.from_product([["bad", "good"], prompts], names=["model", "synset"])
        wide = pd.DataFrame({"isp": np.arange(len(index), dtype=float)}, index)
        shares, scores = preferences(path, wide, {}, places)
        assert shares.table.loc[0, ["a", "b", "votes"]].tolist() == ["bad", "good", len(samples) // 2 * 3]
        assert shares.table.loc[0, "share"] == pytest.approx(1 / 6)
        both = pd.DataFrame({"task": "t", "prompt": prompts, "a": 1.0, "b": 0.0})
        found += [shares, scores, compare_selfeval(path, [("good", "bad", both)], places)]
        assert found[-1].table.loc[0, ["agree", "disagree"]].tolist() == [len(prompts), 0]
        tables.append({analysis.name: analysis.table for analysis in found})
    assert tables[0].keys() == tables[1].keys()
    for name, first in tables[0].items():
        pd.testing.assert_frame_equal(first, tables[1][name])


@pytest.mark.long
def test_a_grid_votes_for_its_prompt_in_bias(
    votes: tuple[Path, Path, pd.DataFrame], tmp_path: Path, runs: dict[str, Run]
) -> None:
    """The page's own form shows up to nine images of a prompt together."""
    table = runs[".sqlite"].measurements()
    prompts = sorted(table.loc[table["metric"] == "bias", "prompt"].astype(str).unique())
    lines = [
        (rater, question, answer, prompt, label, "0 1")
        for number, prompt in enumerate(prompts)
        for label in ("good", "bad")
        for rater, hat in (("Ann", "hat"), ("Bob", "hat" if number else "no hat"))
        for question, answer in (("human", "yes"), ("hat", hat), ("hair", "long"), ("coat", "cannot-tell"))
    ]
    names = ["rater", "question", "answer", "prompt", "left", "left_seeds"]
    pd.DataFrame(lines, columns=names).to_csv(tmp_path / "grids.csv", index=False)
    found = run(tmp_path / "run", tmp_path / "grids.csv", "bias")
    rows = found.measurements()
    chosen = rows[(rows["measure"] == "vote-share") & (rows["value"] == 1)]
    cast = chosen.groupby(["model", "prompt"], observed=True)["answer"].agg(list)
    # Ann and Bob are divided on the first prompt
    assert cast["good"].to_dict() == {
        prompt: ["hat: hat", "hair: long"] if number else ["hair: long"] for number, prompt in enumerate(prompts)
    }


def test_the_yes_no_form_asks_what_rewards_ask(
    votes: tuple[Path, Path, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of the form are those of core's adapter from answers to rewards."""
    form = read_form("yes-no").questions[0]
    lines = [
        ("Ann", "shown", "yes" if label == "good" else "no", form.about(PROMPTS[prompt].text).text, digest)
        for label, prompt, digest in votes[2][["model", "prompt", "digest"]].itertuples(index=False)
    ]
    names = ("rater", "question", "answer", "text", "left_images")
    pd.DataFrame(lines, columns=list(names)).to_csv(tmp_path / "shown.csv", index=False)
    found = evaluate(
        "reward", [model("good"), model("bad")], judge=f"people:{tmp_path / 'shown.csv'}", out=tmp_path / "run",
        prompts="tiam-5-2", limit=6, seeds=2, noise="per-prompt",
    )  # fmt: skip
    assert {r.label: r.score for r in found.results} == {"good": 1, "bad": 0}
    assert all(result.n_ok == 12 for result in found.results)


@pytest.mark.parametrize("metric", ["clipscore", "scs"])
def test_people_are_not_asked_for_numbers(
    votes: tuple[Path, Path, pd.DataFrame], tmp_path: Path, metric: str
) -> None:
    with pytest.raises(NoJudge, match="people cannot be asked this"):
        run(tmp_path, votes[0], metric)


def test_battles_of_the_arena_are_read_as_answers(tmp_path: Path) -> None:
    write_battles(
        tmp_path / "battles.csv",
        [
            Battle("one", "new", "old", "left", judge="ann", human=True, seed=0, time=1.5),
            Battle("two", "old", "new", "both-bad", subset="colour", judge="ann", human=True),
            Battle("two", "old", "new", "left", judge="a model"),
            Battle("two", "old", "new", "unparsable", judge="a model"),
        ],
    )
    found = read_answers(tmp_path / "battles.csv").answers
    assert [(a.rater, a.prompt, a.answer, a.shown[0].model, a.seed) for a in found] == [
        ("ann", "one", "left", "new", 0), ("ann", "two", "both-bad", "old", None),
    ]  # fmt: skip
