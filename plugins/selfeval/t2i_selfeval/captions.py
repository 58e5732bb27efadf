"""Right captions of samples as prompts, for images that people compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from t2i_core.api.prompt import Prompt


def right_captions(samples: Iterable[Prompt]) -> Iterator[Prompt]:
    """Yield each distinct right caption as a prompt without images, with the id of the first sample that has it.

    Both captions of a pair are right; the id of the second ends in `-2`.
    """
    seen: set[str] = set()
    for sample in samples:
        captions = sample.texts if len(sample.images) > 1 else (sample.text,)
        for number, caption in enumerate(captions):
            if caption not in seen:
                seen.add(caption)
                name = sample.id if number == 0 else f"{sample.id}-{number + 1}"
                yield replace(sample, id=name, text=caption, images=(), texts=(), answer=None)
