"""The prompt sources `geneval` and `geneval-mini`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt
from t2i_core.io.text_file import read_text
from t2i_torch_support.geneval_records import find_class, make_prompt

from .mini_world import CLASSES, MINI
from .options import PromptOptions
from .prompt_builder import COCO, Record
from .tasks import TAG


def read_geneval(setup: Setup[PromptOptions]) -> Iterator[Prompt]:
    """Yield GenEval's prompts, or those of a file of records in its format."""
    own = make_prompts(COCO.build()) if setup.argument is None else _read_file(Path(setup.argument).expanduser())
    return _select_tasks(own, setup.options)


def read_mini(setup: Setup[PromptOptions]) -> Iterator[Prompt]:
    """Yield prompts of GenEval's tasks about the mini world."""
    return _select_tasks(make_prompts(MINI.build(), CLASSES.__getitem__), setup.options)


def _select_tasks(prompts: Iterable[Prompt], options: PromptOptions) -> Iterator[Prompt]:
    return (prompt for prompt in prompts if not options.tasks or prompt.facets.get(TAG) in options.tasks)


def make_prompts(records: Iterable[Record], find: Callable[[str], ObjectClass] = find_class) -> Iterator[Prompt]:
    """Yield the prompts of records, with their numbers as ids, like the folders of GenEval's images."""
    for number, record in enumerate(records):
        yield make_prompt(f"{number:05d}", record, find)


def _read_file(path: Path) -> Iterator[Prompt]:
    """Yield the prompts of a file with a record in each line.

    Raises:
        BadPrompts: If it cannot be read, a line is not a record, or it has no line.
    """
    number = 0
    for count, line in enumerate(read_text(path, BadPrompts).splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield make_prompt(f"{number:05d}", json.loads(line))
        except json.JSONDecodeError as error:
            raise BadPrompts(f"{path}, line {count}: not JSON; write a record of GenEval's metadata") from error
        except (ValueError, RecursionError) as error:
            raise BadPrompts(f"{path}, line {count}: {error}; write a record of GenEval's metadata") from error
        number += 1
    if not number:
        raise BadPrompts(f"{path}: has no prompt; write a record of GenEval's metadata in each line")
