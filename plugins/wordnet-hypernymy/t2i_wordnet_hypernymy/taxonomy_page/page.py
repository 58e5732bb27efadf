"""The page of a taxonomy: one HTML file that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from t2i_core.api.text import escape_control_characters
from t2i_core.results.html_parts import embed_json, make_policy
from t2i_core.results.output_file import write_atomically
from t2i_core.results.thumbnails import CHUNK, Thumbnails

from .content import Node, PageContent, ShownPrompt

_STATIC = files(__package__) / "static"


def write_taxonomy(content: PageContent, target: Path, side: int, warn: Callable[[str], None]) -> None:
    """Write the page atomically.

    The tree comes first in the file, so that a browser shows it before it has read the pictures.

    Args:
        content: What the page shows.
        target: The file.
        side: Maximum length of the longer side of pictures in pixels.
        warn: Shows a warning about anything that is left out.

    Raises:
        BadFolder: The file cannot be written.
    """
    body, style, script = (
        (_STATIC / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")
    )
    pictures = Thumbnails(content.pictures, side)
    notes = [note for note in (_describe_left_out(content), pictures.left_out) if note]
    filled = {
        "policy": escape(make_policy(style, script)),
        "title": escape(escape_control_characters(content.title)),
        "notes": "".join(f'<p class="note">{escape(note)}</p>' for note in notes),
        "data": embed_json(_to_plain(content)),
        "style": style,
        "script": script,
    }
    with (
        write_atomically(target) as part,
        part.open("w", encoding="utf-8", newline="\n", errors="backslashreplace") as file,
    ):
        for number, text in enumerate(body.split("@@")):  # every second part is a name
            file.write(filled[text] if number % 2 else text)
        for number, lines in enumerate(pictures):
            file.write(f'<script type="text/plain" id="pictures-{number}">{lines}</script>\n')
        file.write("</body>\n</html>\n")
    for note in notes[:1] if content.n_left_out else ():
        warn(note)
    pictures.report_missing(warn)


def _describe_left_out(content: PageContent) -> str | None:
    if not content.n_left_out:
        return None
    return f"{content.n_left_out} prompts name no synset of the taxonomy and are not shown"


def _to_plain(content: PageContent) -> dict[str, Any]:
    """Return the page's data, with control characters in texts escaped."""
    clean = escape_control_characters
    return {
        "chunk": CHUNK,
        "images": content.most_images,
        "models": [clean(model) for model in content.models],
        "scores": [clean(name) for name in content.scores],
        "nodes": [_node_to_plain(node) for node in content.nodes],
    }


def _node_to_plain(node: Node) -> dict[str, Any]:
    clean = escape_control_characters
    return {
        "name": clean(node.name),
        "lemmas": [clean(lemma) for lemma in node.lemmas],
        "definition": clean(node.definition),
        "parents": list(node.parents),
        "hyponyms": node.n_hyponyms,
        "prompts": [_prompt_to_plain(prompt) for prompt in node.prompts],
    }


def _prompt_to_plain(prompt: ShownPrompt) -> dict[str, Any]:
    scores = [[None if value is None else float(f"{value:.4g}") for value in row] for row in prompt.scores]
    return {"text": escape_control_characters(prompt.text), "scores": scores, "pictures": prompt.pictures}
