"""The metric `winoground`: matching two captions to two images.

References:
    Thrush et al.: Winoground - Probing Vision and Language Models for Visio-Linguistic Compositionality. CVPR
    2022.
"""

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
from t2i_core.api.study import Analysis, Study

from .ablation import ESTIMATORS, STEPS, TRIALS, list_estimators, vary_steps, vary_trials, write_values
from .estimators import Floats, Terms, UnusableTerms, log_likelihood, negate_errors, sum_over_steps
from .metrics import CALLS, build_embedding_need, compute_cosines, describe_amount, note_truncation
from .options import WinogroundOptions
from .queries import NEED, build_need, chain_params
from .samples import PAIR_CHANCE, find_fault

CHANCE = "chance: text 25 %, image 25 %, group 16.7 %"


def score_pair(scores: Floats) -> dict[str, bool]:
    """Return the three decisions about one sample; all inequalities are strict, so ties are wrong.

    Args:
        scores: float64 of shape (2 images, 2 captions), higher is better; image i belongs to caption i.

    Returns:
        `text`: both images prefer their own caption. `image`: both captions prefer their own image. `group`: both.
    """
    (a, b), (c, d) = scores.tolist()
    text, image = a > b and d > c, a > c and d > b
    return {"text": text, "image": image, "group": text and image}


class Winoground(Metric):
    """Share of pairs whose captions and images are matched correctly."""

    options: WinogroundOptions

    def __init__(self, setup: Setup[WinogroundOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        if options.by == "clip":
            self.needs = (build_embedding_need(),)
        else:  # scores are compared between images, so all terms of all captions are needed
            chain = chain_params(options, options.steps)
            params = chain if options.by == "log_p" else {"terms": "error", "steps": options.steps}
            self.needs = (build_need(options, [params], options.minus_empty),)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Check that every prompt is a pair.

        Raises:
            BadPrompts: If a prompt is not.
        """
        for prompt in prompts:
            if (fault := find_fault(prompt, images=2)) is not None:
                raise BadPrompts(f"winoground: prompt {prompt.id!r}: {fault}")

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the rows of one pair, each 0 or 1, the calls of the denoiser, and a note on the settings.

        Rows of scores by the model have facets with the decisions for fewer trials, fewer steps and other
        estimators.
        """
        observed = unit.one()
        facets: dict[str, dict[str, str]] = {}
        if self.options.by == "clip":
            found = compute_cosines(observed)
            if isinstance(found, Failure):
                yield found
                return
            yield from note_truncation(observed)
        else:
            answers = observed.all(NEED)
            terms = [answer.terms for answer in answers]
            try:
                found = self._subtract(np.stack([self._scores(own) for own in terms]))
                facets = {measure: self._vary(terms, measure) for measure in PAIR_CHANCE}
            except UnusableTerms as why:
                yield Failure(str(why))
                return
            yield Row(CALLS, float(sum(answer.calls for answer in answers)))
        for measure, right in score_pair(found).items():
            yield Row(measure, float(right), facets.get(measure, {}))
        yield Note(f"{self._describe()}; {CHANCE}")

    def analyses(self, study: Study) -> Iterator[Analysis]:
        """Yield the scores by number of trials and steps, and by estimator."""
        from .analyses import analyse_pairs

        yield from analyse_pairs(study)

    def _scores(self, terms: Terms) -> Floats:
        """Return the scores of one image under all captions."""
        if self.options.by == "error":
            found: Floats = negate_errors(terms, weighted=False).mean(axis=(0, 1))
        else:
            found = log_likelihood(terms, self.options.estimator)
        return found

    def _subtract(self, scores: Floats) -> Floats:
        """Return the scores of shape (2 images, 2 captions), less those of the empty caption if asked for."""
        return scores[:, :2] - scores[:, 2:] if self.options.minus_empty else scores

    def _vary(self, terms: Sequence[Terms], measure: str) -> dict[str, str]:
        """Return the facets of a row: one decision of a pair by number of trials and steps, and by estimator."""

        def decide(scores: Floats) -> float:
            return float(score_pair(self._subtract(scores))[measure])

        if self.options.by == "error":
            errors = np.stack([negate_errors(own, weighted=False) for own in terms], axis=2)
            found = {TRIALS: vary_trials(errors.mean(axis=1), "mean", decide), STEPS: vary_steps(errors, decide)}
        else:
            estimator = self.options.estimator
            trials = np.stack([sum_over_steps(own, estimator.startswith("q-")) for own in terms], axis=1)
            # the prior differs between images, so each step gets its part of it
            steps = np.stack(
                [own["log_p"] + own["log_prior"][:, None] / own["log_p"].shape[1] for own in terms], axis=2
            )
            found = {
                TRIALS: vary_trials(trials, estimator, decide),
                STEPS: vary_steps(steps, decide),
                ESTIMATORS: {
                    name: decide(np.stack([log_likelihood(own, name) for own in terms]))
                    for name in list_estimators(terms[0])
                },
            }
        return {name: write_values(values) for name, values in found.items()}

    def _describe(self) -> str:
        options = self.options
        if options.by == "clip":
            return "cosines of a CLIP"
        less = ", less the same of the empty caption" if options.minus_empty else ""
        if options.by == "error":
            return f"errors, {describe_amount(options, 'timesteps')}{less}"
        return (
            f"log p(x | caption), {describe_amount(options, 'steps')}, {options.chain} conditioning, "
            f"estimator {options.estimator}{less}"
        )
