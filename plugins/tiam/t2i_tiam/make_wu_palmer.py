"""Make the package's table of similarities: ``python -m t2i_tiam.make_wu_palmer WORDNET_FOLDER``.

WORDNET_FOLDER holds the files of WordNet 3.0 (Debian's package wordnet-base has them). Needs nltk, whose reader
computes Wu and Palmer's similarity; the package itself does not.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

from .labels import LABELS

#: NLTK's reader wants the list of WordNet's 45 lexicographer files, which some distributions leave out. Names of
#: files have no part in a taxonomy.
_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))


def similarities(wordnet: Path) -> list[tuple[str, str, str]]:
    """Return each two labels' names, in the labels' order, with their similarity in six digits."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # the reader opens nothing but corpora on NLTK's own path
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
    with (Path(__file__).parent / "data" / "wu-palmer.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("a", "b", "similarity"))
        writer.writerows(similarities(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
