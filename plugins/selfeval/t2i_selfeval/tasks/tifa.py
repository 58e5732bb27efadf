"""TIFA v1.0: captions made from questions about colour, count and position.

TIFA's questions are about texts. Only those about COCO's captions have an image, and only these are used.

References:
    Hu et al.: TIFA: Accurate and Interpretable Text-to-Image Faithfulness Evaluation with Question Answering. ICCV
    2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from re import Match

from t2i_core.api import Prompt, Setup
from t2i_core.api.errors import BadPrompts

from ..task_options import TifaOptions
from .fields import TaskEntry, find_folder, read_list
from .selection import Draft, build_samples
from .words import find_words, replace_match, spell_number

QUESTIONS = "tifa_v1.0_question_answers.json"
_TYPES = {"color": "colour", "counting": "count", "spatial": "spatial"}


def prompts(setup: Setup[TifaOptions]) -> Iterator[Prompt]:
    """Yield the samples.

    Raises:
        BadPrompts: If a file or an image is missing or not valid.
    """
    folder, options = find_folder(setup.argument, "tifa"), setup.options
    file = folder / QUESTIONS
    images = folder / options.images
    if not images.is_dir():
        raise BadPrompts(
            f"tifa:{setup.argument}: folder {images} does not exist; put COCO's images (val2014) there, or set "
            "option `images`"
        )
    return build_samples(_drafts(file, images, options), "tifa", str(file), options.limit, options.seed)


def _drafts(file: Path, images: Path, options: TifaOptions) -> Iterator[Draft]:
    for number, entry in enumerate(read_list(file)):
        task = _TYPES.get(entry.text("element_type"))
        if task not in options.tasks or "coco_val_id" not in entry.data:
            continue
        choices, answer = entry.texts("choices"), entry.text("answer")
        if answer not in choices:
            entry.fail("answer", f"must be one of the choices (got {answer!r})")
        if len(set(choices)) != options.choices:
            continue
        wrong = [choice for choice in choices if choice != answer]
        captions = _captions(entry, answer, wrong, options)
        if captions is None or len(set(captions)) < len(captions):
            continue
        yield Draft(
            id=f"tifa-{number}",
            image=images / f"COCO_val2014_{_image_number(entry):012}.jpg",
            right=captions[0],
            wrong=tuple(captions[1:]),
            task=task,
            answer=answer,
        )


def _image_number(entry: TaskEntry) -> int:
    """Return COCO's number of the image of an entry."""
    name = entry.text("coco_val_id")
    if not (name.isascii() and name.isdigit()):
        entry.fail("coco_val_id", f"must be COCO's number of the image, in digits (got {name!r})")
    return int(name)


def _captions(entry: TaskEntry, answer: str, wrong: list[str], options: TifaOptions) -> list[str] | None:
    """Return the right caption and the wrong ones; None unless the caption contains the answer exactly once."""
    if options.captions == "answered":
        return [f"{entry.text('question')} {one}" for one in (answer, *wrong)]
    caption = entry.text("caption")
    found = _find_answer(answer, caption)
    if found is None:
        return None
    spelt = spell_number(answer) is not None and found[0].lower() == spell_number(answer)
    return [caption, *(replace_match(found, (spell_number(one) if spelt else None) or one) for one in wrong)]


def _find_answer(answer: str, caption: str) -> Match[str] | None:
    """Return the match of the answer in a caption, as digits or in words; None unless there is exactly one."""
    found = [match for form in {answer, spell_number(answer) or answer} for match in find_words(form, caption)]
    return found[0] if len(found) == 1 else None
