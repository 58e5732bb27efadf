"""Why there is no image or no observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .text import fit_one_line

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Failure:
    """Why there is no image or no observation. Never a number.

    reason:   in one line: breaks become blanks, and what is longer than 500 characters is cut. Anything but a text
              raises TypeError
    missing:  True where there was nothing to look at (a folder without this image), False where work failed
    final:    the same request will always fail (a safety filter, a prompt that cannot be drawn): it is kept like a
              result, while other failures are tried again by the next run
    """

    reason: str
    missing: bool = False
    final: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"a Failure's reason is a text, not {type(self.reason).__name__}")
        object.__setattr__(self, "reason", fit_one_line(self.reason))
