"""`t2i arena serve`: a study made of what was asked, and served until it is stopped."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from filelock import FileLock, Timeout
from t2i_core.errors import BadFolder, BadOption

from .agenda import Agenda
from .app import LONGEST_NAME, make_app
from .guard import Access, Guard
from .known import FromFile, KnownTasks, Mismatches
from .pictures import Shelf, check, read_material
from .questions import better, perception
from .standing import Rules
from .store import VotingStore
from .study import Study
from .votes_file import is_there


@dataclass(frozen=True)
class Asked:
    """What is asked of people, and about what.

    runs:     folders of runs
    votes:    the file in which votes are kept
    models:   those that are shown; all, where none is named
    question: what is asked about two images
    groups:   categories by group: asked instead, about each model's images alone
    grid:     images a side
    each:     so many people are wanted for an item before another one is begun
    known:    a file of tasks with a known answer
    """

    runs: Sequence[Path]
    votes: Path
    models: Sequence[str] = ()
    question: str = ""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grid: int = 1
    each: int = 1
    known: Path | None = None
    rules: Rules = field(default_factory=Rules)


@contextmanager
def opened(asked: Asked, say: Callable[[str], None]) -> Iterator[tuple[Study, Mapping[str, tuple[str, str]]]]:
    """Open the study that is asked for, and hold its file: with the text and subset of its prompts.

    Raises BadFolder, BadOption or UnknownName for what cannot be.
    """
    material = read_material(asked.runs, asked.models)
    pairs = not asked.groups
    agenda = Agenda(material.pictures, pairs, asked.grid, asked.each)
    pictures = [picture for picture in material.pictures if picture.model in agenda.models]
    check(pictures)
    questions = better(asked.question) if pairs else perception(asked.groups)
    known = _known(asked, agenda, material.prompts, questions, pairs)
    is_there(asked.votes)  # nothing is laid beside a file of somebody else's
    with _held(asked.votes):
        store = VotingStore(asked.votes)
        try:
            _same_study(store, asked)
            prompts = {p.prompt: material.prompts[p.prompt] for p in pictures}
            store.put_prompts((id, *told) for id, told in prompts.items())
            places = [(p.model, p.prompt, p.seed) for p in pictures]
            digests = [p.image.digest for p in pictures]
            ids = store.put_pictures((*place, digest) for place, digest in zip(places, digests, strict=True))
            shelf = Shelf(dict(zip(ids, pictures, strict=True)))
            by_place = dict(zip(places, ids, strict=True))
            yield Study(store, agenda, by_place, shelf, questions, asked.rules, known, say), prompts
        finally:
            store.close()


def _known(
    asked: Asked, agenda: Agenda, prompts: Mapping[str, tuple[str, str]], questions: Any, pairs: bool
) -> KnownTasks | None:
    parts = [part for part in ("training", "controls") if getattr(asked.rules, part)]
    if asked.known is not None:
        if not parts:
            raise BadOption("--known: is for --training and --controls; say how many are wanted")
        found = FromFile(asked.known, agenda, questions, pairs)
        found.require([part.removesuffix("s") for part in parts])
        return found
    if not parts:
        return None
    if not pairs:
        raise BadOption(f"--{parts[0]}: what is seen in images is known to nobody: give answers, --known FILE")
    return Mismatches(agenda, prompts, asked.grid)


@contextmanager
def _held(votes: Path) -> Iterator[None]:
    """Hold a file of votes, so that no two servers give out the same tasks."""
    lock = FileLock(votes.with_name(f".{votes.name}.lock"), timeout=0.5)
    try:
        lock.acquire()
    except Timeout as error:
        raise BadFolder(f"{votes}: another server is at work on it; stop that or name another file") from error
    except OSError as error:
        raise BadFolder(f"{votes}: cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()


def _same_study(store: VotingStore, asked: Asked) -> None:
    """Refuse votes on another question; remember the study's secrets when it begins."""
    identity = {
        "question": asked.question,
        "groups": {k: list(v) for k, v in asked.groups.items()},
        "grid": asked.grid,
    }
    known = store.study()
    if not known:
        store.put_study(secret=secrets.token_urlsafe(32), invitation=secrets.token_urlsafe(16), **identity)
    for name, value in identity.items():
        if known and known.get(name) != value:
            raise BadFolder(
                f"{store.path}: holds answers with another {name.removesuffix('s')} ({known.get(name)!r}, "
                f"not {value!r}); name another file of votes"
            )
    store.put_study(rules=asdict(asked.rules))


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


def make_server(app: Guard) -> uvicorn.Server:
    """Make what serves an application; what is on its way when it is stopped is answered first."""
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", access_log=False, log_config=None, proxy_headers=False,
        server_header=False, timeout_graceful_shutdown=5,
    )  # fmt: skip
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    return uvicorn.Server(config)


def serve(
    asked: Asked,
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
        if not name.strip() or len(name) > LONGEST_NAME:
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
                annotator, _ = study.store.add_annotator(" ".join(name.split()))
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
