"""The ideal embedding's order: what is true of a picture is nearer to it than what is not, and by how much."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from t2i_core.api import Failure, Instance, ObjectClass, Truth
from t2i_core.api.mask import PackedMask
from t2i_miniworld.names import nouns, words
from t2i_miniworld.oracle_embedding import SHARED, Concept, embed_image, embed_text, length, weight
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import HAIR, HAT, LABELS, LEAVES, SYNSETS

MASK = PackedMask.pack(np.ones((8, 8), bool))
WORDS = {1: "a", 2: "two", 3: "3", 4: "four"}
#: One name for each class, in the singular; a name is told from others by the leaves that it holds.
NAMES = {noun.leaves: " ".join(name) for name, noun in nouns().items() if not noun.plural}
NAMES |= {nouns()[tuple(words(label.name))].leaves: label.name for label in LABELS}


def thing(leaf, paint=None, place=(0, 0), **worn):
    kind = LEAVES[leaf]
    x, y = place
    box = (10 * x, 10 * y, 10 * x + 8, 10 * y + 8)
    return Instance(ObjectClass(kind, SYNSETS[kind]), paint, box, MASK, {"synset": leaf, **worn})


def cosine(things, text):
    image, embedded = embed_image(Truth((64, 64), tuple(things))), embed_text(text)
    assert np.linalg.norm(image.values) == pytest.approx(1)
    assert np.linalg.norm(embedded.values) == pytest.approx(1)
    return float(image.values @ embedded.values)


@st.composite
def things_of(draw):
    """A thing of any leaf; a human is dressed as the simulator dresses it."""
    leaf, paint = draw(st.sampled_from(list(LEAVES))), draw(st.sampled_from([None, *PAINTS]))
    worn = {}
    if LEAVES[leaf] == "human":
        coat = paint or draw(st.sampled_from(list(PAINTS)))
        worn = {"coat": coat, "hat": draw(st.sampled_from(HAT)), "hair": draw(st.sampled_from(HAIR))}
    return leaf, paint, worn


def scene(described):
    """Things in a row, rising: the first is left of all others."""
    return [thing(leaf, paint, (n, 0), **worn) for n, (leaf, paint, worn) in enumerate(described)]


SCENES = st.lists(things_of(), min_size=1, max_size=4)


@st.composite
def said_of(draw, described):
    """How a text may call a thing, rightly: class, paint (or None) and what it says is worn."""
    leaf, paint, worn = described
    leaves = draw(st.sampled_from([leaves for leaves in NAMES if leaf in leaves]))
    said = {name: value for name, value in worn.items() if draw(st.booleans())}
    if said:
        leaves = frozenset({leaf})
    return leaves, draw(st.sampled_from([None, paint])), said


def phrase(said, number=1):
    leaves, paint, worn = said
    parts = {
        "coat": f"a {worn.get('coat')} coat",
        "hat": "a hat" if worn.get("hat") == "yes" else "no hat",
        "hair": f"{worn.get('hair')} hair",
    }
    dressed = " and ".join(parts[name] for name in worn)
    return " ".join(filter(None, [WORDS[number], paint, NAMES[leaves], "with" if worn else "", dressed]))


def holds(described, said):
    (leaf, paint, worn), (leaves, said_paint, said_worn) = described, said
    return leaf in leaves and said_paint in (None, paint) and said_worn.items() <= worn.items()


def exact(described, said):
    """Whether a text gives the right number of everything that it names: no container beside an unnamed one."""
    return all(
        sum(holds(one, this) for one in described) == sum(narrower(other, this) for other in said) for this in said
    )


def narrower(said, wider):
    (leaves, paint, worn), (all_leaves, all_paint, all_worn) = said, wider
    return leaves <= all_leaves and all_paint in (None, paint) and all_worn.items() <= worn.items()


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_true_text_beats_the_same_with_one_thing_wrong(data):
    described = data.draw(SCENES)
    said = [data.draw(said_of(one)) for one in described]
    assume(exact(described, said))
    at = data.draw(st.integers(0, len(said) - 1))
    leaves, paint, worn = said[at]
    what = data.draw(st.sampled_from(["class", "paint", *worn]))
    if what == "class":
        leaves, worn = data.draw(st.sampled_from(list(NAMES))), {}
    elif what == "paint":
        paint = data.draw(st.sampled_from(list(PAINTS)))
    else:
        worn = {**worn, what: data.draw(st.sampled_from({"coat": list(PAINTS), "hat": HAT, "hair": HAIR}[what]))}
    wrong = (leaves, paint, worn)
    assume(not any(holds(one, wrong) for one in described))
    true, false = (" and ".join(map(phrase, texts)) for texts in (said, [*said[:at], wrong, *said[at + 1 :]]))
    assert cosine(scene(described), true) > cosine(scene(described), false) + 1e-4


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_right_number_beats_every_other(data):
    number = data.draw(st.integers(1, 4))
    leaf, paint, worn = data.draw(things_of())
    others = [one for one in data.draw(st.lists(things_of(), max_size=2)) if LEAVES[one[0]] != LEAVES[leaf]]
    kind = frozenset(name for name in LEAVES if LEAVES[name] == LEAVES[leaf])
    drawn = scene([(leaf, paint, worn)] * number + others)
    rest = [phrase((frozenset({one[0]}), one[1], {})) for one in others]
    assume(len(set(rest)) == len(rest))
    said = data.draw(st.sampled_from([(kind, None, {}), (kind, paint, {}), (frozenset({leaf}), paint, worn)]))
    cosines = {n: cosine(drawn, " and ".join([phrase(said, n), *rest])) for n in WORDS}
    assert all(cosines[number] > cosines[n] + 1e-4 for n in WORDS if n != number)


@settings(max_examples=200, deadline=None)
@given(things_of(), things_of(), st.sampled_from(["left to", "right to", "above", "below"]))
def test_the_true_relation_beats_the_others(one, other, asked):
    first, second = (NAMES[frozenset({leaf})] for leaf, _, _ in (one, other))
    places = {"left to": (0, 2), "right to": (4, 2), "above": (2, 0), "below": (2, 4)}
    drawn = [thing(one[0], one[1], (2, 2), **one[2]), thing(other[0], other[1], places[asked], **other[2])]
    text = f"a photo of {first} and {second}; {second} is "
    cosines = {relation: cosine(drawn, f"{text}{relation} {first}") for relation in places}
    # Two of one class show only the axis.
    axis = {"left to": "right to", "right to": "left to", "above": "below", "below": "above"}
    true = {asked, axis[asked]} if first == second else {asked}
    assert min(cosines[x] for x in true) > max(cosines[x] for x in places if x not in true) + 1e-4
    assert cosines[asked] > cosine(drawn, f"a photo of {first} and {second}")


def test_every_class_has_one_cosine_with_all_that_is_below_it_and_shares_nothing_with_the_rest():
    for leaves, name in NAMES.items():
        within = SHARED + (1 - SHARED) * weight(Concept(leaves)) / math.sqrt(length())
        for leaf in LEAVES:
            expected = within if leaf in leaves else SHARED
            assert cosine([thing(leaf)], f"An image of a {name}.") == pytest.approx(expected, abs=1e-6)


def test_the_narrower_class_wins_and_cohyponyms_lose():
    assert [round(weight(Concept(leaves)), 3) for leaves in (frozenset(LEAVES), frozenset({"owl.n.01"}))] == [
        1,
        round(1 + math.log(37) / math.log(37 * 9 * 4) / 4, 3),
    ]
    drawn = [thing("retriever.n.01", "red")]
    texts = ["a red retriever", "a retriever", "a dog", "a mammal", "an animal", "an entity", "a dachshund"]
    cosines = [cosine(drawn, text) for text in texts]
    assert [round(x, 3) for x in cosines] == [0.229, 0.221, 0.217, 0.214, 0.212, 0.208, SHARED]


@settings(max_examples=100, deadline=None)
@given(SCENES, st.sampled_from(sorted(NAMES.values())))
def test_nothing_true_is_shared_alone_and_so_is_a_picture_without_things(described, name):
    leaves = nouns()[tuple(words(name))].leaves
    assert cosine([], f"a {name}") == pytest.approx(SHARED)
    if not any(leaf in leaves for leaf, _, _ in described):
        assert cosine(scene(described), f"a {name}") == pytest.approx(SHARED, abs=1e-6)


@pytest.mark.parametrize("attribute", ["hat", "hair", "coat"])
def test_zero_shot_reads_what_humans_wear(attribute):
    texts = {
        "hat": {"yes": "a photo of a person with a hat", "no": "a photo of a person without a hat"},
        "hair": {value: f"a photo of a person with {value} hair" for value in HAIR},
        "coat": {value: f"a photo of a person in a {value} coat" for value in PAINTS},
    }[attribute]
    for coat in PAINTS:
        for hat in HAT:
            for hair in HAIR:
                worn = {"coat": coat, "hat": hat, "hair": hair}
                for drawn in ([thing("person.n.01", **worn)], scene([("person.n.01", coat, worn)] * 2)):
                    cosines = {value: cosine(drawn, text) for value, text in texts.items()}
                    assert max(cosines, key=cosines.get) == worn[attribute]


def test_painted_objects_are_not_people_in_a_coat():
    natural, painted = ([thing("person.n.01", paint, coat="red")] for paint in (None, "red"))
    assert (
        cosine(painted, "a red person") > cosine(painted, "a person in a red coat") > cosine(painted, "a person")
    )
    assert cosine(natural, "a red person") == pytest.approx(SHARED)
    assert cosine(natural, "a person in a red coat") > cosine(natural, "a person")


def test_both_of_two_paints_are_read_and_one_is_half_of_it():
    both = "a red and white car"
    red, white = ([thing("sedan.n.01", paint)] for paint in ("red", "white"))
    assert cosine(red, both) == pytest.approx(cosine(white, both))
    assert cosine(red, "a red car") > cosine(red, both) > cosine(red, "a white car") == pytest.approx(SHARED)


@pytest.mark.parametrize("text", ["a dog with a hat", "a red person in a blue coat"])
def test_impossible_statements_hold_for_no_image(text):
    drawn = scene(
        [("retriever.n.01", None, {}), ("person.n.01", "red", {"coat": "red", "hat": "yes", "hair": "long"})]
    )
    assert cosine(drawn, text) == pytest.approx(SHARED)


def test_a_fifth_of_a_kind_is_seen_as_too_many():
    five = scene([("retriever.n.01", None, {})] * 5)
    assert (
        cosine(five, "five dogs")
        > cosine(five, "four dogs")
        > cosine(five, "a cat and five cars")
        == pytest.approx(SHARED)
    )


@pytest.mark.parametrize("text", ["a photo of an accountant", "", "a photo of a hat", "no dogs"])
def test_a_text_without_a_name_is_a_failure_that_shows_it(text):
    failure = embed_text(text)
    assert isinstance(failure, Failure)
    assert repr(text) in failure.reason


@pytest.mark.parametrize("number", WORDS)
def test_an_open_number_is_better_than_a_wrong_one_and_worse_than_the_right_one(number):
    drawn = scene([("owl.n.01", "white", {})] * number)
    for text in ("{} owls", "{} white birds", "{} entity"):
        right, *wrong = (cosine(drawn, text.format(n)) for n in (number, *(set(WORDS) - {number})))
        open_ = cosine(drawn, text.format("the").replace("entity", "entities"))
        assert right > open_ > max(wrong)


def test_classes_that_hold_the_same_leaves_are_one():
    np.testing.assert_array_equal(embed_text("a vertebrate").values, embed_text("a chordate").values)
