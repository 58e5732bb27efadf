"""The metrics `selfeval`, `selfeval-elbo` and `selfeval-clip`.

References:
    SelfEval: Leveraging the discriminative nature of generative models for evaluation.
    Li et al.: Your Diffusion Model is Secretly a Zero-Shot Classifier. ICCV 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from t2i_core.api import LikelihoodTerms
from t2i_core.api.failure import Failure
from t2i_core.api.judge import Query
from t2i_core.api.metric_input import Need, Observed, Sample, Unit
from t2i_core.api.metric_output import Note, Row
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import Prompt

from .ablation import (
    ESTIMATORS,
    STEPS,
    TRIALS,
    score_above_chance,
    vary_estimator,
    vary_steps,
    vary_trials,
    write_values,
)
from .choices import Choices
from .estimators import (
    Floats,
    Terms,
    UnusableTerms,
    certainty,
    is_complete,
    log_likelihood,
    negate_errors,
    posterior,
    score_remaining,
    sum_over_steps,
)
from .options import ElboOptions, EliminationOptions, SelfEvalClipOptions, SelfEvalOptions, TermsOptions
from .queries import NEED, build_need, chain_params, elimination_params

CALLS, ALL_CALLS, POSTERIOR, GAIN, Z = "calls", "calls_unpruned", "posterior", "gain", "z"


class SelfEval(Choices):
    """Choice of the caption with the highest likelihood of the image under the model."""

    options: SelfEvalOptions

    def __init__(self, setup: Setup[SelfEvalOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        lengths = [options.steps, *(n for n in options.also_steps if n != options.steps)]
        variants = [{**chain_params(options, steps), **elimination_params(options)} for steps in lengths]
        self.needs = (build_need(options, variants, options.minus_empty, options.blind),)
        self._lengths = lengths

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the rows of one sample and a note on the settings.

        If no caption may be eliminated, the rows include `posterior` and `z`, and the headline has facets with the
        decisions for fewer trials, fewer steps and other estimators.
        """
        observed = unit.one()
        prompt, options = observed.prompt, self.options
        answers: list[LikelihoodTerms] = observed.all(NEED)
        terms = answers[0].terms
        try:
            scores = [self._scores(answer.terms, len(prompt.texts)) for answer in answers]
            lengths = zip(self._lengths, scores, strict=True) if options.also_steps else ()
            steps = {f"{length}/{length}": score_above_chance(prompt, own) for length, own in lengths}
            facets: dict[str, str] = {}
            # With elimination, only hard samples keep all their terms, so these rows are left out for all samples.
            if not options.gives_up:
                facets, rows = self._with_all_terms(prompt, terms, scores[0])
                yield from rows
                steps |= vary_steps(terms["log_p"][..., : len(prompt.texts)], partial(score_above_chance, prompt))
            yield from self.score_decision(
                prompt, scores[0], {**facets, **({STEPS: write_values(steps)} if steps else {})}
            )
        except UnusableTerms as why:
            yield Failure(str(why))
            return
        yield from call_rows(
            answers, options.trials * sum(self._lengths) * (len(prompt.texts) + options.minus_empty)
        )
        yield Note(
            f"{describe_terms(options, 'steps')}, {options.chain} conditioning, noise by {options.noise}, "
            f"estimator {options.estimator}; {describe_elimination(options)}"
        )

    def _scores(self, terms: Terms, captions: int) -> Floats:
        """Return a score per caption: the estimate, or the mean of terms if captions were eliminated."""
        log_p = terms.get("log_p")
        if log_p is None or is_complete(log_p):
            return log_likelihood(terms, self.options.estimator)[:captions]
        return score_remaining(log_p)

    def _with_all_terms(self, prompt: Prompt, terms: Terms, scores: Floats) -> tuple[dict[str, str], list[Row]]:
        """Return the facets of the headline and the rows that need all terms."""
        assert prompt.answer is not None  # see `check`
        captions, estimator = len(prompt.texts), self.options.estimator
        rows = [Row(POSTERIOR, float(posterior(scores)[prompt.answer])), *z_rows(terms["log_p"][..., :captions])]
        if self.options.minus_empty:
            estimate = log_likelihood(terms, estimator)
            rows.append(Row(GAIN, float(estimate[prompt.answer] - estimate[-1])))
        trials = sum_over_steps(terms, estimator.startswith("q-"))[:, :captions]
        decide = partial(score_above_chance, prompt)
        facets = {
            TRIALS: vary_trials(trials, estimator, decide),
            ESTIMATORS: vary_estimator(terms, lambda estimates: decide(estimates[:captions])),
        }
        return {name: write_values(found) for name, found in facets.items()}, rows


