"""Lists of concepts in files: the published one, predictions, verbs; and templates of prompts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from t2i_core.api import ObjectClass, Prompt, Setup
from t2i_core.api.errors import BadPrompts
from t2i_wordnet_hypernymy.concepts_file import read_concepts, read_predictions, read_random_split
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.metrics import Isp
from t2i_wordnet_hypernymy.options import IspOptions, PhraseOptions, RandomOptions, SimilarityOptions
from t2i_wordnet_hypernymy.prompts import easy_concepts, random_split
from t2i_wordnet_hypernymy.similarities import HypernymSimilarity
from t2i_wordnet_hypernymy.templates import TEMPLATES, check_template, text_of
from t2i_wordnet_hypernymy.wordnet import nouns, verbs, wordnet

HEADER = (
    ",subset,wordnet_id,core_synset,core_lemma,hypernym_synsets,cohyponym_synsets,wikimedia_images,"
    "image_filename,definition,model_a,model_b\n"
)
#: subset, synset, lemma, definition
LINES = (
    ("appendix", "coin.n.01", "coin", "a flat metal piece (usually a disc) used as money"),
    ("appendix", "double_eagle.n.02", "double_eagle", "a former gold coin in the United States worth 20 dollars"),
    ("predict_hypernym", "gonadotropin.n.01", "gonadotropin", "hormone"),
    ("predict_hypernym", "affect.v.01", "affect", "have an effect upon"),
    ("leafs_and_no_leafs", "coin.n.01", "coin", "a flat metal piece (usually a disc) used as money"),
    ("simple_triplet_2parent", "coin.n.01", "coin", "a flat metal piece (usually a disc) used as money"),
    ("appendix_llama", "coin.n.01", "bee", "a flying insect"),
    ("appendix_llama", "coin.n.01", "gold coin", "bullion"),
    ("appendix_llama", "coin.n.01", "gold coin", "a piece of gold"),
    ("predict_hypernym_llama", "coin.n.01", "bee", "a flying insect"),
    ("leafs_and_no_leafs_llama", "deaden.v.06", "blunt", "to make less sharp"),
)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a file in the published layout."""
    lines = [
        f"{i},{subset},{1000 + i},{synset},{lemma},['coinage.n.01'],\"['a.n.01', 'b.n.01']\",[],x.jpg,{text},a,b\n"
        for i, (subset, synset, lemma, text) in enumerate(LINES)
    ]
    path = tmp_path / "main.csv"
    path.write_text(HEADER + "".join(lines))
    return path


def predictions(path: Path, **options: object) -> list[Prompt]:
    return list(read_predictions(Setup(str(path), PhraseOptions(**options))))


def test_predictions_of_the_published_list(published: Path) -> None:
    prompts = {prompt.id: prompt for prompt in predictions(published)}
    assert list(prompts) == [
        "bee (coin.n.01)", "gold coin (coin.n.01)", "gold coin (coin.n.01) 2", "blunt (deaden.v.06)"
    ]  # fmt: skip
    assert prompts["gold coin (coin.n.01) 2"].text == "An image of gold coin (a piece of gold)"
    assert dict(prompts["bee (coin.n.01)"].facets) == {"subset": "p-easy | p-hypernymy"}
    assert dict(prompts["blunt (deaden.v.06)"].facets) == {"subset": "p-hyponymy"}
    assert prompts["bee (coin.n.01)"].scene.classes == (ObjectClass("bee", "coin.n.01"),)


def test_predictions_of_one_text_are_one_prompt(published: Path) -> None:
    assert len(predictions(published, definition=False)) == 3


def test_predictions_of_a_list_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("synset\tlemma\tdefinition\tsubset\ncoin.n.01\tpenny\ta small coin\tmine\ndeaden.v.06\t\t\t\n")
    own, verb = predictions(path)
    assert (own.text, dict(own.facets)) == ("An image of penny (a small coin)", {"subset": "mine"})
    assert verb.text == f"An image of deaden ({verbs().definition('deaden.v.06')})"


def test_the_published_random_split(published: Path) -> None:
    prompts = list(random_split(Setup(str(published), RandomOptions())))
    assert [prompt.id for prompt in prompts] == ["gonadotropin.n.01", "affect.v.01", "coin.n.01"]
    assert prompts[2].facets == {"subset": "hyponymy | mixing"}
    # the same prompt as in Easy Concepts, so that both lists run together
    (coin,) = (p for p in easy_concepts(Setup(None, PhraseOptions())) if p.id == "coin.n.01")
    assert (prompts[2].text, prompts[2].scene) == (coin.text, coin.scene)


