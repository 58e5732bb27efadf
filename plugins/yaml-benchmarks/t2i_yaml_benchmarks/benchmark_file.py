"""Benchmarks read from YAML files. Every mistake is reported with the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from pydantic import ValidationError
from t2i_core.api.errors import BadOption, BadPrompts, did_you_mean
from t2i_core.api.facet_levels import join_levels
from t2i_core.api.fault_words import MISSING, UNKNOWN, describe_fault, takes_value
from t2i_core.api.prompt import Prompt
from t2i_core.io.prompt_file import is_prompt_file, merge_duplicates, parse_prompts, read_prompts
from t2i_core.io.prompt_record import KNOWN_FIELDS, PromptRecord
from t2i_core.io.yaml_lines import LocatedYAML, Place, read_located_yaml

from t2i_yaml_benchmarks.benchmark import Benchmark, PromptEntry
from t2i_yaml_benchmarks.prompt_questions import add_questions, read_questions
from t2i_yaml_benchmarks.question_fields import KINDS, Question, list_other_fields, make_tag
from t2i_yaml_benchmarks.question_list import BadParent, join_questions, list_mistakes

PROMPT = "prompt"
"""The field that stands for a prompt's text."""

EVERY = "every"
"""Stands before the number of a question about every prompt."""

Mistake = tuple[Place, str]


@dataclass(frozen=True)
class BenchmarkFile:
    """A benchmark's file.

    Attributes:
        path: The file.
        benchmark: Its fields.
        prompts: The prompts that it, or the file of prompts that it names, lists; None if it names a source.
        questions: The questions about each of these, by id and text of the prompt.
    """

    path: Path
    benchmark: Benchmark
    prompts: tuple[Prompt, ...] | None
    questions: Mapping[tuple[str, str], tuple[Question, ...]]

    @property
    def prompt_file(self) -> Path | None:
        """The file of prompts that it names, relative to its own folder; None if it names none."""
        return _find_prompt_file(self.path, self.benchmark)

    @property
    def all_questions(self) -> tuple[Question, ...]:
        """All questions of the benchmark: those about every prompt first."""
        own = (question for questions in self.questions.values() for question in questions)
        return (*self.benchmark.questions, *own)


def read_benchmark(name: str) -> BenchmarkFile:
    """Return the benchmark of a file.

    Args:
        name: Path of the file.

    Raises:
        BadOption: If it cannot be read or is not valid; the message lists all mistakes in one line.
        BadPrompts: If it names a file of prompts that cannot be read or is not valid.
    """
    path = Path(name)
    source = read_located_yaml(path, BadOption, "the fields summary, prompts and questions")
    try:
        benchmark = Benchmark.model_validate(source.data)
    except ValidationError as error:
        raise BadOption(f"{path}: {source.describe_mistakes(_list_faults(error))}") from error
    file = _read_prompt_list(path, source, benchmark)
    if mistakes := list(list_mistakes(benchmark, file.all_questions)):
        raise BadOption(f"{path}: {source.describe_mistakes(mistakes)}")
    return file


def _read_prompt_list(path: Path, source: LocatedYAML, benchmark: Benchmark) -> BenchmarkFile:
    """Return a benchmark with its prompts and the questions about each.

    Raises:
        BadOption: If the prompts are not valid, or questions do not fit them.
        BadPrompts: If the prompts are in another file, which cannot be read or is not valid.
    """
    prompts: tuple[Prompt, ...] | None = None
    questions: dict[tuple[str, str], tuple[Question, ...]] = {}
    mistakes: list[Mistake] = []
    if not benchmark.prompts:
        mistakes.append((("prompts",), "must have an item"))
    elif not isinstance(benchmark.prompts, str):
        prompts, questions, mistakes = _read_entries(path, source, benchmark, benchmark.prompts)
    else:
        if benchmark.facets is not None:
            mistakes.append((("facets",), "the prompts are not listed here, and bring their own; delete it"))
        listed = _find_prompt_file(path, benchmark)
        if listed is None:
            if not benchmark.questions:
                mistakes.append((("questions",), MISSING))
        else:
            prompts = tuple(merge_duplicates(read_prompts(listed))[0])
            questions, wrong = _bind_prompts(benchmark, prompts)
            mistakes += wrong
    if mistakes:
        raise BadOption(f"{path}: {source.describe_mistakes(mistakes)}")
    return BenchmarkFile(path, benchmark, prompts, questions)


