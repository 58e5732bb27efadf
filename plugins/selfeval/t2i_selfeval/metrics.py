"""The metrics of choices: by SelfEval's likelihood, by the errors of Li et al., by the cosines of a CLIP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from t2i_core.api import LikelihoodTerms
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric_input import Need, Observed, Sample, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .ablation import ESTIMATORS, STEPS, TRIALS, above, by_estimator, by_steps, by_trials, written
from .asking import NEED, chain_params, elimination, need
from .choices import Choices
from .estimators import (
    Floats,
    Terms,
    UnusableTerms,
    certainty,
    complete,
    errors_of,
    log_likelihood,
    posterior,
    standing,
    trials_of,
)
from .options import ElboOptions, EliminationOptions, SelfEvalClipOptions, SelfEvalOptions, TermsOptions

CALLS, ALL_CALLS, POSTERIOR, GAIN, Z = "calls", "calls_unpruned", "posterior", "gain", "z"


class SelfEval(Choices):
    """Picks the caption under which the model finds the image likeliest."""

    options: SelfEvalOptions

    def __init__(self, setup: Setup[SelfEvalOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        lengths = [options.steps, *(n for n in options.also_steps if n != options.steps)]
        asked = [{**chain_params(options, steps), **elimination(options)} for steps in lengths]
        self.needs = (need(options, asked, options.minus_empty, options.blind),)
        self._lengths = lengths

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one sample into rows.

        With all terms there are the posterior of the right caption and how sure the decision is, too, and facets
        of the headline say what fewer trials, fewer steps and other estimators would have decided.
        """
        observed = unit.one()
        prompt, options = observed.prompt, self.options
        answers: list[LikelihoodTerms] = observed.all(NEED)
        terms = answers[0].terms
        try:
            scores = [self._scores(answer.terms, len(prompt.texts)) for answer in answers]
            lengths = zip(self._lengths, scores, strict=True) if options.also_steps else ()
            steps = {f"{length}/{length}": above(prompt, own) for length, own in lengths}
            facets: dict[str, str] = {}
            if not options.gives_up:  # in all samples alike: those that kept their captions are the hard ones
                facets, rows = self._with_all_terms(prompt, terms, scores[0])
                yield from rows
                steps |= by_steps(prompt, terms["log_p"][..., : len(prompt.texts)])
            yield from self.decided(prompt, scores[0], {**facets, **({STEPS: written(steps)} if steps else {})})
        except UnusableTerms as why:
            yield Failure(str(why))
            return
        yield from calls(answers, options.trials * sum(self._lengths) * (len(prompt.texts) + options.minus_empty))
        yield Note(
            f"{said(options, 'steps')}, {options.chain} conditioning, noise by {options.noise}, estimator "
            f"{options.estimator}; {said_of_elimination(options)}"
        )

    def _scores(self, terms: Terms, captions: int) -> Floats:
        """Return a score a caption. Where some were given up, it is the mean of terms, among those left."""
        log_p = terms.get("log_p")
        if log_p is None or complete(log_p):
            return log_likelihood(terms, self.options.estimator)[:captions]
        return standing(log_p)

    def _with_all_terms(self, prompt: Prompt, terms: Terms, scores: Floats) -> tuple[dict[str, str], list[Row]]:
        """Return further facets of the headline, and further rows."""
        assert prompt.answer is not None  # as checked before anything ran
        captions, estimator = len(prompt.texts), self.options.estimator
        rows = [Row(POSTERIOR, float(posterior(scores)[prompt.answer])), *sure(terms["log_p"][..., :captions])]
        if self.options.minus_empty:
            estimate = log_likelihood(terms, estimator)
            rows.append(Row(GAIN, float(estimate[prompt.answer] - estimate[-1])))
        trials = trials_of(terms, estimator.startswith("q-"))[:, :captions]
        facets = {TRIALS: by_trials(prompt, trials, estimator), ESTIMATORS: by_estimator(prompt, terms)}
        return {name: written(found) for name, found in facets.items()}, rows


