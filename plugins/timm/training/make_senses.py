"""Generator of the table of senses: ``python plugins/timm/training/make_senses.py WORDNET_FOLDER``.

WORDNET_FOLDER holds `data.noun` and `index.noun` of WordNet 3.0 (in Debian's package wordnet-base). timm
identifies a class by its synset's offset and lemmas. A name such as crane.n.05 also needs the number of the sense:
it is the fifth noun sense of its first lemma in the order of `index.noun`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from t2i_timm.synsets import LISTS, SENSES, wnids


def read_senses(wordnet: Path) -> dict[str, int]:
    """Return each synset's sense number by its wnid: `n` and its offset in `data.noun`."""
    order: dict[str, list[str]] = {}
    for line in _entries(wordnet / "index.noun"):
        order[line[0]] = line[-int(line[2]) :]
    return {f"n{line[0]}": order[line[4].lower()].index(line[0]) + 1 for line in _entries(wordnet / "data.noun")}


def _entries(file: Path) -> list[list[str]]:
    """Return a file's lines as lists of words, without the indented licence at its start."""
    return [line.split() for line in file.read_text().splitlines() if not line.startswith("  ")]


def main() -> None:
    """Write the package's data file: a line for each of timm's synsets that is not a first sense."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wordnet", type=Path)
    number = read_senses(parser.parse_args().wordnet)
    listed = sorted({wnid for name in LISTS for wnid in wnids(name)})
    SENSES.write_text("".join(f"{wnid} {number[wnid]}\n" for wnid in listed if number[wnid] != 1))
    print(SENSES)


if __name__ == "__main__":
    main()
