"""Selection of an evaluation's prompts: loaded, checked, and sampled if a limit is set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..api.budget import Budget
from ..api.errors import BadPrompts, BrokenPlugin
from ..api.facet_levels import join_levels
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import PromptSourceInfo, Setup
from ..api.prompt import RESERVED, ObjectClass, Prompt, Scene, find_invalid_facet, is_writable
from ..api.prompt_question import PromptQuestion, find_repeated_id
from .component import Component


def load_prompts(
    source: Component[PromptSourceInfo],
    labels: tuple[ObjectClass, ...] | None,
    budget: Budget | None = None,
    offline: bool = False,
    dry: bool = False,
    plans_online: bool = False,
    prompts: tuple[Prompt, ...] | None = None,
) -> list[Prompt]:
    """Return a source's prompts.

    Args:
        source: The source.
        labels: The classes that the judge knows, if the source reads them.
        budget: What it may spend. If None, that is not limited.
        offline: True if nothing may be downloaded.
        dry: True if only the plan is wanted.
        plans_online: True if it is the plan of a run that may use the network.
        prompts: The prompts that it changes; None for a source of its own prompts.

    Raises:
        BrokenPlugin: If the source fails.
    """
    setup = source.setup(offline=offline, labels=labels, dry=dry)
    setup = replace(setup, budget=budget or setup.budget, plans_online=plans_online, prompts=prompts)
    return collect_prompts(source, source.info.prompts, setup)


def collect_prompts(
    component: Component[Any], read: Callable[[Setup[Any]], Iterable[Prompt]], setup: Setup[Any]
) -> list[Prompt]:
    """Read prompts from a plugin's function."""
    with guard_plugin(component, "to give its prompts"):
        prompts = list(read(setup))
    strange = next((p for p in prompts if not isinstance(p, Prompt)), None)
    if strange is not None:
        raise BrokenPlugin(f"{describe_component(component)} gave {type(strange).__name__}; it must give Prompt")
    return prompts


def check_prompts(prompts: Sequence[Prompt], name: str, dry: bool = False) -> tuple[Prompt, ...]:
    """Check a list of prompts.

    Args:
        prompts: The prompts.
        name: Their source, for messages.
        dry: True if their images need not exist yet.

    Returns:
        The prompts.

    Raises:
        BadPrompts: If the list is empty, ids are repeated, a value does not fit a table, or an image is missing.
    """
    if not prompts:
        raise BadPrompts(f"prompts {name!r}: the list is empty")
    twice = [i for i, n in Counter(p.id for p in prompts).items() if n > 1]
    if twice:
        texts = ", ".join(repr(p.text[:60]) for p in prompts if p.id == twice[0])
        raise BadPrompts(
            f"prompts {name!r}: several prompts have the id {twice[0]!r} ({texts}); give each its own, or give "
            "their sources the same options"
        )
    for p in prompts:
        if "\0" in p.text:
            raise BadPrompts(
                f"prompts {name!r}: the text {p.text[:60]!r} has a NUL character, which tables cannot store"
            )
        if not is_writable(p.id) or not is_writable(p.cluster_id):
            raise BadPrompts(
                f"prompts {name!r}: id or cluster of {p.id!r} has a NUL character or half a surrogate pair, which "
                "tables cannot store"
            )
        if not (isinstance(p.references, tuple) and all(isinstance(t, str) and t.strip() for t in p.references)):
            raise BadPrompts(
                f"prompts {name!r}: the references of {p.id!r} must be a tuple of texts, none of them blank"
            )
        if not (isinstance(p.questions, tuple) and all(isinstance(q, PromptQuestion) for q in p.questions)):
            raise BadPrompts(
                f"prompts {name!r}: the questions of {p.id!r} must be a tuple of PromptQuestion "
                "(t2i_core.api.prompt_question.parse_questions reads plain data)"
            )
        if (twice_asked := find_repeated_id(p.questions)) is not None:
            raise BadPrompts(
                f"prompts {name!r}: two questions of {p.id!r} have the id {twice_asked!r}; change one"
            )
        if not isinstance(p.scene, Scene | None):
            raise BadPrompts(
                f"prompts {name!r}: the scene of {p.id!r} is of type {type(p.scene).__name__}; it must be a Scene "
                "(Scene.from_json reads plain data)"
            )
        if (strange := find_invalid_facet(p.facets)) is not None:
            raise BadPrompts(f"prompts {name!r}: the facet {strange!r} of {p.id!r} is neither a text nor a number")
    hidden = next((name for p in prompts for name in p.facets if name in RESERVED), None)
    if hidden:
        raise BadPrompts(f"prompts {name!r}: the facet {hidden!r} has the name of a table's column; rename it")
    if not dry and (missing := next(find_missing_images(prompts), None)) is not None:
        raise BadPrompts(f"prompts {name!r}: image {missing} does not exist")
    return tuple(prompts)


