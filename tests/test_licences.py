"""The licences of what everybody gets with t2i: nothing under the GPL, LGPL or AGPL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution

import pytest
from packaging.requirements import Requirement

COPYLEFT = re.compile(r"\b[AL]?GPL|GNU\s+(Affero|Lesser|Library|General)|General Public License", re.I)
"""The GPL and its relatives, as an expression, a classifier or a name in words."""

MOZILLA = {"certifi", "tqdm"}
"""Under the MPL, which asks for changes to its own files only."""

NVIDIA = {
    "cuda-toolkit",
    "nvidia-cublas",
    "nvidia-cuda-cccl",
    "nvidia-cuda-cupti",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cudnn",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-cusparselt",
    "nvidia-nccl",
    "nvidia-nvjitlink",
    "nvidia-nvshmem",
    "nvidia-nvtx",
}
"""The GPU vendor's libraries, which torch requires on Linux, without the version of CUDA in their names.

`cuda-toolkit` requires the others and states no licence.
"""


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_requirements(found: Distribution, extras: set[str]) -> Iterator[Requirement]:
    """Yield what a distribution requires here, with these extras."""
    for line in found.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in {"", *extras}):
            yield requirement


def find_required(what: str) -> dict[str, Distribution]:
    """Return a requirement's distribution and all that it requires, by name."""
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, frozenset[str]]] = set()
    open_ = [Requirement(what)]
    while open_:
        requirement = open_.pop()
        name, extras = normalise(requirement.name), frozenset(requirement.extras)
        if (name, extras) not in asked:
            asked.add((name, extras))
            found[name] = distribution(name)
            open_ += list_requirements(found[name], set(extras))
    return found


def read_licence(found: Distribution) -> str:
    """Return what a distribution states as its licence: the expression, else classifiers, else the old field.

    The old field may be the text of several licences, of parts that the wheel includes.
    """
    metadata = found.metadata
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    expression, old = metadata.get("License-Expression"), metadata.get("License")
    return expression or "; ".join(classifiers) or (old or "").strip()[:200]


def judge_licence(name: str, licence: str) -> str | None:
    """Return what is wrong with the licence of a distribution that everybody gets; None if nothing is."""
    if all(COPYLEFT.search(choice) for choice in licence.split(" OR ")):
        return f"{name}: {licence} must not be part of the default; make it an extra"
    if re.sub(r"-cu\d+$", "", name) in NVIDIA:
        return None
    if not licence:
        return f"{name}: states no licence"
    if re.search("MPL|Mozilla", licence) and name not in MOZILLA:
        return f"{name}: {licence} is not listed in MOZILLA"
    if re.search("proprietary|commercial|nvidia", licence, re.I):
        return f"{name}: {licence} is not open"
    return None


def test_the_default_needs_no_torch() -> None:
    assert "t2i-tiam" in (found := find_required("t2i"))
    assert not {"torch", "datasets"} & found.keys()


def test_only_separate_extras_have_copyleft_parts() -> None:
    found = find_required("t2i[all]")
    assert {"t2i-core", "t2i-arena-elo", "t2i-torch-support", "numpy", "torch"} <= found.keys()
    assert "ultralytics" not in found
    faults = [judge_licence(name, read_licence(one)) for name, one in sorted(found.items())]
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize(
    ("name", "licence", "fault"),
    [
        ("krippendorff", "GPL-3.0-or-later", "must not be part"),
        ("a", "License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", "must not be part"),
        ("a", "AGPL-3.0", "must not be part"),
        ("a", "License :: OSI Approved :: GNU Affero General Public License v3", "must not be part"),
        ("a", "MIT AND LGPL-2.1-only", "must not be part"),
        ("a", "MPL-2.0", "not listed"),
        ("a", "LicenseRef-NVIDIA-Proprietary", "not open"),
        ("a", "", "states no licence"),
        ("nvidia-cublas", "GPL-3.0-only", "must not be part"),
        ("nvidia-cublas", "LicenseRef-NVIDIA-Proprietary", None),
        ("nvidia-cudnn-cu13", "LicenseRef-NVIDIA-Proprietary", None),
        ("certifi", "MPL-2.0", None),
        ("a", "MIT OR GPL-2.0-only", None),
        ("a", "Apache-2.0 WITH LLVM-exception", None),
    ],
)
def test_a_licence_is_judged(name: str, licence: str, fault: str | None) -> None:
    said = judge_licence(name, licence)
    assert (said is None) if fault is None else (said is not None and fault in said)


def test_copyleft_parts_of_extras_would_be_found() -> None:
    """The development environment has ultralytics, which is under the AGPL."""
    assert "must not be part" in (judge_licence("ultralytics", read_licence(distribution("ultralytics"))) or "")
