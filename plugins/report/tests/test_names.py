"""Names of files in reasons: those of this machine's folders stay here."""

from __future__ import annotations

import pytest
from t2i_report.names import shorten_reason


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("image /home/ann/my images/a.png: damaged", "image my images/a.png: damaged"),
        ("/home/ann/images/a.png: damaged", "a.png: damaged"),
        ("cannot read '/home/ann/a.png' or C:\\Users\\ann\\b.png", "cannot read 'a.png' or b.png"),
        ("https://api.example.org/v1/images answers 500 and/or stops", None),
        ("no text; see images/dark/0.png", None),
        ("1/2 of 3 / 4", None),
    ],
)
def test_absolute_paths_lose_their_folders(reason: str, shown: str | None) -> None:
    assert shorten_reason(reason, []) == (reason if shown is None else shown)
