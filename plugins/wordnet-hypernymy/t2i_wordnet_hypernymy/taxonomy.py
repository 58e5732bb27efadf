"""A taxonomy: nouns and what is directly above each, as compact arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts, did_you_mean, join_clauses


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A directed graph without cycles.

    names:        of the nodes: `dog.n.01`, or any word of a user's own taxonomy
    starts:       int32 (len(names) + 1,)
    parents:      int32: what is directly above node i is parents[starts[i]:starts[i + 1]]
    lemma_lines:  what each node is called, blanks between words and underscores within
    definitions:  of the nodes; empty where there is none
    file:         where a user's own stands
    """

    names: Sequence[str]
    starts: NDArray[np.int32]
    parents: NDArray[np.int32]
    lemma_lines: Sequence[str]
    definitions: Sequence[str]
    file: Path | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._number

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _above(self) -> tuple[list[int], list[int]]:
        """starts and parents as lists, whose parts are had at a third of an array's cost."""
        return self.starts.tolist(), self.parents.tolist()

    @cached_property
    def _below(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Like starts and parents, for what is directly below."""
        children = np.repeat(np.arange(len(self)), np.diff(self.starts))
        order = np.argsort(self.parents, kind="stable")
        return np.searchsorted(self.parents[order], np.arange(len(self) + 1)), children[order]

    def number(self, name: str) -> int:
        """Return a node's number. Raises BadPrompts for a name that is not here."""
        found = self._number.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> BadPrompts:
        """What to say of a name that is not here."""
        near = did_you_mean(name, self.near(name))
        if self.file is None:
            return BadPrompts(f"{name!r} is not in the taxonomy{near}")
        own = (
            f"prompts that follow from it are --prompts wordnet-imagenet -o wordnet-imagenet.taxonomy={self.file}"
        )
        return BadPrompts(join_clauses((f"{name!r} is not in the taxonomy {self.file}{near}", own)))

    def near(self, name: str) -> Iterable[str]:
        """Names that begin alike."""
        return (n for n in self.names if n[:2] == name[:2])

    def lemmas(self, name: str) -> tuple[str, ...]:
        """What a node is called, the usual word first."""
        return tuple(lemma.replace("_", " ") for lemma in self.lemma_lines[self.number(name)].split(" "))

    def definition(self, name: str) -> str:
        """What a node means; empty where nothing is said."""
        return self.definitions[self.number(name)]

    def hypernyms(self, name: str) -> tuple[str, ...]:
        """The nodes directly above, in the taxonomy's order."""
        starts, parents = self._above
        i = self.number(name)
        return tuple(self.names[p] for p in parents[starts[i] : starts[i + 1]])

    def hyponyms(self, name: str) -> tuple[str, ...]:
        """The nodes directly below, by name."""
        starts, children = self._below
        i = self.number(name)
        return tuple(sorted(self.names[c] for c in children[starts[i] : starts[i + 1]].tolist()))

    def cohyponyms(self, name: str) -> tuple[str, ...]:
        """The nodes directly below each node directly above, itself among them, once for each that it is under."""
        return tuple(other for above in self.hypernyms(name) for other in self.hyponyms(above))

    def closure(self, name: str) -> frozenset[str]:
        """All nodes above, over all paths; the node itself is not among them."""
        starts, parents = self._above
        found: set[int] = set()
        open_nodes = [self.number(name)]
        while open_nodes:
            i = open_nodes.pop()
            new = set(parents[starts[i] : starts[i + 1]]) - found
            found |= new
            open_nodes.extend(new)
        return frozenset(self.names[i] for i in found)
