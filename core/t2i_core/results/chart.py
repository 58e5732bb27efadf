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

VERSION = "5.20"
"""Version of Vega-Lite that draws, the same whatever the converter's default."""

CONVERTER = "vl_convert"
"""The module that draws."""
_INSTALL = "pip install 't2i-core[figures]'"


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

    def to_svg(self) -> str:
        """Return the chart as SVG.

        Raises:
            MissingDependency: If vl-convert-python is not installed.
        """
        svg: str = load_converter().vegalite_to_svg(
            dict(self.spec), VERSION, show_warnings=True, allowed_base_urls=[]
        )
        return svg

    def _write(self, path: Path) -> Path:
        spec = dict(self.spec)
        match path.suffix.lower():
            case ".json":
                path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
            case ".svg":
                path.write_text(self.to_svg(), encoding="utf-8")
            case ".html":
                page = f'<!doctype html>\n<meta charset="utf-8">\n<title>Chart</title>\n{self.to_svg()}\n'
                path.write_text(page, encoding="utf-8")
            case ".png":
                path.write_bytes(load_converter().svg_to_png(self.to_svg(), scale=2))
            case ending:
                raise BadOption(f"{path}: a chart's file must end in .svg, .png, .html or .json (got {ending!r})")
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the specification for notebooks that draw it, and an SVG for the others if it can be made."""
        bundle: dict[str, Any] = {MIME_TYPE: dict(self.spec)}
        if find_spec(CONVERTER) is None:
            bundle["text/plain"] = f"a chart; to draw it here: {_INSTALL}"
        else:
            bundle |= {
                "text/plain": repr(self),
                "image/svg+xml": self.to_svg(),
            }
        return bundle


def load_converter() -> Any:
    """Return the module that draws.

    Raises:
        MissingDependency: If it is not installed.
    """
    if find_spec(CONVERTER) is None:
        raise MissingDependency(f"figures are drawn by vl-convert-python: {_INSTALL}")
    return import_module(CONVERTER)
