"""Types of the fields of a benchmark: texts, numbers and scenes as YAML writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from t2i_core.api.prompt import Scene

YES_NO = ("yes", "no")
_SCENE_FORM = "{objects: [{cls: {name: dog}}]}, with colour, count and relations as needed"


def _read_text(value: Any) -> Any:
    """Return a text; `yes` and `no` are truth values in YAML, and `2` is a number."""
    if isinstance(value, bool):
        return YES_NO[0] if value else YES_NO[1]
    return f"{value:g}" if isinstance(value, int | float) else value


def read_list(value: Any) -> Any:
    """Return a single text or number as a list."""
    return [value] if isinstance(value, str | int | float) else value


def _refuse_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Text = Annotated[str, Field(min_length=1), BeforeValidator(_read_text), AfterValidator(_refuse_blank)]
Number = Annotated[float, Strict()]
"""A whole number or one with a fraction; neither a truth value nor a text."""
Count = Annotated[int, Strict()]
"""A whole number, not a truth value."""
Texts = Annotated[tuple[Text, ...], BeforeValidator(read_list, json_schema_input_type=Text | list[Text])]


def check_scene(data: Mapping[str, Any]) -> None:
    """Raise ValueError if data is not a scene in the form of `Scene.to_json`."""
    try:
        Scene.from_json(data)
    except KeyError as error:
        raise ValueError(f"scene: the field {error} is missing; add it") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"scene: is not a scene ({error}); write {_SCENE_FORM}") from error