def test_options_of_a_new_draw_do_not_fit_the_published_one(published: Path) -> None:
    with pytest.raises(BadPrompts):
        list(read_random_split(Setup(str(published), RandomOptions(seed=1))))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_random_split, "synset,lemma\ncoin.n.01,coin\n"),
        (read_random_split, "subset,core_synset\nappendix,coin.n.01\n"),
        (read_predictions, "subset,core_synset\nappendix,coin.n.01\n"),
        (read_predictions, "core_synset,subset\n,appendix_llama\n"),
        (read_predictions, "core_synset\ncoyn.n.01\n"),
        (read_concepts, "core_synset\n"),
    ],
    ids=["no subset", "no split", "no predictions", "no synset", "unknown synset", "empty"],
)
def test_lists_that_do_not_fit_are_refused(tmp_path: Path, read, text: str) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text)
    options = RandomOptions() if read is read_random_split else PhraseOptions()
    with pytest.raises(BadPrompts, match=r"list\.csv"):
        list(read(Setup(str(path), options)))


def test_concepts_may_be_verbs_and_the_published_list(tmp_path: Path, published: Path) -> None:
    path = tmp_path / "verbs.csv"
    path.write_text("synset\ndeaden.v.06\n")
    (verb,) = read_concepts(Setup(str(path), PhraseOptions()))
    assert verb.id == "deaden (deaden.v.06)"
    metric = HypernymSimilarity(Setup(None, SimilarityOptions()))
    metric.check([verb])
    assert metric.words(verb).hypernyms == ("change",)
    Isp(Setup(None, IspOptions())).check([verb])
    with pytest.raises(BadPrompts, match="appears twice"):
        list(read_concepts(Setup(str(published), PhraseOptions())))


def test_verbs_are_beside_the_nouns(imagenet: tuple[ObjectClass, ...]) -> None:
    assert (len(nouns()), len(verbs()), len(wordnet())) == (82115, 13767, 95882)
    for name in ("dog.n.01", "entity.n.01", "belgian_sheepdog.n.01"):
        assert wordnet().hypernyms(name) == nouns().hypernyms(name)
        assert wordnet().hyponyms(name) == nouns().hyponyms(name)
    assert verbs().lemmas("deaden.v.06") == ("deaden", "blunt")
    assert wordnet().hypernyms("deaden.v.06") == verbs().hypernyms("deaden.v.06") == ("change.v.01",)
    assert wordnet().closure("deaden.v.06") == {"change.v.01"}
    assert Counter(name.split(".")[-2] for name in verbs().names) == {"v": 13767}
    both, alone = Leaves.of(wordnet(), imagenet), Leaves.of(nouns(), imagenet)
    assert (both.evaluated, both.normaliser) == (alone.evaluated, alone.normaliser)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("sentence", "An image of an oven."),
        ("phrase", "An image of Oven"),
        ("a painting of {a} {lemma}", "a painting of an oven"),
        ("{lemma}", "oven"),
        ("{Lemma}, {{photo}}", "Oven, {photo}"),
    ],
)
def test_templates(template: str, text: str) -> None:
    assert text_of("Oven", "", PhraseOptions(template=template).template) == text


def test_a_definition_is_before_the_full_stop() -> None:
    assert text_of("dog", "an animal", "A photo of {a} {lemma}.") == "A photo of a dog (an animal)."
    assert text_of("dog", "an animal", "photo, {lemma}") == "photo, dog (an animal)"


@pytest.mark.parametrize(
    "template", ["", "a photo", "{word}", "{lemma", "lemma}", "{}", "{lemma:>9}", "{lemma!r}", "{a}", "{lemma.x}"]
)
def test_templates_that_do_not_fit_are_refused(template: str) -> None:
    with pytest.raises(ValidationError):
        PhraseOptions(template=template)


@given(st.text())
def test_a_template_is_refused_or_gives_the_lemma(template: str) -> None:
    try:
        check_template(template)
    except ValueError:
        return
    text = text_of("Zebra", "", template)
    assert template in TEMPLATES or "zebra" in text or "Zebra" in text
