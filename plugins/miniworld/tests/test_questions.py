"""Questions for selfeval: captions tell nothing about which is right, pictures show what their captions say."""

from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from t2i_core.api import Query, Setup
from t2i_core.api.image import Image, load_image
from t2i_core.storage.store import Store
from t2i_core.testing import PromptSourceContract
from t2i_miniworld import plugin, question_prompts
from t2i_miniworld.options import QuestionOptions
from t2i_miniworld.oracle import Oracle
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import read
from t2i_miniworld.question_pictures import draw_shot
from t2i_miniworld.question_prompts import _questions, _shots, take_pictures
from t2i_miniworld.questions import STREAM, TASKS, WINOGROUND, ask
from t2i_miniworld.statements import holds, reading_of
from training_data import _KEYS

CHOICES = [task for task in TASKS if task != WINOGROUND]
CAPTIONS = {"attribute-binding": 2, "colour": 4, "count": 4, "shape": 3, "spatial": 4, "text-corruption": 5}
FEW = {"limit": 5, "size": 64, "workers": 2}


@pytest.fixture
def undrawn(monkeypatch):
    """Questions alone, without their pictures."""
    monkeypatch.setattr(question_prompts, "take_pictures", lambda shots, *_: [f"{shot.key}.png" for shot in shots])


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that the pictures of this file are drawn into once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def drawn(cache, monkeypatch):
    monkeypatch.setenv("T2I_CACHE_DIR", str(cache))
    return {task: prompts(task, **FEW) for task in TASKS}


def prompts(task, **options):
    return list(plugin._prompts((task,), Setup(None, QuestionOptions(**options))))


@pytest.mark.parametrize("task", CHOICES)
class TestBalance:
    def test_as_many_captions_as_the_papers(self, task, undrawn):
        assert {len(set(prompt.texts)) for prompt in prompts(task)} == {CAPTIONS[task]}

    def test_every_caption_is_right_as_often_as_any_other(self, task, undrawn):
        asked = prompts(task)
        assert len(asked) == 60
        offered = Counter(text for prompt in asked for text in prompt.texts)
        right = Counter(prompt.text for prompt in asked)
        assert {text: CAPTIONS[task] * times for text, times in right.items()} == dict(offered)

    def test_every_place_is_right_as_often(self, task, undrawn):
        places = Counter(prompt.answer for prompt in prompts(task))
        assert set(places.values()) == {60 // CAPTIONS[task]}
        assert all(prompt.texts[prompt.answer] == prompt.text for prompt in prompts(task))

    @pytest.mark.parametrize("belief", [len, str, lambda text: -len(text), lambda text: text[::-1]])
    def test_a_model_of_captions_alone_is_at_chance(self, task, belief, undrawn):
        asked = prompts(task)
        right = sum(max(sorted(prompt.texts), key=belief) == prompt.text for prompt in asked)
        assert right * CAPTIONS[task] == len(asked)

    def test_captions_say_their_scenes_and_nothing_else(self, task):
        for number in range(20):
            question = ask(task, 0, number)
            assert [read(text) for text in question.captions] == [reading_of(one) for one in question.scenes]

    def test_another_seed_asks_something_else(self, task, undrawn):
        assert prompts(task, limit=20) == prompts(task, limit=60)[: len(prompts(task, limit=20))]
        assert {p.texts for p in prompts(task)} != {p.texts for p in prompts(task, seed=1)}
        assert not {p.id for p in prompts(task)} & {p.id for p in prompts(task, seed=1)}


def without(words, text):
    return [word for word in text.replace(";", " ").split() if word not in words]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("attribute-binding", PAINTS),
        ("colour", PAINTS),
        ("text-corruption", PAINTS),
        ("spatial", {"to", "the", "is", "left", "right", "of", "above", "below"}),
    ],
)
def test_captions_differ_in_the_asked_fact_alone(task, words):
    for number in range(20):
        captions = ask(task, 0, number).captions
        assert len({tuple(without(words, text)) for text in captions}) == 1


@pytest.mark.parametrize("task", ["attribute-binding", "text-corruption"])
def test_captions_have_the_same_words(task):
    for number in range(20):
        assert len({tuple(sorted(text.split())) for text in ask(task, 0, number).captions}) == 1


def test_counts_differ_in_the_number_alone_and_shapes_in_the_kind():
    for number in range(20):
        counts, shapes = ask("count", 0, number).scenes, ask("shape", 0, number).scenes
        assert [scene.objects[0].count for scene in counts] == [1, 2, 3, 4]
        assert len({scene.classes for scene in counts}) == 1
        assert len({scene.objects[0].colour for scene in shapes}) == 1


