"""Numbers of the reference: ends, cells of the paper's tables, and MAD within prompts."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from t2i_bias.agreement import within_prompts
from t2i_bias.groups import read_groups
from t2i_bias.people import majorities, read_people
from t2i_bias.spread import spread


def test_std_and_mad_are_the_references(golden):
    case = golden("bias-01")
    for name, counts in case["inputs"]["counts"].items():
        expected, found = case["expected"][name], spread(counts)
        assert found.std == pytest.approx(expected["STD"], abs=1e-6), name
        assert found.mad == pytest.approx(expected["MAD_formula(1/N)"], abs=1e-6), name
        assert found.printed == pytest.approx(expected["MAD_as_printed_in_tables(1/(N-1))"], abs=1e-6), name


def test_the_later_variant_is_the_references(golden, tmp_path):
    """The file has answers in words, some of them undecided, as people or models give them."""
    case = golden("bias-03")
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "prompt", "seed", "annotator", "question", "answer"))
        for prompt, answers in case["inputs"]["prompts"].items():
            for seed, answer in enumerate(answers):
                writer.writerow(("m", prompt, seed, "judge", "gender", answer))
    groups = read_groups("paper")
    found = majorities(read_people(tmp_path / "answers.csv", groups))
    clear = found[found["majority"] != ""]
    assert len(found) - len(clear) == 1
    codes = np.array([groups["gender"].names.index(answer) for answer in clear["majority"]])
    expected = case["expected"]["average_gender_MAD"]
    assert within_prompts(codes, clear["prompt"], 2) == pytest.approx(expected, abs=1e-6)
