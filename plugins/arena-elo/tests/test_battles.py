from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_arena_elo.battle_files import COLUMNS, read_battles, write_battles
from t2i_arena_elo.battles import VERDICTS, Battle, Battles
from t2i_arena_elo.rows import row_of
from t2i_core.api.errors import BadOption

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)
BATTLES = st.builds(
    Battle,
    prompt=TEXTS,
    left=st.sampled_from(["a", "b,c", "=1+1", "'-x"]),
    right=st.sampled_from(['d "e"', "ü"]),
    verdict=st.sampled_from(VERDICTS),
    subset=st.sampled_from(["", "easy"]),
    judge=st.sampled_from(["", "ann", "é", "@ann", "-1"]),
    human=st.booleans(),
    seed=st.none() | st.integers(0, 2**62),
    time=st.none() | st.floats(0, 2e9),
)


@given(st.lists(BATTLES, max_size=8))
def test_columns_hold_what_was_put_in(battles):
    columns = Battles.of(battles)
    assert list(columns) == battles
    assert len(columns) == sum(columns.counts().values())


@pytest.mark.parametrize(
    ("verdict", "because"),
    [("left", "a better than b"), ("right", "b better than a"), ("tie", ""), ("both-bad", "")],
)
def test_a_row_says_who_won_against_whom(verdict, because):
    for first in "ab":
        assert row_of(Battle("p", "a", "b", verdict), first).because == because


@pytest.mark.parametrize(
    ("verdict", "labels"),
    [
        ("left", {"a": "better than b (ann)", "b": "worse than a (ann)"}),
        ("right", {"a": "worse than b (ann)", "b": "better than a (ann)"}),
        ("tie", {"a": "as good as b (ann)", "b": "as good as a (ann)"}),
        ("both-bad", {"a": "bad, as is b (ann)", "b": "bad, as is a (ann)"}),
        ("refused", {}),
    ],
)
def test_evidence_says_for_each_image_against_which_other_and_by_whom(verdict, labels):
    for own, judge in (("ann", "oracle"), ("", "ann")):
        shown = row_of(Battle("p", "a", "b", verdict, judge=own), "b", judge=judge).evidence
        assert {each.model: each.label for each in shown} == labels


@given(st.lists(BATTLES, min_size=1, max_size=5), st.sampled_from([".csv", ".jsonl"]))
def test_files_hold_what_was_put_in(tmp_path_factory, battles, kind):
    path = tmp_path_factory.mktemp("battles") / f"battles{kind}"
    write_battles(path, battles)
    assert list(read_battles(path)) == battles


def test_no_cell_of_a_table_is_a_formula(tmp_path):
    path = tmp_path / "battles.csv"
    write_battles(path, [Battle("-p", '=HYPERLINK("x")', "+b", "tie", judge="@ann", seed=0)])
    assert path.read_text().splitlines()[1] == '\'-p,"\'=HYPERLINK(""x"")",\'+b,tie,,\'@ann,,0,,'


def test_some_can_be_taken():
    columns = Battles.of(Battle(f"p{n}", "a", "b", verdict) for n, verdict in enumerate(VERDICTS))
    assert [b.verdict for b in columns.take(columns.decided)] == ["left", "right", "tie", "both-bad"]


def test_models_come_first_in_the_order_given():
    assert Battles.of([Battle("p", "a", "b", "tie")], ["c", "b"]).models == ("c", "b", "a")


@pytest.mark.parametrize("fields", [("p", "a", "a", "tie"), ("p", "a", "b", "win")])
def test_malformed_battles_are_refused(fields):
    with pytest.raises(ValueError, match=r"must be two models|must be one of left, right"):
        Battle(*fields)


HEAD = ",".join(COLUMNS) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("b.csv", None, "no such file"),
        ("b.txt", "", "no such file, or an empty one"),
        ("b.csv", "prompt,left\np,a\n", "line 1: no column 'right'"),
        ("b.csv", HEAD, "has no battles"),
        ("b.csv", "prompt,left,right,verdict\np,a,,tie\n", "line 2: 'right' is empty"),
        ("b.csv", "prompt,left,right,verdict\np,a,b,first\n", "line 2: 'verdict' must be .* .got 'first'"),
        (
            "b.csv",
            "prompt,left,right,verdict\np,a,b,tie\np,a,a,tie\n",
            "line 3: .*must be two models .got 'a' twice",
        ),
        ("b.csv", "prompt,left,right,verdict,seed\np,a,b,tie,x\n", "line 2: 'seed' must be an integer .got 'x'"),
        (
            "b.csv",
            "prompt,left,right,verdict,seed\np,a,b,tie,-1\n",
            "line 2: 'seed' must be an integer from 0 to .* .got '-1'",
        ),
        ("b.csv", "prompt,left,right,verdict,time\np,a,b,tie,nan\n", "line 2: 'time' must be a number"),
        ("b.csv", "prompt,left,right,verdict,human\np,a,b,tie,1\n", "line 2: 'human' must be yes or no .got '1'"),
        ("b.jsonl", "{}\n", "line 1: 'left' is empty"),
        ("b.jsonl", "\n[1]\n", "line 2: must be a JSON object with prompt, left, right, verdict"),
        ("b.jsonl", "{\n", "line 1: not JSON"),
        ("b.jsonl", "[" * 200_000, "line 1: not JSON"),
        (
            "b.jsonl",
            '{"prompt": "p", "left": "a", "right": "b", "verdict": ["tie"]}\n',
            "line 1: 'verdict' must be",
        ),
        (
            "b.jsonl",
            '{"prompt": "p", "left": "a", "right": "b", "verdict": "tie", "human": []}\n',
            "'human' must be",
        ),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path, name, text, fault):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadOption, match=fault) as caught:
        read_battles(path)
    assert "\n" not in str(caught.value)


def test_battles_of_no_known_prompt_can_be_read(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("prompt,left,right,verdict\n,a,b,tie\n")
    assert next(iter(read_battles(path))).prompt == ""


@pytest.mark.parametrize("kind", [".csv", ".jsonl"])
def test_ends_of_lines_of_other_kinds_stay_in_texts(tmp_path, kind):
    battles = [Battle("a\u2028b\x85c\x1ed\x0be", "a", "b", "tie"), Battle("q", "a", "b", "left")]
    write_battles(tmp_path / f"b{kind}", battles)
    assert list(read_battles(tmp_path / f"b{kind}")) == battles


def test_null_is_what_is_not_known(tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_text('{"prompt": null, "left": "a", "right": "b", "verdict": "tie", "subset": null, "judge": null}')
    assert list(read_battles(path)) == [Battle("", "a", "b", "tie")]


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("prompt", ["p"], r"'prompt' must be a text .got \['p'\]"),
        ("judge", "a\0b", "'judge' has characters .* .got 'a.x00b'"),
        ("prompt", "\ud800", "'prompt' has characters .* .got '.ud800'"),
        ("left", {"a": 1}, "'left' must be a text .got {'a': 1}"),
        ("seed", 1.5, "'seed' must be an integer"),
        ("seed", 10**20, "must be an integer"),
        ("seed", 1e30, "must be an integer"),
        ("seed", float("inf"), "must be an integer"),
        ("time", float("nan"), "must be a number"),
    ],
)
def test_values_of_the_wrong_kind_are_refused(tmp_path, field, value, fault):
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"prompt": "p", "left": "a", "right": "b", "verdict": "tie", field: value}))
    with pytest.raises(BadOption, match=f"line 1: .*{fault}"):
        read_battles(path)
