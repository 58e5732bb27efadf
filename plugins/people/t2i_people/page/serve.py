"""`t2i people serve`: serving the page until it is stopped."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from t2i_core.api.errors import BadOption

from .app import make_app
from .connections import LimitedServer, Limits, limits_of_process
from .guard import Access, Guard
from .sign_in import LONGEST_NAME, name_of
from .study_setup import StudyRequest, open_voting_study


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


def make_server(app: Guard, limits: Limits | None = None) -> LimitedServer:
    """Make the server of an application.

    Args:
        app: The page.
        limits: Limits on its connections. If None, those that fit this process.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return LimitedServer(app, limits or limits_of_process())


def serve(
    request: StudyRequest,
    names: Sequence[str],
    host: str,
    port: int,
    token: bool,
    url: str | None,
    say: Callable[[str], None],
) -> None:
    """Serve a study until it is stopped. Links are printed on standard output.

    Args:
        request: The study.
        names: Annotators for whom a personal link is printed.
        host: Address to listen on.
        port: Port to listen on; 0 takes any free one.
        token: Whether links need a token even if only this machine can reach the page.
        url: Public address of the page, if it is behind a proxy.
        say: Shows a message to the person who runs the server.

    Raises:
        BadFolder: If a run or the file of votes cannot be used.
        BadOption: If an option is not valid.
        UnknownName: If a model is not in the runs.
    """
    url = url and _check_url(url)
    for name in names:
        if not 0 < len(name_of(name)) <= LONGEST_NAME:
            raise BadOption(f"--annotator {name!r}: a name must have 1 to {LONGEST_NAME} characters")
    at = listen(host, port)
    with at, open_voting_study(request, say) as study:
        secrets_ = study.store.study()
        closed = token or url is not None or not is_loopback(at)
        access = Access(secrets_["secret"], secrets_["invitation"] if closed else None, url)
        base = url or address(host, at)
        say(f"{study.overview()}; answers are saved in {request.votes} ({study.store.count()} so far)")
        if closed and base.startswith("http:") and not is_loopback(at):
            say("links and answers go over the network unencrypted; to avoid this, use a TLS proxy and --url")
        with suppress(KeyboardInterrupt):  # Ctrl-C and SIGTERM end the server, from its first link on
            print(f"{base}/join/{access.invitation}" if closed else f"{base}/", flush=True)
            for name in names:
                annotator = study.store.add_annotator(name_of(name))
                print(f"{annotator.name}: {base}/as/{annotator.token}", flush=True)
            say("press Ctrl-C to stop")
            make_server(make_app(study, access, say)).run(sockets=[at])
        say(f"{study.store.count()} answers in {request.votes}")


def address(host: str, at: socket.socket) -> str:
    """Return the URL of a socket; with this machine's name if it listens on all addresses."""
    where, port, *_ = at.getsockname()
    if ip_address(where).is_unspecified:
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise BadOption(f"--url must be http(s)://HOST without a path (got {url})")
    return f"{parts.scheme}://{parts.netloc}"
