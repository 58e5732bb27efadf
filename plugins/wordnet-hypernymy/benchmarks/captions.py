"""Time `t2i count-captions` on a million captions with two processes.

python plugins/wordnet-hypernymy/benchmarks/captions.py

Exits with one line and status 1 if it counts fewer captions in an hour of one core than it must. The time is the
processor time of this process and of the other two, so that other work on the machine does not count.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from t2i_wordnet_hypernymy.captions import count_captions
from t2i_wordnet_hypernymy.wordnet import nouns

CAPTIONS, WORDS, WORKERS = 1_000_000, 16, 2
AN_HOUR = 100_000_000
"""Least number of captions in an hour of one core."""


def write_captions(path: Path, seed: int = 0) -> None:
    """Write captions of WordNet's words, short ones more often, as in real texts, and a tenth in the plural."""
    words = sorted({word for line in nouns().lemma_lines for word in line.replace("_", " ").split(" ")}, key=len)
    rng = np.random.default_rng(seed)
    ranks = rng.zipf(1.2, (CAPTIONS // 1000, 1000, WORDS)) % len(words)
    plural = rng.random(ranks.shape) < 0.1
    with path.open("w", encoding="utf-8") as file:
        for part, own in zip(ranks.tolist(), plural.tolist(), strict=True):
            for caption, several in zip(part, own, strict=True):
                texts = (words[rank] + "s" * is_plural for rank, is_plural in zip(caption, several, strict=True))
                file.write(" ".join(texts) + "\n")


def main() -> None:
    """Print the rate, and exit with status 1 if it is below the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        write_captions(path)
        clock, own = time.monotonic(), time.process_time()
        counted = count_captions({"captions": [path]}, nouns(), WORKERS)["captions"]
        clock, own = time.monotonic() - clock, time.process_time() - own
    assert counted.captions == CAPTIONS
    assert sum(counted.counts.values()) > CAPTIONS
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own + used.ru_utime + used.ru_stime
    rate = counted.captions / seconds * 3600
    print(
        f"{counted.captions:,} captions of {WORDS} words: {seconds:.1f} s of one core, {rate / 1e6:.0f} million "
        f"an hour; {clock:.1f} s by the clock with {WORKERS} processes"
    )
    if rate < AN_HOUR:
        raise SystemExit(f"too slow: {rate / 1e6:.0f} million captions an hour of one core (at least 100)")


if __name__ == "__main__":
    main()
