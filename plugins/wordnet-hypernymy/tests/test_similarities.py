"""The similarities on embeddings made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import (
    Embedding,
    Excluded,
    Failure,
    ObjectClass,
    Observed,
    Prompt,
    Query,
    Sample,
    Scene,
    SceneObject,
    Setup,
    Unit,
)
from t2i_core.api.errors import BadPrompts
from t2i_core.api.image import Image
from t2i_core.api.metric_input import Answer
from t2i_wordnet_hypernymy.options import SimilarityOptions
from t2i_wordnet_hypernymy.similarities import (
    NEED,
    CohyponymSimilarity,
    HypernymSimilarity,
    LemmaSimilarity,
    Specificity,
)
from t2i_wordnet_hypernymy.wordnet import nouns

TAXONOMY = "corgi,dog\npoodle,dog\npug,dog\npug,toy\nball,toy\ndog,animal\ncat,animal\n"
#: cosine of the image with each word
COSINES = {
    "pug": 0.8,
    "corgi": 0.4,
    "poodle": 0.2,
    "ball": 0.1,
    "dog": 0.6,
    "toy": 0.3,
    "cat": -0.5,
    "animal": 0.5,
}


@pytest.fixture
def taxonomy(tmp_path):
    path = tmp_path / "taxonomy.csv"
    path.write_text(TAXONOMY)
    return path


def measured(metric_class, word, taxonomy, image=(2.0, 0.0), subset="hypernymy", **options):
    metric = metric_class(Setup(None, SimilarityOptions(taxonomy=taxonomy, **options)))
    asked = Prompt(word, word, Scene((SceneObject(ObjectClass(word)),)), facets={"subset": subset})
    metric.check([asked])
    sample = Sample("m", asked, 0, Image("0" * 64, taxonomy))
    picture, *texts = metric.needs[0].queries([sample])
    assert picture == Query(images=(sample.image,))
    prefix = metric.options.prefix
    cosines = [COSINES[query.texts[0].removeprefix(prefix)] for query in texts]
    vectors = [np.array([3 * c, 3 * np.sqrt(1 - c * c)], np.float32) for c in cosines]
    answers = [Answer(Embedding(v), {}) for v in (np.array(image, np.float32), *vectors)]
    return list(metric.measure(Unit(("m",), asked, 0, [Observed((sample,), {NEED: answers})])))


def values(*args, **options):
    found = measured(*args, **options)
    return {r.measure: r.value for r in found} if not isinstance(found[0], Excluded | Failure) else found[0].reason


def test_lemma_similarity_is_that_of_the_prompts_word(taxonomy):
    assert values(LemmaSimilarity, "pug", taxonomy) == {"lemma-similarity": pytest.approx(2.5 * 0.8)}
    assert values(LemmaSimilarity, "cat", taxonomy) == {"lemma-similarity": 0}
    cosine = values(LemmaSimilarity, "cat", taxonomy, scale="cosine")
    assert cosine == {"lemma-similarity": pytest.approx(-0.5)}


def test_hypernym_similarity_is_the_mean_over_direct_hypernyms(taxonomy):
    found = values(HypernymSimilarity, "pug", taxonomy, scale="cosine")
    assert found == {"hypernym-similarity": pytest.approx((0.6 + 0.3) / 2)}


def test_cohyponym_similarity_leaves_one_copy_of_the_synset_out(taxonomy):
    one = values(CohyponymSimilarity, "corgi", taxonomy, scale="cosine")
    assert one == {"cohyponym-similarity": pytest.approx((0.2 + 0.8) / 2)}
    # pug is below dog and below toy: corgi, poodle, pug, ball, pug, less one pug
    two = values(CohyponymSimilarity, "pug", taxonomy, scale="cosine")
    assert two == {"cohyponym-similarity": pytest.approx((0.4 + 0.2 + 0.8 + 0.1) / 4)}


@pytest.mark.parametrize(
    ("subset", "cohyponyms", "itself"),
    [
        ("easy", "published", True),
        ("hypernymy", "published", False),
        ("easy", "others", False),
        ("hypernymy", "all", True),
    ],
)
def test_the_synset_itself_stays_where_the_published_numbers_have_it(taxonomy, subset, cohyponyms, itself):
    found = values(CohyponymSimilarity, "corgi", taxonomy, scale="cosine", subset=subset, cohyponyms=cohyponyms)
    words = (0.2, 0.8, 0.4) if itself else (0.2, 0.8)
    assert found == {"cohyponym-similarity": pytest.approx(sum(words) / len(words))}


def test_specificity_has_both_definitions(taxonomy):
    found = values(Specificity, "pug", taxonomy)
    assert found["specificity"] == pytest.approx(0.8 / ((0.4 + 0.2 + 0.1) / 3))
    assert found["hypernym-over-cohyponyms"] == pytest.approx(0.45 / ((0.4 + 0.2 + 0.8 + 0.1) / 4))


def test_specificity_says_which_word_is_nearer_than_the_prompts_own(taxonomy):
    assert [row.because for row in measured(Specificity, "pug", taxonomy)] == ["", ""]
    assert measured(Specificity, "corgi", taxonomy)[0].because == "nearest word: pug, not corgi"


def test_synsets_without_captions_are_excluded_with_a_reason(taxonomy):
    assert values(HypernymSimilarity, "animal", taxonomy) == "animal has no hypernyms"
    assert values(CohyponymSimilarity, "animal", taxonomy) == "animal has no cohyponyms"
    # the dog's only cohyponym is the cat, with which the image has nothing in common
    assert "the ratio is undefined" in values(Specificity, "dog", taxonomy)


def test_an_embedding_of_zeros_is_a_failure(taxonomy):
    assert "no cosine" in values(LemmaSimilarity, "pug", taxonomy, image=(0.0, 0.0))


def test_words_are_wordnets_and_the_lemma_the_prompts_own():
    metric = Specificity(Setup(None, SimilarityOptions()))
    asked = Prompt("x", "x", Scene((SceneObject(ObjectClass("bee", "bawbee.n.01")),)))
    words = metric.words(asked)
    assert (words.lemma, words.hypernyms) == (("bee",), ("coin",))
    assert "bezant" in words.cohyponyms
    assert len(words.others) == len(nouns().hyponyms("coin.n.01")) - 1


def test_prompts_without_a_synset_are_refused(taxonomy):
    metric = LemmaSimilarity(Setup(None, SimilarityOptions()))
    with pytest.raises(BadPrompts, match="does not say which synset"):
        metric.check([Prompt("x", "a dog")])
    with pytest.raises(BadPrompts, match="not in the taxonomy"):
        metric.check([Prompt("x", "x", Scene((SceneObject(ObjectClass("dog", "dogg.n.01")),)))])
