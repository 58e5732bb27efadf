"""Make the mini world's part of WordNet: ``python plugins/miniworld/training/make_taxonomy.py WORDNET_FOLDER``.

WORDNET_FOLDER contains the files of WordNet 3.0 (data.noun, index.noun, ...). This script needs nltk.
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

from t2i_miniworld import names
from t2i_miniworld.taxonomy import FILE
from t2i_miniworld.vocabulary import LEAVES

#: NLTK's reader needs the list of WordNet's 45 lexicographer files, which some distributions omit. The taxonomy
#: does not depend on these names.
_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))


@contextmanager
def reader(wordnet: Path) -> Iterator[Any]:
    """Return NLTK's reader of WordNet's files."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # The reader opens only corpora on NLTK's path.
        nltk.data.path.insert(0, folder)
        corpus = Path(folder) / "corpora" / "wordnet"
        shutil.copytree(wordnet, corpus)
        if not (corpus / "lexnames").exists():
            (corpus / "lexnames").write_text(_LEXNAMES)
        yield WordNetCorpusReader(str(corpus), None)


def closures(wordnet: Any) -> dict[str, list[str]]:
    """Return each leaf's ancestors over all paths of hypernyms and instance hypernyms, sorted, without itself."""
    found = {}
    for leaf in LEAVES:
        above = wordnet.synset(leaf).closure(lambda synset: synset.hypernyms() + synset.instance_hypernyms())
        found[leaf] = sorted({synset.name() for synset in above})
    return found


def lemmas(wordnet: Any, synsets: set[str]) -> dict[str, list[str]]:
    """Return the names of each synset: its first lemma, and the others of which it is the most frequent meaning.

    For example, `good` is not a name of a refrigerator (commodity.n.01), nor `soul` of a human.
    """
    found = {}
    for synset in sorted(synsets):
        first, *others = wordnet.synset(synset).lemma_names()
        usual = [lemma for lemma in others if wordnet.synsets(lemma, "n")[0].name() == synset]
        found[synset] = [lemma.replace("_", " ") for lemma in (first, *usual)]
    return found


def main() -> None:
    """Write the taxonomy's files in the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    with reader(parser.parse_args().wordnet) as wordnet:
        above = closures(wordnet)
        called = lemmas(wordnet, set(above).union(*above.values()))
    for file, content in ((FILE, above), (names.FILE, called)):
        file.write_text(json.dumps(content, indent=1) + "\n")
        print(file)


if __name__ == "__main__":
    main()
