"""T2I-CompBench's prompts (`t2i-compbench:FILE`): one a line, in a file for each category.

References:
    Karine-Huang/T2I-CompBench, examples/dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from t2i_core.api import ObjectClass, Prompt, PromptQuestion, Scene, SceneObject, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.io.prompt_record import make_id
from t2i_core.io.scene_grammar import UnreadText, parse_free_phrase
from t2i_core.io.text_file import read_text
from t2i_core.io.vocabulary import NUMBERS

from ..composition_rules import find_relation
from ..noun_phrases import drop_adjectives, list_noun_phrases, list_nouns, load_model, write_phrase_question
from ..options import CompBenchPromptOptions

TASKS = {
    "color": "attribute", "shape": "attribute", "texture": "attribute", "spatial": "spatial",
    "numeracy": "numeracy", "non_spatial": "non-spatial", "complex": "complex",
}  # fmt: skip
"""The task of each category; 3d_spatial needs depths, which no judge of t2i gives."""


_LINK = re.compile(r"\s*(?:,\s*and\b|,|\band\b)\s*")
_COUNTED = re.compile(rf"(?:an?|\d+|{'|'.join(NUMBERS)})\s+\w[\w-]*(?:\s+\w[\w-]*)?")
"""A number or article and a noun of one or two words."""

_NUMBERED = re.compile(rf"(?:\d+|{'|'.join(NUMBERS)})\s")
"""The beginning of a noun phrase with a number."""

_GIVE_OBJECTS = "give it in a file of prompts with the field `objects`"


def read_compbench(setup: Setup[CompBenchPromptOptions]) -> Iterator[Prompt]:
    """Yield the prompts of a file, with the questions and objects that their task needs."""
    file = Path(setup.argument or "").expanduser()
    subset = setup.options.task if setup.options.task != "auto" else _find_subset(file)
    lines = [line.strip() for line in read_text(file, BadPrompts).splitlines() if line.strip()]
    if not lines:
        raise BadPrompts(f"{file}: holds no prompts; write one a line")
    listed = _read_lists(file, setup.options) if subset == "complex" else {}
    for text in dict.fromkeys(lines):
        yield _make_prompt(file, text, subset, listed.get(text, ""), setup.options)


def _find_subset(file: Path) -> str:
    name = file.stem.removesuffix("_val").removesuffix("_train")
    if name == "3d_spatial":
        raise BadPrompts(
            f"{file}: 3d_spatial needs a judge of depths, which t2i does not have; use another category"
        )
    if name not in TASKS:
        raise BadPrompts(
            f"{file}: the name tells no category of T2I-CompBench ({', '.join(TASKS)}); name it with "
            f"the option task"
        )
    return name


def _read_lists(file: Path, options: CompBenchPromptOptions) -> dict[str, str]:
    """Return which published list of complex prompts has each text."""
    found: dict[str, str] = {}
    for name, given in (("action", options.complex_action), ("spatial", options.complex_spatial)):
        path = given or file.with_name(f"complex_val_{name}.txt")
        if given is None and not path.is_file():
            continue
        found |= {line.strip(): name for line in read_text(path, BadPrompts).splitlines() if line.strip()}
    return found


def _make_prompt(file: Path, text: str, subset: str, listed: str, options: CompBenchPromptOptions) -> Prompt:
    task = TASKS[subset]
    facets: dict[str, str | int | float] = {"task": task, "subset": subset}
    if listed:
        facets["listed_as"] = listed
    if task == "numeracy":
        return Prompt(make_id(text), text, scene=_read_counts(file, text, options), facets=facets)
    if task == "non-spatial":
        return Prompt(make_id(text), text, facets=facets)
    document = load_model(options.model)(text)
    questions: tuple[PromptQuestion, ...] = ()
    if task in ("attribute", "complex"):
        questions = _write_questions(file, text, document)
    scene = _read_pair(file, text, document, subset) if task in ("spatial", "complex") else None
    references = (drop_adjectives(document),) if task == "complex" else ()
    return Prompt(make_id(text), text, scene=scene, facets=facets, references=references, questions=questions)


def _write_questions(file: Path, text: str, document: Any) -> tuple[PromptQuestion, ...]:
    phrases = list_noun_phrases(document)
    if not phrases:
        raise BadPrompts(f"{file}: {text!r} has no noun phrase; delete the line")
    return tuple(
        PromptQuestion(str(number), write_phrase_question(phrase), category="attribute")
        for number, phrase in enumerate(phrases, 1)
    )


def _read_pair(file: Path, text: str, document: Any, subset: str) -> Scene | None:
    """Return the first and the last noun, between which the relation of the text is looked for."""
    nouns = list_nouns(document)
    if len(nouns) >= 2 and find_relation(text) is not None:
        return Scene((SceneObject(ObjectClass(nouns[0])), SceneObject(ObjectClass(nouns[-1]))))
    if subset == "complex":
        return None
    raise BadPrompts(
        f"{file}: {text!r} needs two nouns and a relation that T2I-CompBench knows; give it in a file "
        f"of prompts with "
        "the fields `objects` and `relations`"
    )


def _read_counts(file: Path, text: str, options: CompBenchPromptOptions) -> Scene:
    """Return the objects with their numbers; spaCy reads what is not a list such as `two cats and one dog`."""
    parts = _LINK.split(text.strip(" .").lower())
    if not all(_COUNTED.fullmatch(part) for part in parts):
        chunks = (chunk.text.lower() for chunk in load_model(options.model)(text).noun_chunks)
        parts = [chunk for chunk in chunks if _NUMBERED.match(chunk)]
    try:
        objects = tuple(map(parse_free_phrase, parts))
    except UnreadText as error:
        raise BadPrompts(f"{file}: {text!r}: {error}; {_GIVE_OBJECTS}") from error
    if not objects:
        raise BadPrompts(f"{file}: {text!r} names no object with its number; {_GIVE_OBJECTS}")
    return Scene(objects)
