"""A judge that errs more on one model ranks models wrongly; people's labels of drawn images put that right."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_cli.app import app
from t2i_core import evaluate
from t2i_core.api import Generated, GeneratorInfo, Instance, ObjectClass, Truth
from t2i_core.api.errors import BadFolder, BadOption, NoJudge
from t2i_core.api.mask import PackedMask
from t2i_core.api.options import Options
from t2i_core.api.resolver import installed_resolver
from t2i_core.engine.request import ModelRequest
from t2i_core.files.digest import digest_file
from t2i_core.io.answers import HumanAnswer, ShownImages, read_answers, write_answers
from t2i_core.io.rater_rules import Rules
from t2i_core.results.corrected_run import correct_run
from t2i_core.results.corrected_scores import NOT_CONNECTED
from t2i_core.results.run import Run, load_run
from t2i_miniworld.plugin import DOMAIN
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS
from t2i_people.labels.study import LabelRequest, make_study
from t2i_people.page.study_setup import StudyRequest, open_voting_study
from typer.testing import CliRunner

SIDE = 8


class FaultOptions(Options):
    """How often an image lacks its objects, and how often the annotations, which the oracle reads, are wrong."""

    drop: float = 0.0
    missed: float = 0.0
    seen: float = 0.0
    salt: int = 0
    hyponyms: str = "fixed"


class _Annotated:
    """Draws nothing but noise; what an image shows, and what its annotations say, is drawn at the rates."""

    def __init__(self, setup: Any) -> None:
        self.options = setup.options

    def generate(self, requests: Any) -> Iterator[tuple[Any, Generated]]:
        options = self.options
        for request in requests:
            rng = stream("annotated", request.prompt.id, str(request.seed), str(options.model_dump()))
            right = rng.random() >= options.drop
            said = rng.random() >= options.missed if right else rng.random() < options.seen
            wanted = request.prompt.scene.objects
            found = [self._draw(thing, slot) for slot, thing in enumerate(wanted) if said or slot]
            truth = Truth((SIDE, SIDE), tuple(found), request.prompt.scene, request.prompt.text)
            pixels = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            yield request, Generated(pixels, {"right": right}, truth)

    def _draw(self, thing: Any, slot: int) -> Instance:
        shown = np.zeros((SIDE, SIDE), bool)
        shown[:, slot * 4 : slot * 4 + 3] = True
        mask = PackedMask.pack(shown)
        return Instance(
            ObjectClass(thing.cls.name, thing.cls.synset), None, mask.box, mask, {"synset": thing.cls.synset}
        )


ANNOTATED = GeneratorInfo(
    name="annotated",
    summary="Noise, with annotations that are wrong at known rates.",
    options=FaultOptions,
    create=_Annotated,
    domain=DOMAIN,
    reads_scene=True,
    labels=lambda argument, options: LABELS,
)

FAULTS: Mapping[str, Mapping[str, float]] = {
    "careful": {"drop": 0.15, "missed": 0.4},
    "careless": {"drop": 0.4, "seen": 0.6},
}
"""The judge misses what the better model draws, and sees what the worse one leaves out."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of both models, judged by the oracle, which reads the wrong annotations."""
    folder = tmp_path_factory.mktemp("correction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        yield judge(folder / "run")


def judge(folder: Path, **how: Any) -> Run:
    models = [ModelRequest(ANNOTATED, label, faults) for label, faults in FAULTS.items()]
    return evaluate("tiam", models, prompts="tiam-5-2", seeds=8, judge="oracle", out=folder, **how)


def find_truth(run: Run) -> dict[tuple[str, str, int], bool]:
    samples = run.samples()
    return {
        (row.model, row.prompt, int(row.seed)): json.loads(row.record)["right"] for row in samples.itertuples()
    }


def draw(run: Run, votes: Path, **how: Any) -> StudyRequest:
    return make_study(
        LabelRequest(run.folder, votes, **how), installed_resolver(), Rules(fastest=0), 1, None, lambda line: None
    )


def answer(run: Run, study: StudyRequest, file: Path) -> Path:
    """Have people answer what they are asked, as it is."""
    truth = find_truth(run)
    said = []
    for item in study.items:
        right = truth[item.models[0], item.prompt, item.seeds[0]]
        for number, question in enumerate(item.questions):
            shown = (ShownImages(item.models[0], item.seeds),)
            yes = "yes" if right or number else "no"
            said.append(
                HumanAnswer(
                    "ann", question.name, yes, shown, item.prompt, question.text, probability=item.probability
                )
            )
    write_answers(file, said)
    return file


def label(run: Run, folder: Path, **how: Any) -> Path:
    """Draw images, and have people answer."""
    return answer(run, draw(run, folder / "votes.sqlite", **how), folder / "said.csv")


@pytest.mark.long
def test_a_wrong_ranking_is_put_right(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=240, design="cells")
    found = correct_run(world, f"people:{file}", installed_resolver())
    truth = find_truth(world)
    for result in found.results:
        right = np.mean([value for (model, *_), value in truth.items() if model == result.label])
        assert result.correction is not None
        assert result.correction.n_labels == 120
        low, high = result.correction.ci or (None, None)
        assert (low or 0) < right < (high or 0)
        assert not (result.ci or [0, 0])[0] < right < (result.ci or [0, 0])[1]
    (judged,) = found.comparisons
    assert (judged.diff or 0) < -0.1
    assert judged.correction is not None
    assert (judged.correction.ci or [0])[0] > 0
    assert (judged.correction.p_adjusted or 1) < 0.05


@pytest.mark.long
def test_an_evaluation_and_a_stored_run_are_corrected_alike(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=120, design="stratified")
    with_labels = judge(tmp_path / "run", correct=f"people:{file}")
    stored = correct_run(world, f"people:{file}", installed_resolver())
    assert with_labels.manifest.request.correct == f"people:{file}"
    assert with_labels.results == stored.results
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    for result in stored.results:
        assert result.correction is not None
        assert result.correction.signature == f"{result.signature}|corrected:said.csv#{digest}"
    assert with_labels.comparisons == stored.comparisons
    assert load_run(tmp_path / "run").results == stored.results
    uncorrected = [each.model_copy(update={"correction": None}) for each in stored.results]
    assert [each.score for each in uncorrected] == [each.score for each in world.results]
    assert with_labels.manifest.plan == world.manifest.plan
    assert any(part.kind == "judge" and part.name == f"people:{file}" for part in with_labels.manifest.components)


@pytest.mark.long
def test_too_few_labels_leave_their_own_score(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=40)
    found = correct_run(world, f"people:{file}", installed_resolver())
    for result in found.results:
        correction = result.correction
        assert correction is not None
        assert (correction.value, correction.ci) == (None, None)
        assert correction.reason is not None
        assert correction.labels.value is not None
        # two rows an image are one label
        assert result.scores["found"].correction is not None
        assert result.scores["found"].correction.n_labels == correction.n_labels
    assert sum(result.correction.n_labels for result in found.results if result.correction) == 40


@pytest.mark.long
def test_a_label_of_unknown_probability_is_left_out(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=120, design="stratified")
    whole = correct_run(world, f"people:{file}", installed_resolver()).results
    answers = list(read_answers(file).answers)
    images = [(each.shown[0].model, each.prompt, each.shown[0].seeds) for each in answers]
    write_answers(
        file,
        [
            replace(each, probability=None) if place == images[0] else each
            for each, place in zip(answers, images, strict=True)
        ],
    )
    found = correct_run(world, f"people:{file}", installed_resolver()).results
    for before, after in zip(whole, found, strict=True):
        assert before.correction is not None
        assert after.correction is not None
        less = after.label == images[0][0]
        assert after.correction.n_labels == before.correction.n_labels - less
        assert any("left out" in note for note in after.correction.notes) == less
        assert after.correction.labels.value == pytest.approx(before.correction.labels.value, abs=0.05)


@pytest.mark.long
def test_half_a_cell_without_an_answer_leaves_the_others_as_they_were(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=240, design="cells")
    (whole,) = correct_run(world, f"people:{file}", installed_resolver()).comparisons
    answers = list(read_answers(file).answers)
    lost = (answers[0].shown[0].model, answers[0].prompt, answers[0].shown[0].seeds)
    kept = [each for each in answers if (each.shown[0].model, each.prompt, each.shown[0].seeds) != lost]
    # a second wave gives some cells another probability
    prompts = {each.prompt for each in kept if each.prompt < "m"}
    write_answers(file, [replace(each, probability=0.6 if each.prompt in prompts else 0.9) for each in kept])
    (half,) = correct_run(world, f"people:{file}", installed_resolver()).comparisons
    write_answers(file, [replace(each, probability=0.6 if each.prompt in prompts else 0.9) for each in answers])
    (all_of_them,) = correct_run(world, f"people:{file}", installed_resolver()).comparisons
    assert half.correction is not None
    assert all_of_them.correction is not None
    assert whole.correction is not None
    assert half.correction.labels.value == pytest.approx(all_of_them.correction.labels.value, abs=0.02)


def test_answers_to_other_questions_correct_nothing(world: Run, tmp_path: Path) -> None:
    file = tmp_path / "said.csv"
    row = next(iter(find_truth(world)))
    write_answers(file, [HumanAnswer("ann", "colour", "red", (ShownImages(row[0], (row[2],)),), row[1])])
    with pytest.raises(BadOption):
        correct_run(world, f"people:{file}", installed_resolver())


@pytest.mark.long
def test_facets_are_corrected_where_labels_suffice(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=240, design="cells")
    result = correct_run(world, f"people:{file}", installed_resolver()).results[0]
    by_prompt = result.facets["tiam"]["prompt"]
    assert not any(score.correction for score in by_prompt.values())
    (whole,) = result.facets["tiam"]["n_objects"].values()
    assert whole.correction == result.correction.model_copy(update={"signature": None})
    found = result.facets["found"]["position"]
    assert found["1"].correction is not None
    assert found["2"].correction is None  # people see the second object in every image


@pytest.mark.long
def test_the_command_prints_what_is_corrected(world: Run, tmp_path: Path) -> None:
    file = label(world, tmp_path, count=240, design="cells")
    shown = CliRunner().invoke(app, ["correct", str(world.folder), str(file), "--json"])
    found = json.loads(shown.stdout)
    assert found["results"][0]["correction"]["people"] == f"people:{file}"
    assert (
        found["results"][0]["correction"]
        .pop("signature")
        .endswith(f"|corrected:{file.name}#{digest_file(file)[:8]}")
    )
    assert found["results"][0]["scores"]["tiam"]["correction"] == found["results"][0]["correction"]
    assert found["comparisons"][0]["correction"]["value"] > 0
    table = CliRunner().invoke(app, ["correct", str(world.folder), str(file)]).stdout
    assert "corrected by people" in table
    assert "corrected comparisons" in table


def test_the_command_shows_what_it_draws(world: Run, tmp_path: Path) -> None:
    votes = tmp_path / "votes.sqlite"
    words = ["label", str(world.folder), "--votes", str(votes), "-n", "40", "--design", "stratified", "--dry-run"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0
    assert "40 of 320" in shown.stderr
    assert "careful: 1: 10 of" in shown.stderr
    assert not votes.exists()


def test_a_draw_goes_on_and_grows(world: Run, tmp_path: Path) -> None:
    first, again = (draw(world, tmp_path / "votes.sqlite", count=60) for _ in range(2))
    assert [item.item for item in first.items] == [item.item for item in again.items]
    larger = draw(world, tmp_path / "votes.sqlite", count=90)
    assert {item.item for item in first.items} < {item.item for item in larger.items}
    assert {item.probability for item in larger.items} == {90 / 320}


def serve(study: StudyRequest, run: Run) -> None:
    """Have a person answer all tasks on the page's study."""
    truth = find_truth(run)
    with open_voting_study(study, print) as opened:
        ann = opened.store.add_annotator("Ann")
        while (task := opened.current(ann)[1]) is not None:
            right = truth[task.left, task.prompt, task.seeds[0]]
            names = [question.name for question in opened.questions_of(task)]
            opened.answer(
                ann, task.id, {name: "yes" if right or number else "no" for number, name in enumerate(names)}
            )


@pytest.mark.long
def test_a_second_wave_goes_where_labels_help_most(world: Run, tmp_path: Path) -> None:
    votes = tmp_path / "votes.sqlite"
    with pytest.raises(BadOption):
        draw(world, votes, more=50)
    first = draw(world, votes, count=80)
    serve(replace(first, items=first.items[:70]), world)
    unfinished = draw(world, votes, more=50)
    assert {item.item for item in unfinished.items} == {item.item for item in first.items}
    serve(unfinished, world)
    second = draw(world, votes, more=50)
    assert len(second.items) == 130
    assert {item.item for item in first.items} < {item.item for item in second.items}
    serve(second, world)
    said = read_answers(votes).answers
    chances = {(a.shown[0].model, a.prompt, a.seed): a.probability for a in said}
    assert len(chances) == 130
    # each label stands for the images of its stratum, whichever wave it came in
    assert sum(1 / (chance or 1) for chance in chances.values()) == pytest.approx(320)
    result = correct_run(world, f"people:{votes}", installed_resolver()).results[0]
    assert result.correction is not None
    assert result.correction.value is not None


def test_another_draw_is_refused(world: Run, tmp_path: Path) -> None:
    serve(replace(study := draw(world, tmp_path / "votes.sqlite", count=60), items=study.items[:1]), world)
    for other in ({"seed": 1}, {"design": "cells"}):
        with pytest.raises(BadFolder):
            draw(world, tmp_path / "votes.sqlite", **{"count": 60, **other})
    shutil.copytree(world.folder, tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**manifest, "plan": "0" * 64}))
    with pytest.raises(BadFolder):
        draw(load_run(tmp_path / "run"), tmp_path / "votes.sqlite", count=60)


