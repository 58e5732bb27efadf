"""`t2i people tally` and `agree`: counts by hand, and published values of the coefficients."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api.errors import BadOption
from t2i_core.io.answers import HumanAnswer, ShownImages, write_answers
from t2i_people.command import app
from typer.testing import CliRunner

KRIPPENDORFF = {
    "A": "1 2 3 3 2 1 4 1 2 * * *",
    "B": "1 2 3 3 2 2 4 1 2 5 * 3",
    "C": "* 3 3 3 2 3 4 2 2 5 1 *",
    "D": "1 2 3 3 2 4 4 1 2 5 1 *",
}
"""Example C of Krippendorff, Computing Krippendorff's alpha-reliability (2011)."""


def ask(path: Path, *command: str) -> Any:
    found = CliRunner().invoke(app, [command[0], str(path), *command[1:], "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    return json.loads(found.stdout)


def write(path: Path, head: str, *lines: str) -> Path:
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    lines = [
        f"{rater},rating,{answer},p{item},m,0"
        for rater, row in KRIPPENDORFF.items()
        for item, answer in enumerate(row.split())
        if answer != "*"
    ]
    return write(
        tmp_path / "ratings.csv", "rater,question,answer,prompt,left,seed", *lines, "E,rating,cannot-tell,p0,m,0"
    )


def test_ratings_have_alpha_of_each_level(ratings: Path) -> None:
    found = {line["coefficient"]: line for line in ask(ratings, "agree")["questions"]}
    for name, value in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        line = found[f"alpha ({name})"]
        assert line["value"] == pytest.approx(value, abs=5e-4)
        assert line["ci"][0] < line["value"] < line["ci"][1]
        assert (line["items"], line["raters"]) == (11, 4)


def test_intervals_about_new_raters_are_wider(ratings: Path) -> None:
    fixed, new = (ask(ratings, "agree", "--raters", raters) for raters in ("fixed", "new"))
    assert fixed["interval"] != new["interval"]
    for one, other in zip(fixed["questions"], new["questions"], strict=True):
        assert one["value"] == other["value"]
    widths = [line["ci"][1] - line["ci"][0] for line in (fixed["questions"][0], new["questions"][0])]
    assert widths[1] >= widths[0]


def test_the_interval_of_a_mean_stays_on_the_scale(tmp_path: Path) -> None:
    choices = ("1", "2", "3", "4", "5")
    answers = [
        HumanAnswer(rater, "rating", said, (ShownImages("m", (0,)),), prompt, choices=choices)
        for rater in ("A", "B")
        for prompt, said in (("p0", "4"), ("p1", "5"), ("p2", "5"), ("p3", "5"))
    ]
    write_answers(tmp_path / "ratings.csv", answers)
    (line,) = ask(tmp_path / "ratings.csv", "tally")["ratings"]
    assert line["mean"] == 4.75
    assert 1 < line["ci"][0] < 4.75 < line["ci"][1] <= 5
    write_answers(tmp_path / "ratings.csv", [replace(each, choices=()) for each in answers])
    (line,) = ask(tmp_path / "ratings.csv", "tally")["ratings"]
    assert line["ci"][1] > 5  # the scale is not known


def test_ratings_have_a_mean(ratings: Path) -> None:
    found = ask(ratings, "tally")
    numbers = [int(a) for row in KRIPPENDORFF.values() for a in row.split() if a != "*"]
    (line,) = found["ratings"]
    assert (line["mean"], line["n"], line["prompts"]) == (pytest.approx(sum(numbers) / len(numbers)), 41, 12)
    shares = {each["answer"]: (each["count"], each["share"]) for each in found["answers"]}
    assert list(shares) == ["1", "2", "3", "4", "5", "cannot-tell"]
    assert shares["5"] == (3, pytest.approx(3 / 42))
    assert sum(share for _, share in shares.values()) == pytest.approx(1)


HEAD = "rater,answer,prompt,left,right,seed"


def test_preferences_know_no_side(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", HEAD,
        "Ann,left,p0,x,y,0", "Bob,right,p0,y,x,0",
        "Ann,tie,p1,x,y,0", "Bob,both-bad,p1,x,y,0",
        "Ann,right,p2,x,y,0", "Bob,right,p2,x,y,0",
        "Ann,left,p3,x,y,0",
    )  # fmt: skip
    (line,) = ask(path, "tally")["preferences"]
    assert [line[name] for name in ("a", "b", "a_better", "b_better", "tie", "both_bad")] == ["x", "y", 3, 2, 1, 1]
    assert line["share"] == pytest.approx(3 / 5)
    assert 0 <= line["ci"][0] < 3 / 5 < line["ci"][1] <= 1
    found = {each["coefficient"]: each for each in ask(path, "agree")["questions"]}
    # x x, tie both-bad, y y: of six answers 2, 2, 1, 1
    expected = 1 - (2 / 6) / ((36 - 4 - 4 - 1 - 1) / 30)
    assert found["alpha (nominal)"]["value"] == pytest.approx(expected)
    assert found["alpha (nominal) without ties"]["value"] == 1
    # by chance 2/9 + 2/9 ... of the shares of both: x 1/3 1/3, y 1/3 1/3, tie 1/3 0, both-bad 0 1/3
    assert found["kappa (Cohen)"]["value"] == pytest.approx((2 / 3 - 2 / 9) / (1 - 2 / 9))


def test_as_many_answers_for_each_image_have_fleiss_kappa(tmp_path: Path) -> None:
    said = ("yyy", "yyn", "nnn", "nny")
    lines = [
        f"{rater},human,{ {'y': 'yes', 'n': 'no'}[answer] },p{item},m"
        for item, row in enumerate(said)
        for rater, answer in zip("ABC", row, strict=True)
    ]
    path = write(tmp_path / "a.csv", "rater,question,answer,prompt,left", *lines)
    found = {each["coefficient"]: each["value"] for each in ask(path, "agree")["questions"]}
    assert found["kappa (Fleiss)"] == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))
    assert "kappa (Cohen)" not in found


