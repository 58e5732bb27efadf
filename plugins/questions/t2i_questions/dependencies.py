"""Dependencies of questions: an answer counts only if the questions on which it depends are answered rightly.

Three rules, each a function of the right answers and the parents of each question, in the order of the questions.
A question is *valid* under a rule if it counts; it scores if it is valid and its answer is right. A parent that
does not exist counts as answered wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Right = Mapping[str, bool]
"""True for each question whose answer is right, by the question's id, in the order of the questions."""

Parents = Mapping[str, Sequence[str]]
"""Ids of the parents of each question, by the question's id."""


class UnknownParent(ValueError):
    """A question depends on one that does not exist."""


def find_valid(right: Right, parents: Parents) -> dict[str, bool]:
    """Return which questions are valid by DSG's rule: the original answers to all parents are right.

    What happens to a parent because of its own parents plays no part.

    References:
        Cho et al.: Davidsonian Scene Graph. ICLR 2024. j-min/DSG, dsg/vqa_utils.py.
    """
    return {each: all(right.get(parent, False) for parent in parents.get(each, ())) for each in right}


def find_valid_in_order(right: Right, parents: Parents) -> dict[str, bool]:
    """Return which questions are valid by DPG-Bench's rule, which sets lost answers to 0 in place, one by one.

    So a lost question takes its children with it, if they come later in the list.

    Raises:
        UnknownParent: A parent does not exist, and no parent before it is lost. The original code raises there,
            too, and leaves the image out.

    References:
        TencentQQGYLab/ELLA, dpg_bench/compute_dpg_bench.py.
    """
    scores, valid = dict(right), {}
    for each in right:
        valid[each] = True
        for parent in parents.get(each, ()):
            if parent not in scores:
                raise UnknownParent(f"question {each} depends on question {parent}, which does not exist")
            if not scores[parent]:
                valid[each] = False
                break  # the original code looks up no further parent
        scores[each] = scores[each] and valid[each]
    return valid


def find_valid_with_ancestors(right: Right, parents: Parents) -> dict[str, bool]:
    """Return which questions are valid if all their ancestors are answered rightly, whatever the order.

    Questions that depend on each other in a circle are ancestors of each other.
    """
    return {each: all(right.get(above, False) for above in _list_ancestors(each, parents)) for each in right}


def _list_ancestors(question: str, parents: Parents) -> set[str]:
    found: set[str] = set()
    open_ = [*parents.get(question, ())]
    while open_:
        if (each := open_.pop()) not in found:
            found.add(each)
            open_ += parents.get(each, ())
    return found
