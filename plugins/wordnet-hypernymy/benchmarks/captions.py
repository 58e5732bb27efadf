"""Time `t2i count-captions` on a million captions with two processes.

python plugins/wordnet-hypernymy/benchmarks/captions.py

Ends with one line and status 1 where it takes longer than a minute: this process's own time and half that of the
other two, so that what else runs beside does not count.
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
"""The bar."""


def write(path: Path, seed: int = 0) -> None:
    """Captions of words of WordNet, those of few letters more often, as short words are in texts."""
    words = sorted({word for line in nouns().lemma_lines for word in line.replace("_", " ").split(" ")}, key=len)
    ranks = np.random.default_rng(seed).zipf(1.2, (CAPTIONS // 1000, 1000, WORDS)) % len(words)
    with path.open("w", encoding="utf-8") as file:
        for part in ranks:
            file.writelines(" ".join([words[rank] for rank in caption]) + "\n" for caption in part.tolist())


def main() -> None:
    """Print the time; say where it misses its bar."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "captions.txt"
        write(path)
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