def test_one_person_agrees_with_nobody_and_is_told_how_to_collect_more(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", HEAD, "Ann,left,p0,x,y,0", "Ann,tie,p1,x,y,0")
    assert {each["value"] for each in ask(path, "agree")["questions"]} == {None}
    words = CliRunner().invoke(app, ["agree", str(path)]).stdout
    assert "--each 2" in words


def test_texts_of_people_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", "rater,question,answer,prompt,left", "Ann,q\x1b[2J,yes,p,m", "Bob,q\x1b[2J,no,p,m"
    )
    for command in ("tally", "agree"):
        found = CliRunner().invoke(app, [command, str(path)], catch_exceptions=False)
        assert "\x1b" not in found.stdout


@pytest.mark.parametrize("command", ["tally", "agree"])
def test_a_wrong_file_is_one_line(tmp_path: Path, command: str) -> None:
    for name in ("none.csv", "none.sqlite"):
        with pytest.raises(BadOption) as caught:
            CliRunner().invoke(app, [command, str(tmp_path / name)], catch_exceptions=False)
        assert "\n" not in str(caught.value)


def test_json_has_no_nan(ratings: Path) -> None:
    def numbers(data: Any) -> Any:
        if isinstance(data, dict | list):
            for each in data.values() if isinstance(data, dict) else data:
                yield from numbers(each)
        elif isinstance(data, float):
            yield data

    for command in ("tally", "agree"):
        assert not any(math.isnan(number) for number in numbers(ask(ratings, command)))


def draw(path: Path, told: list[tuple[str, str, str, float | None]]) -> Path:
    """Write answers of rater, answer, prompt and probability of the draw."""
    lines = [f"{rater},shown,{answer},{prompt},m,0,{'' if p is None else p}" for rater, answer, prompt, p in told]
    return write(path, "rater,question,answer,prompt,left,seed,probability", *lines)


DRAWN = [
    *[("ann", "no", f"rare{n}", 1.0) for n in range(4)],
    *[("ann", "yes", f"often{n}", 0.25) for n in range(3)],
    ("ann", "no", "often3", 0.25),
]


def test_images_weigh_one_over_the_probability_of_their_draw(tmp_path: Path) -> None:
    found = ask(draw(tmp_path / "drawn.csv", DRAWN), "tally")
    shares = {line["answer"]: line for line in found["answers"]}
    assert (shares["yes"]["count"], shares["yes"]["share"]) == (3, pytest.approx(3 * 4 / (4 * 1 + 4 * 4)))
    assert any("weigh" in note for note in shares["yes"]["notes"])
    low, high = shares["yes"]["ci"]
    assert low < shares["yes"]["share"] < high


def test_a_draw_of_one_probability_and_an_unknown_one_count_alike(tmp_path: Path) -> None:
    same = draw(tmp_path / "same.csv", [(*each[:3], 0.5) for each in DRAWN])
    some = draw(tmp_path / "some.csv", [*DRAWN[:-1], (*DRAWN[-1][:3], None)])
    for path, notes in ((same, 0), (some, 1)):
        (yes,) = (line for line in ask(path, "tally")["answers"] if line["answer"] == "yes")
        assert yes["share"] == 3 / 8
        assert len([note for note in yes["notes"] if "draw" in note]) == notes


def test_agreement_weighs_images_alike(tmp_path: Path) -> None:
    bob = [("bob", "yes" if each[2] == "often3" else each[1], *each[2:]) for each in DRAWN]
    path = draw(tmp_path / "drawn.csv", DRAWN + bob)
    lines = {line["coefficient"]: line for line in ask(path, "agree")["questions"]}
    # both say no to weight 4, yes to weight 12, and differ on weight 4
    shares = {"ann": 12 / 20, "bob": 16 / 20}
    chance = shares["ann"] * shares["bob"] + (1 - shares["ann"]) * (1 - shares["bob"])
    kappa = lines["kappa (Cohen)"]
    assert kappa["value"] == pytest.approx((16 / 20 - chance) / (1 - chance))
    assert any("weigh" in note for note in kappa["notes"])


def test_a_tag_that_nobody_chose_has_a_count_of_0_with_its_interval(tmp_path: Path) -> None:
    lines = [f"ann,mistakes: text,no,p{n},m,yes | no" for n in range(8)]
    path = write(tmp_path / "tags.csv", "rater,question,answer,prompt,left,choices", *lines)
    (line,) = ask(path, "tally")["answers"]
    assert (line["answer"], line["count"], line["n"], line["share"], line["ci"][0]) == ("yes", 0, 8, 0, 0)
    assert 0 < line["ci"][1] < 0.5


def test_subsets_have_their_own_lines(tmp_path: Path) -> None:
    subsets = [*["easy"] * 3, "easy | hard", *["hard"] * 3]
    lines = [f"ann,mistakes: text,{'yes' if n < 3 else 'no'},p{n},m,{own}" for n, own in enumerate(subsets)]
    path = write(tmp_path / "subsets.csv", "rater,question,answer,prompt,left,subset", *lines)
    found = {
        (line["subset"], line["answer"]): line["share"] for line in ask(path, "tally", "--by-subset")["answers"]
    }
    assert found == {("easy", "yes"): 0.75, ("easy", "no"): 0.25, ("hard", "no"): 1}
    assert {line["subset"] for line in ask(path, "tally")["answers"]} == {""}
    printed = CliRunner().invoke(app, ["tally", str(path), "--by-subset"])
    assert "easy" in printed.stdout
