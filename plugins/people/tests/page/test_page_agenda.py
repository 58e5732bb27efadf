"""Who is shown what, and tasks with known answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.api.image import Image
from t2i_people.page.agenda import Agenda, VoteItem
from t2i_people.page.forms import compare_models
from t2i_people.page.known_answers import FromFile, Mismatches
from t2i_people.page.pictures import StudyPicture
from t2i_people.page.questions import better, check_answers, perception


def pictures(models="abc", prompts=("p", "q", "r"), seeds=(0, 1)):
    image = Image("", Path("none.png"))
    return [StudyPicture(m, p, s, image, (8, 8)) for m in models for p in prompts for s in seeds]


def test_votes_spread_evenly_over_models_prompts_and_seeds():
    agenda, random, done = Agenda(pictures(), pairs=True), Random(0), set()
    given = []
    while (item := agenda.choose(done, random)) is not None:
        agenda.give(item)
        done.add(item)
        given.append(item)
        for facet in ((lambda i: i.models), (lambda i: (i.models, i.prompt))):
            counts = Counter(map(facet, given))
            possible = 3 if facet(item) == item.models else 9
            assert max(counts.values()) - (min(counts.values()) if len(counts) == possible else 0) <= 1
    assert len(given) == len(set(given)) == len(agenda) == 3 * 3 * 2


def test_a_second_person_is_given_what_the_first_was_not():
    agenda, random = Agenda(pictures("ab"), pairs=True), Random(0)
    first = [agenda.choose(set(), random)]
    agenda.give(first[0])
    for _ in range(5):
        item = agenda.choose(set(), random)
        agenda.give(item)
        first.append(item)
    assert len(set(first)) == 6


def test_where_several_people_are_wanted_what_was_begun_comes_first():
    agenda, random = Agenda(pictures("ab"), pairs=True, each=3), Random(0)
    given = Counter()
    for _ in range(6):
        item = agenda.choose(set(), random)
        agenda.give(item)
        given[item] += 1
    assert sorted(given.values()) == [3, 3]


def test_people_meet_on_an_item_before_the_next_is_begun():
    agenda, random = Agenda(pictures("abc", seeds=range(20)), pairs=True, each=3), Random(0)
    done = {name: set() for name in "xyz"}
    for number in range(40):  # x is quicker than the others
        for name in "xxyz" if number % 2 else "xyz":
            item = agenda.choose(done[name], random)
            agenda.give(item)
            done[name].add(item)
    given = Counter(item for own in done.values() for item in own)
    assert Counter(given.values()).most_common(1)[0][0] == 3
    assert done["y"] <= done["x"]
    assert done["z"] <= done["x"]
    spread = Counter(item.models for item in given)
    assert max(spread.values()) - min(spread.values()) <= 3  # votes are balanced, of which an item gets up to 3


def test_only_what_all_models_have_is_compared():
    own = [p for p in pictures("ab") if not (p.model == "b" and (p.prompt, p.seed) == ("q", 0))]
    own = [p for p in own if not (p.model == "a" and p.prompt == "r")]
    agenda = Agenda(own, pairs=True)
    assert agenda.items(("a", "b"), "q") == [VoteItem(("a", "b"), "q", (1,))]
    assert agenda.items(("a", "b"), "r") == []
    assert len(agenda) == 3


def test_grids_have_a_number_of_images_a_side():
    agenda = Agenda(pictures("ab", seeds=range(9)), pairs=True, grid=4)
    assert [item.seeds for item in agenda.items(("a", "b"), "p")] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    alone = Agenda(pictures("ab", seeds=range(3)), pairs=False, grid=9)
    assert alone.items(("b",), "p") == [VoteItem(("b",), "p", (0, 1, 2))]


def test_each_model_is_compared_with_the_baseline_alone():
    agenda = Agenda(pictures("abc"), pairs=True, baseline="b")
    done = set()
    while (item := agenda.choose(done, Random(0))) is not None:
        done.add(item)
    assert {item.models for item in done} == {("a", "b"), ("b", "c")}
    assert len(agenda) == len(done) == 2 * 3 * 2
    with pytest.raises(UnknownName, match="baseline"):
        Agenda(pictures("abc"), pairs=True, baseline="d")


def test_a_limited_number_of_pairs_of_a_prompt_is_asked_about():
    own = pictures("ab", prompts=("p",), seeds=range(32))
    assert len(Agenda(own, pairs=True, most=20)) == 20
    assert len(Agenda(own, pairs=True, most=40)) == 32  # no more than there are
    grids = Agenda(own, pairs=True, grid=4, most=20).items(("a", "b"), "p")
    assert grids == Agenda(own, pairs=True, grid=4, most=20).items(("a", "b"), "p")
    assert len({item.seeds for item in grids}) == 20
    assert [item.seeds for item in grids[:8]] == [tuple(range(n, n + 4)) for n in range(0, 32, 4)]  # in no two
    assert all(len(set(item.seeds)) == 4 for item in grids)
    few = Agenda(pictures("ab", prompts=("p",), seeds=range(4)), pairs=True, grid=3, most=20)
    assert len(few) == 4  # all sets of three of four


def test_models_that_cannot_be_compared_are_reported():
    with pytest.raises(BadFolder, match=r"only one model \(a\)"):
        Agenda(pictures("a"), pairs=True)
    others = [*pictures("a", prompts=("p",)), *pictures("b", prompts=("q",))]
    with pytest.raises(BadFolder, match="no two of the models"):
        Agenda(others, pairs=True)
    with pytest.raises(BadFolder, match=r"4 seeds in common.*--grid"):
        Agenda(pictures("ab"), pairs=True, grid=4)
    assert len(Agenda(pictures("a"), pairs=False)) == 6  # each image
    assert len(Agenda(pictures("a"), pairs=False, grid=2)) == 3


TEXTS = {"p": ("a red dog", ""), "q": ("a red dog on a mat", ""), "r": ("two ships", "")}


def test_a_known_task_sets_the_prompt_beside_what_is_least_like_it():
    agenda = Agenda(pictures("ab"), pairs=True)
    mismatches = Mismatches(agenda, TEXTS, compare_models())
    for seed in range(20):
        known = mismatches.draw("control", 0, Random(seed))
        assert known.expected == {"preference": "left"}
        assert (known.left.prompt, known.left.model) == (known.prompt, known.right.model)
        if known.prompt == "p":
            assert known.right.prompt == "r"
        turned = known.turned()
        assert (turned.right, turned.expected) == (known.left, {"preference": "right"})


def test_known_tasks_want_two_prompts():
    agenda = Agenda(pictures("ab", prompts=("p",)), pairs=True)
    with pytest.raises(BadOption, match="images of two prompts"):
        Mismatches(agenda, TEXTS, compare_models())


HEAD = "part,prompt,left,right,preference,seed,why\n"


def test_known_answers_are_read_from_a_file(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text(f"{HEAD}training,p,a,b,left,1,b has two dogs\ncontrol,q,b,a,both-bad,,\n")
    tasks = FromFile(path, Agenda(pictures("ab"), pairs=True), better("?"), pairs=True)
    first = tasks.draw("training", 7, Random())
    assert (first.left.model, first.right.model, first.left.seeds) == ("a", "b", (1,))
    assert (first.expected, first.why) == ({"preference": "left"}, "b has two dogs")
    assert tasks.draw("control", 0, Random()).turned().expected == {"preference": "both-bad"}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("exam,p,a,b,left,,", "line 2: 'part' must be training or control .got 'exam'"),
        ("training,p,a,c,left,,", "line 2: no model 'c'; the runs have a, b"),
        ("training,p,a,a,left,,", "line 2: .*must be two models .got 'a' twice"),
        ("training,s,a,b,left,,", "line 2: .* no images of the prompt 's'"),
        ("training,p,a,b,left,5,", "line 2: .* no images of the prompt 'p' with this seed"),
        ("training,p,a,b,better,,", "line 2: no answer to"),
        ("training,p,a,b,left,,", "no tasks of the part control"),
    ],
)
def test_faults_of_a_file_of_known_answers_are_said_with_their_line(tmp_path, line, fault):
    path = tmp_path / "known.csv"
    path.write_text(HEAD + line + "\n")
    with pytest.raises(BadOption, match=fault):
        FromFile(path, Agenda(pictures("ab"), pairs=True), better("?"), pairs=True).require(["control"])


def test_known_answers_about_one_models_images(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("part,prompt,model,human,gender\ntraining,p,a,yes,female\ncontrol,p,b,no,\n")
    questions = perception({"gender": ("male", "female")})
    tasks = FromFile(path, Agenda(pictures("ab"), pairs=False, grid=9), questions, pairs=False)
    assert tasks.draw("training", 0, Random()).expected == {"human": "yes", "gender": "female"}
    control = tasks.draw("control", 0, Random())
    assert (control.expected, control.turned()) == ({"human": "no"}, control)


def test_only_what_is_asked_must_be_answered():
    questions = perception({"gender": ("male", "female")})
    assert check_answers(questions, {"human": "no", "gender": "male"}) == {"human": "no"}
    assert check_answers(questions, {"human": "yes", "gender": "cannot-tell"}) == {
        "human": "yes",
        "gender": "cannot-tell",
    }
    for given in ({}, {"human": "yes"}, {"human": "yes", "gender": "dog"}, {"gender": "male"}):
        with pytest.raises(ValueError, match="no answer to"):
            check_answers(questions, given)