class SelfEvalElbo(Choices):
    """Choice of the caption with the smallest prediction error of the model (Li et al.)."""

    options: ElboOptions

    def __init__(self, setup: Setup[ElboOptions]) -> None:
        super().__init__(setup)
        options = setup.options
        params = {"terms": "error", "steps": options.steps, **elimination_params(options)}
        self.needs = (build_need(options, [params], blind=options.blind),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the rows of one sample and a note on the settings.

        If no caption may be eliminated, the rows include `z`, and the headline has facets with the decisions for
        fewer trials and timesteps.
        """
        observed = unit.one()
        prompt, answer = observed.prompt, observed.one(NEED)
        weighted = self.options.weights == "bound"
        try:
            values = negate_errors(answer.terms, weighted)
        except UnusableTerms as why:
            yield Failure(f"{why}; only flow models have weights, use weights=none" if weighted else str(why))
            return
        facets: dict[str, str] = {}
        if not self.options.gives_up:
            yield from z_rows(values)
            decide = partial(score_above_chance, prompt)
            trials = vary_trials(values.mean(axis=1), "mean", decide)
            facets = {TRIALS: write_values(trials), STEPS: write_values(vary_steps(values, decide))}
        yield from self.score_decision(prompt, score_remaining(values), facets)
        yield from call_rows([answer], self.options.trials * self.options.steps * len(prompt.texts))
        yield Note(f"{describe_terms(self.options, 'timesteps')}; {describe_elimination(self.options)}")


class SelfEvalClip(Choices):
    """Choice of the caption with the highest CLIP cosine to the image."""

    options: SelfEvalClipOptions

    def __init__(self, setup: Setup[SelfEvalClipOptions]) -> None:
        super().__init__(setup)
        self.needs = (build_embedding_need(),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the rows of one sample, and a note if a caption was truncated."""
        observed = unit.one()
        found = compute_cosines(observed)
        if isinstance(found, Failure):
            yield found
            return
        yield from self.score_decision(observed.prompt, found[0])
        yield from note_truncation(observed)


def build_embedding_need() -> Need:
    """Return a need of the embeddings of a sample's images and captions, in this order."""

    def queries(samples: Sequence[Sample]) -> list[Query]:
        sample = samples[0]
        images = [Query(images=(image,)) for image in sample.own_images]
        return [*images, *(Query(texts=(text,)) for text in sample.prompt.texts)]

    return Need("embeddings", "embed", images="prompt", queries=queries)


def compute_cosines(observed: Observed) -> Floats | Failure:
    """Return the cosines of a sample, float64 of shape (images, captions); a failure if a vector is 0."""
    vectors = np.stack([np.asarray(e.values, np.float64) for e in observed.all("embeddings")])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > 0).all():
        return Failure("the judge returned a vector of length 0")
    images = len(observed.prompt.images)
    directions = vectors / lengths
    found: Floats = directions[:images] @ directions[images:].T
    return found


def note_truncation(observed: Observed) -> Iterator[Note]:
    """Yield a note if the judge truncated a caption."""
    if any(e.cut_to is not None for e in observed.all("embeddings")):
        yield Note("the judge truncated a caption that exceeds its maximum length", counted=True)


def z_rows(values: Floats) -> Iterator[Row]:
    """Yield z of a decision by the mean of terms, if it is finite."""
    if np.isfinite(z := certainty(values)):
        yield Row(Z, z)


def call_rows(answers: Sequence[LikelihoodTerms], terms: int) -> Iterator[Row]:
    """Yield the denoiser calls for a sample, and the number that all its terms would take."""
    yield Row(CALLS, float(sum(answer.calls for answer in answers)))
    yield Row(ALL_CALLS, float(terms))


def describe_terms(options: EliminationOptions, steps: str) -> str:
    """Return the number of terms and whether the images were replaced, for a note."""
    return describe_amount(options, steps) + (
        " of a grey image in place of each sample's own" if options.blind else ""
    )


def describe_amount(options: TermsOptions, steps: str) -> str:
    """Return the number of terms of an estimate in words."""
    return f"{options.trials} trial{'s' * (options.trials > 1)} x {options.steps} {steps}"


def describe_elimination(options: SelfEvalOptions | ElboOptions) -> str:
    """Return whether and how captions were eliminated, for a note."""
    if isinstance(options, ElboOptions) and options.stages:
        return f"captions given up in {len(options.stages)} stages"
    return f"captions given up at an error rate of {options.error_rate:g}" if options.gives_up else "all terms"
