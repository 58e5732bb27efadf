"""Builder of the shipped table of word similarities: ``python make_wu_palmer.py WORDNET_FOLDER``.

WORDNET_FOLDER holds the files of WordNet 3.0 (Debian packages them as wordnet-base). This module needs nltk, which
computes Wu and Palmer's similarity; the rest of the package does not.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

from t2i_tiam.labels import LABELS

_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))
"""Substitute for WordNet's list of its 45 lexicographer files.

NLTK's reader requires the list, and some distributions omit it. The similarity does not depend on the file names.
"""


def compute_similarities(wordnet: Path) -> list[tuple[str, str, str]]:
    """Compute Wu and Palmer's similarity of every pair of labels.

    Args:
        wordnet: The folder of WordNet 3.0.

    Returns:
        The two names and the similarity with six digits, in the order of the labels.
    """
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # NLTK opens only corpora on its own search path.
        nltk.data.path.insert(0, folder)
        corpus = Path(folder) / "corpora" / "wordnet"
        shutil.copytree(wordnet, corpus)
        if not (corpus / "lexnames").exists():
            (corpus / "lexnames").write_text(_LEXNAMES)
        reader: Any = WordNetCorpusReader(str(corpus), None)
        synsets = {name: reader.synset(label.synset) for name, label in LABELS.items()}
        return [(a, b, f"{synsets[a].wup_similarity(synsets[b]):.6f}") for a, b in combinations(LABELS, 2)]


def main() -> None:
    """Write the table into the package."""
    with (Path(__file__).parents[1] / "t2i_tiam" / "data" / "wu-palmer.csv").open(
        "w", newline="", encoding="utf-8"
    ) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("a", "b", "similarity"))
        writer.writerows(compute_similarities(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