def _find_prompt_file(path: Path, benchmark: Benchmark) -> Path | None:
    if not isinstance(benchmark.prompts, str):
        return None
    beside = path.parent / benchmark.prompts
    return beside if is_prompt_file(str(beside)) else None


def _bind_prompts(
    benchmark: Benchmark, prompts: Sequence[Prompt]
) -> tuple[dict[tuple[str, str], tuple[Question, ...]], list[Mistake]]:
    """Return the questions about each prompt of a file of prompts, and what is wrong with them."""
    questions: dict[tuple[str, str], tuple[Question, ...]] = {}
    mistakes: list[Mistake] = []
    for prompt in prompts:
        try:
            own = read_questions(prompt)
        except ValueError as error:
            mistakes.append((("prompts",), f"{prompt.id!r}: {error}"))
            continue
        found, wrong = bind_questions(benchmark.questions, own, list_fields(prompt))
        mistakes += [(_place_mistake(place, ("prompts",)), f"{prompt.id!r}: {text}") for place, text in wrong]
        questions[prompt.id, prompt.text] = found
    return questions, mistakes[:MOST]


MOST = 5
"""Most mistakes that are reported of one file of prompts."""


def list_fields(prompt: Prompt) -> dict[str, str]:
    """Return the fields of a prompt that the texts of questions may name: its text, and its facets."""
    return {PROMPT: prompt.text, **{name: str(value) for name, value in prompt.facets.items()}}


def _place_mistake(place: Place, own: Place) -> Place:
    """Return the place of a mistake of `bind_questions` in the file."""
    return ("questions", *place[1:]) if place[:1] == (EVERY,) else (*own, *place)


def _list_faults(error: ValidationError) -> Iterator[Mistake]:
    tags = {*map(make_tag, KINDS), "<source>", "<list>"}
    faults = error.errors(include_url=False)
    unknown = [each["loc"] for each in faults if each["type"] == "extra_forbidden"]
    misspelt = {loc[:-1] for loc in unknown if did_you_mean(str(loc[-1]), KINDS)}
    for fault in faults:
        place = tuple(part for part in fault["loc"] if part not in tags)
        text = describe_fault(fault)
        if fault["type"] == "extra_forbidden":
            hint = did_you_mean(str(place[-1]), list_other_fields(fault["loc"]))
            text = f"is unknown{hint}" if hint else UNKNOWN
        elif fault["type"] == "missing" and place[-1] == KINDS[0]:
            if fault["loc"][:-1] in misspelt:
                continue  # the field that says of what kind the question is stands there under a wrong name
            place, text = place[:-1], f"a question has one of the fields {', '.join(KINDS)}; add one"
        elif fault["type"] == "missing":
            text = MISSING
        elif takes_value(fault):
            text = f"{text} (got {fault['input']!r})"
        elif fault["type"] in ("value_error", "assertion_error") and ": " in text:
            name, _, text = text.partition(": ")  # the field stands before what is wrong with it
            place = (*place, name)
        yield place, text


def _read_entries(
    path: Path, source: LocatedYAML, benchmark: Benchmark, entries: Sequence[PromptEntry]
) -> tuple[tuple[Prompt, ...], dict[tuple[str, str], tuple[Question, ...]], list[Mistake]]:
    """Return the prompts of a file, the questions about each, and what is wrong with them."""
    mistakes = list(_find_unknown_facets(benchmark, entries))
    records = [_make_record(path, source, benchmark, number, entry) for number, entry in enumerate(entries)]
    good = []
    for number, record in enumerate(records):
        try:
            record.prompt()
            good.append(number)
        except BadPrompts as error:
            mistakes.append((("prompts", number), _strip_place(error, record)))
    try:
        prompts = parse_prompts(records[number] for number in good)
    except BadPrompts as error:  # two prompts have one id
        where, _, text = str(error).partition(": ")
        number = next((n for n in good if records[n].where == where), 0)
        return (), {}, [*mistakes, (("prompts", number), text)]
    found: list[Prompt] = []
    questions: dict[tuple[str, str], tuple[Question, ...]] = {}
    for number, prompt in zip(good, prompts, strict=True):
        entry = entries[number]
        fields = {PROMPT: prompt.text, **{name: _write(value) for name, value in _list_others(entry).items()}}
        own, wrong = bind_questions(benchmark.questions, entry.questions, fields)
        mistakes += [(_place_mistake(place, ("prompts", number, "questions")), text) for place, text in wrong]
        if questions.setdefault((prompt.id, prompt.text), own) != own:
            mistakes.append(
                (("prompts", number), f"another prompt has the id {prompt.id!r}; give each its own id")
            )
        found.append(add_questions(prompt, own[: len(entry.questions)]))
    return () if mistakes else tuple(merge_duplicates(found)[0]), questions, mistakes


