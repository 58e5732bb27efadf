"""Number of tokens of a prompt that a text encoder truncates, measured in the pipeline's own tokenizers.

Every pipeline has its own limit, cleans texts in its own way and adds its own words. Therefore this module records
what the pipeline's tokenizers cut off while the pipeline encodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

_Call = list[tuple[str, int]]
"""The texts that a tokenizer was called with, each with the number of tokens it lost."""


class Tokenizers:
    """The tokenizers of a pipeline by name, recording truncations."""

    def __init__(self, pipes: Sequence[Any]) -> None:
        self._cuts: dict[str, list[_Call]] = {}
        for name, tokenizer in (pair for pipe in pipes for pair in _tokenizers(pipe)):
            if "t2i_cut" not in vars(tokenizer):
                tokenizer.t2i_cut = []
                tokenizer.__class__ = _make_listening(type(tokenizer))  # type: ignore[arg-type]  # a class can be hashed
            self._cuts[_make_unique_name(name, self._cuts)] = tokenizer.t2i_cut

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Forget earlier truncations."""
        for cut in self._cuts.values():
            cut.clear()
        yield

    def count_lost(self, prompts: Sequence[str], others: Sequence[str] = ()) -> list[dict[str, int]]:
        """Return, for each prompt of the batch, the number of lost tokens by tokenizer, if there are any.

        `others` are further texts (negative prompts), whose truncation does not count.
        """
        of_prompts = _sort(prompts, others)
        per_image: list[dict[str, int]] = [{} for _ in prompts]
        for name, cut in self._cuts.items():
            for lost in _batches(([n for text, n in call if of_prompts(text)] for call in cut), len(prompts)):
                for own, number in zip(per_image, lost, strict=True):
                    if number > own.get(name, 0):
                        own[name] = number
        return per_image


def record(lost: Mapping[str, int]) -> dict[str, Any]:
    """Return the entries for an image's record: the largest number of lost tokens, and the number by tokenizer."""
    if not lost:
        return {"tokens_lost": 0}
    return {"tokens_lost": max(lost.values()), "tokens_lost_by": dict(lost)}


def _sort(prompts: Sequence[str], others: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a text comes from a prompt, by the longest known text within it.

    Pipelines clean texts and add words, so only letters and digits are compared. A text that contains no known
    text counts as a prompt's.
    """
    of_prompts = {_strip(text) for text in prompts}
    known = sorted((of_prompts | {_strip(text) for text in others}) - {""}, key=len, reverse=True)

    def from_prompt(text: str) -> bool:
        bare = _strip(text)
        return next((k for k in known if k in bare), None) in {None, *of_prompts}

    return from_prompt


def _strip(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _batches(calls: Iterable[list[int]], images: int) -> Iterator[list[int]]:
    """Yield the losses with one text per image; join texts that came one by one first."""
    single: list[int] = []
    for lost in calls:
        if len(lost) == images:
            yield lost
        elif len(lost) == 1:
            single += lost
            if len(single) == images:
                yield single
                single = []


def _tokenizers(pipe: Any) -> Iterator[tuple[str, Any]]:
    """Yield a pipeline's tokenizers, including those inside processors."""
    for name, part in pipe.components.items():
        if name.startswith(("tokenizer", "processor")) and part is not None:
            yield name, getattr(part, "tokenizer", part)


def _make_unique_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a unique name; a tokenizer whose name another stage uses gets a number."""
    names = [name, *(f"{name}_of_stage_{i}" for i in range(2, 5))]
    return next(n for n in names if n not in taken)


@cache
def _make_listening(cls: type) -> type:
    """Return a subclass of a tokenizer's class that records what truncation cuts off."""

    def call(self: Any, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = cls.__call__(self, text, *args, **kwargs)
        if kwargs.get("truncation") and text is not None:
            texts = [text] if isinstance(text, str) else list(text)
            limit = kwargs.get("max_length") or self.model_max_length
            special = kwargs.get("add_special_tokens", True)
            whole = cls.__call__(self, texts, add_special_tokens=special, verbose=False)["input_ids"]
            cut = [max(0, len(ids) - limit) for ids in whole]
            self.t2i_cut.append(list(zip(texts, cut, strict=True)))
        return result

    return type(cls.__name__, (cls,), {"__call__": call, "__module__": cls.__module__, "__doc__": cls.__doc__})
