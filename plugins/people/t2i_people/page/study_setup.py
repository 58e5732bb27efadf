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
from .drawings import DRAWN_PROMPTS, list_drawings
from .forms import StudyForm, compare_models, describe
from .instructions import read_instructions
from .known_answers import FromFile, KnownTasks, Mismatches, Repetitions, uses_drawings
from .label_agenda import LabelAgenda, LabelItem
from .picture_sample import draw_pictures
from .pictures import Material, Shelf, StudyPicture, check, read_material
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
        form: What annotators see and are asked.
        items: Images to ask about, in this order, with their own questions; empty to ask the form's about all.
        each: Number of annotators wanted for an item before another item is started.
        baseline: Model with which the others are compared; empty to compare each two models.
        pairs: Largest number of items of each prompt and two models; None: as many as images allow.
        limit: Number of images of each model to show, or of prompts if several are shown at once; None: all.
        images_from: Folders outside the runs whose images may be shown.
        rules: Rules for annotators.
        record: Further values to keep with the study.
    """

    runs: Sequence[Path]
    votes: Path
    models: Sequence[str] = ()
    form: StudyForm = field(default_factory=compare_models)
    items: Sequence[LabelItem] = ()
    each: int = 1
    baseline: str = ""
    pairs: int | None = None
    limit: int | None = None
    images_from: Sequence[Path] = ()
    rules: Rules = field(default_factory=Rules)
    record: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def open_voting_study(request: StudyRequest, say: Callable[[str], None]) -> Iterator[VotingStudy]:
    """Open a study and lock its file of votes.

    Args:
        request: The request.
        say: Shows a message about each damaged image.

    Raises:
        BadFolder: If a run or the file of votes cannot be used.
        BadOption: If the items cannot be shown, or tasks with a known answer are requested and cannot be made.
        UnknownName: If a model, or the baseline, is not in the runs.
    """
    form = request.form
    material = read_material(request.runs, request.models, request.images_from)
    agenda, pictures = _choose_pictures(request, material)
    check(pictures)
    known = _known_tasks(request, agenda, material.prompts)
    guide = None if form.instructions is None else read_instructions(form.instructions)
    find_version(request.votes)  # raises before a lock file is created next to another program's file
    with _lock(request.votes):
        store = VotingStore(request.votes)
        try:
            _check_same_study(store, request, guide.digest if guide else "")
            if isinstance(known, Mismatches) and uses_drawings(form):
                pictures = [*pictures, *list_drawings(form.grid, pictures[0].size)]
            texts = {**material.prompts, **DRAWN_PROMPTS}
            prompts = {p.prompt: texts[p.prompt] for p in pictures}
            store.put_prompts((id, *text_and_subset) for id, text_and_subset in prompts.items())
            places = [(p.model, p.prompt, p.seed) for p in pictures]
            digests = [p.image.digest for p in pictures]
            ids = store.put_pictures((*place, digest) for place, digest in zip(places, digests, strict=True))
            shelf = Shelf(dict(zip(ids, pictures, strict=True)))
            by_place = dict(zip(places, ids, strict=True))
            if isinstance(agenda, LabelAgenda):
                store.put_probabilities((label.item, label.probability) for label in agenda.labels.values())
            yield VotingStudy(store, agenda, texts, by_place, shelf, form, request.rules, known, guide, say)
        finally:
            store.close()


def _choose_pictures(
    request: StudyRequest, material: Material
) -> tuple[Agenda | LabelAgenda, Sequence[StudyPicture]]:
    """Return the agenda, and the pictures that it shows."""
    form = request.form
    if not request.items:
        if request.baseline and form.sides == 1:
            raise BadOption("--baseline: this form shows one model's images; name a form that compares two")
        pictures = material.pictures
        if request.limit is not None:
            pictures = draw_pictures(material, request.limit, form.grid > 1, request.rules.seed)
        agenda = Agenda(pictures, form.sides == 2, form.grid, request.each, request.baseline, request.pairs)
        return agenda, [picture for picture in pictures if picture.model in agenda.models]
    labels = LabelAgenda(request.items, request.each)
    there = {(p.model, p.prompt, p.seed): p for p in material.pictures}
    wanted = dict.fromkeys(
        (model, item.prompt, seed) for item in labels.labels for model in item.models for seed in item.seeds
    )
    if missing := next((place for place in wanted if place not in there), None):
        model, prompt, seed = missing
        raise BadOption(f"there is no image of {model!r}, prompt {prompt!r}, seed {seed} to label; name its run")
    return labels, [there[place] for place in wanted]


def _known_tasks(
    request: StudyRequest, agenda: Agenda | LabelAgenda, prompts: Mapping[str, tuple[str, str]]
) -> KnownTasks | None:
    form = request.form
    parts = [part for part in ("training", "controls") if getattr(request.rules, part)]
    if isinstance(agenda, LabelAgenda):
        if parts:
            raise BadOption(f"--{parts[0]}: a given list of images has no known answers; leave the option out")
        return None
    if form.known is not None:
        if not parts:
            raise BadOption("--known is only used with --training N or --controls N; add one of them")
        found = FromFile(form.known, agenda, form.questions, form.sides == 2)
        found.require([part.removesuffix("s") for part in parts])
        return found
    if not parts:
        return None
    if form.controls is None:
        raise BadOption(
            f"--{parts[0]}: the known answers to these questions must come from a file; add --known FILE"
        )
    return Repetitions(agenda, form.grid) if form.controls == "repeated" else Mismatches(agenda, prompts, form)


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


def _check_same_study(store: VotingStore, request: StudyRequest, instructions: str) -> None:
    """Check that the file's answers are to the same questions; create the study's secrets in a new file.

    Raises:
        BadFolder: If the file has answers to other questions, about another number of images, or with other
            instructions.
    """
    form = request.form
    identity = {
        "questions": [] if request.items else [describe(part) for each in form.questions for part in each.stored],
        "sides": form.sides,
        "grid": form.grid,
        "show_prompt": form.show_prompt,
        "instructions": instructions,
    }
    known = store.study()
    if not known:
        store.put_study(secret=secrets.token_urlsafe(32), invitation=secrets.token_urlsafe(16))
    else:
        before = known if "questions" in known else _describe_earlier(known)
        for name, value in identity.items():
            if before.get(name) != value:
                raise BadFolder(
                    f"{store.path}: has answers with another {_WORDS[name]} ({_shorten(before.get(name))}, not "
                    f"{_shorten(value)}); name another file of votes"
                )
    store.put_study(rules=asdict(request.rules), **identity, **request.record)


_WORDS = {
    "questions": "question",
    "sides": "number of sides",
    "grid": "grid",
    "show_prompt": "setting of whether the prompt is shown",
    "instructions": "text of instructions",
}


def _describe_earlier(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a study in whose file earlier versions of t2i wrote it in another way."""
    groups = known.get("groups") or {}
    questions = perception(groups) if groups else better(known.get("question", ""))
    return {
        "questions": [describe(question) for question in questions],
        "sides": 1 if groups else 2,
        "grid": known.get("grid", 1),
        "show_prompt": True,
        "instructions": "",
    }


def _shorten(value: Any) -> str:
    """Return a part of a study's identity for a message."""
    if isinstance(value, list):
        return "; ".join(f"{each['text']!r} ({', '.join(each['choices'])})" for each in value) or "labels"
    return value[:12] or "none" if isinstance(value, str) else str(value)
