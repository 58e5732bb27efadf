"""Make the package's data: ``python make_data.py WORDNET_FOLDER WNIDS TAXONOMY``.

WORDNET_FOLDER contains the files of WordNet 3.0, for example from Debian's packages wordnet-base and
wordnet-sense-index. WNIDS lists ImageNet-1k's classes (timm's imagenet_synsets.txt). TAXONOMY is the mini world's
taxonomy.json. This script needs nltk, whose reader names the synsets; the package itself does not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from t2i_wordnet_hypernymy.base_forms import inflect
from t2i_wordnet_hypernymy.wordnet import EXCEPTIONS, IMAGENET, MINI, NOUNS, VERBS

_LEXNAMES = "".join(f"{number:02d}\tfile{number:02d}\t1\n" for number in range(45))
"""List of WordNet's 45 lexicographer files, which NLTK's reader requires and some distributions omit.

The taxonomy does not depend on the names of these files.
"""


@contextmanager
def open_wordnet(wordnet: Path) -> Iterator[Any]:
    """Open WordNet's files with NLTK's reader."""
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    with tempfile.TemporaryDirectory() as folder:
        # the reader opens only corpora on NLTK's own path
        nltk.data.path.insert(0, folder)
        corpus = Path(folder) / "corpora" / "wordnet"
        shutil.copytree(wordnet, corpus)
        if not (corpus / "lexnames").exists():
            (corpus / "lexnames").write_text(_LEXNAMES)
        yield WordNetCorpusReader(str(corpus), None)


def make_arrays(wordnet: Any, part: str) -> dict[str, np.ndarray]:
    """Return the nouns or verbs as arrays.

    Args:
        wordnet: NLTK's reader.
        part: `n` or `v`.

    Returns:
        `names`, `lemmas` and `definitions`: uint8, UTF-8, one line per synset; lemmas as WordNet writes them,
        separated by spaces. `starts` and `parents`: int32; the hypernyms of synset i are
        parents[starts[i]:starts[i + 1]], ascending.
    """
    synsets = sorted(wordnet.all_synsets(part), key=lambda s: s.offset())
    number = {s.name(): i for i, s in enumerate(synsets)}
    above = [sorted(number[h.name()] for h in s.hypernyms()) for s in synsets]  # the reader does not sort them
    return {
        "names": _encode_lines(s.name() for s in synsets),
        "lemmas": _encode_lines(" ".join(s.lemma_names()) for s in synsets),
        "definitions": _encode_lines(s.definition() for s in synsets),
        "starts": np.cumsum([0, *map(len, above)], dtype=np.int32),
        "parents": np.array([parent for parents in above for parent in parents], np.int32),
    }


def write_compact(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays as `numpy.load` reads them, compressed with LZMA, which is a fifth smaller than deflate."""
    with zipfile.ZipFile(path, "w") as file:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # without the time, so that equal arrays give an equal file
            info.compress_type = zipfile.ZIP_LZMA
            with file.open(info, "w") as entry:
                np.lib.format.write_array(entry, array)


def check_base_forms(wordnet: Any) -> None:
    """Check that the package finds the same base forms of nouns as NLTK.

    Raises:
        AssertionError: A form has other base forms.
    """
    nouns = {name for name in wordnet.all_lemma_names("n") if not {"_", "-"} & set(name)}
    for form, bases in inflect(nouns).items():
        assert set(bases) == nouns & set(wordnet._morphy(form, "n")), form


def _encode_lines(texts: Iterator[str]) -> np.ndarray:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def main() -> None:
    """Write the package's data files."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("wordnet", "wnids", "taxonomy"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    leaves = json.loads(arguments.taxonomy.read_text())
    EXCEPTIONS.write_text((arguments.wordnet / "noun.exc").read_text())
    with open_wordnet(arguments.wordnet) as wordnet:
        np.savez_compressed(NOUNS, **make_arrays(wordnet, "n"))
        write_compact(VERBS, make_arrays(wordnet, "v"))
        check_base_forms(wordnet)
        wnids = arguments.wnids.read_text().split()
        classes = [wordnet.synset_from_pos_and_offset("n", int(wnid[1:])).name() for wnid in wnids]
    IMAGENET.write_text("\n".join(classes) + "\n")
    MINI.write_text("\n".join(sorted({*leaves, *(s for above in leaves.values() for s in above)})) + "\n")
    for file in (NOUNS, VERBS, EXCEPTIONS, IMAGENET, MINI):
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