def merge_sources(sources: Sequence[Sequence[Prompt]]) -> tuple[list[list[Prompt]], int]:
    """Make a prompt that is in several sources one prompt with the facets of all of them.

    Prompts of two sources are the same if only their facets differ. A facet with different texts gets the levels
    of all; prompts with different numbers of one facet stay apart. The merged prompt is in the first of its
    sources.

    Args:
        sources: The prompts of each source.

    Returns:
        The sources without repetitions, and the number of repetitions that were dropped.
    """
    merged: dict[str, Prompt] = {}
    kept: list[list[Prompt]] = []
    for source in sources:
        earlier, own = set(merged), []
        for prompt in source:
            both = _merge_facets(merged[prompt.id], prompt) if prompt.id in earlier else None
            if both is None:  # new, or another prompt under a known id, which `check_prompts` rejects
                own.append(prompt)
            merged[prompt.id] = both or merged.get(prompt.id, prompt)
        kept.append(own)
    dropped = sum(map(len, sources)) - sum(map(len, kept))
    return [[_take_merged(merged[prompt.id], prompt) for prompt in own] for own in kept], dropped


def _take_merged(merged: Prompt, prompt: Prompt) -> Prompt:
    """Return the merged prompt for one that was merged; another prompt stays the object that its source gave."""
    return prompt if merged is prompt else _merge_facets(merged, prompt) or prompt


def _merge_facets(a: Prompt, b: Prompt) -> Prompt | None:
    """Return a prompt with the facets of both; None if they differ in anything else."""
    facets = dict(a.facets)
    for name, value in b.facets.items():
        own = facets.setdefault(name, value)
        if own != value:
            if not (isinstance(own, str) and isinstance(value, str)):
                return None
            facets[name] = join_levels((own, value))
    both = replace(a, facets=facets)
    return both if replace(b, facets=facets) == both else None


def find_missing_images(prompts: Iterable[Prompt]) -> Iterator[str]:
    """Yield the paths of prompts' own images that do not exist."""
    return (path for p in prompts for path in p.images if not Path(path).is_file())


def limit_prompts(sources: Sequence[Sequence[Prompt]], limit: int | None) -> tuple[Prompt, ...]:
    """Return at most `limit` prompts in their own order, a seeded sample of each source.

    Every source gives the same number, except for those that have fewer prompts. A limit below the number of
    sources leaves out the last ones.
    """
    if limit is None:
        return tuple(chain.from_iterable(sources))
    turns = sorted((turn, number) for number, source in enumerate(sources) for turn in range(len(source)))
    shares = Counter(number for _, number in turns[:limit])
    return tuple(p for number, source in enumerate(sources) for p in _sample_prompts(source, shares[number]))


def _sample_prompts(prompts: Sequence[Prompt], limit: int) -> tuple[Prompt, ...]:
    """Return `limit` prompts in their own order, spread over the levels of their facets."""
    if limit >= len(prompts):
        return tuple(prompts)
    return tuple(prompts[i] for i in sorted(_draw_order(prompts, limit)))


def order_prompts(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """Return prompts in a fixed random order of which each beginning is spread over the levels of their facets."""
    return tuple(prompts[i] for i in _draw_order(prompts, len(prompts)))


def _draw_order(prompts: Sequence[Prompt], count: int) -> list[int]:
    """Return the places of `count` prompts in the order in which they are drawn.

    Prompts are taken one by one in a fixed random order, each time one whose facet levels were taken least.
    """
    order = np.random.default_rng(0).permutation(len(prompts))
    codes = _facet_codes([prompts[i] for i in order])
    if not codes.size:
        return [int(place) for place in order[:count]]
    groups, own = np.unique(codes, axis=0, return_inverse=True)  # prompts of the same levels are taken in order
    waiting: list[list[int]] = [[] for _ in groups]
    for place in reversed(range(len(prompts))):
        waiting[own.ravel()[place]].append(place)
    with_level: list[list[int]] = [[] for _ in range(codes.max() + 1)]
    for group, levels in enumerate(groups):
        for level in levels:
            with_level[level].append(group)
    groups_of = [np.array(each) for each in with_level]
    # how often a group's levels were taken counts first, the place of its next prompt second
    rank = np.array([places[-1] for places in waiting], np.float64)
    chosen = []
    for _ in range(count):
        best = int(rank.argmin())
        place = waiting[best].pop()
        chosen.append(int(order[place]))
        rank[best] += waiting[best][-1] - place if waiting[best] else np.inf
        for level in groups[best]:
            rank[groups_of[level]] += len(prompts)
    return chosen


def _facet_codes(prompts: Iterable[Prompt]) -> np.ndarray:
    """Return one row per prompt and one column per facet, each level of each facet with its own number."""
    known: dict[tuple[str, Any], int] = {}
    prompts = list(prompts)
    names = sorted({name for p in prompts for name in p.facets})
    rows = [[known.setdefault((n, p.facets.get(n)), len(known)) for n in names] for p in prompts]
    return np.asarray(rows, np.int64).reshape(len(prompts), len(names))
