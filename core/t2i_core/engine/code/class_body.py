"""Bodies of classes, without what Python and libraries add to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NOT_BODY = frozenset(
    {"__module__", "__dict__", "__weakref__", "__slotnames__", "_abc_impl", "__annotations__", "__annotate__"}
    | {"__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"}
)
"""Attributes of a class that Python adds; annotations count if they make fields."""


def find_body(cls: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a class that its author wrote, or that follow from them."""
    pydantic = "__pydantic_fields__" in vars(cls)
    for name, value in vars(cls).items():
        generated = name == "__doc__" and hasattr(cls, "__dataclass_fields__")  # may hold addresses of defaults
        if name in _NOT_BODY or generated:
            continue
        if pydantic and name.startswith("__pydantic_") and name != "__pydantic_fields__":
            continue
        yield name, value
    if pydantic:  # the fields of each validator; the rest names the class by its address
        decorators = vars(cls)["__pydantic_decorators__"]
        for kind in decorators.__slots__ if hasattr(decorators, "__slots__") else vars(decorators):
            found = getattr(decorators, kind)
            if isinstance(found, dict):
                yield f"__pydantic_decorators__ {kind}", {name: found[name].info for name in sorted(found)}
