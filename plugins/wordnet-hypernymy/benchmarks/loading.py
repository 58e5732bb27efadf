"""Time the graph of nouns and verbs: from a bare process to WordNet loaded, and to A(s) of ImageNet-1k's classes.

python plugins/wordnet-hypernymy/benchmarks/loading.py

Each measurement runs in a new process, because a process loads the graph once. Exits with one line and status 1 if
the time exceeds the limit.
"""

from __future__ import annotations

import os
import subprocess
import sys

SECONDS = 0.5
"""Limit of the processor time, without the start of Python."""
ROUNDS = 3
"""Number of processes to time. The quickest counts, because other work on the machine only makes times longer."""

WORK = """
import time
start = time.process_time()
from t2i_core.api.prompt import ObjectClass
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, wordnet
imported = time.process_time()
graph = wordnet()
assert graph.closure("dog.n.01") and graph.cohyponyms("dog.n.01") and graph.lemmas("dog.n.01")
assert graph.definition("dog.n.01")
loaded = time.process_time()
assert len(Leaves.of(graph, [ObjectClass(name, name) for name in imagenet_classes()]).evaluated) == 860
print(imported - start, loaded - imported, time.process_time() - loaded)
"""


def measure() -> tuple[float, float, float]:
    """Return the seconds for imports, for the graph (closure, cohyponyms, lemmas, definitions) and for A(s)."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True, env=alone)
    imports, graph, leaves = map(float, done.stdout.split())
    return imports, graph, leaves


def main() -> None:
    """Print the times, and exit with status 1 if they exceed the limit."""
    rounds = [measure() for _ in range(ROUNDS)]
    imports, graph, leaves = (min(times) for times in zip(*rounds, strict=True))
    print(f"seconds of processor time: imports {imports:.2f}, graph {graph:.2f}, A(s) of 860 synsets {leaves:.2f}")
    if (whole := imports + graph + leaves) > SECONDS:
        raise SystemExit(f"too slow: {whole:.2f} s until A(s) is there (at most {SECONDS:g})")


if __name__ == "__main__":
    main()
