"""Charts: declared Vega-Lite specifications with their data, shown in notebooks and saved as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..api.errors import BadFolder, BadOption, MissingDependency

MIME_TYPE = "application/vnd.vegalite.v5+json"
"""The type under which JupyterLab, notebook 7 and VS Code draw a specification themselves."""

_CONVERTER = "vl_convert"
_INSTALL = "pip install vl-convert-python"


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        spec: Vega-Lite specification (version 5), with its data.
    """

    spec: Mapping[str, Any] = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the chart to a file, and return its path. No network is used.

        Args:
            path: A file that ends in .svg, .png, .html (a page without scripts) or .json (the
                specification).

        Raises:
            BadOption: If the file has another ending.
            BadFolder: If the file cannot be written.
            MissingDependency: If vl-convert-python is not installed, which every ending but .json needs.
        """
        path = Path(path)
        try:
            return self._write(path)
        except OSError as error:
            raise BadFolder(f"{path}: cannot be written ({error.strerror or error})") from error

    def _write(self, path: Path) -> Path:
        spec = dict(self.spec)
        match path.suffix.lower():
            case ".json":
                path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
            case ".svg":
                path.write_text(_load_converter().vegalite_to_svg(spec), encoding="utf-8")
            case ".html":
                svg = _load_converter().vegalite_to_svg(spec)
                path.write_text(f'<!doctype html>\n<meta charset="utf-8">\n<title>Chart</title>\n{svg}\n', "utf-8")
            case ".png":
                path.write_bytes(_load_converter().vegalite_to_png(spec, scale=2))
            case ending:
                raise BadOption(f"{path}: a chart's file must end in .svg, .png, .html or .json (got {ending!r})")
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the specification for notebooks that draw it, and an SVG for the others if it can be made."""
        bundle: dict[str, Any] = {MIME_TYPE: dict(self.spec)}
        if find_spec(_CONVERTER) is None:
            bundle["text/plain"] = f"a chart; to draw it here: {_INSTALL}"
        else:
            bundle |= {
                "text/plain": repr(self),
                "image/svg+xml": _load_converter().vegalite_to_svg(dict(self.spec)),
            }
        return bundle


def _load_converter() -> Any:
    if find_spec(_CONVERTER) is None:
        raise MissingDependency(f"charts are drawn by vl-convert-python: {_INSTALL}")
    return import_module(_CONVERTER)
