"""`t2i arena serve`: where the page is reached, and how it is served until it is stopped."""

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
from .entrance import LONGEST_NAME, name_of
from .guard import Access, Guard
from .opening import StudyRequest, opened


def listen(host: str, port: int) -> socket.socket:
    """Open the port, before anything is said of it. Raises BadOption where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise BadOption(f"--host {host}: no such address here ({error})") from error
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
    """Whether only this machine reaches a socket."""
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
    asked: StudyRequest,
    names: Sequence[str],
    host: str,
    port: int,
    token: bool,
    url: str | None,
    say: Callable[[str], None],
) -> None:
    """Serve a study until it is stopped. Links stand on standard output, all else is said.

    names: of annotators who get a link of their own
    """
    url = url and _checked_url(url)
    for name in names:
        if not 0 < len(name_of(name)) <= LONGEST_NAME:
            raise BadOption(f"--annotator {name!r}: want a name of 1 to {LONGEST_NAME} characters")
    at = listen(host, port)
    with at, opened(asked, say) as (study, prompts):
        secrets_ = study.store.study()
        closed = token or url is not None or not is_loopback(at)
        access = Access(secrets_["secret"], secrets_["invitation"] if closed else None, url)
        base = url or address(host, at)
        say(f"{study.overview()}; answers are kept in {asked.votes} ({study.store.count()} so far)")
        if closed and base.startswith("http:") and not is_loopback(at):
            say("links and answers go over the network unencrypted; where that matters, put TLS in front (--url)")
        with suppress(KeyboardInterrupt):  # Ctrl-C and SIGTERM are how a server ends, from its first link on
            print(f"{base}/join/{access.invitation}" if closed else f"{base}/", flush=True)
            for name in names:
                annotator = study.store.add_annotator(name_of(name))
                print(f"{annotator.name}: {base}/as/{annotator.token}", flush=True)
            say("Ctrl-C ends it")
            make_server(make_app(study, access, prompts, say)).run(sockets=[at])
        say(f"{study.store.count()} answers in {asked.votes}")


def address(host: str, at: socket.socket) -> str:
    """Where a socket is reached: of one on all addresses, by this machine's name."""
    where, port, *_ = at.getsockname()
    if ip_address(where).is_unspecified:
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise BadOption(f"--url {url}: want http(s)://HOST without a path")
    return f"{parts.scheme}://{parts.netloc}"
