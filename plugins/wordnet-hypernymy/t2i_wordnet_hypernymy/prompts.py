"""Prompts from synsets: the papers' lists of prompts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from t2i_core.api.errors import BadPrompts
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import ObjectClass, Prompt, Scene, SceneObject

from .concepts_file import read_random_split
from .leaves import Leaves, node_of
from .metrics import taxonomy_of
from .options import LabelOptions, NearLeafOptions, PhraseOptions, RandomOptions, SynsetPromptOptions
from .taxonomy import Taxonomy
from .taxonomy_file import is_synset
from .templates import text_of
from .wordnet import imagenet_classes, mini_world, nouns

EASY_ROOTS = (
    "coin.n.01", "chromatic_color.n.01", "coat.n.01", "jewelry.n.01", "furniture.n.01", "pasta.n.02",
    "cheese.n.01", "room.n.01", "meat.n.01", "wine.n.01", "dinosaur.n.01", "candy.n.01", "beverage.n.01",
    "cloak.n.02", "doll.n.01", "pie.n.01", "drum.n.01", "makeup.n.01", "movie.n.01", "child's_game.n.01",
    "trouser.n.01", "guitar.n.01",
)  # fmt: skip
"""The 22 roots of Easy Concepts."""

COMPARED = (
    "frog.n.01", "clock.n.01", "oven.n.01", "monkey.n.01", "knife.n.01", "wolf.n.01", "pan.n.01", "boat.n.01",
    "wheel.n.01", "shark.n.01", "whale.n.02", "fruit.n.01", "turtle.n.02", "hat.n.01", "vegetable.n.01",
    "pot.n.01", "flower.n.01", "duck.n.01", "chair.n.01", "spider.n.01",
)  # fmt: skip
"""The synsets whose images people compared (hypernymy paper, section 4.3): the paper's words near a class."""

RELATIONS = ("hypernymy", "hyponymy", "mixing")
RELATION_ODDS = (0.8, 0.1, 0.1)


def prompt_of(taxonomy: Taxonomy, synset: str, options: SynsetPromptOptions, **facets: str) -> Prompt:
    """Return the prompt of a synset; its id is the synset."""
    lemma = taxonomy.lemmas(synset)[0]
    return Prompt(
        id=synset,
        text=text_of(lemma, taxonomy.definition(synset) if options.definition else "", options.template),
        scene=Scene((SceneObject(ObjectClass(lemma, synset if is_synset(synset) else None)),)),
        facets=facets,
    )


def _leaves(taxonomy: Taxonomy, labels: tuple[ObjectClass, ...] | None) -> tuple[ObjectClass, ...]:
    """Return the judge's classes, or ImageNet-1k's if the run has no classifier."""
    if labels is not None:
        return labels
    return tuple(ObjectClass(nouns().lemmas(synset)[0], synset) for synset in imagenet_classes())


def above_labels(setup: Setup[LabelOptions]) -> Iterator[Prompt]:
    """Yield a prompt for every synset above a class of the judge: 860 for ImageNet-1k."""
    taxonomy = taxonomy_of(setup.options.taxonomy)
    for synset in Leaves.of(taxonomy, _leaves(taxonomy, setup.labels)).evaluated:
        yield prompt_of(taxonomy, synset, setup.options)


def of_mini_world(setup: Setup[SynsetPromptOptions]) -> Iterator[Prompt]:
    """Yield a prompt for every synset of the mini world above a class of the judge.

    Without a classifier, yield prompts for all synsets above the mini world's leaves.
    """
    taxonomy, synsets = nouns(), mini_world()
    if setup.labels is None:
        above = {parent for synset in synsets for parent in taxonomy.hypernyms(synset)}
        chosen: Iterable[str] = sorted(above, key=taxonomy.number)
    else:
        chosen = [s for s in Leaves.of(taxonomy, setup.labels).evaluated if s in synsets]
    for synset in chosen:
        yield prompt_of(taxonomy, synset, setup.options)


def near_leaf(setup: Setup[NearLeafOptions]) -> Iterator[Prompt]:
    """Yield prompts for the synsets close above a class, all of them or a random sample.

    References:
        Hypernymy paper, Appendix C.
    """
    options = setup.options
    taxonomy = taxonomy_of(options.taxonomy)
    labels = _leaves(taxonomy, setup.labels)
    evaluated = Leaves.of(taxonomy, labels).evaluated
    reached = {node for label in labels if (node := node_of(taxonomy, label)) is not None}
    near: set[str] = set()
    for _ in range(options.distance):
        reached = {parent for node in reached for parent in taxonomy.hypernyms(node)}
        near |= reached
    synsets = [s for s in evaluated if s in near]
    if options.count is not None and options.count < len(synsets):
        drawn = np.random.default_rng(options.seed).choice(len(synsets), options.count, replace=False)
        synsets = [synsets[i] for i in sorted(drawn.tolist())]
    for synset in synsets:
        yield prompt_of(taxonomy, synset, options)


def compared_by_people(setup: Setup[SynsetPromptOptions]) -> Iterator[Prompt]:
    """Yield prompts for the 20 synsets whose images people compared in the hypernymy paper."""
    for synset in COMPARED:
        yield prompt_of(nouns(), synset, setup.options)


def easy_concepts(setup: Setup[PhraseOptions]) -> Iterator[Prompt]:
    """Yield prompts for the roots of Easy Concepts and the synsets directly below each: 483 prompts."""
    for root in EASY_ROOTS:
        for synset in (root, *nouns().hyponyms(root)):
            yield prompt_of(nouns(), synset, setup.options, subset="easy", root=root)


def all_nouns(setup: Setup[PhraseOptions]) -> Iterator[Prompt]:
    """Yield a prompt for every noun synset of WordNet 3.0."""
    for synset in nouns().names:
        yield prompt_of(nouns(), synset, setup.options)


def random_split(setup: Setup[RandomOptions]) -> Iterator[Prompt]:
    """Yield prompts for a random sample of edges and nodes of WordNet, no synset twice, or for a published one.

    The prompt of an edge asks for the narrower synset (hypernymy) or the broader one (hyponymy). Mixing samples
    synsets with two hypernyms or more.

    Raises:
        BadPrompts: WordNet has fewer items of a relation than the options request.
    """
    if setup.argument is not None:
        yield from read_random_split(setup)
        return
    options = setup.options
    rng = np.random.default_rng(options.seed)
    if options.drawn is None:
        wanted = [relation for relation in RELATIONS for _ in range(getattr(options, relation))]
    else:
        wanted = [RELATIONS[i] for i in rng.choice(3, options.drawn, p=RELATION_ODDS)]
    # each candidate appears once for each of its edges, in random order
    waiting = {relation: list(rng.permutation(_candidates()[relation])) for relation in RELATIONS}
    taken: set[int] = set()
    for relation in wanted:
        while waiting[relation] and waiting[relation][-1] in taken:
            waiting[relation].pop()
        if not waiting[relation]:
            raise BadPrompts(
                f"wordnet-random: WordNet has fewer than {wanted.count(relation)} items of {relation}; "
                "ask for fewer"
            )
        number = int(waiting[relation].pop())
        taken.add(number)
        yield prompt_of(nouns(), nouns().names[number], options, subset=relation)


@cache
def _candidates() -> dict[str, np.ndarray]:
    counts = np.diff(nouns().starts)
    return {
        "hypernymy": np.repeat(np.arange(len(counts)), counts),
        "hyponymy": np.asarray(nouns().parents),
        "mixing": np.flatnonzero(counts > 1),
    }
