"""Errors that a user can fix, each with its own exit code and a message of one line.

Exit code 2 is Typer's own for usage; 130 is an interrupted run. No traceback is shown for a `T2IError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .money import format_dollars
from .redaction import redact


class T2IError(Exception):
    """An error that a user can fix. Its message is one line without secrets: what is wrong, where, what to do."""

    exit_code = 1

    def __str__(self) -> str:
        return redact(self._message())

    def _message(self) -> str:
        return super().__str__()


class NotReused(UserWarning):
    """Warning: t2i cannot tell whether some code has changed, so later runs do not reuse its results."""


class UnknownName(T2IError):
    """No installed plugin has a component of this name."""

    exit_code = 3

    @classmethod
    def among(cls, what: str, name: str, known: Iterable[str], hint: str = "") -> UnknownName:
        """Describe an unknown name, with the nearest known names."""
        return cls(join_clauses([f"unknown {what} {name!r}{did_you_mean(name, known)}", hint]))


class BrokenPlugin(T2IError):
    """A plugin was found, but does not load or violates its contract."""

    exit_code = 4


class AmbiguousName(T2IError):
    """Two distributions claim the same name."""

    exit_code = 5


class BadOption(T2IError):
    """An option that does not exist, or a value of the wrong type or range."""

    exit_code = 6


class MissingOption(BadOption):
    """A component needs an option that has no default, and the user has not set it."""


class MissingDependency(T2IError):
    """A distribution or system part that must be installed first."""

    exit_code = 7


class FailedRun(T2IError):
    """More samples failed than the run allows; all images and observations are kept."""

    exit_code = 8


class NoJudge(T2IError):
    """No judge, or not the requested one, offers what the metric needs."""

    exit_code = 9


class BadPrompts(T2IError):
    """Prompts that are missing or malformed."""

    exit_code = 10


class BadFolder(T2IError):
    """A folder that does not exist, cannot be written, is in use, or holds another run."""

    exit_code = 11


class BadModel(T2IError):
    """A path or argument that leads to no model."""

    exit_code = 12


class NotHere(BadModel):
    """Files that are not on this machine and cannot be fetched now.

    Attributes:
        what: The files, and their repository or address.
        spec: The argument of `t2i prefetch` that would download them, as far as the plugin knows it. The
            evaluation replaces it by the name and options that the user gave (`rename`).
        network: Why the network cannot be reached; None if downloads are forbidden.
        missing: The missing part of the files, if the rest is on this machine.
    """

    def __init__(self, what: str, spec: str, network: str | None = None, missing: str | None = None) -> None:
        super().__init__(what, spec, network, missing)
        self.what, self.spec, self.network, self.missing = what, spec, network, missing

    def _message(self) -> str:
        name = self.spec.partition(" -o ")[0]
        lacks = "is not on this machine"
        if self.missing is not None:
            lacks = f"is not whole on this machine{f' ({self.missing})' if self.missing else ''}"
        # the user's own word, which may have meant a folder
        path = self.missing is None and name.endswith(f":{self.what}")
        folder = f"folder {self.what} does not exist; " if path else ""
        if self.network is not None:
            return f"{folder}no network, and {name} ({self.what}) {lacks}: {self.network}"
        return (
            f"{folder}{name}: {self.what} {lacks}, and nothing may be fetched: "
            f"run `t2i prefetch {self.spec}` with a network"
        )

    def rename(self, spec: str) -> NotHere:
        """Return the same error with the component as the user named it: `sd2`, or with its options."""
        return NotHere(self.what, spec, self.network, self.missing)


class BadRecipe(T2IError):
    """A recipe file that is missing or malformed."""

    exit_code = 13


class CostLimitReached(T2IError):
    """The next request to a paid service could exceed `--max-cost`; all images and observations are kept.

    Attributes:
        limit: The limit in USD.
        spent: What the run has spent, in USD.
        unconfirmed: The part of it for requests without an answer, which the service may not have charged.
        done: What is done.
    """

    exit_code = 14

    def __init__(self, limit: float, spent: float, unconfirmed: float, done: str) -> None:
        super().__init__(limit, spent, unconfirmed, done)
        self.limit, self.spent, self.unconfirmed, self.done = limit, spent, unconfirmed, done

    def _message(self) -> str:
        unsure = f" ({format_dollars(self.unconfirmed)} of it may not be charged)" if self.unconfirmed else ""
        return (
            f"--max-cost {format_dollars(self.limit)}: the next request could exceed it; this command has spent "
            f"{format_dollars(self.spent)}{unsure}; {self.done}, and what is done is kept: the same command goes "
            "on from there, and may spend --max-cost again"
        )


INTERRUPTED = 130


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean 'x'?` for the names nearest to `name`, or an empty string."""
    bare = {each.lstrip("-"): each for each in known}  # the dashes of options would make unlike names near
    near = [bare[each] for each in get_close_matches(name.lstrip("-"), list(bare), n=3, cutoff=0.6)]
    return f": did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def join_clauses(parts: Iterable[str]) -> str:
    """Join the parts that are not empty by `; `; after a question, start a new sentence."""
    joined = ""
    for part in filter(None, parts):
        joined += f"{'' if not joined else ' ' if joined.endswith('?') else '; '}"
        joined += part[:1].upper() + part[1:] if joined.endswith("? ") else part
    return joined
