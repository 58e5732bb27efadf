"""Requirements of a component's environment: those that the user gave, and those that t2i adds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution, distributions
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from t2i_core.api.errors import BadOption
from t2i_core.api.redaction import redact

from .versions import OWN_DISTS

PARTS = (*OWN_DISTS, "ray")
"""Distributions that every environment has in the versions of this process."""


def read_requirements(given: str | Sequence[str], whose: str) -> tuple[str, ...]:
    """Return requirements in a normal form and order, each once.

    Args:
        given: One text separated by commas, or several texts.
        whose: The component, for messages.

    Raises:
        BadOption: If a text is not a requirement, or no text is given.
    """
    texts = [part for text in ([given] if isinstance(given, str) else given) for part in _split(text)]
    if not texts:
        raise BadOption(f"option 'environment' of {whose} must name at least one requirement (got {given!r})")
    read = []
    for text in texts:
        try:
            read.append(Requirement(text))
        except InvalidRequirement as error:
            reason = redact(str(error).splitlines()[0].rstrip(":. "))
            raise BadOption(
                f"option 'environment' of {whose}: {redact(text)!r} is not a requirement ({reason}); "
                "write for example transformers<4.40"
            ) from error
        if canonicalize_name(read[-1].name) in PARTS:
            raise BadOption(
                f"option 'environment' of {whose}: {read[-1].name} always has the version of this installation; "
                "leave it out"
            )
    return tuple(sorted({str(each): None for each in read}, key=str.casefold))


def _split(text: str) -> Iterator[str]:
    """Split a text at the commas between requirements, not at those within one (`a>=1,<2`, `a[b,c]`)."""
    part = ""
    depth = 0
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "[(") - (character in "])")
        if character == "," and not quote and not depth and re.match(r"\s*[A-Za-z0-9]", text[place + 1 :]):
            yield from filter(None, [part.strip()])
            part = ""
        else:
            part += character
    yield from filter(None, [part.strip().rstrip(",").strip()])


def list_names(requirements: Iterable[str]) -> set[str]:
    """Return the names of the distributions that requirements name."""
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def pin_installed(name: str, editable: bool = True) -> str:
    """Return the line of a requirements file that installs a distribution as this process has it.

    From an index that is its version. From anywhere else it is the place where it was installed from.

    Args:
        name: The distribution.
        editable: Whether a distribution that is edited here may be edited there too; a constraint may not.
    """
    direct = _read_origin(name)
    own = distribution(name)
    if direct is None:
        return f"{name}=={own.version}"
    url = str(direct["url"])
    if "vcs_info" in direct:
        info = direct["vcs_info"]
        url = f"{info['vcs']}+{url}@{info['commit_id']}"
    if editable and direct.get("dir_info", {}).get("editable"):
        return f"-e {url2pathname(unquote(urlsplit(url).path))}"
    return f"{name} @ {url}"


def list_constraints(besides: Iterable[str]) -> list[str]:
    """Return constraints that take t2i's own distributions from where this process has them, if from no index.

    Args:
        besides: Names of distributions to leave out.
    """
    left_out = set(besides)
    names = {canonicalize_name(each.metadata["Name"] or "") for each in distributions()}
    own = sorted(name for name in names - left_out if name.startswith("t2i-"))
    return [pin_installed(name, editable=False) for name in own if _read_origin(name) is not None]


def _read_origin(name: str) -> Mapping[str, Any] | None:
    """Return where a distribution was installed from (`direct_url.json`); None if from an index."""
    try:
        text = distribution(name).read_text("direct_url.json")
        return json.loads(text) if text else None
    except (PackageNotFoundError, OSError, ValueError):
        return None
