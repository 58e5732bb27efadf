"""What each tracker's own client reads of a run: settings, scores with bounds, tables, images with reasons."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import wandb
from mlflow import MlflowClient
from t2i_core.api import Options, Setup
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency, MissingOption
from t2i_core.api.progress import Silent
from t2i_core.results.run import Run
from t2i_trackers import plugin
from t2i_trackers.mlflow_runs import TAG
from t2i_trackers.options import MlflowOptions, TrackerOptions, WandbOptions
from t2i_trackers.outcome import list_outcomes
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from .conftest import HOSTILE
from .wandb_file import read_records


class Notes(Silent):
    """Keeps what the user is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def expect(run: Run, label: str) -> dict[str, float]:
    """Return what a tracker must hold of a model, from the run's results."""
    (result,) = (each for each in run.results if each.label == label)
    assert result.score is not None
    low, high = result.ci
    found = {"bright/bright": result.score, "bright/n_ok": result.n_ok, "bright/n_failed": 0.0}
    return {
        **found,
        **({} if low is None or high is None else {"bright/bright_low": low, "bright/bright_high": high}),
    }


def test_entries_are_of_one_model_of_one_run(run: Run) -> None:
    outcomes = list(list_outcomes(run))
    assert [each.label for each in outcomes] == ["plain", HOSTILE]
    assert len({each.identity for each in outcomes}) == 2
    assert not {"/", ".."} & set(outcomes[1].file_name)
    other = replace(run, manifest=run.manifest.model_copy(update={"plan": "0" * 64}))
    assert {each.identity for each in list_outcomes(other)}.isdisjoint(each.identity for each in outcomes)


def test_labels_that_differ_only_in_signs_have_different_files(run: Run) -> None:
    (model,) = {id(each): each for each in list(run.manifest.models.values())[:1]}.values()
    manifest = run.manifest.model_copy(update={"models": {"a b": model, "a/b": model}})
    names = [each.file_name for each in list_outcomes(replace(run, manifest=manifest))]
    assert len(set(names)) == 2
    assert all(name.startswith("a-b-") for name in names)


@pytest.mark.long  # each run of the client is a process
def test_wandb_has_it(run: Run, tmp_path: Path) -> None:
    notes = Notes()
    plugin._wandb(Setup("our-project", WandbOptions(images=3, folder=str(tmp_path)))).write(run, notes)
    (note,) = notes.notes
    assert "nothing was uploaded" in note
    folders = shlex.split(note.partition("wandb sync ")[2])
    assert sorted(map(Path, folders)) == sorted(Path("wandb").glob("offline-run-*"))
    files = {file.name: file for file in tmp_path.glob("wandb/offline-run-*/run-*.wandb")}
    for outcome in list_outcomes(run):
        records = list(read_records(files[f"run-{outcome.identity}.wandb"]))
        (described,) = (each.run for each in records if each.WhichOneof("record_type") == "run")
        assert (described.project, described.run_group) == ("our-project", "run")
        assert described.display_name == outcome.label
        config = {each.key: json.loads(each.value_json) for each in described.config.update}
        assert config["signature"]["bright"] == outcome.results[0].signature
        (history,) = (each.history for each in records if each.WhichOneof("record_type") == "history")
        logged = {each.key or "/".join(each.nested_key): json.loads(each.value_json) for each in history.item}
        assert {key: logged[key] for key in outcome.values} == pytest.approx(expect(run, outcome.label))
        assert logged["scores/nrows"] == 1
        assert len(logged["worst/bright/captions"]) == 3
        assert "(too dark)" in logged["worst/bright/captions"][0]


