"""References of prompts in the identity of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from t2i_core.api import Prompt
from t2i_core.api.errors import BadPrompts
from t2i_core.engine.prompt_selection import check_prompts
from t2i_core.engine.run_identity import _identify_prompt

PLAIN = Prompt("dog", "a dog", facets={"kind": "animal"}, cluster="pets")


def test_prompts_without_references_keep_the_identity_that_they_had_before_there_were_any() -> None:
    assert _identify_prompt(PLAIN) == ("e08df66da7cbaf29b864a700ecf9e6fd77ebda606a0083f41c46882fb435125b")


def test_references_distinguish_prompts() -> None:
    references = [(), ("a dog",), ("a dog", "one dog"), ("one dog", "a dog")]
    assert len({_identify_prompt(replace(PLAIN, references=each)) for each in references}) == 4


@pytest.mark.parametrize("references", [("a dog", " "), ["a dog"], (1,), "a dog"])
def test_references_must_be_texts(references: object) -> None:
    with pytest.raises(BadPrompts, match="references of 'dog'"):
        check_prompts([replace(PLAIN, references=references)], "mine")  # type: ignore[arg-type]
