"""Scores of a run that stopped early, as its sequential tests estimate them."""

from __future__ import annotations

from dataclasses import replace

from ..results.looks import StoppedComparison
from ..results.numbers import make_interval, make_number
from ..results.result import Comparison, Result
from ..statistics.verdicts import ALPHA, Family
from .growth import Growth
from .score import Scored


def adjust_for_stop(scored: Scored, growth: Growth) -> Scored:
    """Return the scores of a run that stopped early, with the differences as its tests estimate them.

    The plain difference exaggerates where a run stopped because it was large, and its p counts one look only. With
    `width=W` nothing was tested, and the scores stay as they are.
    """
    family = growth.family
    if family is None:
        return scored
    return replace(
        scored,
        results=[_note_last_look(each, growth) for each in scored.results],
        comparisons=[_adjust_comparison(each, growth, family) for each in scored.comparisons],
    )


def _note_last_look(result: Result, growth: Growth) -> Result:
    """Return a score with a note on the look up to which its model was drawn, unless that is the planned end."""
    plan = [(look.prompts, look.seeds) for look in growth.record.plan]
    drawn = result.n_prompts, result.n_seeds
    if drawn == plan[-1]:
        return result
    note = f"drawn up to look {plan.index(drawn) + 1} of {len(plan)}; the interval is that of a run of fixed size"
    return result.model_copy(update={"notes": [*result.notes, note]})


def _adjust_comparison(comparison: Comparison, growth: Growth, family: Family) -> Comparison:
    pair = comparison.a, comparison.b
    number = max(n for n, look in enumerate(family.looks, 1) if pair in look.pairs)
    last = family.looks[number - 1]
    found, estimate = last.pairs[pair], family.estimates[pair]
    pairs = len(family.decisions)
    level = f"{1 - ALPHA / pairs:.2%} (Bonferroni), " if pairs > 1 else ""
    stopped = StoppedComparison(
        look=number,
        prompts=last.look.prompts,
        seeds=last.look.seeds,
        decision=family.decisions[pair],
        margin=growth.record.margin or 0.0,
        plain_diff=make_number(found.diff),
    )
    return comparison.model_copy(
        update={
            "diff": make_number(estimate.diff),
            "ci": make_interval(estimate),
            "p_adjusted": make_number(last.p[pair]),
            "p_unadjusted": make_number(estimate.p),
            "n": found.n,
            "interval": f"{level}stage-wise ordered at look {number} of {len(growth.record.plan)}, "
            f"{comparison.interval}",
            "needed": None,
            "stopped": stopped,
        }
    )
