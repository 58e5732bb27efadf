from __future__ import annotations

from pathlib import Path

import pytest
from t2i_core.api import ObjectClass
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_wordnet_hypernymy.leaves import Leaves, node_of
from t2i_wordnet_hypernymy.taxonomy_file import read_taxonomy
from t2i_wordnet_hypernymy.wordnet import NOUNS, imagenet_classes, mini_world, nouns


def test_wordnet_is_all_there():
    assert len(nouns()) == 82115
    assert nouns().hypernyms("entity.n.01") == ()
    assert set(nouns().hypernyms("dog.n.01")) == {"canine.n.02", "domestic_animal.n.01"}
    assert nouns().lemmas("dog.n.01") == ("dog", "domestic dog", "Canis familiaris")
    assert nouns().definition("oven.n.01") == "kitchen appliance used for baking or roasting"
    assert nouns().hyponyms("basset.n.01") == ()
    assert nouns().hyponyms("belgian_sheepdog.n.01") == ("groenendael.n.01", "malinois.n.01")
    # a class's instances are not below it
    assert "einstein.n.01" not in nouns().hyponyms("physicist.n.01")


def test_the_nouns_have_a_fixed_order():
    """So that they come out alike whenever they are made."""
    for i in range(len(nouns())):
        above = nouns().parents[nouns().starts[i] : nouns().starts[i + 1]].tolist()
        assert above == sorted(set(above))


def test_ancestors_over_all_paths_are_found_once():
    above = nouns().closure("dog.n.01")
    assert {"canine.n.02", "domestic_animal.n.01", "animal.n.01", "entity.n.01"} <= above
    assert "dog.n.01" not in above
    # person.n.01 is both an organism and a causal agent
    assert {"organism.n.01", "causal_agent.n.01"} <= nouns().closure("person.n.01")


def test_every_node_is_below_entity():
    assert nouns().closure("pot_plant.n.01") >= {"entity.n.01"}
    assert len(mini_world()) == 118
    assert all(name in nouns() for name in (*imagenet_classes(), *mini_world()))


def test_cohyponyms_stand_once_for_each_hypernym():
    dog = nouns().cohyponyms("dog.n.01")
    assert dog.count("dog.n.01") == 2
    assert "fox.n.01" in dog


def test_the_package_stays_small():
    assert NOUNS.stat().st_size < 6e6
    assert "Princeton" in (NOUNS.parent / "LICENSE-WordNet.txt").read_text()


def test_a_class_is_found_by_synset_or_by_name():
    assert node_of(nouns(), ObjectClass("hound", "dog.n.01")) == "dog.n.01"
    assert node_of(nouns(), ObjectClass("dog")) is None
    assert node_of(nouns(), ObjectClass("dog", "dog.n.99")) is None


def test_a_name_that_is_not_there_gets_the_nearest():
    with pytest.raises(BadPrompts, match=r"'dogg.n.01' is not in the taxonomy: did you mean .*'dog.n.01'"):
        nouns().number("dogg.n.01")


def test_classes_above_others_count_among_their_own_leaves():
    labels = tuple(ObjectClass(s, s) for s in ("dog.n.01", "poodle.n.01", "cat.n.01"))
    leaves = Leaves.of(nouns(), labels)
    assert leaves.below["dog.n.01"].tolist() == [0, 1]
    assert "dog.n.01" not in leaves.evaluated
    assert leaves.below["carnivore.n.01"].tolist() == [0, 1, 2]
    assert leaves.evaluated[0] == "entity.n.01"


def test_classes_that_are_nowhere_are_refused():
    with pytest.raises(BadPrompts, match="none of the judge's 2 classes"):
        Leaves.of(nouns(), (ObjectClass("class 0"), ObjectClass("class 1")))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "taxonomy.tsv"
    path.write_text(text)
    return path


def test_a_taxonomy_of_ones_own(tmp_path):
    taxonomy = read_taxonomy(write(tmp_path, "# mine\npoodle.n.01\tdog.n.01\n\nmy dog\tdog.n.01\ndog.n.01\tpet\n"))
    assert taxonomy.closure("my dog") == {"dog.n.01", "pet"}
    assert taxonomy.hyponyms("dog.n.01") == ("my dog", "poodle.n.01")
    assert taxonomy.lemmas("dog.n.01")[:2] == ("dog", "domestic dog")
    assert taxonomy.lemmas("my dog") == ("my dog",)
    assert taxonomy.definition("pet") == ""
    leaves = Leaves.of(taxonomy, (ObjectClass("my dog"), ObjectClass("p", "poodle.n.01"), ObjectClass("cat")))
    assert leaves.below["pet"].tolist() == [0, 1]
    assert leaves.evaluated == ("dog.n.01", "pet")


def test_commas_do_too(tmp_path):
    assert read_taxonomy(write(tmp_path, "a, b\n")).hypernyms("a") == ("b",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the taxonomy is empty"),
        ("# nothing\n\n", "the taxonomy is empty"),
        ("a\tb\nb\tc\nc\ta\n", "has a cycle: a < b < c < a"),
        ("x\ta\na\tb\nb\ta\n", "has a cycle"),
        ("a\ta\n", "has a cycle: a < a"),
        (
            "dog.n.01\tcanin.n.02\n",
            "line 1: 'canin.n.02' is not a noun or verb of WordNet 3.0: did you mean .*'canine.n.02'",
        ),
        ("a b c\n", "line 1: the line must be two names"),
        ("a\tb\tc\n", "line 1: the line must be two names"),
        ("a\tb\na\t\n", "line 2: the line must be two names"),
    ],
)
def test_a_wrong_taxonomy_gets_one_line(tmp_path, text, fault):
    with pytest.raises(BadOption, match=fault) as caught:
        read_taxonomy(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert "taxonomy.tsv" in str(caught.value)


def test_files_that_cannot_be_read_get_one_line(tmp_path):
    with pytest.raises(BadOption, match="no such file"):
        read_taxonomy(tmp_path / "gone")
    with pytest.raises(BadOption, match="cannot be read"):
        read_taxonomy(tmp_path)
    (tmp_path / "latin").write_bytes(b"caf\xe9\tdrink\n")
    with pytest.raises(BadOption, match="not UTF-8"):
        read_taxonomy(tmp_path / "latin")
