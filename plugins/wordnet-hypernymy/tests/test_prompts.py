from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from t2i_core.api import ObjectClass, Setup
from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import split_levels
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import TEST_MODEL, StaticResolver
from t2i_wordnet_hypernymy.concepts_file import read_concepts
from t2i_wordnet_hypernymy.options import (
    LabelOptions,
    NearLeafOptions,
    PhraseOptions,
    RandomOptions,
    SynsetPromptOptions,
)
from t2i_wordnet_hypernymy.plugin import t2i_prompt_sources
from t2i_wordnet_hypernymy.prompts import (
    above_labels,
    all_nouns,
    compared_by_people,
    easy_concepts,
    near_leaf,
    of_mini_world,
    random_split,
)
from t2i_wordnet_hypernymy.wordnet import imagenet_classes, mini_world, nouns

DOGS = tuple(ObjectClass(s, s) for s in ("poodle.n.01", "corgi.n.01"))


def ids(prompts):
    return [p.id for p in prompts]


def test_the_list_follows_from_the_judges_classes():
    prompts = list(above_labels(Setup(None, LabelOptions(), labels=DOGS)))
    assert ids(prompts)[0] == "entity.n.01"
    assert set(ids(prompts)) == nouns().closure("poodle.n.01") | nouns().closure("corgi.n.01")
    dog = next(p for p in prompts if p.id == "dog.n.01")
    assert dog.scene.classes == (ObjectClass("dog", "dog.n.01"),)


def test_without_a_judge_of_classes_it_is_imagenets():
    assert len(ids(above_labels(Setup(None, LabelOptions())))) == 860


