"""`t2i people serve`: serving the page until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from t2i_core.api.errors import BadOption
from t2i_web_support.server import is_loopback, listen, make_address, make_server

from .app import make_app
from .guard import Access
from .sign_in import LONGEST_NAME, name_of
from .study_setup import StudyRequest, open_voting_study


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
        base = url or make_address(host, at)
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


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise BadOption(f"--url must be http(s)://HOST without a path (got {url})")
    return f"{parts.scheme}://{parts.netloc}"
