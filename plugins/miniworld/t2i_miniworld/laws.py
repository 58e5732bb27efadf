"""What is drawn where a prompt leaves it open: the sub-kind of a class, and what a human wears.

Each law is given by its probabilities, which a validation can read, and each choice has its own random stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from t2i_core.api.prompt import ObjectClass

from t2i_miniworld.classes import KINDS
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.streams import stream
from t2i_miniworld.taxonomy import leaves_under, synset_of
from t2i_miniworld.vocabulary import HAIR, HAT, LEAVES, SUBKINDS

Hyponyms = Literal["uniform", "fixed", "skewed"]
T = TypeVar("T")

#: The attributes of a human, and the values of each.
ATTRIBUTES: dict[str, tuple[str, ...]] = {"coat": tuple(PAINTS), "hat": HAT, "hair": HAIR}


@dataclass(frozen=True)
class Skew:
    """An attribute that takes one value with probability ``rate``; the others share the rest evenly."""

    attribute: str
    value: str
    rate: float


@dataclass(frozen=True)
class Laws:
    """How a simulated model chooses: among the leaves of a class, and among values of attributes left open."""

    hyponyms: Hyponyms = "uniform"
    skews: tuple[Skew, ...] = ()
    salt: int = 0


def leaf_probabilities(laws: Laws, cls: ObjectClass) -> dict[str, float]:
    """Probability of each of the leaves under a class.

    ``uniform``: all alike. ``fixed``: one leaf always, which class and salt choose. ``skewed``: Zipf's law,
    1/rank, in an order that class and salt choose.
    """
    leaves = leaves_under(cls)
    if laws.hyponyms == "uniform":
        return dict.fromkeys(leaves, 1 / len(leaves))
    order = stream("leaf-order", synset_of(cls) or cls.name, laws.salt).permutation(len(leaves))
    weights = [1 / (rank + 1) if laws.hyponyms == "skewed" else float(rank == 0) for rank in order.tolist()]
    return {leaf: weight / sum(weights) for leaf, weight in zip(leaves, weights, strict=True)}


def attribute_probabilities(laws: Laws, attribute: str) -> dict[str, float]:
    """Probability of each value of an attribute that a prompt leaves open."""
    values = ATTRIBUTES[attribute]
    skew = next((skew for skew in laws.skews if skew.attribute == attribute), None)
    if skew is None:
        return dict.fromkeys(values, 1 / len(values))
    return {value: skew.rate if value == skew.value else (1 - skew.rate) / (len(values) - 1) for value in values}


def choose(probabilities: Mapping[T, float], *key: str | int) -> T:
    """One of the keys, by its probability: a pure function of ``key``."""
    options = list(probabilities)
    return options[stream(*key).choice(len(options), p=list(probabilities.values()))]


def dress(leaf: str, asked: Mapping[str, str], laws: Laws, *key: str | int) -> tuple[str, str | None]:
    """Form and coat (a human's alone) of a thing of this leaf: as ``asked``, by the laws where that is open."""
    if LEAVES[leaf] != "human":
        forms = forms_of(leaf)
        return choose(dict.fromkeys(forms, 1 / len(forms)), "form", *key), None
    worn = {
        attribute: asked.get(attribute) or choose(attribute_probabilities(laws, attribute), attribute, *key)
        for attribute in ATTRIBUTES
    }
    return worn["hair"] + ("-hat" if worn["hat"] == "yes" else ""), worn["coat"]


def worn(form: str) -> dict[str, str]:
    """The attributes that a human's form has: hat and hair."""
    hair, _, hat = form.partition("-")
    return {"hat": "yes" if hat else "no", "hair": hair}


def forms_of(leaf: str) -> tuple[str, ...]:
    """The bodies that things of this leaf may have."""
    kind = LEAVES[leaf]
    return SUBKINDS.get(kind, {}).get(leaf, KINDS[kind].forms)


def leaf_of(kind: str, form: str) -> str:
    """The leaf that a body belongs to."""
    return next(leaf for leaf in leaves_of(kind) if form in forms_of(leaf))


def leaves_of(kind: str) -> tuple[str, ...]:
    """The leaves of a kind."""
    return tuple(leaf for leaf, its in LEAVES.items() if its == kind)


def parse_skews(text: str) -> tuple[Skew, ...]:
    """Read ``ATTRIBUTE:VALUE:RATE``, several separated by commas. Raises ValueError with what is wrong."""
    skews = tuple(_parse_skew(part.strip()) for part in text.split(",")) if text.strip() else ()
    names = [skew.attribute for skew in skews]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is skewed twice")
    return skews


def _parse_skew(text: str) -> Skew:
    parts = text.split(":")
    if len(parts) != 3:
        raise ValueError(f"{text!r} is no ATTRIBUTE:VALUE:RATE, such as hat:yes:0.8")
    attribute, value, number = parts
    if attribute not in ATTRIBUTES:
        raise ValueError(f"{attribute!r} is no attribute; those are {_listed(ATTRIBUTES)}")
    if value not in ATTRIBUTES[attribute]:
        raise ValueError(f"{attribute} is never {value!r}; it is {_listed(ATTRIBUTES[attribute])}")
    try:
        rate = float(number)
    except ValueError:
        raise ValueError(f"{number!r} is no rate: a number between 0 and 1") from None
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate lies between 0 and 1, not at {number}")
    return Skew(attribute, value, rate)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