def bind_questions(
    every: Sequence[Question], own: Sequence[Question], fields: Mapping[str, str]
) -> tuple[tuple[Question, ...], list[Mistake]]:
    """Return the questions about one prompt, with its fields in their texts, and what is wrong with them.

    Args:
        every: The questions about every prompt. In places of mistakes, `EVERY` precedes their numbers.
        own: The questions about this one.
        fields: The prompt's fields as text, by name.
    """
    mistakes: list[Mistake] = []
    filled: list[list[Question]] = []
    for first, questions in (((), own), ((EVERY,), every)):
        filled.append([])
        for number, question in enumerate(questions):
            wrong = [(name, why) for name, text in question.list_texts() if (why := _find_strange(text, fields))]
            mistakes += [((*first, number, name), why) for name, why in wrong]
            if wrong:
                continue
            try:
                filled[-1].append(question.fill(fields))
            except ValidationError as error:
                mistakes += [((*first, number, *place), text) for place, text in _list_faults(error)]
    if mistakes:
        return (), mistakes
    try:
        return join_questions(*filled), []
    except BadParent as error:
        number = error.number - len(own)
        place: Place = (EVERY, number) if number >= 0 else (error.number,)
        return (), [((*place, "parents"), str(error))]
    except ValueError as error:
        return (), [((), str(error))]


def _find_strange(text: str, fields: Mapping[str, str]) -> str | None:
    """Return what is wrong with the places in braces of a text; None if they are fields of the prompt."""
    try:
        names = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(text)]
    except ValueError as error:
        return f"{text!r}: {error}; write {{{{ and }}}} for braces"
    for name, spec, conversion in names:
        if name is not None and (name not in fields or spec or conversion):
            known = did_you_mean(name, fields) or f"; the fields are {', '.join(fields)}"
            return f"{text!r}: the prompt has no field {name!r}{known}"
    return None


def _list_others(entry: PromptEntry) -> dict[str, Any]:
    """Return the fields of a prompt that are not those of every prompt."""
    extra = entry.model_extra or {}
    return {name: value for name, value in extra.items() if name not in KNOWN_FIELDS}


def _write(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _find_unknown_facets(benchmark: Benchmark, entries: Sequence[PromptEntry]) -> Iterator[Mistake]:
    known = list(dict.fromkeys(name for entry in entries for name in _list_others(entry)))
    for number, name in enumerate(benchmark.facets or ()):
        if name not in known:
            hint = did_you_mean(name, known) or (f"; they have {', '.join(known)}" if known else "")
            yield ("facets", number), f"no prompt has the field {name!r}{hint}"


def _make_record(
    path: Path, source: LocatedYAML, benchmark: Benchmark, number: int, entry: PromptEntry
) -> PromptRecord:
    """Return a prompt as the record of a prompt file; a list of levels is one value."""
    fields = {
        name: value for name in PromptEntry.model_fields if (value := getattr(entry, name)) not in (None, ())
    }
    fields.pop("questions", None)
    others = _list_others(entry)
    fields |= {name: value for name, value in (entry.model_extra or {}).items() if name not in others}
    chosen = others if benchmark.facets is None else {n: v for n, v in others.items() if n in benchmark.facets}
    fields |= {name: join_levels(map(str, v)) if isinstance(v, list) else v for name, v in chosen.items()}
    return PromptRecord(path, source.find_line(("prompts", number)) or 1, fields)


def _strip_place(error: BadPrompts, record: PromptRecord) -> str:
    return str(error).removeprefix(f"{record.where}: ")
