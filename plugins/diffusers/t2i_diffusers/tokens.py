"""How many tokens of a prompt a text encoder never saw, measured where the pipeline itself cuts.

Every pipeline has its own limit, its own cleaning of the text and its own words around it. So the pipeline's
tokenizers are made to remember what they cut off while it encodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

_Cut = list[list[int]]
"""Per call of a tokenizer, how many tokens each of its texts lost."""


class Tokenizers:
    """The tokenizers of a pipeline, by name, listening."""

    def __init__(self, pipes: Sequence[Any]) -> None:
        self._cuts: dict[str, _Cut] = {}
        for name, tokenizer in (pair for pipe in pipes for pair in _tokenizers(pipe)):
            if "t2i_cut" not in vars(tokenizer):
                tokenizer.t2i_cut = []
                tokenizer.__class__ = _listening(type(tokenizer))
            self._cuts[_free(name, self._cuts)] = tokenizer.t2i_cut

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Forget what was cut before."""
        for cut in self._cuts.values():
            cut.clear()
        yield

    def lost(self, images: int) -> list[dict[str, int]]:
        """Return for each image of the batch the tokens lost since, by tokenizer, where any are."""
        per_image: list[dict[str, int]] = [{} for _ in range(images)]
        for name, cut in self._cuts.items():
            for lost in _batches(cut, images):
                for own, number in zip(per_image, lost, strict=True):
                    if number > own.get(name, 0):
                        own[name] = number
        return per_image


def record(lost: Mapping[str, int]) -> dict[str, Any]:
    """Return what an image's record says: the most that any encoder lost, and which of them lost how many."""
    if not lost:
        return {"tokens_lost": 0}
    return {"tokens_lost": max(lost.values()), "tokens_lost_by": dict(lost)}


def _batches(cut: _Cut, images: int) -> Iterator[list[int]]:
    """Yield the calls that had a text per image; texts that came one by one are put together first."""
    single: list[int] = []
    for call in cut:
        if len(call) == images:
            yield call
        elif len(call) == 1:
            single += call
            if len(single) == images:
                yield single
                single = []


def _tokenizers(pipe: Any) -> Iterator[tuple[str, Any]]:
    """Yield a pipeline's tokenizers; that of a processor of texts and images is inside."""
    for name, part in pipe.components.items():
        if name.startswith(("tokenizer", "processor")) and part is not None:
            yield name, getattr(part, "tokenizer", part)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Another stage's tokenizer of the same name gets a number."""
    names = [name, *(f"{name}_of_stage_{i}" for i in range(2, 5))]
    return next(n for n in names if n not in taken)


@cache
def _listening(cls: type) -> type:
    """Return the class of tokenizers with ears: what a call with truncation cuts off is remembered."""

    def call(self: Any, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        result = cls.__call__(self, text, *args, **kwargs)
        if kwargs.get("truncation") and text is not None:
            texts = [text] if isinstance(text, str) else list(text)
            limit = kwargs.get("max_length") or self.model_max_length
            special = kwargs.get("add_special_tokens", True)
            whole = cls.__call__(self, texts, add_special_tokens=special, verbose=False)["input_ids"]
            self.t2i_cut.append([max(0, len(ids) - limit) for ids in whole])
        return result

    return type(cls.__name__, (cls,), {"__call__": call, "__module__": cls.__module__, "__doc__": cls.__doc__})
