"""Addresses of clusters: where they are given, what they stand for, and whether a cluster answers there."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from t2i_core.api.errors import BadOption
from t2i_core.api.text import describe_error

VARIABLE = "RAY_ADDRESS"
"""The environment variable that Ray and t2i read."""

_CLIENT_PORT = 10001
_SECONDS = 10

_HTTP2_START = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The first bytes of a gRPC client: HTTP/2's preface and an empty SETTINGS frame (RFC 9113, 3.4 and 6.5)."""

_SETTINGS = 4
"""The type of the frame that a server answers with, in the fourth byte of the frame's header of nine bytes."""


@dataclass(frozen=True)
class ClusterAddress:
    """The address of a running cluster.

    Attributes:
        text: `auto`, `HOST:PORT` or `ray://HOST:PORT`.
        is_option: True if it comes from `--address`, False if from the environment variable.
    """

    text: str
    is_option: bool = True

    def __str__(self) -> str:
        """Return the address as the user gave it."""
        return f"--address {self.text}" if self.is_option else f"environment variable {VARIABLE}={self.text}"

    @property
    def is_client(self) -> bool:
        """True if Ray's client connects to it."""
        return self.text.startswith("ray://")

    def split(self) -> tuple[str, str]:
        """Return host and port; empty texts for `auto`.

        Raises:
            BadOption: If it is not an address.
        """
        if self.text == "auto":
            return "", ""
        host, _, port = self.text.removeprefix("ray://").rpartition("/")[2].rpartition(":")
        if not host:
            host, port = port, str(_CLIENT_PORT) if self.is_client else ""
        if not port.isdigit():
            name = "--address" if self.is_option else f"environment variable {VARIABLE}"
            raise BadOption(f"{name} must be auto, HOST:PORT or ray://HOST:PORT (got {self.text!r})")
        return host.strip("[]"), port

    def explain_unreachable(self, reason: str) -> BadOption:
        """Return the error of an address where no cluster answers."""
        out = "leave the option out" if self.is_option else "unset the variable"
        return BadOption(
            f"{self}: no Ray cluster answers there ({reason}); "
            f"start one with `ray start --head`, or {out} to use this machine alone"
        )


def find_address(option: str | None) -> ClusterAddress | None:
    """Return the address that the user gave; None to start a cluster of this machine alone.

    As for Ray itself, the environment variable says what `auto` is, if it is set.

    Args:
        option: The value of `--address`.
    """
    variable = os.environ.get(VARIABLE) or None
    if option == "local" or (option is None and variable in (None, "local")):
        return None
    if option is not None and (option != "auto" or variable in (None, "local")):
        return ClusterAddress(option)
    return ClusterAddress(variable or "auto", is_option=False)


def resolve_address(given: ClusterAddress) -> str:
    """Return the address to connect to, once a server answers there: Ray would take minutes to say that none does.

    Raises:
        BadOption: If it is not an address, or no cluster answers there within seconds.
    """
    host, port = given.split()
    found = given.text
    if not host:
        found = _find_own_cluster(given)
        host, _, port = found.rpartition(":")
    at = "" if found == given.text else f"{found}: "
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS) as connection:
            is_server = _speaks_http2(connection)
    except (OSError, OverflowError) as error:
        raise given.explain_unreachable(f"{at}{describe_error(error)}") from error
    if not is_server:
        raise given.explain_unreachable(f"{at}another program listens on this port")
    return found


def _find_own_cluster(given: ClusterAddress) -> str:
    """Return the address of the cluster that runs on this machine, or that Ray remembers."""
    from ray._private import services

    try:
        found = services.canonicalize_bootstrap_address("auto")
    except (ConnectionError, ValueError, OSError) as error:
        raise given.explain_unreachable("none was started on this machine") from error
    assert found is not None  # only for the address `local`
    return str(found)


def _speaks_http2(connection: socket.socket) -> bool:
    """Return whether a server speaks HTTP/2, as Ray's do; True if that cannot be seen because Ray encrypts it."""
    if os.environ.get("RAY_USE_TLS", "0").lower() not in ("0", "false", ""):
        return True
    connection.sendall(_HTTP2_START)
    head = b""
    while len(head) < 9 and (more := connection.recv(9 - len(head))):
        head += more
    return len(head) == 9 and head[3] == _SETTINGS
