"""The taxonomy: nouns and verbs with their direct hypernyms, in compact arrays."""

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
    """Directed acyclic graph of nouns and verbs.

    Attributes:
        names: Names of the nodes: `dog.n.01`, or any word in a user's own taxonomy.
        starts: Offsets into `parents`, int32 of shape (len(names) + 1,).
        parents: Indices of parents, int32; the parents of node i are parents[starts[i]:starts[i + 1]].
        lemma_lines: Lemmas of each node, separated by spaces, with underscores inside a lemma.
        definitions: Definition of each node, or empty.
        file: File of a user's own taxonomy, otherwise None.
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
        """Return `starts` and `parents` as lists, because slicing a list costs a third of slicing an array."""
        return self.starts.tolist(), self.parents.tolist()

    @cached_property
    def _below(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the offsets and indices of children, as `starts` and `parents` are those of parents."""
        children = np.repeat(np.arange(len(self)), np.diff(self.starts))
        order = np.argsort(self.parents, kind="stable")
        return np.searchsorted(self.parents[order], np.arange(len(self) + 1)), children[order]

    def number(self, name: str) -> int:
        """Return the index of a node.

        Raises:
            BadPrompts: The taxonomy does not contain the name.
        """
        found = self._number.get(name)
        if found is None:
            raise self.unknown(name)
        return found

    def unknown(self, name: str) -> BadPrompts:
        """Return the error for a name that the taxonomy does not contain."""
        near = did_you_mean(name, self.near(name))
        if self.file is None:
            return BadPrompts(f"{name!r} is not in the taxonomy{near}")
        advice = f"its own prompts are --prompts wordnet-imagenet -o wordnet-imagenet.taxonomy={self.file}"
        return BadPrompts(join_clauses((f"{name!r} is not in the taxonomy {self.file}{near}", advice)))

    def near(self, name: str) -> Iterable[str]:
        """Return the names that begin with the same two characters."""
        return (n for n in self.names if n[:2] == name[:2])

    def lemmas(self, name: str) -> tuple[str, ...]:
        """Return the lemmas of a node, the most common first."""
        return tuple(lemma.replace("_", " ") for lemma in self.lemma_lines[self.number(name)].split(" "))

    def definition(self, name: str) -> str:
        """Return the definition of a node; empty if it has none."""
        return self.definitions[self.number(name)]

    def hypernyms(self, name: str) -> tuple[str, ...]:
        """Return the nodes directly above, in the taxonomy's order."""
        starts, parents = self._above
        i = self.number(name)
        return tuple(self.names[p] for p in parents[starts[i] : starts[i + 1]])

    def hyponyms(self, name: str) -> tuple[str, ...]:
        """Return the nodes directly below, sorted by name."""
        starts, children = self._below
        i = self.number(name)
        return tuple(sorted(self.names[c] for c in children[starts[i] : starts[i + 1]].tolist()))

    def lowest(self) -> tuple[str, ...]:
        """Return the nodes with no node below, in the taxonomy's order."""
        starts, _ = self._below
        return tuple(self.names[i] for i in np.flatnonzero(np.diff(starts) == 0).tolist())

    def cohyponyms(self, name: str) -> tuple[str, ...]:
        """Return the children of each direct hypernym, which include the node itself once for each hypernym."""
        return tuple(other for above in self.hypernyms(name) for other in self.hyponyms(above))

    def closure(self, name: str) -> frozenset[str]:
        """Return all nodes above, over all paths, without the node itself."""
        starts, parents = self._above
        found: set[int] = set()
        open_nodes = [self.number(name)]
        while open_nodes:
            i = open_nodes.pop()
            new = set(parents[starts[i] : starts[i + 1]]) - found
            found |= new
            open_nodes.extend(new)
        return frozenset(self.names[i] for i in found)