class SelfEvalElbo(Choices):
    """Picks the caption under which the model's prediction errs least (Li et al.)."""

    options: ElboOptions

    def __init__(self, setup: Setup[ElboOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        asked = [{"terms": "error", "steps": options.steps, **elimination(options)}]
        self.needs = (need(options, asked, blind=options.blind),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one sample into rows; with all terms, what fewer trials and timesteps would have decided too."""
        observed = unit.one()
        prompt, answer = observed.prompt, observed.one(NEED)
        weighted = self.options.weights == "bound"
        try:
            values = errors_of(answer.terms, weighted)
        except UnusableTerms as why:
            yield Failure(f"{why}: only a flow has weights" if weighted else str(why))
            return
        facets: dict[str, str] = {}
        if not self.options.gives_up:
            yield from sure(values)
            trials = by_trials(prompt, values.mean(axis=1), "mean")
            facets = {TRIALS: written(trials), STEPS: written(by_steps(prompt, values))}
        yield from self.decided(prompt, standing(values), facets)
        yield from calls([answer], self.options.trials * self.options.steps * len(prompt.texts))
        yield Note(f"{said(self.options, 'timesteps')}; {said_of_elimination(self.options)}")


class SelfEvalClip(Choices):
    """Picks the caption that a CLIP finds nearest to the image."""

    options: SelfEvalClipOptions

    def __init__(self, setup: Setup[SelfEvalClipOptions]) -> None:
        super().__init__(setup)
        self.needs = (embeddings(),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn one sample into rows."""
        observed = unit.one()
        found = cosines(observed)
        if isinstance(found, Failure):
            yield found
            return
        yield from self.decided(observed.prompt, found[0])
        yield from cut(observed)


def embeddings() -> Need:
    """Return the need of a vector of each of a sample's images, and of each of its captions."""

    def queries(samples: Sequence[Sample]) -> list[Query]:
        sample = samples[0]
        images = [Query(images=(image,)) for image in sample.own_images]
        return [*images, *(Query(texts=(text,)) for text in sample.prompt.texts)]

    return Need("embeddings", "embed", images="prompt", queries=queries)


def cosines(observed: Observed) -> Floats | Failure:
    """Return the cosine of each image and caption of a sample, (images, captions)."""
    vectors = np.stack([np.asarray(e.values, np.float64) for e in observed.all("embeddings")])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all():
        return Failure("a vector is 0: it has no direction")
    images = len(observed.prompt.images)
    directions = vectors / lengths
    found: Floats = directions[:images] @ directions[images:].T
    return found


def cut(observed: Observed) -> Iterator[Note]:
    """Say where a caption was read in part."""
    if any(e.cut_to is not None for e in observed.all("embeddings")):
        yield Note("a caption is longer than the judge reads, and was cut", counted=True)


def sure(values: Floats) -> Iterator[Row]:
    """Yield how sure a decision by a mean of terms is, where they vary."""
    if np.isfinite(z := certainty(values)):
        yield Row(Z, z)


def calls(answers: Sequence[LikelihoodTerms], terms: int) -> Iterator[Row]:
    """Yield how often the denoiser was asked about a sample, and how often all its terms would have taken."""
    yield Row(CALLS, float(sum(answer.calls for answer in answers)))
    yield Row(ALL_CALLS, float(terms))


def said(options: EliminationOptions, steps: str) -> str:
    """Say what a reader must know of the estimate."""
    return amount(options, steps) + (" of a grey image in place of each sample's own" if options.blind else "")


def amount(options: TermsOptions, steps: str) -> str:
    """Say of how many terms an estimate is made."""
    return f"{options.trials} trial{'s' * (options.trials > 1)} x {options.steps} {steps}"


def said_of_elimination(options: SelfEvalOptions | ElboOptions) -> str:
    """Say whether captions were given up."""
    if isinstance(options, ElboOptions) and options.stages:
        return f"captions given up in {len(options.stages)} stages"
    return f"captions given up at an error rate of {options.error_rate:g}" if options.gives_up else "all terms"
