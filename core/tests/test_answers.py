"""People's answers: the record, both forms, and who counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from t2i_core.api.errors import BadOption
from t2i_core.api.prompt import is_writable
from t2i_core.io.answers import PREFERENCE, HumanAnswer, ShownImages, locate, read_answers, write_answers
from t2i_core.io.rater_rules import RaterRecord, Rules

texts = st.text(min_size=1, max_size=12).filter(lambda text: text == text.strip() and is_writable(text))
sides = st.builds(
    ShownImages,
    model=texts,
    seeds=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    digests=st.lists(st.integers(0, 16**8).map(lambda n: f"{n:064x}"), max_size=2).map(tuple),
)
answers = st.builds(
    HumanAnswer,
    rater=texts,
    question=texts.filter(lambda name: name != PREFERENCE),
    answer=texts,
    shown=st.tuples(sides) | st.tuples(sides, sides).filter(lambda two: two[0] != two[1]),
    prompt=texts,
    text=texts,
    time=st.none() | st.floats(0, 2e9),
    seconds=st.none() | st.floats(0, 1e4),
    probability=st.none() | st.floats(0.001, 1),
    choices=st.lists(texts.filter(lambda text: "|" not in text), max_size=3).map(tuple),
)


@pytest.mark.long
@settings(max_examples=40)
@given(st.lists(answers, min_size=1, max_size=5, unique_by=lambda answer: answer.identity))
def test_written_answers_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, given: list[HumanAnswer]
) -> None:
    path = tmp_path_factory.mktemp("answers") / "a.csv"
    write_answers(path, given)
    assert list(read_answers(path).answers) == given


OLD = {
    "skills": (
        "model,prompt,seed,annotator,answer\nm,p,0,Ann,yes\nm,p,0,Bob,0\n",
        [("Ann", "shown", "yes", "p"), ("Bob", "shown", "no", "p")],
    ),
    "battles": (
        "prompt,left,right,verdict,judge,human\np1,a,b,left,Ann,yes\np1,a,b,tie,clip,no\np2,b,a,refused,Ann,yes\n",
        [("Ann", PREFERENCE, "left", "p1")],
    ),
    "bias": (
        "model,prompt,seed,annotator,question,answer\nm,p,,Ann,human,yes\nm,p,3,Ann,gender,male\n",
        [("Ann", "human", "yes", "p"), ("Ann", "gender", "male", "p")],
    ),
    "synsets": (
        "synset,model_a,model_b,annotator,choice\nbird.n.01,a,b,Ann,b\nbird.n.01,a,b,Bob,tie\n",
        [("Ann", PREFERENCE, "right", "bird.n.01"), ("Bob", PREFERENCE, "tie", "bird.n.01")],
    ),
}


@pytest.mark.parametrize("table", OLD)
def test_tables_of_earlier_versions_are_read(tmp_path: Path, table: str) -> None:
    text, expected = OLD[table]
    (tmp_path / "a.csv").write_text(text)
    found = read_answers(tmp_path / "a.csv").answers
    assert [(a.rater, a.question, a.answer, a.prompt) for a in found] == expected


@pytest.mark.parametrize(
    "text",
    [
        "rater,question,answer\n",
        "rater,question,prompt,left\nAnn,human,p,m\n",
        "rater,question,answer,prompt\nAnn,human,yes,p\n",
        "rater,answer,prompt,left\nAnn,dog,p,m\n",
        "rater,answer,prompt,left,right\nAnn,perhaps,p,a,b\n",
        "rater,answer,prompt,left,right\nAnn,left,p,a,a\n",
        "rater,question,answer,prompt,left,seed\nAnn,human,yes,p,m,-1\n",
        "rater,question,answer,prompt,left,left_images\nAnn,human,yes,p,m,abc\n",
        "rater,question,answer,prompt,left,probability\nAnn,human,yes,p,m,0\n",
        "rater,question,answer,prompt,left,part\nAnn,human,yes,p,m,later\n",
        "rater,question,answer,prompt,left\nAnn,human,yes,p,m\nAnn,human,no,p,m\n",
        "rater,question,answer,prompt,left,part\nAnn,human,yes,p,m,training\n",
    ],
    ids=str,
)
def test_a_table_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(BadOption):
        read_answers(tmp_path / "a.csv")


def test_answers_by_digest_find_their_place() -> None:
    answer = HumanAnswer("Ann", "human", "yes", (ShownImages(digests=("aa",)),))
    (found,) = locate([answer], {"aa": ("m", "p", 3)})
    assert (found.shown[0].model, found.prompt, found.seed) == ("m", "p", 3)
    assert list(locate([answer], {})) == [answer]


def test_two_wrong_controls_in_a_row_end_a_study() -> None:
    rules, record = Rules(wrong_in_a_row=2, fastest=0), RaterRecord()
    for right in (False, True, False):
        record.add(5.0, right, rules)
        assert not record.is_careless(rules)
    record.add(5.0, False, rules)
    assert record.is_careless(rules)
    assert not record.is_careless(Rules(fastest=0))


def test_a_table_without_a_column_of_answers_is_blamed_on_its_header(tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_text("who,said\nann,yes\nbob,no\n")
    with pytest.raises(BadOption) as error:
        read_answers(tmp_path / "wrong.csv")
    assert "wrong.csv, line 1: " in str(error.value)
    assert "who, said" in str(error.value)
