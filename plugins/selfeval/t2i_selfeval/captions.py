"""The right captions of samples as prompts: to generate from, for people to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from t2i_core.api.prompt import Prompt


def right_captions(samples: Iterable[Prompt]) -> Iterator[Prompt]:
    """Yield each right caption once, under the id of the first sample that has it, without images.

    Of a pair both captions are right: the second's id ends in `-2`.
    """
    seen: set[str] = set()
    for sample in samples:
        captions = sample.texts if len(sample.images) > 1 else (sample.text,)
        for number, caption in enumerate(captions):
            if caption not in seen:
                seen.add(caption)
                name = sample.id if number == 0 else f"{sample.id}-{number + 1}"
                yield replace(sample, id=name, text=caption, images=(), texts=(), answer=None)
