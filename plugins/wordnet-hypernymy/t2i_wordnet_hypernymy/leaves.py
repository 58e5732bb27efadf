"""A judge's classes as leaves of a taxonomy: the set A(s) below each synset, and the synsets to evaluate."""

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
    """The judge's classes below each synset.

    Attributes:
        below: A(s) for each synset: indices of the judge's classes at or below it, ascending, without duplicates.
        evaluated: The synsets above a class, without the classes themselves, in the taxonomy's order.
        normaliser: Mean of ln|A(s)| over the evaluated synsets with several classes; NaN without one.
    """

    below: Mapping[str, NDArray[np.intp]]
    evaluated: tuple[str, ...]
    normaliser: float

    @classmethod
    def of(cls, taxonomy: Taxonomy, labels: Sequence[ObjectClass]) -> Leaves:
        """Find the judge's classes in a taxonomy.

        Raises:
            BadPrompts: The taxonomy contains none of the classes.
        """
        below: dict[str, list[int]] = {}
        nodes = [node_of(taxonomy, label) for label in labels]
        for index, node in enumerate(nodes):
            for synset in (node, *taxonomy.closure(node)) if node is not None else ():
                below.setdefault(synset, []).append(index)
        if not below:
            some = ", ".join(label.synset or label.name for label in labels[:3])
            where = f"the taxonomy {taxonomy.file}" if taxonomy.file is not None else "the taxonomy"
            raise BadPrompts(
                f"{where} has none of the judge's {len(labels)} classes ({some}, ...); choose a judge whose "
                "classes are in the taxonomy by synset or name"
            )
        evaluated = sorted(below.keys() - set(nodes), key=taxonomy.number)
        logs = [log(len(below[s])) for s in evaluated if len(below[s]) > 1]
        return cls(
            {synset: np.array(indices, np.intp) for synset, indices in below.items()},
            tuple(evaluated),
            float(np.mean(logs)) if logs else float("nan"),
        )


def node_of(taxonomy: Taxonomy, cls: ObjectClass) -> str | None:
    """Return the node of a class, by its synset or else its name, with spaces or underscores; None if unknown."""
    names: Iterable[str | None] = (cls.synset, cls.name, cls.name.replace(" ", "_"))
    return next((name for name in names if name is not None and name in taxonomy), None)


def asked_node(taxonomy: Taxonomy, cls: ObjectClass) -> str:
    """Return the node of a class that the taxonomy must contain.

    Raises:
        BadPrompts: The taxonomy does not contain the class.
    """
    node = node_of(taxonomy, cls)
    if node is None:
        raise taxonomy.unknown(cls.synset or cls.name)
    return node
