"""The prompts of one request: sources read once each, limited, and, if asked, those that all metrics share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from ..api.errors import BadPrompts, NotHere
from ..api.observation import Labels
from ..api.plugin_info import Defaults, ExistingImagesInfo, GeneratorInfo, PromptSourceInfo
from ..api.prompt import Prompt
from ..api.text import shorten_paths
from ..io.prompt_file import is_prompt_file, merge_duplicates, read_prompts
from ..io.vocabulary import Vocabulary
from .common_prompts import pick_same, select_common
from .component import Component
from .component_finder import ComponentFinder
from .job import Job
from .perturbation import match_texts
from .prompt_selection import check_prompts, collect_prompts, limit_prompts, load_prompts, merge_sources
from .scene_reader import find_vocabulary, read_scenes

SourceName = str | PromptSourceInfo
"""A prompt source: its name, the path of a prompt file, or its descriptor."""


@dataclass(frozen=True)
class KnownClasses:
    """Classes of a metric's judge, as far as the plan knows them; prompts may depend on them.

    Attributes:
        labels: The classes. None if the judge declares none, or they are not known yet.
        unknown: The judge whose classes are not known yet, because they are in a file that is not on this machine.
    """

    labels: Labels | None = None
    unknown: str | None = None


class PromptLists:
    """Reads the prompt sources of one request, each once for the same classes.

    Args:
        finder: Finds the prompt sources, and takes notes.

    Attributes:
        unread: What stopped the grammar of scenes, by the ids of the prompts that it could not read.
    """

    def __init__(self, finder: ComponentFinder) -> None:
        self._finder = finder
        self._request = finder.request
        self._sources: dict[Any, tuple[Sequence[Prompt], ...]] = {}
        self._chosen: dict[Any, tuple[Prompt, ...]] = {}
        self._perturbed: dict[tuple[str, int], Mapping[str, str]] = {}
        self._vocabulary: Vocabulary | None = None
        self.unread: dict[str, str] = {}

    def choose(
        self, generator: Component[GeneratorInfo], asking: str, defaults: Defaults, classes: KnownClasses
    ) -> tuple[str, tuple[Prompt, ...]]:
        """Return the prompts' name and the prompts, as many as the limit allows.

        Args:
            generator: The generator, whose own prompts are used if the user names none.
            asking: What needs the prompts, for messages.
            defaults: The metric's settings.
            classes: The classes of the metric's judge.

        Raises:
            BadPrompts: If the user and the metric name no prompts, or a list of them is wrong.
        """
        names: tuple[SourceName, ...] = self._request.prompts
        info = generator.info
        if not names and isinstance(info, ExistingImagesInfo) and info.prompts is not None:
            names = (generator.spec,)
            key: Any = ("own", generator.fingerprint)
            if key not in self._sources:
                own = collect_prompts(generator, info.prompts, generator.setup())
                self._sources[key] = (self._add_scenes(generator.spec, check_prompts(own, generator.spec)),)
        else:
            if not names and defaults.prompts:
                names = (defaults.prompts,)
            if not names:
                raise BadPrompts(
                    f"{asking} has no default prompts; name some with --prompts (t2i list-plugins shows them)"
                )
            key = (names, classes)
            if key not in self._sources:
                read = [self._add_scenes(_join_names([n]), self._read(n, classes)) for n in names]
                sources, shared = merge_sources(read)
                if shared:
                    several = "1 prompt is" if shared == 1 else f"{shared} prompts are"
                    self._finder.notes.append(
                        f"{shorten_paths(_join_names(names))}: {several} in several lists; each is one prompt "
                        "with the facets of all"
                    )
                check_prompts(list(chain.from_iterable(sources)), _join_names(names), self._finder.dry)
                self._sources[key] = tuple(sources)
        if key not in self._chosen:
            # the limit is one of the prompts in common, if only these are measured
            limit = None if self._request.common_prompts and self._request.metrics else self._request.limit
            self._chosen[key] = limit_prompts(self._sources[key], limit)
        chosen = self._chosen[key]
        self._note_limit(len(chosen), sum(map(len, self._sources[key])), _join_names(names))
        return _join_names(names), chosen

    def share(self, jobs: Sequence[Job]) -> list[tuple[Prompt, ...]]:
        """Return, for each job, the prompts that all jobs have in common, as many as the limit allows.

        Raises:
            BadPrompts: If the jobs have no prompt in common.
        """
        first = jobs[0].prompts
        sources = next(self._sources[key] for key, chosen in self._chosen.items() if chosen is first)
        common = select_common(jobs, sources)
        prompts = limit_prompts(common, self._request.limit)
        counts = ", ".join(map(str, dict.fromkeys(len(job.prompts) for job in jobs)))
        total = sum(map(len, common))
        self._finder.notes.append(f"{total} prompts in common, of {counts}: --common-prompts")
        self._note_limit(len(prompts), total, jobs[0].prompts_name)
        # jobs on the same list get the same object back, which their samples are shared by
        picked = {id(job.prompts): pick_same(job.prompts, prompts) for job in jobs}
        return [picked[id(job.prompts)] for job in jobs]

    def perturb(self, source: Component[PromptSourceInfo], prompts: tuple[Prompt, ...]) -> Mapping[str, str]:
        """Return the text of each prompt as a source changes it, by the prompt's id.

        Raises:
            BadPrompts: If the source cannot change them.
            BrokenPlugin: If it does not give each prompt once.
        """
        key = (source.spec, id(prompts))
        if key not in self._perturbed:
            changed = self._load_from(source, KnownClasses(), prompts)
            self._perturbed[key] = match_texts(source, prompts, check_prompts(changed, source.spec, dry=True))
            same = sum(prompt.text == self._perturbed[key][prompt.id] for prompt in prompts)
            if same:
                self._finder.notes.append(
                    f"--perturb {source.spec}: {same} of {len(prompts)} texts stay as they are"
                )
        return self._perturbed[key]

    def _note_limit(self, count: int, total: int, name: str) -> None:
        if count < total:
            self._finder.notes.append(f"{count} of {total} prompts of {shorten_paths(name)}, a seeded sample")

    def _add_scenes(self, name: str, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
        """Read the scenes of prompts that have none, if the user asks for that; note each that cannot be read."""
        if self._request.scenes is None:
            return prompts
        if self._vocabulary is None:
            self._vocabulary = find_vocabulary(self._request.scenes, self._finder)
        read = list(read_scenes(prompts, self._vocabulary))
        unread = {prompt.id: why for prompt, why in read if why is not None}
        new = sum(p.scene is None for p in prompts)
        self.unread |= unread
        self._finder.notes.append(
            f"{name}: {new - len(unread)} of {new} texts without a scene read as scenes, with the classes of "
            f"{self._vocabulary.name}"
        )
        self._finder.notes += [
            f"{name}: no scene: {p.text!r}: {unread[p.id]}" for p, why in read if why is not None
        ]
        return [prompt for prompt, _ in read]

    def _read(self, name: SourceName, classes: KnownClasses) -> Sequence[Prompt]:
        """Read one prompt source, file or descriptor; repetitions in what the user wrote are merged."""
        prompts: Sequence[Prompt]
        if isinstance(name, str) and is_prompt_file(name):
            prompts, merged = merge_duplicates(read_prompts(name))
            if self._finder.dry:
                check_prompts(prompts, name)  # no source makes the images that a file names
        else:
            listed = self._load(name, classes)
            prompts, merged = merge_duplicates(listed) if isinstance(name, PromptSourceInfo) else (listed, 0)
        texts = len({p.text for p in prompts})
        self._finder.notes += _describe_repetitions(_join_names([name]), len(prompts), merged, texts)
        return prompts

    def _load(self, name: SourceName, classes: KnownClasses) -> Sequence[Prompt]:
        """Have a prompt source make its prompts."""
        source = self._finder.find("prompt_source", name)
        if source.info.reads_labels and classes.unknown is not None:
            raise BadPrompts(
                f"prompts {name!r} follow the classes of judge {classes.unknown!r}, which are not on this machine "
                f"yet; run `t2i prefetch {classes.unknown}` first"
            )
        return self._load_from(source, classes)

    def _load_from(
        self,
        source: Component[PromptSourceInfo],
        classes: KnownClasses,
        prompts: tuple[Prompt, ...] | None = None,
    ) -> Sequence[Prompt]:
        """Have a prompt source make its prompts, or change those that are given."""
        labels = classes.labels if source.info.reads_labels else None
        budget = self._finder.budget
        finder = self._finder
        load = partial(
            load_prompts,
            source,
            labels,
            budget,
            dry=finder.dry,
            plans_online=finder.plans_online,
            prompts=prompts,
        )
        with budget.charge_to(f"prompt source {source.spec}"):
            try:
                return load(offline=self._finder.offline)
            except NotHere:
                if self._finder.offline == self._request.offline:
                    raise
                return load(offline=False)  # a plan needs the list


def _join_names(names: Sequence[SourceName]) -> str:
    """Return the name of prompts in results."""
    return " + ".join(name if isinstance(name, str) else name.name for name in names)


def _describe_repetitions(name: str, kept: int, merged: int, texts: int) -> list[str]:
    """Return a note on repeated entries of a file or source of prompts."""
    clauses = []
    if merged:
        clauses.append(f"{merged} of {kept + merged} entries repeat another in all, and are counted once")
    if kept > texts:
        clauses.append(
            f"{kept - texts} share their text with another but differ in id or expectation: all {kept} count, and "
            "models that read texts draw each text once a seed"
        )
    return [f"{name}: {'; '.join(clauses)}"] if clauses else []
