"""Make the mini world's part of WordNet: ``python -m t2i_miniworld.make_taxonomy WORDNET_FOLDER``.

WORDNET_FOLDER holds the files of WordNet 3.0 (data.noun, index.noun, ...). Needs nltk, which nothing else does.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from t2i_miniworld.taxonomy import FILE
from t2i_miniworld.vocabulary import LEAVES

#: NLTK's reader wants the list of WordNet's 45 lexicographer files, which some distributions leave out. Names of
#: files have no part in a taxonomy.
_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))


def closures(wordnet: Path) -> dict[str, list[str]]:
    """Each leaf's ancestors over all paths of hypernyms and instance hypernyms, sorted, without itself."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # The reader opens nothing but corpora on NLTK's own path.
        nltk.data.path.insert(0, folder)
        corpus = Path(folder) / "corpora" / "wordnet"
        shutil.copytree(wordnet, corpus)
        if not (corpus / "lexnames").exists():
            (corpus / "lexnames").write_text(_LEXNAMES)
        reader = WordNetCorpusReader(str(corpus), None)
        found = {}
        for leaf in LEAVES:
            above = reader.synset(leaf).closure(lambda synset: synset.hypernyms() + synset.instance_hypernyms())
            found[leaf] = sorted({synset.name() for synset in above})
        return found


def main() -> None:
    """Write the file that the package carries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    FILE.write_text(json.dumps(closures(parser.parse_args().wordnet), indent=1) + "\n")
    print(FILE)


if __name__ == "__main__":
    main()
