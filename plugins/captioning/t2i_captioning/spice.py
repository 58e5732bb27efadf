"""SPICE by its jar, which the user provides together with Stanford CoreNLP.

References:
    Anderson et al.: SPICE: Semantic Propositional Image Caption Evaluation. ECCV 2016. arXiv:1607.08822
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from t2i_core.api.failure import Failure
from t2i_core.api.metric import SetMetric
from t2i_core.api.metric_input import Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup

from t2i_captioning.java import find_java, find_spice
from t2i_captioning.metrics import NEED, CaptionMetric, CaptionPair
from t2i_captioning.options import SpiceOptions
from t2i_captioning.ptb import tokenize
from t2i_captioning.references import tokenize_reference


class Spice(CaptionMetric, SetMetric):
    """The F score of the objects, attributes and relations that caption and references state, mean over images.

    The jar loads a parser for a minute, so all captions of a model are given to it at once.
    """

    options: SpiceOptions
    whole_prompts = True

    def __init__(self, setup: Setup[SpiceOptions]) -> None:
        super().__init__(setup)
        self._scores: dict[CaptionPair, float] = {}

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the mean score of a set of images."""
        notes: Counter[Note] = Counter()
        pairs = []
        for observed in unit.observed:
            references = map(tokenize_reference, self.list_references(observed.prompt))
            pairs.append(CaptionPair(tokenize(observed.one(NEED).text), tuple(references)))
            notes.update(self.list_notes(observed.prompt))
        if not pairs:
            yield Failure("no image has a caption")
            return
        if missing := [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]:
            self._scores |= dict(zip(missing, score_pairs(missing, self.options.jars), strict=True))
        for note, images in notes.items():  # t2i counts sets, and readers want to know the number of images
            yield Note(f"{images} images: {note.text}") if note.counted else note
        yield Row("spice", sum(self._scores[pair] for pair in pairs) / len(pairs))


def score_pairs(pairs: Sequence[CaptionPair], folder: Path) -> list[float]:
    """Return the F scores of captions by the jar in a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        asked, answered = Path(scratch) / "captions.json", Path(scratch) / "scores.json"
        asked.write_text(json.dumps(list_input(pairs)), encoding="utf-8")
        jar = find_spice(folder)
        command = [find_java(), "-Xmx8G", "-jar", jar.name, asked, "-out", answered, "-subset", "-silent"]
        ended = subprocess.run([str(word) for word in command], cwd=jar.parent, capture_output=True, check=False)
        if ended.returncode or not answered.is_file():
            said = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()
            raise RuntimeError(f"SPICE's jar failed ({said[-1] if said else 'no output'})")
        return read_output(json.loads(answered.read_text(encoding="utf-8")), len(pairs))


def list_input(pairs: Sequence[CaptionPair]) -> list[dict[str, Any]]:
    """Return the captions as the jar reads them, numbered in their order."""
    return [
        {"image_id": number, "test": pair.caption, "refs": list(pair.references)}
        for number, pair in enumerate(pairs)
    ]


def read_output(data: Any, count: int) -> list[float]:
    """Return the F scores over all tuples from the jar's output, in the order of the captions.

    Raises:
        ValueError: If the output is not SPICE's, or not of that many captions.
    """
    try:
        found = {int(entry["image_id"]): float(entry["scores"]["All"]["f"]) for entry in data}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"SPICE's output is not valid: {error!r}") from error
    if sorted(found) != list(range(count)):
        raise ValueError(f"SPICE must score {count} captions, got {len(found)}")
    return [found[number] for number in range(count)]
