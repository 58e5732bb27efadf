from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import Embedding, Excluded, ObjectClass, Prompt, Sample, Scene, SceneObject, Setup, Unit
from t2i_core.api.errors import BadPrompts
from t2i_core.api.metric_input import Answer
from t2i_wordnet_hypernymy.options import HyponymCosineOptions
from t2i_wordnet_hypernymy.texts import HyponymCosine

VECTORS = {
    "An image of a dog.": (2, 0),
    "An image of a pug.": (3, 3),
    "An image of a corgi.": (0, 1),
    "An image of an animal.": (1, 1),
}


def prompt(word):
    return Prompt(word, word, Scene((SceneObject(ObjectClass(word)),)))


@pytest.fixture
def metric(tmp_path):
    path = tmp_path / "taxonomy.csv"
    path.write_text("pug,dog\ncorgi,dog\ndog,animal\n")
    return HyponymCosine(Setup(None, HyponymCosineOptions(taxonomy=path)))


def test_it_is_the_mean_cosine_with_what_is_directly_below(metric):
    prompts = [prompt(word) for word in ("dog", "animal", "pug")]
    asked = metric.needs[0].queries([Sample("m", p, 0) for p in prompts])
    assert sorted(q.texts[0] for q in asked) == sorted(VECTORS)  # each once, and no image
    assert all(q.images == () for q in asked)
    answers = [Answer(Embedding(np.array(VECTORS[q.texts[0]], np.float32)), {}) for q in asked]

    def measured(p):
        (said,) = metric.measure(Unit(("m",), p, None, (), {"texts": answers}))
        return said

    dog, animal, pug = map(measured, prompts)
    assert dog.value == pytest.approx((np.sqrt(0.5) + 0) / 2)
    assert dog.facets == {"hyponyms": 2}
    assert animal.value == pytest.approx(np.sqrt(0.5))
    assert isinstance(pug, Excluded)


def test_prompts_without_a_synset_are_refused(metric):
    with pytest.raises(BadPrompts, match="does not say which synset"):
        metric.check([Prompt("x", "x")])
    with pytest.raises(BadPrompts, match=r"'cow' is not in the taxonomy .*taxonomy.csv"):
        metric.check([prompt("cow")])
