"""The package's part of WordNet agrees with the vocabulary, the kinds' bodies, and itself."""

import pytest
from t2i_core.api import ObjectClass
from t2i_miniworld.classes import KINDS
from t2i_miniworld.laws import forms_of, leaf_of, leaves_of
from t2i_miniworld.taxonomy import ancestors, leaves_under
from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, LEAVES, SUBKINDS, SYNSETS


def test_there_are_37_leaves_and_every_one_has_its_ancestors():
    assert len(LEAVES) == 37
    assert set(ancestors()) == set(LEAVES)
    assert all("entity.n.01" in above for above in ancestors().values())


def test_a_sub_kind_lies_under_its_kind_and_under_no_other():
    for leaf, kind in LEAVES.items():
        above = ancestors()[leaf] | {leaf}
        assert [name for name, synset in SYNSETS.items() if synset in above] == [kind]


def test_no_leaf_lies_under_another():
    assert not any(set(LEAVES) & above for above in ancestors().values())


def test_each_body_belongs_to_one_leaf():
    for name, kind in KINDS.items():
        assert sorted(form for leaf in leaves_of(name) for form in forms_of(leaf)) == sorted(kind.forms)
        for form in kind.forms:
            assert form in forms_of(leaf_of(name, form))


@pytest.mark.parametrize(
    ("cls", "leaves"),
    [
        (ObjectClass("entity", "entity.n.01"), set(LEAVES)),
        (ObjectClass("dog", "dog.n.01"), set(SUBKINDS["dog"])),
        (ObjectClass("dog"), set(SUBKINDS["dog"])),
        (ObjectClass("owl", "owl.n.01"), {"owl.n.01"}),
        (ObjectClass("pachyderm", "pachyderm.n.01"), {"elephant.n.01"}),
        (ObjectClass("equine", "equine.n.01"), {"zebra.n.01"}),
        (ObjectClass("airplane", "teapot.n.01"), set()),
        (ObjectClass("unicorn"), set()),
        (ObjectClass("retriever"), {"retriever.n.01"}),
        (ObjectClass("swivel chair"), {"swivel_chair.n.01"}),
    ],
)
def test_a_class_holds_the_leaves_below_it(cls, leaves):
    assert set(leaves_under(cls)) == leaves


def test_animals_are_what_lives_but_people_and_plants():
    animals = {LEAVES[leaf] for leaf in leaves_under(ObjectClass("animal", "animal.n.01"))}
    assert animals == {"dog", "bird", "bear", "giraffe", "elephant", "zebra"}


def test_labels_name_every_class_once():
    for labels in (LABELS, LEAF_LABELS):
        assert len({label.name for label in labels}) == len({label.synset for label in labels}) == len(labels)
    assert [label.synset for label in LEAF_LABELS] == list(LEAVES)
