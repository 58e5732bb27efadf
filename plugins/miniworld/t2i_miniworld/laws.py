"""Laws by which the simulator chooses what a prompt leaves open: the leaf of a class, and what a human wears.

Each law is defined by its probabilities, which validations can read. Each choice has its own random stream.
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

#: Attributes of a human, with their values.
ATTRIBUTES: dict[str, tuple[str, ...]] = {"coat": tuple(PAINTS), "hat": HAT, "hair": HAIR}


@dataclass(frozen=True)
class Skew:
    """An attribute that takes one value with probability ``rate``; the other values share the rest equally."""

    attribute: str
    value: str
    rate: float


@dataclass(frozen=True)
class Laws:
    """Laws of a simulated model for the leaves of a class and the values of attributes."""

    hyponyms: Hyponyms = "uniform"
    skews: tuple[Skew, ...] = ()
    salt: int = 0


def leaf_probabilities(laws: Laws, cls: ObjectClass) -> dict[str, float]:
    """Return the probability of each leaf under a class.

    ``uniform``: all leaves are equally likely. ``fixed``: always the same leaf, chosen by class and salt.
    ``skewed``: Zipf's law, 1/rank, in an order chosen by class and salt.
    """
    leaves = leaves_under(cls)
    if laws.hyponyms == "uniform":
        return dict.fromkeys(leaves, 1 / len(leaves))
    order = stream("leaf-order", synset_of(cls) or cls.name, laws.salt).permutation(len(leaves))
    weights = [1 / (rank + 1) if laws.hyponyms == "skewed" else float(rank == 0) for rank in order.tolist()]
    return {leaf: weight / sum(weights) for leaf, weight in zip(leaves, weights, strict=True)}


def attribute_probabilities(laws: Laws, attribute: str) -> dict[str, float]:
    """Return the probability of each value of an attribute that a prompt leaves open."""
    values = ATTRIBUTES[attribute]
    skew = next((skew for skew in laws.skews if skew.attribute == attribute), None)
    if skew is None:
        return dict.fromkeys(values, 1 / len(values))
    return {value: skew.rate if value == skew.value else (1 - skew.rate) / (len(values) - 1) for value in values}


def choose(probabilities: Mapping[T, float], *key: str | int) -> T:
    """Choose one of the options by its probability. The choice depends only on ``key``."""
    options = list(probabilities)
    return options[stream(*key).choice(len(options), p=list(probabilities.values()))]


def dress(leaf: str, asked: Mapping[str, str], laws: Laws, *key: str | int) -> tuple[str, str | None]:
    """Return form and coat (humans only) of a thing of this leaf: as ``asked``, and by the laws otherwise."""
    if LEAVES[leaf] != "human":
        forms = forms_of(leaf)
        return choose(dict.fromkeys(forms, 1 / len(forms)), "form", *key), None
    worn = {
        attribute: asked.get(attribute) or choose(attribute_probabilities(laws, attribute), attribute, *key)
        for attribute in ATTRIBUTES
    }
    return worn["hair"] + ("-hat" if worn["hat"] == "yes" else ""), worn["coat"]


def worn(form: str) -> dict[str, str]:
    """Return the attributes of a human's form: hat and hair."""
    hair, _, hat = form.partition("-")
    return {"hat": "yes" if hat else "no", "hair": hair}


def forms_of(leaf: str) -> tuple[str, ...]:
    """Return the bodies that things of this leaf may have."""
    kind = LEAVES[leaf]
    return SUBKINDS.get(kind, {}).get(leaf, KINDS[kind].forms)


def leaf_of(kind: str, form: str) -> str:
    """Return the leaf that a body belongs to."""
    return next(leaf for leaf in leaves_of(kind) if form in forms_of(leaf))


def leaves_of(kind: str) -> tuple[str, ...]:
    """Return the leaves of a kind."""
    return tuple(leaf for leaf, its in LEAVES.items() if its == kind)


def parse_skews(text: str) -> tuple[Skew, ...]:
    """Parse skews, ``ATTRIBUTE:VALUE:RATE`` separated by commas.

    Raises:
        ValueError: If the text is not valid, or an attribute occurs twice.
    """
    skews = tuple(_parse_skew(part.strip()) for part in text.split(",")) if text.strip() else ()
    names = [skew.attribute for skew in skews]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"attribute {name!r} is given twice")
    return skews


def _parse_skew(text: str) -> Skew:
    parts = text.split(":")
    if len(parts) != 3:
        raise ValueError(f"{text!r} must be ATTRIBUTE:VALUE:RATE, such as hat:yes:0.8")
    attribute, value, number = parts
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}; the attributes are {_listed(ATTRIBUTES)}")
    if value not in ATTRIBUTES[attribute]:
        raise ValueError(f"{attribute} must be one of {_listed(ATTRIBUTES[attribute])} (got {value!r})")
    try:
        rate = float(number)
    except ValueError:
        raise ValueError(f"the rate must be a number between 0 and 1 (got {number!r})") from None
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate must be a number between 0 and 1 (got {number})")
    return Skew(attribute, value, rate)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
