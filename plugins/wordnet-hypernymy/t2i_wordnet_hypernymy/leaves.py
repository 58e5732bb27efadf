"""A judge's classes as leaves of a taxonomy: the set A(s) below each synset, and what is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.errors import BadPrompts
from t2i_core.api.prompt import ObjectClass

from .taxonomy import Taxonomy


@dataclass(frozen=True, eq=False)
class Leaves:
    """What lies below each synset.

    below:       by synset, A(s): the judge's classes at or below it, ascending indices without duplicates
    evaluated:   the synsets above a class, classes themselves left out, in the taxonomy's order
    normaliser:  mean of ln|A(s)| over the evaluated synsets with several classes; NaN where there are none
    """

    below: Mapping[str, NDArray[np.intp]]
    evaluated: tuple[str, ...]
    normaliser: float

    @classmethod
    def of(cls, taxonomy: Taxonomy, labels: Sequence[ObjectClass]) -> Leaves:
        """Find them. Raises BadPrompts where the taxonomy has none of the classes."""
        below: dict[str, list[int]] = {}
        nodes = [node_of(taxonomy, label) for label in labels]
        for index, node in enumerate(nodes):
            for synset in (node, *taxonomy.closure(node)) if node is not None else ():
                below.setdefault(synset, []).append(index)
        if not below:
            some = ", ".join(label.synset or label.name for label in labels[:3])
            whose = f"the taxonomy {taxonomy.file}" if taxonomy.file is not None else "the taxonomy"
            raise BadPrompts(
                f"{whose} has none of the judge's {len(labels)} classes ({some}, ...); want a judge whose classes "
                "stand there by their synset or name"
            )
        evaluated = sorted(below.keys() - set(nodes), key=taxonomy.number)
        logs = [log(len(below[s])) for s in evaluated if len(below[s]) > 1]
        return cls(
            {synset: np.array(indices, np.intp) for synset, indices in below.items()},
            tuple(evaluated),
            float(np.mean(logs)) if logs else float("nan"),
        )


def node_of(taxonomy: Taxonomy, cls: ObjectClass) -> str | None:
    """A class's node: by its synset, or else by its name, in which blanks may stand as underscores."""
    names: Iterable[str | None] = (cls.synset, cls.name, cls.name.replace(" ", "_"))
    return next((name for name in names if name is not None and name in taxonomy), None)


def asked_node(taxonomy: Taxonomy, cls: ObjectClass) -> str:
    """The same for a class that has to be there. Raises BadPrompts."""
    node = node_of(taxonomy, cls)
    if node is None:
        raise taxonomy.unknown(cls.synset or cls.name)
    return node
