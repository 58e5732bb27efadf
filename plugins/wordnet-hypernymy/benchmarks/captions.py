"""Time `t2i count-captions` on a million captions with two processes.

python plugins/wordnet-hypernymy/benchmarks/captions.py

Exits with one line and status 1 if it takes longer than a minute. The time is the processor time of this process
plus half that of the other two, so that other work on the machine does not count.
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
SECONDS = 60.0
"""Limit of the time."""


def write_captions(path: Path, seed: int = 0) -> None:
    """Write captions of WordNet's words, short words more often than long ones, as in real texts."""
    words = sorted({word for line in nouns().lemma_lines for word in line.replace("_", " ").split(" ")}, key=len)
    ranks = np.random.default_rng(seed).zipf(1.2, (CAPTIONS // 1000, 1000, WORDS)) % len(words)
    with path.open("w", encoding="utf-8") as file:
        for part in ranks:
            file.writelines(" ".join([words[rank] for rank in caption]) + "\n" for caption in part.tolist())


def main() -> None:
    """Print the time, and exit with status 1 if it exceeds the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        write_captions(path)
        clock, own = time.monotonic(), time.process_time()
        counts, captions = count_captions([path], nouns(), WORKERS)
        clock, own = time.monotonic() - clock, time.process_time() - own
    assert captions == CAPTIONS
    assert sum(counts.values()) > CAPTIONS
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own + (used.ru_utime + used.ru_stime) / WORKERS
    print(
        f"{captions:,} captions of {WORDS} words: {seconds:.1f} s with {WORKERS} cores, {clock:.1f} s by the clock"
    )
    if seconds > SECONDS:
        raise SystemExit(f"too slow: {seconds:.1f} s (at most {SECONDS:g})")


if __name__ == "__main__":
    main()
