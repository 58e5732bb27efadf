from __future__ import annotations

import pytest
from t2i_core.errors import UnknownName, in_one_line


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
    assert in_one_line(parts) == said


def test_an_unknown_name_with_and_without_near_ones() -> None:
    near = UnknownName.among("metric", "tima", ["tiam"], "taking part: tiam")
    assert str(near) == "unknown metric 'tima': did you mean 'tiam'? Taking part: tiam"
    assert str(UnknownName.among("metric", "zzz", ["tiam"], "it has none")) == "unknown metric 'zzz'; it has none"
