"""A component that a worker finds by name, and what is said if it is another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.errors import BadModel
from t2i_core.api.resolver import installed_resolver
from t2i_ray.sent_component import SentComponent, send_component

SAME = "generator '.*' on host is not the one of this machine"


def send(spec: str, **options: Any) -> SentComponent:
    return send_component(installed_resolver().component("generator", spec, {spec: options}))


def test_a_component_arrives_as_it_was_settled(toy: Path) -> None:
    found = send("toy", size=9).resolve("host")
    assert found.options.size == 9
    assert (
        found.fingerprint == installed_resolver().component("generator", "toy", {"toy": {"size": 9}}).fingerprint
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [("0" * 64, "its code differs"), (None, "its weights differ"), ("", "its code or its weights differ")],
)
def test_other_code_and_other_weights_are_named(toy: Path, code: str | None, said: str) -> None:
    sent = send("toy")
    identity = sent.identity._replace(fingerprint="0" * 64, code=sent.identity.code if code is None else code)
    with pytest.raises(BadModel, match=f"{SAME}: {said}; install"):
        replace(sent, identity=identity).resolve("host")


def test_a_preset_whose_paths_lie_elsewhere_is_named_with_both() -> None:
    sent = send("mini-tiny")
    elsewhere = {**sent.options, "denoiser": "/elsewhere/mini-tiny"}
    own, here = sent.argument, sent.options["denoiser"]
    with pytest.raises(BadModel, match=SAME) as caught:
        replace(sent, argument="/elsewhere/mini", options=elsewhere).resolve("host")
    assert f"its argument is {own!r}, on this machine '/elsewhere/mini'" in str(caught.value)
    assert f"its option 'denoiser' is {here!r}, on this machine '/elsewhere/mini-tiny'" in str(caught.value)
