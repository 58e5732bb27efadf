"""What texts are read as: the templates of every metric's prompts, and how people write."""

import json

import pytest
from t2i_core.api import ObjectClass
from t2i_miniworld.names import FILE, nouns, words
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import Phrase, SideRelation, read
from t2i_miniworld.taxonomy import leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, LEAVES


def leaves(synset):
    return frozenset(leaves_under(ObjectClass("", synset)))


DOG, CAR, ZEBRA, BUS = leaves("dog.n.01"), leaves("car.n.01"), leaves("zebra.n.01"), leaves("bus.n.01")
HUMAN, ANIMAL, LIGHT = leaves("person.n.01"), leaves("animal.n.01"), leaves("traffic_light.n.01")
HYDRANT = leaves("fireplug.n.01")


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        # tiam
        ("a photo of a car and a dog", [Phrase(CAR), Phrase(DOG)]),
        ("a photo of a red car and a blue dog", [Phrase(CAR, 1, ("red",)), Phrase(DOG, 1, ("blue",))]),
        ("a photo of a car next to a zebra with a dog and a bus", [Phrase(x) for x in (CAR, ZEBRA, DOG, BUS)]),
        ("a photo of a car, a zebra and a dog", [Phrase(CAR), Phrase(ZEBRA), Phrase(DOG)]),
        # paintskills
        ("a photo of dog", [Phrase(DOG)]),
        ("a photo of 3 dog", [Phrase(DOG, 3)]),
        ("a photo of 1 fire hydrant", [Phrase(HYDRANT)]),
        ("a photo of purple traffic light", [Phrase(LIGHT, 1, ("purple",))]),
        # hypernymy and the taxonomy's similarities
        ("An image of an animal.", [Phrase(ANIMAL)]),
        ("An image of a light.", [Phrase(LIGHT)]),
        ("A photo depicts an image of traffic_light", [Phrase(LIGHT)]),
        ("An image of dog (a member of the genus Canis; a domestic animal)", [Phrase(DOG)]),
        # bias: as it is written, and what the mini world's humans can wear
        ("a person with a bike", [Phrase(HUMAN), Phrase(leaves("bicycle.n.01"))]),
        ("a person with a scotch", [Phrase(HUMAN)]),
        ("a photo of a strong person", [Phrase(HUMAN)]),
        ("a photo of a person with a hat", [Phrase(HUMAN, worn={"hat": "yes"})]),
        ("a photo of a person without a hat", [Phrase(HUMAN, worn={"hat": "no"})]),
        ("a hatless human with no dog", [Phrase(HUMAN, worn={"hat": "no"})]),
        ("a person with long hair", [Phrase(HUMAN, worn={"hair": "long"})]),
        ("a short-haired person in a red coat", [Phrase(HUMAN, worn={"hair": "short", "coat": "red"})]),
        ("a person with short hair, a green coat and no hat",
         [Phrase(HUMAN, worn={"hair": "short", "coat": "green", "hat": "no"})]),
        ("a dog with a hat", [Phrase(frozenset(), worn={"hat": "yes"})]),
        # numbers and plurals
        ("three dogs", [Phrase(DOG, 3)]),
        ("two red buses and a dog", [Phrase(BUS, 2, ("red",)), Phrase(DOG)]),
        ("Busses", [Phrase(BUS, None)]),
        ("the dogs", [Phrase(DOG, None)]),
        ("the dog", [Phrase(DOG)]),
        ("people", [Phrase(HUMAN, None)]),
        ("5 big zebras", [Phrase(ZEBRA, 5)]),
        ("no dogs, 0 cars", []),
        # how it is written
        ("a fire-hydrant", [Phrase(HYDRANT)]),
        ("a fire  hydrant left of two red traffic lights", [Phrase(HYDRANT), Phrase(LIGHT, 2, ("red",))]),
        ("a red and white car", [Phrase(CAR, 1, ("red", "white"))]),
        ("a red, white and blue car.", [Phrase(CAR, 1, ("red", "white", "blue"))]),
        ("a blue photo of a dog", [Phrase(DOG)]),
        ("a black dog bed", [Phrase(leaves("bed.n.01"), 1, ("black",))]),
        ("a scar on a cartoon", []),
        ("a photo of a good political leader", []),
        ("", []),
        ("9" * 5000, []),
    ],
)  # fmt: skip
def test_a_text_names(text, phrases):
    assert list(read(text).phrases) == phrases


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a photo of dog and bus; bus is left to dog", "left"),
        ("a photo of dog and bus; bus is right to dog", "right"),
        ("a photo of dog and bus; bus is above dog", "above"),
        ("a photo of dog and bus; bus is below dog", "below"),
        ("a bus to the left of the dog", "left"),
        ("a bus above a dog", "above"),
    ],
)
def test_a_text_states_a_relation_and_names_its_ends_once(text, predicate):
    opposite = {"left": "right", "right": "left", "above": "below", "below": "above"}
    reading = read(text)
    assert sorted((len(phrase.leaves), phrase.count) for phrase in reading.phrases) == [(1, 1), (3, 1)]
    assert reading.sides == (SideRelation(BUS, predicate), SideRelation(DOG, opposite[predicate]))


def test_two_of_one_kind_stand_on_both_sides():
    reading = read("a photo of dog and dog; dog is above dog")
    assert len(reading.phrases) == 2
    assert reading.sides == (SideRelation(DOG, "above"), SideRelation(DOG, "below"))


@pytest.mark.parametrize("label", dict.fromkeys((*LABELS, *LEAF_LABELS)), ids=lambda label: label.name)
def test_every_label_names_its_own_leaves(label):
    expected = [Phrase(frozenset(leaves_under(label)))]
    for text in (label.name, f"a photo of a {label.name}", f"An image of an {label.name.upper()}."):
        assert list(read(text).phrases) == expected


def test_the_first_lemma_of_every_synset_is_read_and_holds_its_leaves():
    for synset, lemmas in json.loads(FILE.read_text()).items():
        (phrase,) = read(f"An image of a {lemmas[0]}.").phrases
        assert phrase.leaves >= leaves(synset)


def test_a_name_of_two_synsets_stands_for_both():
    assert nouns()["bag",].leaves == {"backpack.n.01", "bag.n.06"}


def test_lemmas_of_other_meanings_are_left_out():
    assert not {("good",), ("soul",), ("wheel",), ("machine",)} & nouns().keys()


def test_every_name_has_leaves_and_is_not_a_colour():
    assert all(noun.leaves and noun.leaves <= LEAVES.keys() for noun in nouns().values())
    assert not {tuple(words(paint)) for paint in PAINTS} & nouns().keys()
