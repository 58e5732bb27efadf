"""Make the package's data: ``python -m t2i_wordnet_hypernymy.make_nouns WORDNET_FOLDER WNIDS TAXONOMY``.

WORDNET_FOLDER holds the files of WordNet 3.0 (Debian's packages wordnet-base and wordnet-sense-index have them).
WNIDS lists ImageNet-1k's classes (timm's imagenet_synsets.txt), TAXONOMY is the mini world's taxonomy.json. Needs
nltk, whose reader gives the synsets their names; the package itself does not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .wordnet import IMAGENET, MINI, NOUNS

#: NLTK's reader wants the list of WordNet's 45 lexicographer files, which some distributions leave out. Names of
#: files have no part in a taxonomy.
_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))


@contextmanager
def reader(wordnet: Path) -> Iterator[Any]:
    """NLTK's reader of WordNet's files."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # The reader opens nothing but corpora on NLTK's own path.
        nltk.data.path.insert(0, folder)
        corpus = Path(folder) / "corpora" / "wordnet"
        shutil.copytree(wordnet, corpus)
        if not (corpus / "lexnames").exists():
            (corpus / "lexnames").write_text(_LEXNAMES)
        yield WordNetCorpusReader(str(corpus), None)


def arrays(wordnet: Any) -> dict[str, np.ndarray]:
    """Return the nouns as arrays.

    names, lemmas, definitions:  uint8, UTF-8, a line a synset; lemmas as WordNet writes them, blanks between
    starts, parents:             int32: the hypernyms of synset i are parents[starts[i]:starts[i + 1]], ascending
    """
    synsets = sorted(wordnet.all_synsets("n"), key=lambda s: s.offset())
    number = {s.name(): i for i, s in enumerate(synsets)}
    above = [sorted(number[h.name()] for h in s.hypernyms()) for s in synsets]  # the reader gives them in no order
    return {
        "names": _lines(s.name() for s in synsets),
        "lemmas": _lines(" ".join(s.lemma_names()) for s in synsets),
        "definitions": _lines(s.definition() for s in synsets),
        "starts": np.cumsum([0, *map(len, above)], dtype=np.int32),
        "parents": np.array([parent for parents in above for parent in parents], np.int32),
    }


def _lines(texts: Iterator[str]) -> np.ndarray:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def main() -> None:
    """Write the files that the package carries."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("wordnet", "wnids", "taxonomy"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    leaves = json.loads(given.taxonomy.read_text())
    with reader(given.wordnet) as wordnet:
        np.savez_compressed(NOUNS, **arrays(wordnet))
        wnids = given.wnids.read_text().split()
        classes = [wordnet.synset_from_pos_and_offset("n", int(wnid[1:])).name() for wnid in wnids]
    IMAGENET.write_text("\n".join(classes) + "\n")
    MINI.write_text("\n".join(sorted({*leaves, *(s for above in leaves.values() for s in above)})) + "\n")
    for file in (NOUNS, IMAGENET, MINI):
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
