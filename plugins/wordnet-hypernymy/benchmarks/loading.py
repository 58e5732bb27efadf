"""Time the graph of nouns: from a bare process to WordNet loaded, and to A(s) of ImageNet-1k's classes.

python plugins/wordnet-hypernymy/benchmarks/loading.py

Each time is that of a process of its own, for a graph is loaded once. Ends with one line and status 1 where it
takes longer than it may.
"""

from __future__ import annotations

import os
import subprocess
import sys

SECONDS = 0.5
"""The bar: seconds of processor time at most, the start of Python left out."""
ROUNDS = 3
"""Processes that are timed; the quickest counts, for other work beside makes times longer, never shorter."""

WORK = """
import time
start = time.process_time()
from t2i_core.api.prompt import ObjectClass
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, nouns
imported = time.process_time()
graph = nouns()
assert graph.closure("dog.n.01") and graph.cohyponyms("dog.n.01") and graph.lemmas("dog.n.01")
assert graph.definition("dog.n.01")
loaded = time.process_time()
assert len(Leaves.of(graph, [ObjectClass(name, name) for name in imagenet_classes()]).evaluated) == 860
print(imported - start, loaded - imported, time.process_time() - loaded)
"""


def measured() -> tuple[float, float, float]:
    """Seconds for the imports, for the graph with closure, cohyponyms, lemmas and definitions, and for A(s)."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True, env=alone)
    imports, graph, leaves = map(float, done.stdout.split())
    return imports, graph, leaves


def main() -> None:
    """Print the times; say where the graph misses its bar."""
    rounds = [measured() for _ in range(ROUNDS)]
    imports, graph, leaves = (min(times) for times in zip(*rounds, strict=True))
    print(f"seconds of processor time: imports {imports:.2f}, graph {graph:.2f}, A(s) of 860 synsets {leaves:.2f}")
    if (whole := imports + graph + leaves) > SECONDS:
        raise SystemExit(f"too slow: {whole:.2f} s until A(s) is there (at most {SECONDS:g})")


if __name__ == "__main__":
    main()