def test_the_list_of_a_taxonomy_of_ones_own(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("poodle.n.01,lap dog\nlap dog,pet\n")
    prompts = list(above_labels(Setup(None, LabelOptions(taxonomy=path), labels=DOGS)))
    assert [p.text for p in prompts] == ["An image of a lap dog.", "An image of a pet."]
    assert prompts[0].scene.classes == (ObjectClass("lap dog"),)


def test_the_mini_worlds_list():
    every = ids(of_mini_world(Setup(None, SynsetPromptOptions())))
    assert "dog.n.01" in every
    assert "dachshund.n.01" not in every
    assert every[0] == "entity.n.01"
    kinds = ids(of_mini_world(Setup(None, SynsetPromptOptions(), labels=(ObjectClass("dog", "dog.n.01"),))))
    assert set(kinds) == nouns().closure("dog.n.01")
    # what is beside the mini world is left out, whatever the judge knows
    labels = tuple(ObjectClass(s, s) for s in imagenet_classes())
    assert set(ids(of_mini_world(Setup(None, SynsetPromptOptions(), labels=labels)))) < mini_world()


def test_synsets_near_a_leaf():
    near = ids(near_leaf(Setup(None, NearLeafOptions(distance=1), labels=DOGS)))
    assert near == ["dog.n.01"]
    two = ids(near_leaf(Setup(None, NearLeafOptions(), labels=DOGS)))
    assert set(two) == {"dog.n.01", "canine.n.02", "domestic_animal.n.01"}
    drawn = ids(near_leaf(Setup(None, NearLeafOptions(count=50))))
    assert len(drawn) == 50
    assert drawn == ids(near_leaf(Setup(None, NearLeafOptions(count=50))))
    assert drawn != ids(near_leaf(Setup(None, NearLeafOptions(count=50, seed=1))))


def test_the_random_split_has_the_published_shares():
    prompts = list(random_split(Setup(None, RandomOptions())))
    assert len(set(ids(prompts))) == len(prompts) == 1202
    shares = [p.facets["subset"] for p in prompts]
    assert [shares.count(s) for s in ("hypernymy", "mixing", "hyponymy")] == [828, 170, 204]
    for prompt in prompts:
        if prompt.facets["subset"] == "mixing":
            assert len(nouns().hypernyms(prompt.id)) > 1
        elif prompt.facets["subset"] == "hyponymy":
            assert nouns().hyponyms(prompt.id)
        else:
            assert nouns().hypernyms(prompt.id)


def test_the_random_split_by_the_sampling_rule():
    shares = [p.facets["subset"] for p in random_split(Setup(None, RandomOptions(drawn=2000)))]
    assert shares.count("hypernymy") == pytest.approx(1600, abs=80)
    assert shares.count("mixing") == pytest.approx(200, abs=60)
    with pytest.raises(BadPrompts, match="fewer than 5000 items of mixing"):
        list(random_split(Setup(None, RandomOptions(mixing=5000))))


def test_all_nouns():
    prompts = all_nouns(Setup(None, PhraseOptions(definition=False)))
    assert next(prompts).text == "An image of entity"
    assert next(prompts).id == nouns().names[1]


def test_other_columns_of_concepts_are_facets(tmp_path):
    path = tmp_path / "concepts.csv"
    path.write_text("lemma,synset,subset,size\ndog,dog.n.01,easy,3\nbee,bawbee.n.01,,4\n")
    assert [dict(p.facets) for p in concepts(path)] == [{"subset": "easy", "size": "3"}, {"size": "4"}]


def concepts(path: Path):
    return list(read_concepts(Setup(str(path), PhraseOptions())))


def test_concepts_of_ones_own():
    dog, bee = concepts(Path(__file__).parent / "concepts.csv")
    assert dog.text.startswith("An image of dog (a member of the genus Canis")
    assert bee.text == "An image of bee (what a model took it for)"
    assert bee.scene.classes == (ObjectClass("bee", "bawbee.n.01"),)
    assert bee.id == "bee (bawbee.n.01)"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1: no column .synset."),
        ("lemma\ndog\n", "line 1: no column .synset."),
        ("lemma,synset\n", "no concepts"),
        ("lemma,synset\ndog,\n", "line 2: column 'synset' is empty"),
        ("lemma,synset\ndog,dogg.n.01\n", "line 2: 'dogg.n.01' is not in the taxonomy"),
        ("lemma,synset\ndog,dog.n.01\ndog,dog.n.01\n", "line 3: dog .dog.n.01. appears twice"),
    ],
)
def test_a_wrong_file_of_concepts_gets_one_line(tmp_path, text, fault):
    path = tmp_path / "concepts.csv"
    path.write_text(text)
    with pytest.raises(BadPrompts, match=fault):
        concepts(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(BadPrompts, match="no such file"):
        concepts(tmp_path / "gone.csv")
    with pytest.raises(BadPrompts, match="cannot be read"):
        concepts(tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_both_lists_of_the_taxonomy_benchmark_run_together(seed: int) -> None:
    sources = [
        list(easy_concepts(Setup(None, PhraseOptions()))),
        list(random_split(Setup(None, RandomOptions(seed=seed)))),
    ]
    request = Request(
        models=(ModelRequest(TEST_MODEL),),
        prompts=("easy-concepts", "wordnet-random"),
        options={"wordnet-random": {"seed": seed}},
    )
    prompts = make_plan(request, StaticResolver(*t2i_prompt_sources())).images[0].prompts
    levels = [split_levels(prompt.facets["subset"]) for prompt in prompts]
    assert sorted(p.id for p in prompts) == sorted({p.id for source in sources for p in source})
    assert Counter(chain.from_iterable(levels)) == {"easy": 483, "hypernymy": 828, "hyponymy": 204, "mixing": 170}
    assert max(map(len, levels)) == 2


def test_the_synsets_that_people_compared_are_the_only_ones_of_their_words_near_a_class() -> None:
    near = list(near_leaf(Setup(None, NearLeafOptions())))
    compared = list(compared_by_people(Setup(None, SynsetPromptOptions())))
    assert len(compared) == 20
    for prompt in compared:
        assert [other.id for other in near if other.text == prompt.text] == [prompt.id]