def test_questions_that_people_cannot_answer_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    model = ModelRequest(ANNOTATED, "careful", {})
    how: dict[str, Any] = {"prompts": "wordnet-mini", "limit": 1, "seeds": 1, "judge": "oracle:leaves"}
    run = evaluate("isp", model, out=tmp_path / "run", **how)
    with pytest.raises(NoJudge):
        draw(run, tmp_path / "votes.sqlite")
    file = tmp_path / "said.csv"
    write_answers(file, [HumanAnswer("ann", "q", "yes", (ShownImages("careful", (0,)),), "p")])
    with pytest.raises(NoJudge):
        correct_run(run, f"people:{file}", installed_resolver())
    with pytest.raises(NoJudge):
        evaluate("isp", model, out=tmp_path / "other", correct=f"people:{file}", **how)


@pytest.mark.parametrize("value", ["votes.sqlite", "people:", ":votes.sqlite"])
def test_a_correction_names_a_file(value: str) -> None:
    with pytest.raises(BadOption):
        evaluate("tiam", "simulator", correct=value)


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A rating of both models and a third by the oracle, which reads the wrong annotations."""
    folder = tmp_path_factory.mktemp("arena")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        settings = {**FAULTS, "middling": {"drop": 0.3}}
        models = [ModelRequest(ANNOTATED, label, faults) for label, faults in settings.items()]
        yield evaluate("elo", models, prompts="tiam-5-2", seeds=5, judge="oracle", out=folder / "run")


def prefer(run: Run, study: StudyRequest, file: Path, pairs: int | None = None) -> Path:
    """Have people say which of two images is right."""
    truth = find_truth(run)
    said = []
    for item in study.items:
        if pairs is not None and item.models != study.items[0].models:
            continue
        left, right = (truth[model, item.prompt, item.seeds[0]] for model in item.models)
        shown = tuple(ShownImages(model, item.seeds) for model in item.models)
        verdict = "tie" if left == right else "left" if left else "right"
        said.append(HumanAnswer("ann", "preference", verdict, shown, item.prompt, probability=item.probability))
    write_answers(file, said)
    return file


@pytest.mark.long
def test_ratings_are_corrected(arena: Run, tmp_path: Path) -> None:
    file = prefer(arena, draw(arena, tmp_path / "votes.sqlite", count=200), tmp_path / "said.csv")
    found = correct_run(arena, f"people:{file}", installed_resolver())
    judged = {result.label: result.score or 0 for result in found.results}
    corrected = {result.label: result.correction.value or 0 for result in found.results if result.correction}
    assert judged["careless"] > judged["careful"]
    assert corrected["careful"] > corrected["middling"] > corrected["careless"]
    pair = next(each for each in found.comparisons if (each.a, each.b) == ("careful", "careless"))
    assert (pair.diff or 0) < 0
    assert pair.correction is not None
    assert (pair.correction.value or 0) > 0


@pytest.mark.long
def test_battles_that_do_not_connect_the_models_are_refused(arena: Run, tmp_path: Path) -> None:
    study = draw(arena, tmp_path / "votes.sqlite", count=200)
    file = prefer(arena, study, tmp_path / "said.csv", pairs=1)
    for result in correct_run(arena, f"people:{file}", installed_resolver()).results:
        correction = result.correction
        assert correction is not None
        assert (correction.value, correction.labels.value) == (None, None)
        assert correction.reason == NOT_CONNECTED
