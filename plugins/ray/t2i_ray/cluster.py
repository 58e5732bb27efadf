"""Connections to Ray: a running cluster, or one of this machine alone that ends with the run."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption, MissingDependency, T2IError
from t2i_core.api.text import describe_error

from .address import ClusterAddress, find_address, resolve_address
from .placement import Machine

_COPIES_FOLDER = "RAY_ENABLE_UV_RUN_RUNTIME_ENV"
"""By default a driver under `uv run` has its folder copied to all workers, which then import t2i from there."""

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    _COPIES_FOLDER: "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # t2i hides them itself, and Ray does not warn of it
}

_SLOW = ("timed out during startup", "Starting Ray client server failed")
"""Words of Ray's errors where a part of it did not start in time."""

_STORE_BYTES = 512 << 20
"""Memory of this machine's own object store: a few blocks of images for each worker."""


@contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Connect to a cluster, or start one of this machine alone; stop what was started afterwards.

    A connection that this process has already is used, and stays.

    Args:
        address: Address of a running cluster. If None, that of the environment variable RAY_ADDRESS, if it is set.

    Raises:
        BadOption: If no cluster answers at the address, or this process is connected to another one.
        MissingDependency: If Ray cannot start here.
    """
    _set_environment()
    given = find_address(address)
    if given is not None:
        given.split()  # refuses other texts
        if given.is_client:
            _use_token()
    import ray
    from ray._private import ray_constants

    # read from the environment when Ray was imported, perhaps before this
    ray_constants.RAY_ENABLE_UV_RUN_RUNTIME_ENV = os.environ[_COPIES_FOLDER].lower() in {"1", "true"}
    if ray.is_initialized():
        if given is not None:
            _check_connection(given)
        yield
        return
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    _silence_worker_deaths()
    logging.getLogger("ray").setLevel(logging.ERROR)  # Ray's client sets no level
    with _keep_signal_handlers(), warnings.catch_warnings(action="ignore"):
        if given is None:
            _start_alone(options)
        else:
            try:
                _start(address=resolve_address(given), **options)
            except T2IError:
                raise
            except Exception as error:  # Ray raises many kinds
                raise given.explain_unreachable(describe_error(error)) from error
    try:
        yield
    finally:
        ray.shutdown()


def _start_alone(options: Mapping[str, Any]) -> None:
    """Start a cluster of this machine alone.

    Raises:
        MissingDependency: If Ray cannot start.
    """
    try:
        _start(address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, **options)
    except Exception as error:  # Ray raises many kinds
        remedy = "; give the command again when the machine is less busy" if _is_slow(error) else ""
        raise MissingDependency(f"Ray cannot start on this machine: {describe_error(error)}{remedy}") from error


def _start(**options: Any) -> None:
    """Start or join Ray, once more if it was too slow: a busy machine may exceed the 30 seconds it allows itself.

    Raises:
        Exception: Of many kinds.
    """
    import ray

    for is_last in (False, True):
        try:
            ray.init(**options)
        except Exception as error:
            with suppress(Exception):
                ray.shutdown()
            if is_last or not _is_slow(error):
                raise
        else:
            return


def _is_slow(error: Exception) -> bool:
    return any(text in str(error) for text in _SLOW)


def _set_environment() -> None:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def survey_machines(address: str | None) -> list[Machine]:
    """Return the machines that a run would use, without starting anything.

    Args:
        address: As for `connect`.

    Raises:
        BadOption: If no cluster answers at the address.
    """
    _set_environment()
    import ray
    from ray._private.resource_and_label_spec import ResourceAndLabelSpec

    if find_address(address) is not None or ray.is_initialized():
        with connect(address):
            return list_machines()
    own = ResourceAndLabelSpec().resolve(is_head=True)  # as `ray.init` counts
    return [Machine(own.num_cpus or 0, own.num_gpus or 0)]


def list_machines() -> list[Machine]:
    """Return the machines of the cluster that are up."""
    alive = [each["Resources"] for each in _describe_nodes() if each["Alive"]]
    return [Machine(each.get("CPU", 0), each.get("GPU", 0)) for each in alive]


def is_alive(node: str) -> bool:
    """Return whether a machine of the cluster is up, by Ray's id."""
    return any(each["NodeID"] == node and each["Alive"] for each in _describe_nodes())


def _describe_nodes() -> list[dict[str, Any]]:
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return nodes


def _use_token() -> None:
    """Have Ray's client send the cluster's token, if this machine has one, as connections without client do."""
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if named or Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _check_connection(given: ClusterAddress) -> None:
    """Raise BadOption if a cluster is not the one that this process is connected to. `ray://` does not tell."""
    import ray

    try:
        current = str(ray.get_runtime_context().gcs_address)
    except AttributeError:  # Ray's client does not know it
        return
    host, port = given.split()
    if host and not given.is_client:
        hosts = {host, socket.gethostbyname(host)}
        if port != current.rpartition(":")[2] or not hosts & {"127.0.0.1", current.rpartition(":")[0]}:
            raise BadOption(
                f"{given}: this process is connected to the Ray cluster {current} already; "
                "give that address, or call ray.shutdown() before"
            )


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Keep Ray from replacing the handler of SIGTERM: t2i treats the signal as Ctrl-C.

    Ray replaces it in Python, and in C by a handler that prints a stack trace and then calls the one before.
    """
    from ray._private import utils

    own = utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        utils.set_sigterm_handler = own
        handler = signal.getsignal(signal.SIGTERM)
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # also replaces the handler in C


def _silence_worker_deaths() -> None:
    """Keep Ray from printing a paragraph for each worker that dies: t2i says what follows from it."""
    from ray._private import worker

    if hasattr(worker, "listen_error_messages"):
        worker.listen_error_messages = lambda *_: None
