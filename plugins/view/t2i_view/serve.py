"""Serving of the page until it is stopped."""

from __future__ import annotations

import secrets
import sys
from contextlib import suppress
from pathlib import Path

from t2i_core.results.run_list import find_listed_folder
from t2i_web_support.server import find_numeric_address, is_loopback, listen, make_address, make_server

from .access import ViewAccess
from .app import make_app
from .listing import RunQuery, answer
from .made_pages import MadePages


def serve(named: Path | None, host: str, port: int, token: bool) -> None:
    """Serve the runs of a folder until the server is stopped. The link is printed on standard output.

    Args:
        named: A folder that holds runs, or a run, also by its name in the folder for runs. If None, the folder for
            runs; it need not exist yet.
        host: Address to listen on.
        port: Port to listen on; 0 takes any free one.
        token: Whether the page demands a token even if only this machine can reach it.

    Raises:
        BadFolder: If the folder does not exist.
        BadOption: If the address or port cannot be used.
    """
    folder = find_listed_folder(named)
    # runs are read again only when they change, so the first visitor does not wait for all of them
    answer(folder.absolute(), RunQuery())
    with listen(host, port) as at, MadePages() as pages:
        access = ViewAccess(secrets.token_urlsafe(24) if token or not is_loopback(at) else None)
        base, opened = make_address(host, at), "" if access.token is None else f"?token={access.token}"
        with suppress(KeyboardInterrupt):  # Ctrl-C and SIGTERM end the server, from its link on
            print(f"{base}/{opened}", flush=True)
            if numeric := find_numeric_address(at):
                _say(f"machines that do not know this machine's name: {numeric}/{opened}")
            if not is_loopback(at):
                _say("the page goes over the network unencrypted; to avoid this, forward the port with ssh -L")
            _say(f"runs of {folder}; press Ctrl-C to stop")
            make_server(make_app(folder.absolute(), access, pages)).run(sockets=[at])


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
