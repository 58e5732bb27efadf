"""Parts of HTML pages that hold everything: data for scripts, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def embed_json(data: Any) -> str:
    """Return data as JSON for a script element, escaped so that it cannot end the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(sign, code)
    return text


def make_policy(style: str, script: str) -> str:
    """Return a content security policy that allows one style, one script, embedded pictures, and nothing else.

    Args:
        style: Content of the style element.
        script: Content of the script element.
    """
    return (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
