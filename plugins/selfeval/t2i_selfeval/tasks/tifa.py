"""TIFA v1.0: questions of colours, numbers and places about captions of COCO, as captions to choose from.

Hu et al.: TIFA: Accurate and Interpretable Text-to-Image Faithfulness Evaluation with Question Answering. ICCV
2023. Its questions are about texts; those of COCO's captions come with an image, the others with none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from re import Match

from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts

from ..task_options import TifaOptions
from .fields import TaskEntry, folder_of, listed
from .picking import Draft, samples
from .words import in_words, occurrences, replaced

QUESTIONS = "tifa_v1.0_question_answers.json"
_TYPES = {"color": "colour", "counting": "count", "spatial": "spatial"}


def prompts(setup: Setup[TifaOptions]) -> Iterator[Prompt]:
    """Yield the samples. Raises BadPrompts."""
    folder, options = folder_of(setup.argument, "tifa"), setup.options
    file = folder / QUESTIONS
    images = folder / options.images
    if not images.is_dir():
        raise BadPrompts(f"tifa:{setup.argument}: there is no folder {images} of COCO's images (val2014)")
    return samples(_drafts(file, images, options), "tifa", str(file), options.limit, options.seed)


def _drafts(file: Path, images: Path, options: TifaOptions) -> Iterator[Draft]:
    for number, entry in enumerate(listed(file)):
        task = _TYPES.get(entry.text("element_type"))
        if task not in options.tasks or "coco_val_id" not in entry.data:
            continue
        choices, answer = entry.texts("choices"), entry.text("answer")
        if answer not in choices:
            entry.fail("answer", f"{answer!r} is none of its choices")
        if len(set(choices)) != options.choices:
            continue
        wrong = [choice for choice in choices if choice != answer]
        captions = _captions(entry, answer, wrong, options)
        if captions is None or len(set(captions)) < len(captions):
            continue
        yield Draft(
            id=f"tifa-{number}",
            image=images / f"COCO_val2014_{_image(entry):012}.jpg",
            right=captions[0],
            wrong=tuple(captions[1:]),
            task=task,
            answer=answer,
        )


def _image(entry: TaskEntry) -> int:
    """COCO's number of an image, which TIFA writes as a text."""
    name = entry.text("coco_val_id")
    if not (name.isascii() and name.isdigit()):
        entry.fail("coco_val_id", f"want COCO's number of the image, not {name!r}")
    return int(name)


def _captions(entry: TaskEntry, answer: str, wrong: list[str], options: TifaOptions) -> list[str] | None:
    """The right caption and the wrong ones; None where the answer's place in the caption is not clear."""
    if options.captions == "answered":
        return [f"{entry.text('question')} {one}" for one in (answer, *wrong)]
    caption = entry.text("caption")
    found = _said(answer, caption)
    if found is None:
        return None
    spelt = in_words(answer) is not None and found[0].lower() == in_words(answer)
    return [caption, *(replaced(found, (in_words(one) if spelt else None) or one) for one in wrong)]


def _said(answer: str, caption: str) -> Match[str] | None:
    """Where a caption says the answer, a number perhaps in words, if it does so once."""
    found = [match for said in {answer, in_words(answer) or answer} for match in occurrences(said, caption)]
    return found[0] if len(found) == 1 else None
