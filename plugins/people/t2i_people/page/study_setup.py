"""Opening of a study: reading images, checking the request, and locking the file of votes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.io.answer_database import find_version
from t2i_core.io.rater_rules import Rules

from .agenda import Agenda
from .known_answers import FromFile, KnownTasks, Mismatches
from .pictures import Shelf, check, read_material
from .questions import better, perception
from .store import VotingStore
from .study import VotingStudy


@dataclass(frozen=True)
class StudyRequest:
    """Request for a study.

    Attributes:
        runs: Run folders.
        votes: File of votes.
        models: Models to show; all if empty.
        question: Question about two images.
        groups: Categories by group. If given, annotators are asked about these in each model's images alone.
        grid: Number of images on each side.
        each: Number of annotators wanted for an item before another item is started.
        known: File of tasks with a known answer.
        images_from: Folders outside the runs whose images may be shown.
        rules: Rules for annotators.
    """

    runs: Sequence[Path]
    votes: Path
    models: Sequence[str] = ()
    question: str = ""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    grid: int = 1
    each: int = 1
    known: Path | None = None
    images_from: Sequence[Path] = ()
    rules: Rules = field(default_factory=Rules)


@contextmanager
def open_voting_study(
    request: StudyRequest, say: Callable[[str], None]
) -> Iterator[tuple[VotingStudy, Mapping[str, tuple[str, str]]]]:
    """Open a study and lock its file of votes.

    Args:
        request: The request.
        say: Shows a message about each damaged image.

    Yields:
        The study, and the text and subset of its prompts by id.

    Raises:
        BadFolder: If a run or the file of votes cannot be used.
        BadOption: If tasks with a known answer are requested and cannot be made.
        UnknownName: If a model is not in the runs.
    """
    material = read_material(request.runs, request.models, request.images_from)
    pairs = not request.groups
    agenda = Agenda(material.pictures, pairs, request.grid, request.each)
    pictures = [picture for picture in material.pictures if picture.model in agenda.models]
    check(pictures)
    questions = better(request.question) if pairs else perception(request.groups)
    known = _known_tasks(request, agenda, material.prompts, questions, pairs)
    find_version(request.votes)  # raises before a lock file is created next to another program's file
    with _lock(request.votes):
        store = VotingStore(request.votes)
        try:
            _check_same_study(store, request)
            prompts = {p.prompt: material.prompts[p.prompt] for p in pictures}
            store.put_prompts((id, *text_and_subset) for id, text_and_subset in prompts.items())
            places = [(p.model, p.prompt, p.seed) for p in pictures]
            digests = [p.image.digest for p in pictures]
            ids = store.put_pictures((*place, digest) for place, digest in zip(places, digests, strict=True))
            shelf = Shelf(dict(zip(ids, pictures, strict=True)))
            by_place = dict(zip(places, ids, strict=True))
            yield VotingStudy(store, agenda, by_place, shelf, questions, request.rules, known, say), prompts
        finally:
            store.close()


def _known_tasks(
    request: StudyRequest, agenda: Agenda, prompts: Mapping[str, tuple[str, str]], questions: Any, pairs: bool
) -> KnownTasks | None:
    parts = [part for part in ("training", "controls") if getattr(request.rules, part)]
    if request.known is not None:
        if not parts:
            raise BadOption("--known is only used with --training N or --controls N; add one of them")
        found = FromFile(request.known, agenda, questions, pairs)
        found.require([part.removesuffix("s") for part in parts])
        return found
    if not parts:
        return None
    if not pairs:
        raise BadOption(f"--{parts[0]}: with --people, the known answers must come from a file; add --known FILE")
    return Mismatches(agenda, prompts, request.grid)


@contextmanager
def _lock(votes: Path) -> Iterator[None]:
    """Lock a file of votes, so that two servers do not assign the same tasks."""
    lock = FileLock(votes.with_name(f".{votes.name}.lock"), timeout=0.5)
    try:
        lock.acquire()
    except Timeout as error:
        raise BadFolder(
            f"{votes}: another server uses this file; stop that server or name another file"
        ) from error
    except OSError as error:
        raise BadFolder(f"{votes}: cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()


def _check_same_study(store: VotingStore, request: StudyRequest) -> None:
    """Check that the file's votes answer the same question; create the study's secrets in a new file.

    Raises:
        BadFolder: If the file has votes on another question.
    """
    identity = {
        "question": request.question,
        "groups": {k: list(v) for k, v in request.groups.items()},
        "grid": request.grid,
    }
    known = store.study()
    if not known:
        store.put_study(secret=secrets.token_urlsafe(32), invitation=secrets.token_urlsafe(16), **identity)
    for name, value in identity.items():
        if known and known.get(name) != value:
            raise BadFolder(
                f"{store.path}: has answers with another {name.removesuffix('s')} ({known.get(name)!r}, "
                f"not {value!r}); name another file of votes"
            )
    store.put_study(rules=asdict(request.rules))
