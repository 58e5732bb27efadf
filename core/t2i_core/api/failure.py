"""Failures: reasons for missing images and observations."""

from __future__ import annotations

from dataclasses import dataclass

from .text import fit_one_line


@dataclass(frozen=True)
class Failure:
    """Reason why an image or an observation is missing. A failure is never scored as a number.

    Attributes:
        reason: One line: line breaks become blanks, and more than 500 characters are cut.
        missing: True if there was nothing to use (a folder without this image, an image that no person was asked
            about), False if work failed.
        final: True if the same request will always fail (a safety filter, a prompt that cannot be drawn). It is
            stored like a result, while the next run tries other failures again.

    Raises:
        TypeError: If the reason is not a text.
    """

    reason: str
    missing: bool = False
    final: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str):
            raise TypeError(f"a Failure's reason must be a text, got {type(self.reason).__name__}")
        object.__setattr__(self, "reason", fit_one_line(self.reason))
