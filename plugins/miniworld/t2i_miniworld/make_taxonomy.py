"""Make the mini world's part of WordNet: ``python -m t2i_miniworld.make_taxonomy WORDNET_FOLDER``.

WORDNET_FOLDER holds the files of WordNet 3.0 (data.noun, index.noun, ...). Needs nltk, which nothing else does.
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


def closures(wordnet: Any) -> dict[str, list[str]]:
    """Each leaf's ancestors over all paths of hypernyms and instance hypernyms, sorted, without itself."""
    found = {}
    for leaf in LEAVES:
        above = wordnet.synset(leaf).closure(lambda synset: synset.hypernyms() + synset.instance_hypernyms())
        found[leaf] = sorted({synset.name() for synset in above})
    return found


def lemmas(wordnet: Any, synsets: set[str]) -> dict[str, list[str]]:
    """What each synset is called: its first lemma, and those others of which it is the most frequent meaning.

    So a `good` is no refrigerator (commodity.n.01) and a `soul` no human.
    """
    found = {}
    for synset in sorted(synsets):
        first, *others = wordnet.synset(synset).lemma_names()
        usual = [lemma for lemma in others if wordnet.synsets(lemma, "n")[0].name() == synset]
        found[synset] = [lemma.replace("_", " ") for lemma in (first, *usual)]
    return found


def main() -> None:
    """Write the files that the package carries."""
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