def test_pairs_exchange_each_of_three_facts(undrawn):
    asked = prompts(WINOGROUND)
    assert {p.facets["tag"] for p in asked} == {"relation", "colour", "number"}
    assert all(p.answer is None and len(p.images) == len(set(p.texts)) == 2 for p in asked)
    # the same things are named, but for plurals
    assert all(len({len(text.split()) for text in p.texts}) == 1 for p in asked if p.facets["tag"] != "number")


def test_all_six_together_are_the_six(undrawn):
    options = QuestionOptions()
    (together,) = [info for info in plugin.t2i_prompt_sources() if info.name == "selfeval-mini"]
    got = list(together.prompts(Setup(None, options)))
    assert [p for task in CHOICES for p in prompts(task)] == [
        p for task in CHOICES for p in got if p.facets["task"] == task
    ]
    assert len(got) == 6 * 60
    assert list(plugin._QUESTIONS) == CHOICES


def test_no_training_draws_from_these_streams():
    keys = [shot.key for shot in _shots(ask("count", 0, 0))]
    assert {key[0] for key in keys} == {STREAM}
    assert STREAM not in _KEYS.values()
    assert len(set(keys)) == 4


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_pictures_show_what_their_captions_say(task, drawn):
    with Store() as store:
        for prompt in drawn[task]:
            for number, path in enumerate(prompt.images):
                right = number if prompt.answer is None else prompt.answer
                image = load_image(Path(path))
                truth = store.truth(image.digest)
                assert [holds(read(text), truth.instances) for text in prompt.texts] == [
                    place == right for place in range(len(prompt.texts))
                ]
                assert chosen(Image(image.digest, image.path, truth), prompt.texts) == right


def chosen(image, texts):
    """What the ideal judge takes for the caption of an image: the nearest in its space."""
    queries = [Query(images=(image,)), *(Query(texts=(text,)) for text in texts)]
    (_, seen), *said = Oracle().observe("embed", queries)
    return int(np.argmax([float(seen.values @ one.values) for _, one in said]))


class TestKeeping:
    @pytest.mark.long
    def test_a_picture_is_drawn_once(self, drawn, monkeypatch):
        monkeypatch.setattr(question_prompts, "draw_shot", lambda size, shot: pytest.fail("drawn again"))
        monkeypatch.setattr(question_prompts, "map_ordered", lambda function, jobs, _: map(function, jobs))
        assert prompts("shape", **FEW) == drawn["shape"]

    def test_images_drawn_before_a_kill_are_kept(self, tmp_path, monkeypatch):
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path))
        shots = [shot for one in _questions("shape", QuestionOptions(limit=5)) for shot in _shots(one)]

        def until_killed(function, jobs, workers):
            for shot in jobs:
                if shot == shots[1]:
                    raise KeyboardInterrupt
                yield shot, function(shot)

        calls = []

        def counted(function, jobs, workers):
            for shot in jobs:
                calls.append(shot)
                yield shot, function(shot)

        monkeypatch.setattr(question_prompts, "map_ordered", until_killed)
        with pytest.raises(KeyboardInterrupt):
            take_pictures(shots, 64, "code", 1)
        monkeypatch.setattr(question_prompts, "map_ordered", counted)
        assert len(set(take_pictures(shots, 64, "code", 1))) == 3
        assert calls == shots[1:]

    @pytest.mark.long
    def test_a_picture_that_is_gone_or_cut_off_is_drawn_again_as_it_was(self, drawn):
        gone, cut = (Path(prompt.images[0]) for prompt in drawn["shape"][:2])
        before = gone.read_bytes(), cut.read_bytes()
        gone.unlink()
        cut.write_bytes(before[1][:100])
        assert prompts("shape", **FEW) == drawn["shape"]
        assert (gone.read_bytes(), cut.read_bytes()) == before

    def test_other_code_and_another_size_draw_anew(self):
        (shot, *_) = _shots(ask("colour", 0, 0))
        assert len({shot.digest(64, "code"), shot.digest(64, "other"), shot.digest(128, "code")}) == 3

    def test_a_picture_is_a_function_of_its_shot(self, drawn):
        (shot, *_) = _shots(ask("shape", 0, 0))
        image, truth = draw_shot(64, shot)
        assert (image == load_image(Path(drawn["shape"][0].images[0])).pixels).all()
        assert truth.asked == shot.scene
        assert truth.text == shot.caption


class WithPictures(PromptSourceContract):
    module = "t2i_miniworld.plugin"
    options: ClassVar = FEW

    @pytest.fixture(autouse=True)
    def _kept(self, cache, monkeypatch):
        monkeypatch.setenv("T2I_CACHE_DIR", str(cache))


class TestShape(WithPictures):
    name = "selfeval-mini-shape"


class TestWinoground(WithPictures):
    name = "selfeval-mini-winoground"
