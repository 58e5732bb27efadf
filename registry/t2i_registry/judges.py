"""Choice of the judge for a need: the user's, a preferred one, or the only one that fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from t2i_core.api.adapter import Adapter, find_chain, find_sources
from t2i_core.api.errors import BadOption, BrokenPlugin, MissingDependency, NoJudge, did_you_mean, join_clauses
from t2i_core.api.judge import Capability
from t2i_core.api.plugin_info import Domain, JudgeInfo
from t2i_core.api.resolver import JudgeChoice, OptionTable, split_judge
from t2i_core.engine.component import Component

if TYPE_CHECKING:
    from .component_lookup import ComponentLookup
    from .discovery import Entry

Choice = JudgeChoice[Component[JudgeInfo]]


class JudgeSearch:
    """The search of a judge for one need.

    Attributes:
        registry: Finds components.
        capability: Capability that the judge must offer, itself or through adapters.
        requires: Properties that its observations must have.
        domain: Domain of the images.
        options: Option table of the user.
        rejected: Why each judge considered so far does not fit.
    """

    def __init__(
        self,
        registry: ComponentLookup,
        capability: Capability,
        requires: frozenset[str],
        domain: Domain,
        options: OptionTable,
    ) -> None:
        self.registry = registry
        self.capability = capability
        self.requires = requires
        self.domain = domain
        self.options = options
        self.rejected: list[str] = []

    def choose(self, asked: Sequence[str], preferred: Sequence[tuple[str, str]]) -> Choice:
        """Return the chosen judge.

        Args:
            asked: Judges that the user named, `NAME` or `CAPABILITY=NAME`.
            preferred: Names of preferred judges in order, each with its reason.

        Raises:
            NoJudge: No judge fits; the message lists all judges considered.
        """
        choice = self._take_named(asked) or self._take_preferred(preferred) or self._take_only()
        if choice is None:
            looked = (
                join_clauses(self.rejected)
                or f"no installed judge offers {' or '.join(find_sources(self.capability))}"
            )
            raise NoJudge(f"no judge for {self._describe_need()}: {looked}")
        return choice

    def _take_named(self, asked: Sequence[str]) -> Choice | None:
        """Return the judge that the user named, if one is named for this need.

        A judge named for this capability must fit, and so must a judge named without a capability that offers this
        one. Any other judge is meant for another need. Raises NoJudge if the named judge does not fit.
        """
        for word in sorted(asked, key=lambda word: split_judge(word)[0] is None):
            capability, name = split_judge(word)
            if capability not in (None, self.capability):
                continue
            judge = self.registry.component("judge", name, self.options)
            if choice := self._try_judge(judge, f"asked for with --judge {word}"):
                return choice
            if capability or not judge.info.capabilities.keys().isdisjoint(find_sources(self.capability)):
                raise NoJudge(f"--judge {word} cannot be used for {self._describe_need()}: {self.rejected[-1]}")
        return None

    def _take_preferred(self, preferred: Sequence[tuple[str, str]]) -> Choice | None:
        """Return the first preferred judge that is installed and fits. Raise the error of a broken one."""
        for name, reason in preferred:
            installed = self.registry.catalogue.find_entries("judge", *_split_name(name))
            if not installed and not self.registry.has_environment("judge", name, self.options):
                wanted = self.registry.find_missing_dist(name)
                known = [entry.name for entry in self.registry.catalogue.list_kind("judge")]
                way_out = f": install {wanted}" if wanted else did_you_mean(name, known)
                self._reject(f"no installed plugin offers {name!r} ({reason}){way_out}")
                continue
            judge = self.registry.component("judge", name, self.options)
            if unasked := _explain_unasked(judge.info, name):
                self._reject(unasked)
            elif choice := self._try_judge(judge, reason):
                return choice
        return None

    def _take_only(self) -> Choice | None:
        """Return the only installed judge of the domain that fits; import only judges with the capability."""
        offered = set(find_sources(self.capability))
        choices: list[Choice] = []
        for entry in self.registry.catalogue.list_kind("judge"):
            if not offered.isdisjoint(entry.capabilities) and (choice := self._try_entry(entry)):
                choices.append(choice)
        if len(choices) > 1:
            names = ", ".join(choice.judge.spec for choice in choices)
            facts = [f"several judges fit {self._describe_need()}: {names}", *self._list_absent()]
            raise NoJudge(f"{'; '.join(facts)}; choose one with --judge {self.capability}=NAME")
        return choices[0] if choices else None

    def _try_entry(self, entry: Entry) -> Choice | None:
        """Return the choice of one installed judge; if it does not fit or is broken, note why."""
        clash = len(self.registry.catalogue.find_entries("judge", entry.name)) > 1
        spec = entry.full_name if clash else entry.name
        try:
            if self.registry.has_environment("judge", spec, self.options):
                info = self.registry.component("judge", spec, self.options).info
            else:
                info = self.registry.describe(entry).info
            assert isinstance(info, JudgeInfo)
            if unasked := _explain_unasked(info, spec):
                self._reject(unasked)
                return None
            if info.domain.name != self.domain.name:
                self._reject(f"{spec!r} ({entry.dist}) judges {info.domain.name}")
                return None
            judge = self.registry.component("judge", spec, self.options)
        except (BrokenPlugin, MissingDependency, BadOption) as error:
            self._reject(f"{spec!r} ({entry.dist}) cannot be used: {error}")
            return None
        return self._try_judge(
            judge, f"the only installed judge of {self.domain.name} that can serve {self._describe_need()}"
        )

    def _try_judge(self, judge: Component[JudgeInfo], reason: str) -> Choice | None:
        """Return the choice of a judge; if it does not fit, note why."""
        offers = judge.info.capabilities
        lacking: list[str] = []
        for source in find_sources(self.capability):
            if source not in offers:
                continue
            if missing := self.requires - offers[source]:
                lacking.append(
                    f"{judge.spec!r} ({judge.dist}) gives {source} without {', '.join(sorted(missing))}"
                )
                continue
            chain = find_chain(self.capability, (source,))
            assert chain is not None
            return JudgeChoice(judge, chain, self._explain(judge, chain, reason))
        for note in lacking or [f"{judge.spec!r} ({judge.dist}) offers {', '.join(sorted(offers)) or 'nothing'}"]:
            self._reject(note)
        return None

    def _explain(self, judge: Component[JudgeInfo], chain: tuple[Adapter, ...], reason: str) -> str:
        """Return why the judge was chosen, as text for users."""
        parts = [reason]
        if judge.info.domain.name != self.domain.name and not judge.info.by_people:
            parts.append(f"made for {judge.info.domain.name}, not for {self.domain.name}")
        if chain:
            through = " from ".join([*(adapter.wanted for adapter in chain), chain[-1].offered])
            notes = "; ".join(adapter.note for adapter in chain if adapter.note)
            parts.append(f"{through}{f' ({notes})' if notes else ''}")
        return "; ".join([*parts, *self._list_absent()])

    def _list_absent(self) -> list[str]:
        """Return the notes on preferred judges that are not installed."""
        return [note for note in self.rejected if note.startswith("no installed plugin offers")]

    def _describe_need(self) -> str:
        extra = f" with {', '.join(sorted(self.requires))}" if self.requires else ""
        return f"{self.capability}{extra} of {self.domain.name}"

    def _reject(self, note: str) -> None:
        if note not in self.rejected:
            self.rejected.append(note)


def _split_name(spec: str) -> tuple[str, str | None]:
    dist, slash, name = spec.partition(":")[0].rpartition("/")
    return name, dist if slash else None


def _explain_unasked(info: JudgeInfo, name: str) -> str | None:
    """Return why t2i does not choose a judge by itself; None if it may."""
    if info.reads_truth:
        return f"{name!r} reads the ground truth and is used only on request (--judge {name})"
    if info.by_people:
        return f"{name!r} gives people's answers and is used only on request (--judge {name}:FILE)"
    return None
