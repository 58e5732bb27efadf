"""Runs of MLflow: one for each model, found again by a tag."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking.registry import UnsupportedModelRegistryStoreURIException
from t2i_core.api import Progress, Setup
from t2i_core.api.errors import BadOption, MissingDependency, MissingOption, T2IError
from t2i_core.api.text import fit_one_line
from t2i_core.results.run import Run

from .options import MlflowOptions
from .outcome import ModelOutcome, count_runs, flatten, format_setting, list_outcomes, list_worst_images

TAG = "t2i.identity"
ADDRESS = "MLFLOW_TRACKING_URI"
_FOLDERS = "MLFLOW_ALLOW_FILE_STORE"
_RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_BATCH = 100
"""The most parameters or tags of one request; of metrics there may be more."""

_LONGEST = 500
"""Longer values of parameters, which older servers refuse, stand only in the file of results."""

_SERVER = re.compile(r"https?:")
_DATABASE = re.compile(r"(sqlite|postgresql|mysql|mssql)(\+\w+)?:")

_Entry = TypeVar("_Entry")


class MlflowRuns:
    """The sink: settings as parameters, scores with bounds as metrics, the results and worst images as files."""

    def __init__(self, setup: Setup[MlflowOptions]) -> None:
        self._options = setup.options
        self._client = MlflowClient(tracking_uri=find_address(setup))

    def write(self, run: Run, progress: Progress) -> None:
        """Write a run. Entries that an earlier call made for the same models of the same run are deleted."""
        experiment = self._find_experiment()
        outcomes = list(list_outcomes(run))
        with progress.task("logging to mlflow", len(outcomes), "models") as task:
            for outcome in outcomes:
                earlier = self._client.search_runs([experiment], f"tags.`{TAG}` = '{outcome.identity}'")
                self._log(run, outcome, experiment)
                for entry in earlier:  # only now, so that a failure leaves what was there
                    self._client.delete_run(entry.info.run_id)
                task.advance()
        progress.note(f"mlflow: {count_runs(outcomes)} in experiment {self._options.experiment}")

    def _find_experiment(self) -> str:
        found = self._client.get_experiment_by_name(self._options.experiment)
        if found is None:
            return str(self._client.create_experiment(self._options.experiment))
        if found.lifecycle_stage != "active":
            raise BadOption(
                f"mlflow: experiment {self._options.experiment!r} is deleted; restore it, or name another with "
                "-o mlflow.experiment=NAME"
            )
        return str(found.experiment_id)

    def _log(self, run: Run, outcome: ModelOutcome, experiment: str) -> None:
        begun, ended = (_read_time(when) for when in (run.manifest.started, run.manifest.finished))
        name = f"{outcome.label} ({run.folder.name})"
        tags = {TAG: outcome.identity, "t2i.run": run.folder.name}
        entry = self._client.create_run(experiment, start_time=begun, tags=tags, run_name=name).info.run_id
        metrics = [Metric(_clean(key), value, ended or 0, 0) for key, value in outcome.values.items()]
        texts = {_clean(key): format_setting(value) for key, value in flatten(outcome.config)}
        params = [Param(key, text) for key, text in texts.items() if len(text) <= _LONGEST]
        for some in _split(metrics):
            self._client.log_batch(entry, metrics=some)
        for chosen in _split(params):
            self._client.log_batch(entry, params=chosen)
        results = [each.model_dump(by_alias=True) for each in outcome.results]
        self._client.log_text(entry, json.dumps(results, indent=2), "results.json")
        for metric, images in list_worst_images(run, outcome, self._options.images):
            for number, shown in enumerate(images, start=1):
                place = f"worst/{_clean(metric).replace('/', '_')}/{number:02}"
                self._client.log_image(entry, shown.image.pil(), f"{place}.png")
                self._client.log_text(entry, f"{shown.name}\n{shown.caption}\n", f"{place}.txt")
        if run.failed is not None:
            self._client.log_batch(entry, tags=[RunTag("t2i.failed", run.failed)])
        self._client.set_terminated(entry, "FAILED" if run.failed else "FINISHED", ended)


def find_address(setup: Setup[Any]) -> str:
    """Return the address of the server, or of a database or folder.

    Raises:
        MissingOption: If neither the argument nor the environment names one.
        BadOption: If it is a server, and the run may not use the network.
    """
    address = setup.argument or os.environ.get(ADDRESS, "")
    if not address:
        raise MissingOption(
            f"'mlflow': no server; name it: --sink mlflow:http://HOST:5000, or a file: "
            f"--sink mlflow:sqlite:///FILE, or set {ADDRESS}"
        )
    if setup.offline and not setup.plans_online and _SERVER.match(address):
        raise BadOption(f"'mlflow': {address} needs the network; leave out --offline, or the sink")
    return address


def check_server(setup: Setup[Any]) -> None:
    """Check, before anything runs, that the server answers, or that the database or folder can be used.

    Raises:
        MissingOption: If none is named.
        MissingDependency: If a database needs a package that is not installed.
        BadOption: If it does not answer or cannot be used, or the run may not use the network.
    """
    address = find_address(setup)
    if setup.dry or setup.offline:
        return
    own = os.environ.get(_RETRIES)
    os.environ[_RETRIES] = "0"  # a run that has ended may wait for its server, one that begins need not
    try:
        MlflowClient(tracking_uri=address).search_experiments(max_results=1)
    except (MlflowException, OSError) as error:
        raise _explain(error, address) from error
    finally:
        if own is None:
            del os.environ[_RETRIES]
        else:
            os.environ[_RETRIES] = own


def _explain(error: MlflowException | OSError, address: str) -> T2IError:
    """Return the error for the user, in one line."""
    if _FOLDERS in str(error):
        return BadOption(
            f"'mlflow:{address}': MLflow does not write to folders any more; name a database "
            f"(--sink mlflow:sqlite:///FILE), or set {_FOLDERS}=true"
        )
    if isinstance(error, UnsupportedModelRegistryStoreURIException):
        if _DATABASE.match(address):
            return MissingDependency(f"'mlflow:{address}': databases need the package mlflow; pip install mlflow")
        return BadOption(f"'mlflow:{address}': not an address of MLflow; name http://HOST:PORT or sqlite:///FILE")
    system = _find_system_error(error)
    reason = fit_one_line(str(error) if system is None else system.strerror or str(system))
    if _SERVER.match(address):
        return BadOption(f"'mlflow:{address}': the server does not answer ({reason}); is it running?")
    return BadOption(f"'mlflow:{address}': cannot be used ({reason}); name another one")


def _find_system_error(error: BaseException | None) -> OSError | None:
    """Return the error of the operating system that led to another one: the first has a short message."""
    while error is not None:
        if isinstance(error, OSError) and error.strerror:
            return error
        reason = getattr(error.args[0], "reason", None) if error.args else None  # of urllib3
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__
    return None


def _read_time(when: str | None) -> int | None:
    """Return a time in milliseconds since 1970."""
    return None if when is None else round(datetime.fromisoformat(when).timestamp() * 1000)


def _clean(name: str) -> str:
    """Return a name with only the characters that every MLflow server allows."""
    return re.sub(r"[^\w\-. /]", "_", name)


def _split(entries: Sequence[_Entry]) -> Iterator[Sequence[_Entry]]:
    for start in range(0, len(entries), _BATCH):
        yield entries[start : start + _BATCH]
