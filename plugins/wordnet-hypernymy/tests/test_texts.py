from __future__ import annotations

import numpy as np
import pytest
from t2i_core.api import Embedding, Excluded, ObjectClass, Prompt, Sample, Scene, SceneObject, Setup, Unit
from t2i_core.api.errors import BadOption, BadPrompts
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


def test_it_is_the_mean_cosine_with_the_classes_below(metric):
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
    assert animal.value == pytest.approx((1 + np.sqrt(0.5)) / 2)
    assert animal.facets == {"hyponyms": 2}
    assert isinstance(pug, Excluded)


def test_prompts_without_a_synset_are_refused(metric):
    with pytest.raises(BadPrompts, match="does not say which synset"):
        metric.check([Prompt("x", "x")])
    with pytest.raises(BadPrompts, match=r"'cow' is not in the taxonomy .*taxonomy.csv"):
        metric.check([prompt("cow")])


def of_synset(name):
    return Prompt(name, name, Scene((SceneObject(ObjectClass(name.partition(".")[0], name)),)))


@pytest.mark.parametrize(("synset", "count"), [("dog.n.01", 118), ("fruit.n.01", 16), ("entity.n.01", 1000)])
def test_hyponyms_are_the_classes_of_imagenet(synset, count):
    _, *below = HyponymCosine(Setup(None, HyponymCosineOptions())).texts(of_synset(synset))
    assert len(below) == count


def test_a_class_is_not_its_own_hyponym():
    metric = HyponymCosine(Setup(None, HyponymCosineOptions(classes="mini-world")))
    own, *below = metric.texts(of_synset("dachshund.n.01"))
    assert (own, below) == ("An image of a dachshund.", [])
    assert "An image of a dachshund." in metric.texts(of_synset("dog.n.01"))


def test_classes_may_come_from_a_file(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("# mine\npoodle.n.01\n\ncorgi.n.01\npoodle.n.01\n")
    metric = HyponymCosine(Setup(None, HyponymCosineOptions(classes=path)))
    assert metric.texts(of_synset("dog.n.01"))[1:] == ["An image of a poodle.", "An image of a corgi."]
    assert metric.texts(of_synset("cat.n.01"))[1:] == []


@pytest.mark.parametrize("content", ["", "poodle.n.01\npoodel.n.01\n", None], ids=["empty", "unknown", "missing"])
def test_files_of_classes_that_are_wrong_are_refused(tmp_path, content):
    path = tmp_path / "classes.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadOption, match=r"classes\.txt"):
        HyponymCosine(Setup(None, HyponymCosineOptions(classes=path)))
