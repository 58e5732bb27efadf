"""What stands in a street."""

from __future__ import annotations

from t2i_miniworld.kinds.kind import Kind

KINDS: tuple[Kind, ...] = ()
