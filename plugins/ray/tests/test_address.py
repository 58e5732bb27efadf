"""Addresses of clusters that are given, and clusters that are gone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from t2i_core.api.errors import BadOption
from t2i_ray.address import ClusterAddress, find_address, resolve_address

OPTION, VARIABLE = ClusterAddress("h:1"), ClusterAddress("v:2", is_option=False)


@pytest.mark.parametrize(
    ("option", "variable", "found"),
    [
        (None, "", None),
        ("local", "v:2", None),
        (None, "local", None),
        ("h:1", "v:2", OPTION),
        (None, "v:2", VARIABLE),
        ("auto", "v:2", VARIABLE),
        ("auto", "", ClusterAddress("auto")),
        ("auto", "local", ClusterAddress("auto")),
        (None, "auto", ClusterAddress("auto", is_option=False)),
    ],
)
def test_the_option_is_read_before_the_environment_variable(
    option: str | None, variable: str, found: ClusterAddress | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    assert find_address(option) == found


@pytest.mark.parametrize("text", ["somewhere", "host:", "ray://host:port"])
def test_other_texts_are_refused_with_their_source(text: str) -> None:
    with pytest.raises(BadOption, match=r"^--address must be auto, HOST:PORT or ray://HOST:PORT"):
        ClusterAddress(text).split()
    with pytest.raises(
        BadOption, match=r"^environment variable RAY_ADDRESS must be auto, HOST:PORT or ray://HOST"
    ):
        ClusterAddress(text, is_option=False).split()


def test_hosts_and_ports() -> None:
    assert ClusterAddress("ray://host").split() == ("host", "10001")
    assert ClusterAddress("[::1]:6379").split() == ("::1", "6379")
    assert ClusterAddress("auto").split() == ("", "")


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A port that Ray remembers for a cluster, and on which another program listens."""
    monkeypatch.setenv("RAY_ADDRESS", "")
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    with socket.create_server(("", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda folder: address)
        yield server


def test_a_cluster_that_ray_remembers_and_that_is_gone_is_refused_at_once(remembered: socket.socket) -> None:
    remembered.close()
    with pytest.raises(BadOption, match=r"^--address auto: no Ray cluster answers there \(.*:\d+: .*refused\)"):
        resolve_address(ClusterAddress("auto"))


def test_another_program_on_the_port_is_refused(remembered: socket.socket) -> None:
    def answer() -> None:
        connection, _ = remembered.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    threading.Thread(target=answer).start()
    with pytest.raises(
        BadOption, match=r"RAY_ADDRESS=auto: .* \(.*another program listens on this port\); .* unset"
    ):
        resolve_address(ClusterAddress("auto", is_option=False))


def test_a_machine_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "")
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    monkeypatch.setattr("ray._private.services.find_bootstrap_address", lambda folder: None)
    with pytest.raises(BadOption, match=r"answers there \(none was started on this machine\)"):
        resolve_address(ClusterAddress("auto"))
