"""Write docs/recipe.schema.json, the JSON schema of recipes: `python docs/recipe_schema.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from t2i_cli.recipe import Recipe

FILE = Path(__file__).with_name("recipe.schema.json")


def text() -> str:
    """The schema as it should be."""
    schema: dict[str, Any] = Recipe.model_json_schema(by_alias=False)
    _with_spec(schema["$defs"]["RecipeModel"])
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A recipe of t2i"}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _with_spec(entry: dict[str, Any]) -> None:
    """Take `spec` for `model`, as the reader does: pydantic's schema knows one name alone."""
    entry["properties"]["spec"] = {"$ref": "#/$defs/RecipeModel/properties/model"}
    entry["required"].remove("model")
    entry["oneOf"] = [{"required": ["model"]}, {"required": ["spec"]}]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
