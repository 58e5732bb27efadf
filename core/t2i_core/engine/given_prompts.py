"""Prompts that a program gives itself: texts, `Prompt`s, or the column of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from reprlib import repr as shorten
from typing import Any

from ..api.errors import BadPrompts, UnknownName, did_you_mean
from ..api.plugin_info import PromptSourceInfo
from ..api.prompt import Prompt
from ..io.prompt_file import is_prompt_file
from ..io.prompt_record import make_id

IN_MEMORY = "in-memory"
"""The name of such prompts in results."""


def read_prompts_argument(value: Any, list_sources: Callable[[], Collection[str]]) -> Any:
    """Return the argument `prompts` of `evaluate` as a request takes it.

    A single text names a prompt source or a file. So do the texts of a list if each of them is the name of an
    installed source or of a file (.txt, .csv, .jsonl); otherwise they are the texts of prompts. The entries of
    any other iterable, such as a pandas Series or an array, are always texts of prompts.

    Args:
        value: The argument.
        list_sources: Returns the names of the installed prompt sources.

    Raises:
        BadPrompts: If the list is empty, mixes names and texts, or an entry is neither a text nor a prompt.
        UnknownName: If a text in a list is nearly the name of an installed source.
    """
    if isinstance(value, str | PromptSourceInfo):
        return value
    entries = _list_entries(value)
    if isinstance(value, list | tuple) and all(isinstance(entry, str | PromptSourceInfo) for entry in entries):
        sources = list_sources() if any(isinstance(entry, str) for entry in entries) else ()
        named = [entry for entry in entries if _is_name(entry, sources)]
        if len(named) == len(entries):
            return tuple(entries)
        _refuse_misspelt([entry for entry in entries if not _is_name(entry, sources)], sources)
        if named:
            other = next(entry for entry in entries if not _is_name(entry, sources))
            raise BadPrompts(
                f"prompts: {getattr(named[0], 'name', named[0])!r} is a source or file and {other!r} is not; "
                "give either names or texts (a text that is also a name: Prompt(ID, TEXT))"
            )
    prompts = tuple(make_prompts(entries))
    return PromptSourceInfo(name=IN_MEMORY, summary="Prompts given in Python.", prompts=lambda setup: prompts)


def make_prompts(entries: Iterable[Any]) -> list[Prompt]:
    """Return texts and prompts as prompts. A text's id is made from the text, as in a file.

    Raises:
        BadPrompts: If the list is empty, or an entry is neither a text nor a prompt.
    """
    prompts = []
    for number, entry in enumerate(_list_entries(entries)):
        if not isinstance(entry, str | Prompt):
            raise BadPrompts(f"prompts, entry {number}: must be a text or a Prompt (got {shorten(entry)})")
        prompts.append(entry if isinstance(entry, Prompt) else Prompt(make_id(str(entry)), str(entry)))
    return prompts


def _list_entries(value: Any) -> list[Any]:
    if isinstance(value, Prompt):
        return [value]
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        raise BadPrompts("prompts: must be a list, not a table; name its column: prompts=table['prompt']")
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadPrompts(
            f"prompts: must be a list of texts or of Prompt, or a source or file (got {shorten(value)})"
        )
    entries = list(value)
    if not entries:
        raise BadPrompts("prompts: the list is empty")
    return entries


def _refuse_misspelt(texts: Iterable[str], sources: Collection[str]) -> None:
    """Refuse a text of one word that is nearly the name of a source: it would be drawn as a prompt."""
    for text in texts:
        name = _take_name(text)
        if not any(map(str.isspace, text)) and did_you_mean(name, sources):
            hint = f"if it is the text of a prompt, write Prompt(ID, {text!r})"
            raise UnknownName.among("prompt source", name, sources, hint)


def _take_name(entry: str) -> str:
    """Return the name of a source without its distribution and argument."""
    return entry.partition(":")[0].rpartition("/")[2]


def _is_name(entry: str | PromptSourceInfo, sources: Collection[str]) -> bool:
    if not isinstance(entry, str):
        return True
    return is_prompt_file(entry) or _take_name(entry) in sources
