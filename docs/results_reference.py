"""Write the tables of results' fields in docs/architecture.md, and docs/run.schema.json, from the typed results.

Run it with `python docs/results_reference.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from page_tables import table
from t2i_core.results import correction, evidence, looks, manifest, result
from t2i_core.results.typed import Typed

PAGE = Path(__file__).with_name("architecture.md")
SCHEMA = Path(__file__).with_name("run.schema.json")

_TABLE = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)


def make_page() -> str:
    """Return the page with its tables as they should be."""
    return _TABLE.sub(
        lambda found: found[1] + make_table(_find_class(found[2])) + found[3], PAGE.read_text("utf-8")
    )


def make_table(cls: type[Typed]) -> str:
    """Return the fields of a class as a table in Markdown."""
    rows = [(f"`{field.alias or name}`", field.description or "") for name, field in cls.model_fields.items()]
    return f"\n{_join(table(('field', 'holds'), rows))}\n"


def make_schema() -> str:
    """Return the JSON schema of run.json."""
    schema = manifest.Manifest.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "run.json of t2i"},
        indent=1,
        ensure_ascii=False,
    ) + "\n"  # fmt: skip


def _find_class(name: str) -> type[Typed]:
    modules = (result, correction, manifest, evidence, looks)
    found = next(getattr(module, name) for module in modules if hasattr(module, name))
    assert issubclass(found, Typed)
    return found


def _join(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
    SCHEMA.write_text(make_schema(), encoding="utf-8")
