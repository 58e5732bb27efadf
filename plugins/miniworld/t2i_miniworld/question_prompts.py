"""Prompt sources `selfeval-mini-*`: questions about pictures, as prompts of selfeval."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from t2i_core.api import Prompt
from t2i_core.io.prompt_images import PromptImages

from t2i_miniworld.options import QuestionOptions
from t2i_miniworld.question_pictures import Shot, draw_shot
from t2i_miniworld.questions import TASKS, WINOGROUND, CaptionQuestion, ask
from t2i_miniworld.workers import map_ordered

#: Number of missing pictures from which a message says that they are being rendered.
_MANY = 40
_log = logging.getLogger(__name__)


def prompts_of(tasks: Sequence[str], options: QuestionOptions, code: str, dry: bool = False) -> Iterator[Prompt]:
    """Yield the prompts of some tasks. Their pictures are rendered first, except in a dry run.

    Args:
        tasks: Keys of `questions.TASKS`.
        options: Options of the source.
        code: Digest of the source code that renders.
        dry: Whether this is a dry run.
    """
    asked = [(task, question) for task in tasks for question in _questions(task, options)]
    shots = [shot for _, question in asked for shot in _shots(question)]
    paths = iter(
        _known(shots, options.size, code) if dry else take_pictures(shots, options.size, code, options.workers)
    )
    for task, question in asked:
        own = [next(paths) for _ in question.scenes]
        repeat = {"repeat": question.seed - options.seed + 1} if options.repeats > 1 else {}
        yield from [_pair(question, own, repeat)] if task == WINOGROUND else _choices(task, question, own, repeat)


def take_pictures(shots: Sequence[Shot], size: int, code: str, workers: int | None) -> list[Path]:
    """Return the file of each picture, rendering missing ones in several processes.

    Each picture is cached atomically as soon as it is rendered, so an interrupted command can be resumed.

    Raises:
        BadFolder: If the cache cannot be written.
    """
    digests = [shot.digest(size, code) for shot in shots]
    with PromptImages() as images:
        kept = {digest: path for digest in digests if (path := images.find(digest)) is not None}
        missing = [(shot, digest) for shot, digest in zip(shots, digests, strict=True) if digest not in kept]
        if len(missing) >= _MANY:
            _log.warning("drawing %d pictures of the mini world, once (a few a second)", len(missing))
        drawn = map_ordered(partial(draw_shot, size), (shot for shot, _ in missing), workers)
        for (_, digest), (_, (image, truth)) in zip(missing, drawn, strict=True):
            kept[digest] = images.put(digest, image, truth)
    return [kept[digest] for digest in digests]


def _known(shots: Sequence[Shot], size: int, code: str) -> list[Path]:
    """Return the file of each picture that exists, and the digest, a path without a file, of each other one."""
    digests = [shot.digest(size, code) for shot in shots]
    with PromptImages() as images:
        return [images.find(digest) or Path(digest) for digest in digests]


def _questions(task: str, options: QuestionOptions) -> list[CaptionQuestion]:
    """Return complete questions; an incomplete one would have captions that are never right."""
    each = 1 if task == WINOGROUND else TASKS[task][0]
    seeds = range(options.seed, options.seed + options.repeats)
    return [ask(task, seed, number) for seed in seeds for number in range(options.limit // each)]


def _shots(question: CaptionQuestion) -> list[Shot]:
    pictured = enumerate(zip(question.scenes, question.captions, strict=True))
    return [Shot(scene, caption, question.key(number)) for number, (scene, caption) in pictured]


def _choices(
    task: str, question: CaptionQuestion, paths: Sequence[Path], repeat: Mapping[str, int]
) -> Iterator[Prompt]:
    for number, (path, order) in enumerate(zip(paths, question.orders, strict=True)):
        yield Prompt(
            id=f"mini-{question.name}-{number}",
            text=question.captions[number],
            scene=question.scenes[number],
            facets={"task": task, "source": "mini", **repeat},
            images=(str(path),),
            texts=tuple(question.captions[caption] for caption in order),
            answer=order.index(number),
        )


def _pair(question: CaptionQuestion, paths: Sequence[Path], repeat: Mapping[str, int]) -> Prompt:
    return Prompt(
        id=f"mini-{question.name}",
        text=question.captions[0],
        scene=question.scenes[0],
        facets={"task": WINOGROUND, "source": "mini", "tag": question.tag, **repeat},
        images=tuple(map(str, paths)),
        texts=question.captions,
    )
