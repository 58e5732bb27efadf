"""The metric `winoground`: two images and their captions, scored as Thrush et al. do, with strict inequalities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from t2i_core.api.errors import BadPrompts
from t2i_core.api.failure import Failure
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .asking import NEED, chain_params, need
from .estimators import Floats, Terms, UnusableTerms, errors_of, log_likelihood
from .metrics import CALLS, amount, cosines, cut, embeddings
from .options import WinogroundOptions
from .samples import wrong_with

CHANCE = "chance: text 25 %, image 25 %, group 16.7 %"


def scored(scores: Floats) -> dict[str, bool]:
    """Return what is right of one sample. Equals are not right.

    scores: (images, captions) = (2, 2), higher is better; image i belongs to caption i

    text:   both images prefer their own caption
    image:  both captions prefer their own image
    group:  all of that
    """
    (a, b), (c, d) = scores.tolist()
    text, image = a > b and d > c, a > c and d > b
    return {"text": text, "image": image, "group": text and image}


class Winoground(Metric):
    """Which caption belongs to which image?"""

    options: WinogroundOptions

    def __init__(self, setup: Setup[WinogroundOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        if options.by == "clip":
            self.needs = (embeddings(),)
        else:  # images are compared, so that every term of every caption is needed
            chain = chain_params(options, options.steps)
            asked = chain if options.by == "log_p" else {"terms": "error", "steps": options.steps}
            self.needs = (need(options, [asked], options.minus_empty),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts that are no pairs."""
        for prompt in prompts:
            if (fault := wrong_with(prompt, images=2)) is not None:
                raise BadPrompts(f"winoground: the prompt {prompt.id!r} {fault}")

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one pair into rows, 1 or 0."""
        observed = unit.one()
        if self.options.by == "clip":
            found = cosines(observed)
            if isinstance(found, Failure):
                yield found
                return
            yield from cut(observed)
        else:
            answers = observed.all(NEED)
            try:
                found = np.stack([self._scores(answer.terms) for answer in answers])
            except UnusableTerms as why:
                yield Failure(str(why))
                return
            yield Row(CALLS, float(sum(answer.calls for answer in answers)))
        for measure, right in scored(found).items():
            yield Row(measure, float(right))
        yield Note(f"{self._said()}; {CHANCE}")

    def _scores(self, terms: Terms) -> Floats:
        """Return one image's score under each of the two captions."""
        if self.options.by == "error":
            found: Floats = errors_of(terms, weighted=False).mean(axis=(0, 1))
        else:
            found = log_likelihood(terms, self.options.estimator)
        return found[:2] - found[2] if self.options.minus_empty else found

    def _said(self) -> str:
        options = self.options
        if options.by == "clip":
            return "cosines of a CLIP"
        less = ", less the same of the empty caption" if options.minus_empty else ""
        if options.by == "error":
            return f"errors, {amount(options, 'timesteps')}{less}"
        return (
            f"log p(x | caption), {amount(options, 'steps')}, {options.chain} conditioning, "
            f"estimator {options.estimator}{less}"
        )
