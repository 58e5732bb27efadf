"""People's answers: reading, errors, and comparison with the judge's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from t2i_bias.agreement import agreement
from t2i_bias.groups import read_groups
from t2i_bias.options import BiasOptions
from t2i_bias.people import GRID, find_not_human, majorities, read_people
from t2i_bias.people_comparison import compare_with_people
from t2i_core.api.errors import BadOption
from t2i_core.api.study import Study
from t2i_core.results.images import find_images
from t2i_core.testing.figures import check_figure

HEAD = "model,prompt,seed,annotator,question,answer\n"
GROUPS = read_groups("paper")


def written(tmp_path, text, head=HEAD):
    path = tmp_path / "answers.csv"
    path.write_text(head + text)
    return path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "m,p,,ann,age,old\nm,p,,ann,gendr,male\n",
            "has no answers to human or gender or race, only to age",
        ),
        (
            "m,p,,ann,gender,mal\n",
            "ann about model 'm', prompt 'p': answer to gender must name one of male",
        ),
        ("m,p,,ann,human,maybe\n", "answer to human must be yes or no (got 'maybe')"),
    ],
)
def test_errors_are_reported(tmp_path, text, fault):
    with pytest.raises(BadOption) as error:
        read_people(written(tmp_path, text), GROUPS)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_majorities(tmp_path):
    text = (
        "m,nurse,,a,gender,female\nm,nurse,,b,gender,woman\nm,nurse,,c,gender,male\n"
        "m,pilot,,a,gender,male\nm,pilot,,b,gender,female\n"
        "m,cook,,a,gender,male\nm,cook,,b,gender,male\n"
        "m,judge,,a,gender,male\n"
        + "".join(f"m,judge,,{who},gender,unknown\n" for who in "bcde")
        + "m,alien,,a,human,no\nm,alien,,b,human,no\nm,alien,,a,gender,unknown\nm,nurse,,a,human,yes\n"
    )
    found = majorities(read_people(written(tmp_path, text), GROUPS)).set_index(["prompt", "question"])
    assert found["majority"].to_dict() == {
        ("nurse", "gender"): "female", ("pilot", "gender"): "", ("cook", "gender"): "male",
        ("judge", "gender"): "",
        ("alien", "human"): "no", ("alien", "gender"): "", ("nurse", "human"): "yes",
    }  # fmt: skip
    assert found["unanimous"].to_dict()["cook", "gender"]
    assert not found["unanimous"].to_dict()["nurse", "gender"]
    assert find_not_human(found.reset_index()) == {("m", "alien", GRID)}


def test_two_who_agree_by_chance():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, (2, 4000))
    found = agreement(a, b, np.arange(4000))
    assert found["kappa low"] <= 0 <= found["kappa high"]
    assert found["phi low"] <= 0 <= found["phi high"]
    assert found["agreement"] == pytest.approx(0.25, abs=0.03)


def test_a_majority_may_need_more_than_half(tmp_path):
    races = ["White", "White", "Black", "Asian", "Hispanic"]
    text = "".join(f"m,nurse,,{n},race,{race}\nm,pilot,,{n},race,White\n" for n, race in enumerate(races))
    answers = read_people(written(tmp_path, text), GROUPS)
    assert majorities(answers)["majority"].tolist() == ["White", "White"]
    assert majorities(answers, "half").set_index("prompt")["majority"].to_dict() == {"nurse": "", "pilot": "White"}


def study(votes, folder=Path(), categories=None):
    """Return a run of one model with these votes, in which every image votes as its prompt."""
    lines = []
    for prompt, vote in votes.items():
        for answer in ("male", "female"):
            of = {
                "model": "m",
                "prompt": prompt,
                "cluster": prompt,
                "group": "gender",
                "answer": f"gender: {answer}",
                **({} if categories is None else {"category": categories[prompt]}),
            }
            value = float(vote == answer)
            lines.append({"measure": "vote-share", "value": value, "seed": None, **of})
            lines += [{"measure": "image-share", "value": value, "seed": seed, **of} for seed in (0, 1)]
    samples = pd.DataFrame(
        [
            {"model": "m", "prompt": p, "seed": s, "status": "ok", "image": f"{p}-{s}.png", "digest": "0" * 64}
            for p in votes
            for s in (0, 1)
        ]
    )
    table = pd.DataFrame(lines).astype({"seed": "Int64"})
    return Study(table, samples, folder, find_images=partial(find_images, samples, folder))


def analysed(tmp_path, text, votes, categories=None, **options):
    path = written(tmp_path, text)
    found = compare_with_people(study(votes, categories=categories), BiasOptions(people=path, **options), path)
    return {analysis.name: analysis for analysis in found}


VOTES = {"nurse": "female", "pilot": "male", "cook": "male", "alien": "female"}
ANSWERS = "".join(
    f"m,{prompt},,{who},{question},{answer}\n"
    for prompt, (human, *said) in {
        "nurse": ("yes", "female", "female"), "pilot": ("yes", "male", "male"),
        "cook": ("yes", "female", "female"), "alien": ("no", "male", "male"),
    }.items()
    for who, gender in zip("ab", said, strict=True)
    for question, answer in (("human", human), ("gender", gender))
)  # fmt: skip


def test_people_beside_the_judge(tmp_path):
    found = analysed(tmp_path, ANSWERS, VOTES)
    (line,) = found["people"].table.to_dict("records")
    assert (line["asked"], line["not human"], line["n"], line["of"]) == (4, 1, 3, "votes")
    assert line["agreement"] == pytest.approx(2 / 3)
    assert line["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    assert line["mad people"] == line["mad judge"] == pytest.approx(1 / 6)
    assert np.isnan(line["mad-per-prompt people"])
    assert found["disagreements"].table[["prompt", "people", "judge"]].to_numpy().tolist() == [
        ["cook", "female", "male"]
    ]
    unanimous = found["unanimous"].table
    assert unanimous[["prompt", "people"]].to_numpy().tolist() == [
        ["cook", "female"], ["nurse", "female"], ["pilot", "male"],
    ]  # fmt: skip
    assert found["agreements"].table["prompt"].tolist() == ["nurse", "pilot"]
    shares = found["people gender"].table.set_index(["category", "who", "answer"])["share"]
    assert shares["all", "people", "female"] == pytest.approx(2 / 3)
    assert shares["all", "judge", "female"] == pytest.approx(1 / 3)
    assert len(shares) == 4  # these prompts have no categories
    assert (line["std one-hot"], line["mad one-hot"], line["mad-n-1 one-hot"]) == (0.5, 0.5, 1)


def test_people_by_category_of_prompts(tmp_path):
    kinds = {"nurse": "profession", "pilot": "profession", "cook": "other", "alien": "other"}
    found = analysed(tmp_path, ANSWERS, VOTES, kinds)
    table = found["people gender"].table
    shares = table.set_index(["category", "who", "answer"])["share"]
    assert shares["profession", "people", "female"] == shares["profession", "judge", "female"] == 0.5
    assert (shares["other", "people", "female"], shares["other", "judge", "female"]) == (1, 0)
    counts = table.drop_duplicates("category").set_index("category")["n"]
    assert counts.to_dict() == {"all": 3, "profession": 2, "other": 1}
    assert "profession" in check_figure(found["people gender"])
    listed = found["unanimous"].table[["category", "prompt"]].to_numpy().tolist()
    assert listed == [["other", "cook"], ["profession", "nurse"], ["profession", "pilot"]]
    examples = found["unanimous by category"].table.set_index(["category", "answer"])
    assert examples["example"].to_dict() == {
        ("profession", "male"): "pilot", ("profession", "female"): "nurse",
        ("other", "male"): "-", ("other", "female"): "cook",
    }  # fmt: skip
    assert examples.loc[("other", "female"), ["unanimous", "asked"]].tolist() == [1, 1]


def test_images_without_people_may_count(tmp_path):
    (line,) = analysed(tmp_path, ANSWERS, VOTES, not_human="count")["people"].table.to_dict("records")
    assert (line["not human"], line["n"], line["agreement"]) == (0, 4, 0.5)


def test_answers_about_single_images(tmp_path):
    text = "".join(
        f"m,{p},{s},a,gender,{g}\n" for p, g in (("nurse", "female"), ("pilot", "male")) for s in (0, 1)
    )
    (line,) = analysed(tmp_path, text, VOTES)["people"].table.to_dict("records")
    assert (line["of"], line["n"], line["agreement"], line["kappa"]) == ("images", 4, 1, 1)
    # both prompts agree in full; by chance half of the answers would differ
    assert (line["kappa low"], line["kappa high"]) == (pytest.approx(1 - (1 - 0.025**0.5) / 0.5), 1)
    assert line["phi low"] == line["kappa low"]
    assert line["mad-per-prompt people"] == line["mad-per-prompt judge"] == 0.5


def test_votes_and_images_are_counted_separately(tmp_path):
    single = "m,nurse,0,a,gender,male\nm,nurse,1,a,gender,male\n"
    found = analysed(tmp_path, ANSWERS + single, VOTES)
    assert found["people"].table["of"].tolist() == ["votes", "images"]
    shares = found["people gender"].table.set_index(["of", "who", "answer"])
    assert shares.loc[("votes", "people", "male"), ["share", "n"]].tolist() == [pytest.approx(1 / 3), 3]
    assert shares.loc[("images", "people", "male"), ["share", "n"]].tolist() == [1, 2]
    text = check_figure(found["people gender"])
    assert "votes" in text
    assert "images" in text


def test_answers_about_other_images_are_refused(tmp_path):
    with pytest.raises(BadOption, match=r"none of the answers .* model 'x', prompt 'nurse'"):
        analysed(tmp_path, "x,nurse,,a,gender,male\n", VOTES)
