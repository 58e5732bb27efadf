"""The metric: the text that a judge reads in an image, compared with the text that the prompt asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2i_core.api.capabilities.read import ReadText
from t2i_core.api.errors import BadPrompts
from t2i_core.api.evidence import Evidence
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need, Unit
from t2i_core.api.metric_output import Excluded, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from t2i_text_rendering.asked_text import find_asked_texts
from t2i_text_rendering.options import TextRenderingOptions
from t2i_text_rendering.text_match import TextRules, match_texts

NEED = "text"
EXACT, ACCURACY, DISTANCE = "exact", "word-accuracy", "edit-distance"
NOTHING_ASKED = "the prompt asks for no text"

_SHOWN = 120
"""Number of characters of a text that a reason shows."""


class TextRendering(Metric):
    """Compare the text that an image shows with the text that its prompt asks for."""

    options: TextRenderingOptions

    def __init__(self, setup: Setup[TextRenderingOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        self._rules = TextRules(options.case, options.punctuation, options.spaces, options.order == "any")
        self.needs = (Need(NEED, "read", confidence=options.confidence),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse a list in which no prompt asks for a text."""
        if not any(self._find_asked(prompt) for prompt in prompts):
            where = (
                f"the facet {self.options.facet!r} of every prompt is missing or blank"
                if self.options.facet is not None
                else "put it in quotes, give objects of the scene the attribute `text`, or name a column with the "
                "option facet"
            )
            raise BadPrompts(f"text-rendering: no prompt asks for a text; {where}")

    def _find_asked(self, prompt: Prompt) -> tuple[str, ...]:
        """Return the asked texts; none if they have no word under the rules."""
        asked = find_asked_texts(prompt, self.options.facet, self.options.quotes)
        return asked if self._rules.split(asked) else ()

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        """Yield the rows of one image."""
        observed = unit.one()
        asked = self._find_asked(observed.prompt)
        if not asked:
            yield Excluded(NOTHING_ASKED)
            return
        read: ReadText = observed.one(NEED)
        lines = read.select(self.options.confidence)
        texts = [read.lines[line] for line in lines]
        found = match_texts(asked, texts, self._rules)
        why = f"read {_quote(texts) or 'nothing'}, asked {_quote(asked)}"
        because = "" if found.found == found.asked else why
        evidence = _list_evidence(read, lines)
        yield Row(EXACT, float(found.found == found.asked), because=because, evidence=evidence)
        yield Row(ACCURACY, found.found / found.asked, because=because)
        yield Row(DISTANCE, found.edit_distance, because=why if found.edit_distance else "")


def _list_evidence(read: ReadText, lines: Sequence[int]) -> tuple[Evidence, ...]:
    """Return the box of each line; none if the judge gives no boxes."""
    if read.boxes is None:
        return ()
    boxes = [(float(x0), float(y0), float(x1), float(y1)) for x0, y0, x1, y1 in read.boxes]
    return tuple(Evidence(_quote([read.lines[line]]), boxes[line]) for line in lines)


def _quote(texts: Sequence[str]) -> str:
    """Return texts in quotes, the beginning of long ones."""
    joined = " ".join(" ".join(texts).split())
    shown = joined if len(joined) <= _SHOWN else f"{joined[:_SHOWN]}..."
    return f"'{shown}'" if shown else ""
