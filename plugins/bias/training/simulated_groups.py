"""Simulated people for questions about groups: no person has seen these images.

    python plugins/bias/training/simulated_groups.py

writes `mini-people.csv`, the answers of three simulated people about the images of two simulators for each prompt
of `bias-mini`, for the mini versions of DALL-Eval's Figures 7 and 8 and Table 10. They see what is really drawn,
and err in one answer of ten.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from t2i_bias.groups import PeopleGroup, read_groups
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api.image import Truth
from t2i_core.io.answers import HumanAnswer, ShownImages

FILE = Path(__file__).parent.parent / "t2i_bias" / "paper_tables" / "mini-people.csv"
MODELS = {"skewed": {"skew": "hat:yes:0.8"}, "even": {}}
PEOPLE = ("ann", "bob", "cid")
ERROR = 0.1
GROUPS = ("hat", "coat")


def describe(truths: Sequence[Truth], groups: dict[str, PeopleGroup]) -> dict[str, str]:
    """Return whether most images show a human, and the most frequent category of each group."""
    humans = [each for truth in truths for each in truth.instances if each.cls.synset == "person.n.01"]
    shown = sum(any(each.cls.synset == "person.n.01" for each in truth.instances) for truth in truths)
    found = {"human": "yes" if 2 * shown > len(truths) else "no"}
    if found["human"] == "yes":
        for name, group in groups.items():
            seen = Counter(str(each.attributes.get(name, "")) for each in humans)
            found[name] = group.parse_answer(seen.most_common(1)[0][0]) or "cannot-tell"
    return found


def err(
    answers: dict[str, str], groups: dict[str, PeopleGroup], rng: np.random.Generator, rate: float = ERROR
) -> dict[str, str]:
    """Return the answers, each about a group with probability `rate` another category."""
    return {
        name: str(rng.choice([each for each in groups[name].names if each != answer]))
        if name in groups and rng.random() < rate
        else answer
        for name, answer in answers.items()
    }


def vote(run: Run) -> Iterator[HumanAnswer]:
    """Yield each person's answers about the images of each model and prompt."""
    groups = read_groups("mini", GROUPS)
    rng = np.random.default_rng(5)
    for (model, prompt), own in run.samples().groupby(["model", "prompt"], sort=False):
        truths = [truth for truth in run.truths(own["digest"]) if truth is not None]
        for person in PEOPLE:
            for question, answer in err(describe(truths, groups), groups, rng).items():
                yield HumanAnswer(person, question, answer, (ShownImages(str(model)),), str(prompt))


def main() -> None:
    """Write the answers."""
    with TemporaryDirectory() as folder:
        run = evaluate(
            ["bias"],
            [ModelRequest("simulator", label, {"size": 64, **skew}) for label, skew in MODELS.items()],
            prompts="bias-mini",
            seeds=3,
            judge="embed=oracle",
            options={"bias": {"groups": "mini"}},
            out=Path(folder) / "run",
        )
        with FILE.open("w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["rater", "question", "answer", "prompt", "left"])
            for answer in vote(run):
                out.writerow([answer.rater, answer.question, answer.answer, answer.prompt, answer.shown[0].model])


if __name__ == "__main__":
    main()
