"""A study made of what was asked for, whose file nobody else holds."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from t2i_core.api.errors import BadFolder, BadOption

from .agenda import Agenda
from .known import FromFile, KnownTasks, Mismatches
from .pictures import Shelf, check, read_material
from .questions import better, perception
from .standing import Rules
from .store import VotingStore
from .study import VotingStudy
from .votes_file import is_there


@dataclass(frozen=True)
class StudyRequest:
    """What is asked of people, and about what.

    runs:     folders of runs
    votes:    the file in which votes are kept
    models:   those that are shown; all, where none is named
    question: what is asked about two images
    groups:   categories by group: asked instead, about each model's images alone
    grid:     images a side
    each:     so many people are wanted for an item before another one is begun
    known:    a file of tasks with a known answer
    images_from: folders outside of the runs' whose images may be shown too
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
def opened(
    asked: StudyRequest, say: Callable[[str], None]
) -> Iterator[tuple[VotingStudy, Mapping[str, tuple[str, str]]]]:
    """Open the study that is asked for, and hold its file: with the text and subset of its prompts.

    Raises BadFolder, BadOption or UnknownName for what cannot be.
    """
    material = read_material(asked.runs, asked.models, asked.images_from)
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
            yield VotingStudy(store, agenda, by_place, shelf, questions, asked.rules, known, say), prompts
        finally:
            store.close()


def _known(
    asked: StudyRequest, agenda: Agenda, prompts: Mapping[str, tuple[str, str]], questions: Any, pairs: bool
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


def _same_study(store: VotingStore, asked: StudyRequest) -> None:
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
