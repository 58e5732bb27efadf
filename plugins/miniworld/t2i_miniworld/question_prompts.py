"""The prompt sources `selfeval-mini-*`: questions about pictures, as selfeval reads prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2i_core.api import Prompt
from t2i_core.storage.store import Store

from t2i_miniworld.options import QuestionOptions
from t2i_miniworld.question_pictures import Shot, taken
from t2i_miniworld.questions import TASKS, WINOGROUND, Question, ask


def prompts_of(tasks: Sequence[str], options: QuestionOptions, code: str, dry: bool = False) -> Iterator[Prompt]:
    """Yield the samples of some tasks, after their pictures have been drawn, but in a dry run.

    code: digest of what draws
    """
    asked = [(task, question) for task in tasks for question in _questions(task, options)]
    shots = [shot for _, question in asked for shot in _shots(question)]
    paths = iter(_known(shots, options.size, code) if dry else taken(shots, options.size, code, options.workers))
    for task, question in asked:
        own = [next(paths) for _ in question.scenes]
        yield from [_pair(question, own)] if task == WINOGROUND else _choices(task, question, own)


def _known(shots: Sequence[Shot], size: int, code: str) -> list[str]:
    """The path of each picture that is drawn already, and of any other its digest, where nothing is."""
    with Store() as store:
        digests = [shot.digest(size, code) for shot in shots]
        kept = [store.image(digest) for digest in digests]
    return [digest if image is None else str(image.path) for digest, image in zip(digests, kept, strict=True)]


def _questions(task: str, options: QuestionOptions) -> list[Question]:
    """Whole questions alone: a part of one would have captions that are never right."""
    each = 1 if task == WINOGROUND else TASKS[task][0]
    return [ask(task, options.seed, number) for number in range(options.limit // each)]


def _shots(question: Question) -> list[Shot]:
    pictured = enumerate(zip(question.scenes, question.captions, strict=True))
    return [Shot(scene, caption, question.key(number)) for number, (scene, caption) in pictured]


def _choices(task: str, question: Question, paths: Sequence[str]) -> Iterator[Prompt]:
    for number, (path, order) in enumerate(zip(paths, question.orders, strict=True)):
        yield Prompt(
            id=f"mini-{question.name}-{number}",
            text=question.captions[number],
            scene=question.scenes[number],
            facets={"task": task, "source": "mini"},
            images=(path,),
            texts=tuple(question.captions[caption] for caption in order),
            answer=order.index(number),
        )


def _pair(question: Question, paths: Sequence[str]) -> Prompt:
    return Prompt(
        id=f"mini-{question.name}",
        text=question.captions[0],
        scene=question.scenes[0],
        facets={"task": WINOGROUND, "source": "mini", "tag": question.tag},
        images=tuple(paths),
        texts=question.captions,
    )
