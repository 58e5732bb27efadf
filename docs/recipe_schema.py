"""Write docs/recipe.schema.json, the JSON schema of recipes: `python docs/recipe_schema.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from t2i_core import Request

FILE = Path(__file__).with_name("recipe.schema.json")


def text() -> str:
    """Return the schema as it should be."""
    schema: dict[str, Any] = TypeAdapter(Request).json_schema()
    _add_spec(schema["$defs"]["ModelRequest"])
    head = {"title": "A recipe of t2i", "description": "A recipe: what `t2i eval --recipe FILE` reads."}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, **head}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _add_spec(entry: dict[str, Any]) -> None:
    """Accept `spec` for `model`, as the reader does: pydantic's schema knows one name alone."""
    entry["properties"]["spec"] = {"$ref": "#/$defs/ModelRequest/properties/model"}
    entry["required"].remove("model")
    entry["oneOf"] = [{"required": ["model"]}, {"required": ["spec"]}]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
