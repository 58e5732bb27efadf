from __future__ import annotations

import pytest
from t2i_core.api.errors import NotHere, UnknownName, did_you_mean, join_clauses


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["a is wrong", "b is wrong"], "a is wrong; b is wrong"),
        (["a is unknown: did you mean 'b'?", "c is wrong"], "a is unknown: did you mean 'b'? C is wrong"),
        (["did you mean 'b'?", "", "'c' is a metric"], "did you mean 'b'? 'c' is a metric"),
        (["", "a is wrong", ""], "a is wrong"),
        ([], ""),
    ],
)
def test_parts_of_a_message_read_as_sentences(parts: list[str], said: str) -> None:
    assert join_clauses(parts) == said


def test_an_unknown_name_with_and_without_near_ones() -> None:
    near = UnknownName.among("metric", "tima", ["tiam"], "taking part: tiam")
    assert str(near) == "unknown metric 'tima': did you mean 'tiam'? Taking part: tiam"
    assert str(UnknownName.among("metric", "zzz", ["tiam"], "it has none")) == "unknown metric 'zzz'; it has none"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            NotHere("bad/none", "diffusers:bad/none", "no route"),
            "folder bad/none does not exist; no network, and diffusers:bad/none (bad/none) is not on this "
            "machine: no route",
        ),
        (
            NotHere("bad/none", "diffusers:bad/none -o diffusers.steps=3"),
            "folder bad/none does not exist; diffusers:bad/none: bad/none is not on this machine, and nothing "
            "may be fetched: run `t2i prefetch diffusers:bad/none -o diffusers.steps=3` with a network",
        ),
        (
            NotHere("org/name", "sd2", "no route"),
            "no network, and sd2 (org/name) is not on this machine: no route",
        ),
        (
            NotHere("org/name", "diffusers:org/name", "no route", "no vae"),
            "no network, and diffusers:org/name (org/name) is not whole on this machine (no vae): no route",
        ),
    ],
)
def test_a_missing_path_is_reported_as_a_missing_folder(error: NotHere, said: str) -> None:
    assert str(error) == said


def test_dashes_do_not_make_options_near() -> None:
    assert did_you_mean("--formt", ["--format", "--out"]) == ": did you mean '--format'?"
    assert did_you_mean("--zzz", ["--format", "--out"]) == ""
