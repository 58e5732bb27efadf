"""Evidence drawn over pictures: SVG of boxes, outlines of masks and labels, and lines about the whole image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape
from t2i_core.api.text import escape_control_characters
from t2i_core.results.evidence import EvidenceRegion

from .mask_path import decode_mask, trace_mask

COLOURS = 6
"""Number of colours of marks in page.css (`.mark-0` and so on), after which the first is used again."""

_LINE = 0.09
"""Height of a label, as a share of the picture's height: labels that would overlap move down by it."""

_LETTER = 0.046
"""Width of a letter of a label, as a share of the picture's width."""


@dataclass(frozen=True)
class Overlay:
    """The evidence over one picture.

    Attributes:
        regions: Parts of the image.
        size: Width and height of the image in pixels.
        side: Maximum length of the longer side of the picture in pixels. Masks are drawn at this resolution.
    """

    regions: Sequence[EvidenceRegion]
    size: tuple[int, int]
    side: int

    @property
    def labels(self) -> list[str]:
        """Labels of the regions, escaped, without repetitions."""
        return list(dict.fromkeys(escape_control_characters(each.label) for each in self.regions if each.label))

    def draw(self) -> Markup:
        """Return the element to be laid over a picture with the image's aspect ratio."""
        width, height = self.size
        numbers = {label: number for number, label in enumerate(dict.fromkeys(e.label for e in self.regions))}
        if len(numbers) < 2:  # several objects of one kind: each has its colour
            colours = [number % COLOURS for number in range(len(self.regions))]
        else:
            colours = [numbers[each.label] % COLOURS for each in self.regions]
        shapes = Markup("").join(map(self._draw_region, self.regions, colours))
        return Markup(
            '<span class="overlay" role="img" aria-label="{}">'
            '<svg><svg viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>{}</svg>{}</span>'
        ).format(
            "Marked: " + "; ".join(self.labels),
            width,
            height,
            shapes,
            self._draw_labels(colours),
            self._write_lines(),
        )

    def _write_lines(self) -> Markup:
        """Return the labels of the regions that are the whole image."""
        whole = (each.label for each in self.regions if each.box is None and each.segmentation is None)
        lines = Markup("").join(
            Markup("<span>{}</span>").format(escape_control_characters(label))
            for label in dict.fromkeys(whole)
            if label
        )
        return Markup('<span class="about">{}</span>').format(lines) if lines else lines

    def _draw_region(self, region: EvidenceRegion, colour: int) -> Markup:
        width, height = self.size
        if region.segmentation is not None:
            rows, columns = region.segmentation.size
            share = min(1.0, self.side / max(rows, columns))
            size = max(1, round(columns * share)), max(1, round(rows * share))
            path = trace_mask(decode_mask(region.segmentation, size))
            return Markup('<path class="mark mark-{}" d="{}" transform="scale({:.6g} {:.6g})"/>').format(
                colour, path, width / size[0], height / size[1]
            )
        if region.box is None:
            return Markup("")
        x0, y0, x1, y1 = region.box
        return Markup('<rect class="mark mark-{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            colour, x0, y0, max(0.0, x1 - x0), max(0.0, y1 - y0)
        )

    def _draw_labels(self, colours: Iterable[int]) -> Markup:
        """Return the labels at the upper corners of their boxes, without overlaps."""
        width, height = self.size
        taken: list[tuple[float, float, float]] = []
        texts = []
        for region, colour in zip(self.regions, colours, strict=True):
            if region.box is None or not region.label:
                continue
            left, right, top = region.box[0] / width, region.box[2] / width, region.box[1] / height
            length = min(_LETTER * len(region.label), 1.0)
            ends = left + length > 1  # no room on the right
            x = max(min(right, 1.0), length) if ends else max(left, 0.0)
            start = x - length if ends else x
            y = min(max(top, _LINE), 1.0)
            while y < 1 and any(
                abs(y - line) < _LINE and abs(start - other) < max(length, reach) for other, reach, line in taken
            ):
                y += _LINE
            taken.append((start, length, y))
            texts.append(
                Markup('<text class="mark-{}{}" x="{:.1f}%" y="{:.1f}%" dy="-4" dx="{}">{}</text>').format(
                    colour, " ends" if ends else "", 100 * x, 100 * y, -3 if ends else 3,
                    escape(escape_control_characters(region.label)),
                )
            )  # fmt: skip
        return Markup("").join(texts)
