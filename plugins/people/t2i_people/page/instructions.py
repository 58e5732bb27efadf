"""Instructions for annotators: a Markdown file with example images next to it.

Raw HTML and links are shown as text.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from t2i_core.api.errors import BadOption, T2IError
from t2i_core.api.image import load_image
from t2i_core.files.image_file import DamagedImage
from t2i_core.io.text_file import read_text

from .pictures import encode_png


@dataclass(frozen=True)
class Instructions:
    """Instructions, ready to show.

    Attributes:
        html: The text as HTML. Images have the addresses `/instructions/ID`.
        digest: SHA-256 (hex) of the Markdown file followed by the files of its images, in order.
        images: The images as PNG files, by opaque id.
    """

    html: str
    digest: str
    images: Mapping[str, bytes]


def read_instructions(path: Path) -> Instructions:
    """Read instructions and their images.

    Raises:
        BadOption: If the file or an image cannot be read, or an image lies outside the file's folder.
    """
    text = read_text(path, BadOption)
    digest = hashlib.sha256(path.read_bytes())
    images: dict[str, bytes] = {}
    ids: dict[str, str] = {}
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "autolink"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # each address is replaced below
    tokens = parser.parse(text)
    for token in (child for block in tokens for child in block.children or () if child.type == "image"):
        source = unquote(str(token.attrs["src"]))
        if source not in ids:
            file = _find_image(path, source)
            digest.update(file.read_bytes())
            ids[source] = secrets.token_urlsafe(12)
            images[ids[source]] = _encode(path, file)
        token.attrs["src"] = f"/instructions/{ids[source]}"
    return Instructions(parser.renderer.render(tokens, parser.options, {}), digest.hexdigest(), images)


def _find_image(path: Path, source: str) -> Path:
    folder = path.parent.resolve()
    try:
        file = (folder / source).resolve()
        if file.is_file() and file.is_relative_to(folder):
            return file
    except (OSError, ValueError):
        pass
    raise BadOption(f"{path}: image {source!r}: no such file in the folder of the instructions; put it there")


def _encode(path: Path, file: Path) -> bytes:
    try:
        return encode_png(load_image(file).pixels)
    except (DamagedImage, T2IError, OSError) as error:
        raise BadOption(f"{path}: image {file.name!r} cannot be read ({error})") from error