def check_mlflow(client: MlflowClient, run: Run, folder: Path) -> None:
    """Compare what a client reads with the run, after it was written twice."""
    experiment = client.get_experiment_by_name("t2i")
    assert experiment is not None
    for outcome in list_outcomes(run):
        (entry,) = client.search_runs([experiment.experiment_id], f"tags.`{TAG}` = '{outcome.identity}'")
        assert entry.data.metrics == pytest.approx(expect(run, outcome.label))
        assert entry.data.params["prompts"] == "test-prompts"
        assert entry.data.params["signature/bright"] == outcome.results[0].signature
        assert entry.data.tags["t2i.run"] == "run"
        assert (entry.info.status, entry.info.run_name) == ("FINISHED", f"{outcome.label} (run)")
        results = client.download_artifacts(entry.info.run_id, "results.json", str(folder))
        assert json.loads(Path(results).read_text()) == [
            each.model_dump(by_alias=True, mode="json") for each in outcome.results
        ]
        names = [file.path for file in client.list_artifacts(entry.info.run_id, "worst/bright")]
        assert [name[-6:] for name in names] == ["01.png", "01.txt", "02.png", "02.txt"]


def test_mlflow_has_it_once(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        plugin._mlflow(Setup(None, MlflowOptions(images=2))).write(run, Silent())
    check_mlflow(MlflowClient(), run, tmp_path)


def test_tensorboard_has_it(run: Run) -> None:
    for _ in range(2):
        plugin._tensorboard(Setup("logs", TrackerOptions(images=2))).write(run, Silent())
    for outcome in list_outcomes(run):
        events = EventAccumulator(
            f"logs/run/{outcome.file_name}-{outcome.identity[:8]}", {"images": 0, "scalars": 0, "tensors": 0}
        ).Reload()
        found = {tag: events.Scalars(tag)[-1].value for tag in outcome.values}
        assert found == pytest.approx(expect(run, outcome.label), rel=1e-6)  # float32
        images = events.Tags()["images"]
        assert len(images) == 2
        assert all(tag.startswith("worst of bright/") for tag in images)
        assert all(re.search(r"; (car|dog), seed [01]$", tag) for tag in images)
        (headline,) = events.Scalars("headline/bright")
        assert headline.value == pytest.approx(outcome.results[0].score, rel=1e-6)
        (text,) = events.Tensors("scores/text_summary")
        assert b"| bright |" in text.tensor_proto.string_val[0]


@pytest.mark.parametrize(
    ("create", "options"),
    [(plugin._mlflow, MlflowOptions(images=0)), (plugin._tensorboard, TrackerOptions(images=0))],
)
def test_images_are_left_out_if_wanted(
    run: Run, tmp_path: Path, create: Callable[[Setup[Any]], Any], options: Options
) -> None:
    create(Setup(None, options)).write(run, Silent())
    assert not list(tmp_path.rglob("*.png"))
    for file in tmp_path.rglob("events.out.tfevents.*"):
        assert not EventAccumulator(str(file)).Reload().Tags()["images"]


def test_no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    with pytest.raises(MissingOption):
        plugin._check_mlflow(Setup(None, MlflowOptions()))


def test_a_server_that_does_not_answer_stops_the_command() -> None:
    with pytest.raises(BadOption) as caught:
        plugin._check_mlflow(Setup("http://127.0.0.1:9", MlflowOptions()))
    message = str(caught.value)
    assert "http://127.0.0.1:9" in message
    assert os.strerror(errno.ECONNREFUSED) in message
    assert "HTTPConnection" not in message


def test_a_folder_needs_the_permission_of_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    with pytest.raises(BadOption) as caught:
        plugin._check_mlflow(Setup(str(tmp_path / "mlf"), MlflowOptions()))
    message = str(caught.value)
    assert all(word in message for word in ("MLFLOW_ALLOW_FILE_STORE=true", "sqlite:///FILE"))
    assert "server" not in message


def test_a_folder_that_cannot_be_made_is_not_called_a_server(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadOption) as caught:
        plugin._check_mlflow(Setup(str(tmp_path / "file" / "mlf"), MlflowOptions()))
    assert "server" not in str(caught.value)


@pytest.mark.skipif(find_spec("sqlalchemy") is not None, reason="the client of databases is installed")
def test_a_database_needs_the_package_mlflow(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency):
        plugin._check_mlflow(Setup(f"sqlite:///{tmp_path}/store.db", MlflowOptions()))


def test_an_address_of_another_kind_is_not_a_missing_package() -> None:
    with pytest.raises(BadOption):
        plugin._check_mlflow(Setup("ftp://host", MlflowOptions()))


@pytest.mark.parametrize("folder", ["file", "file/logs", "/proc/tb"])
def test_a_folder_of_event_files_that_cannot_be_written_stops_the_command(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadFolder) as caught:
        plugin._check_tensorboard(Setup(folder, TrackerOptions()))
    assert folder in str(caught.value)


def test_a_dry_run_makes_no_folder_of_event_files() -> None:
    plugin._check_tensorboard(Setup("logs", TrackerOptions(), dry=True))
    assert not Path("logs").exists()


@pytest.mark.parametrize(("sink", "options"), [("mlflow", MlflowOptions), ("wandb", WandbOptions)])
def test_one_run_is_not_several(sink: str, options: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if sink == "wandb":
        from t2i_trackers.wandb_runs import WandbRuns

        monkeypatch.setattr(WandbRuns, "_log", lambda *_: None)  # uploaded
    one = run.manifest.model_copy(
        update={"models": {"plain": run.manifest.models["plain"]}, "results": run.results[:1]}
    )
    notes = Notes()
    getattr(plugin, f"_{sink}")(Setup(None, options(images=0))).write(replace(run, manifest=one), notes)
    assert [note.split(" in ")[0] for note in notes.notes] == [f"{sink}: 1 run"]


def test_a_server_needs_the_network() -> None:
    with pytest.raises(BadOption):
        plugin._check_mlflow(Setup("http://127.0.0.1:9", MlflowOptions(), offline=True))


def test_wandb_does_not_ask_for_a_key_in_the_middle_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    online = WandbOptions(mode="online")
    with pytest.raises(MissingOption) as caught:
        plugin._check_wandb(Setup(None, online))
    assert "Weights & Biases" in str(caught.value)
    plugin._check_wandb(Setup(None, online, offline=True))
    (tmp_path / ".netrc").write_text(
        f"machine {urlsplit(wandb.setup().settings.base_url).hostname} login user password secret\n"
    )
    (tmp_path / ".netrc").chmod(0o600)
    plugin._check_wandb(Setup(None, online))


@pytest.mark.parametrize(
    ("name", "check"),
    [("wandb", plugin._check_wandb), ("mlflow", plugin._check_mlflow), ("tensorboard", plugin._check_tensorboard)],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, check: Callable[[Setup[Any]], None]
) -> None:
    module = {"wandb": "wandb_runs", "mlflow": "mlflow_runs", "tensorboard": "tensorboard_logs"}[name]
    monkeypatch.setitem(__import__("sys").modules, f"t2i_trackers.{module}", None)
    with pytest.raises(MissingDependency) as caught:
        check(Setup(None, {"wandb": WandbOptions, "mlflow": MlflowOptions}.get(name, TrackerOptions)()))
    assert f"t2i-trackers[{name}]" in str(caught.value)


def test_the_first_image_of_the_worst_has_the_lowest_value(run: Run) -> None:
    plugin._tensorboard(Setup("logs", TrackerOptions(images=1))).write(run, Silent())
    values = run.measurements()
    for outcome in list_outcomes(run):
        (tag,) = EventAccumulator(f"logs/run/{outcome.file_name}-{outcome.identity[:8]}").Reload().Tags()["images"]
        lowest = float(np.min(values[values["model"] == outcome.label]["value"].astype(float)))
        assert float(tag.removeprefix("worst of bright/").partition(":")[0]) == pytest.approx(lowest, rel=1e-3)
