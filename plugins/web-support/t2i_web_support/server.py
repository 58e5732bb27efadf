"""The address that a page is served at, and its server."""

from __future__ import annotations

import logging
import socket
from ipaddress import ip_address

from starlette.types import ASGIApp
from t2i_core.api.errors import BadOption

from .connections import LimitedServer, Limits, limits_of_process


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address.

    Raises:
        BadOption: If the address or port cannot be used.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise BadOption(f"--host {host}: this machine has no such address ({error}); name another") from error
    found = socket.socket(family, kind, protocol)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
        found.listen(2048)
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or error
        raise BadOption(
            f"--host {host} --port {port}: {why}; name another port, or 0 for any that is free"
        ) from error
    return found


def is_loopback(opened: socket.socket) -> bool:
    """Return whether only this machine can reach a socket."""
    return ip_address(opened.getsockname()[0]).is_loopback


def make_address(host: str, at: socket.socket) -> str:
    """Return the URL of a socket; with this machine's name if it listens on all addresses."""
    where, port, *_ = at.getsockname()
    if ip_address(where).is_unspecified:
        host = socket.gethostname()
    return _write_url(host, port)


def find_numeric_address(at: socket.socket) -> str | None:
    """Return the URL of a socket by the number of this machine's network interface, which needs no name.

    None if the socket does not listen on all addresses, or this machine has no network.
    """
    where, port, *_ = at.getsockname()
    if not ip_address(where).is_unspecified:
        return None
    elsewhere = "192.0.2.1" if at.family == socket.AF_INET else "2001:db8::1"  # addresses for documentation
    try:
        with socket.socket(at.family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))  # sends nothing; it chooses the interface that leads to other machines
            return _write_url(probe.getsockname()[0], port)
    except OSError:
        return None


def _write_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: ASGIApp, limits: Limits | None = None) -> LimitedServer:
    """Make the server of an application.

    Args:
        app: The page.
        limits: Limits on its connections. If None, those that fit this process.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return LimitedServer(app, limits or limits_of_process())
