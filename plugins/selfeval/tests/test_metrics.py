"""What metrics say of terms, and what they ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from t2i_core.api import Embedding, Failure, Note, Row, Sample
from t2i_core.api.errors import BadPrompts
from t2i_selfeval.ablation import read_values
from t2i_selfeval.metrics import SelfEval, SelfEvalClip, SelfEvalElbo
from t2i_selfeval.options import ElboOptions, SelfEvalClipOptions, SelfEvalOptions, WinogroundOptions
from t2i_selfeval.samples import PAPER_CHANCE, TASKS, choice, pair
from t2i_selfeval.winoground import Winoground, score_pair


def values(rows: list[Any]) -> dict[str, float]:
    return {row.measure: row.value for row in rows if isinstance(row, Row)}


def facets(rows: list[Any]) -> dict[str, Any]:
    (headline,) = [row for row in rows if isinstance(row, Row) and row.measure == "above_chance"]
    return dict(headline.facets)


def note(rows: list[Any]) -> str:
    (found,) = [row.text for row in rows if isinstance(row, Note)]
    return found


def queries(metric: Any, prompt: Any, seed: int = 0) -> Any:
    (need,) = metric.needs
    return need.queries([Sample("model", prompt, seed)])


@pytest.fixture
def selfeval(bench: Any) -> Any:
    return lambda **options: bench.metric(SelfEval, SelfEvalOptions, **options)


@pytest.fixture
def on_disk(samples: Any, tmp_path: Any) -> Any:
    return samples[0](tmp_path, 2)


def test_the_likeliest_caption_is_picked(bench: Any, selfeval: Any) -> None:
    log_p = [[[0, 1, 0, 0], [0, 1, 0, 0]], [[0, 1, 3, 0], [0, 0, 0, 0]]]  # means 0, .75, .75, 0 over trials
    terms = bench.terms(log_p, calls=16)
    found = values(bench.measured(selfeval(exact=True), bench.prompt(answer=1), terms))
    assert found["accuracy"] == 0.5  # 3 against 3 in sum: a tie
    assert found["above_chance"] == 0.25
    assert found["chance"] == 0.25
    assert (found["calls"], found["calls_unpruned"]) == (16, 10 * 100 * 4)
    other = values(bench.measured(selfeval(exact=True, estimator="log-mean-exp"), bench.prompt(answer=2), terms))
    assert other["accuracy"] == 1  # exp(3) weighs more than exp(2)


def test_all_terms_say_more(bench: Any, selfeval: Any) -> None:
    rng = np.random.default_rng(0)
    log_p = rng.normal([0.3, 0, 0, 0], size=(4, 6, 4))
    rows = bench.measured(selfeval(exact=True, trials=4, steps=6), bench.prompt(), bench.terms(log_p))
    found, said = values(rows), facets(rows)
    assert 0 <= found["posterior"] <= 1
    assert found["z"] > 0
    assert list(read_values(said["by_trials"])) == ["1", "2", "4"]
    assert list(read_values(said["by_steps"])) == ["1/6", "2/6", "5/6", "6/6"]
    assert list(read_values(said["by_estimator"])) == ["mean", "log-mean-exp", "q-mean", "q-log-mean-exp"]
    for facet, last in (("by_trials", "4"), ("by_steps", "6/6"), ("by_estimator", "mean")):
        assert read_values(said[facet])[last] == pytest.approx(found["above_chance"])
    assert "all terms" in note(rows)


def test_of_fewer_trials_each_block_counts(bench: Any, selfeval: Any) -> None:
    log_p = np.zeros((3, 2, 2))
    log_p[0, :, 0], log_p[1:, :, 1] = 1, 0.1  # the first trial prefers the right caption, the others do not
    rows = bench.measured(selfeval(exact=True, trials=3, steps=2), bench.prompt(captions=2), bench.terms(log_p))
    assert read_values(facets(rows)["by_trials"]) == pytest.approx(
        {"1": 1 / 3 - 0.5, "2": 0.5, "3": 0.5}, abs=1e-8
    )


def test_of_captions_given_up_those_left_are_compared(bench: Any, selfeval: Any) -> None:
    log_p = np.full((1, 3, 3), np.nan)
    log_p[0] = [[1, 5, 0], [2, np.nan, 0], [2, np.nan, 0]]
    rows = bench.measured(selfeval(trials=1, steps=3), bench.prompt(captions=3), bench.terms(log_p, calls=7))
    found = values(rows)
    assert found["accuracy"] == 1
    assert (found["calls"], found["calls_unpruned"]) == (7, 9)
    assert not {"posterior", "z"} & found.keys()
    assert facets(rows) == {}
    assert "given up at an error rate of 0.05" in note(rows)


def test_where_captions_may_be_given_up_samples_that_kept_theirs_say_no_more(bench: Any, selfeval: Any) -> None:
    """They are the hard ones: means over them alone would say less than the truth."""
    terms = bench.terms(np.ones((1, 3, 2)) * [2, 1])
    rows = bench.measured(selfeval(trials=1, steps=3), bench.prompt(captions=2), terms)
    assert not {"posterior", "z"} & values(rows).keys()
    assert facets(rows) == {}
    rows = bench.measured(selfeval(trials=1, steps=3, also_steps=(2,)), bench.prompt(captions=2), terms, terms)
    assert read_values(facets(rows)["by_steps"]) == {"3/3": 0.5, "2/2": 0.5}


def test_further_chains_are_asked_about_and_reported(bench: Any, selfeval: Any, on_disk: Any) -> None:
    metric = selfeval(exact=True, trials=1, steps=3, also_steps=(2, 3))
    assert [query.params["steps"] for query in queries(metric, on_disk[0])] == [3, 2]
    right = bench.terms(np.ones((1, 3, 2)) * [2, 1], calls=6)
    wrong = bench.terms(np.ones((1, 2, 2)) * [1, 2], calls=3)
    rows = bench.measured(metric, bench.prompt(captions=2), right, wrong)
    assert read_values(facets(rows)["by_steps"]) == {"2/2": -0.5, "1/3": 0.5, "2/3": 0.5, "3/3": 0.5}
    found = values(rows)
    assert found["above_chance"] == 0.5
    assert (found["calls"], found["calls_unpruned"]) == (6 + 3, 2 * 3 + 2 * 2)


def test_the_empty_caption_is_not_a_candidate(bench: Any, selfeval: Any, on_disk: Any) -> None:
    metric = selfeval(trials=1, steps=2, minus_empty=True)
    (query,) = queries(metric, on_disk[0])
    assert query.texts == (*on_disk[0].texts, "")
    assert "error_rate" not in query.params
    log_p = np.ones((1, 2, 3)) * [1.0, 0.5, 4.0]  # the empty one is likeliest
    found = values(bench.measured(metric, bench.prompt(captions=2), bench.terms(log_p)))
    assert found["accuracy"] == 1
    assert found["gain"] == pytest.approx(2 * (1 - 4))
    assert found["calls_unpruned"] == 6


def test_requested_likelihoods(selfeval: Any, bench: Any, on_disk: Any) -> None:
    (query,) = queries(selfeval(), on_disk[0], seed=3)
    assert query.texts == on_disk[0].texts
    assert query.params == {
        "trials": 10, "steps": 100, "seed": 3, "terms": "log_p", "chain": "forward", "noise": "step",
        "variance": "auto", "fit": "crop", "error_rate": 0.05,
    }  # fmt: skip
    for exact in ({"exact": True}, {"estimator": "log-mean-exp"}, {"chain": "free-running"}):
        assert "error_rate" not in queries(selfeval(**exact), on_disk[0])[0].params
    (staged,) = queries(bench.metric(SelfEvalElbo, ElboOptions, stages=((50, 2), (1000, 1))), on_disk[0])
    assert staged.params["stages"] == [[50, 2], [1000, 1]]
    assert staged.params["terms"] == "error"
    own, other = (queries(selfeval(blind=True), sample)[0].images[0] for sample in on_disk)
    assert own == other
    assert np.ptp(own.pixels) == 0


def test_the_smallest_error_wins(bench: Any) -> None:
    metric = bench.metric(SelfEvalElbo, ElboOptions, exact=True, trials=1, steps=2)
    rows = bench.measured(metric, bench.prompt(captions=2), bench.errors([[[0.1, 0.2], [0.3, 0.3]]], calls=4))
    assert values(rows)["accuracy"] == 1
    assert read_values(facets(rows)["by_steps"]) == {"1/2": 0, "2/2": 0.5}  # of one step: the second's, a tie


def test_a_flows_weights_decide_where_they_are_asked_for(bench: Any) -> None:
    errors = bench.errors([[[0.2, 0.1], [0.1, 0.15]]], weight=np.array([[[1.0, 1.0], [9.0, 9.0]]]))
    plain = bench.metric(SelfEvalElbo, ElboOptions, trials=1, steps=2)
    bound = bench.metric(SelfEvalElbo, ElboOptions, trials=1, steps=2, weights="bound")
    assert values(bench.measured(plain, bench.prompt(captions=2), errors))["accuracy"] == 0
    assert values(bench.measured(bound, bench.prompt(captions=2), errors))["accuracy"] == 1
    (failed,) = bench.measured(bound, bench.prompt(captions=2), bench.errors(np.ones((1, 2, 2))))
    assert isinstance(failed, Failure)
    assert "only flow models have weights" in failed.reason


def test_terms_of_another_kind_are_a_failure(bench: Any, selfeval: Any) -> None:
    (failed,) = bench.measured(selfeval(), bench.prompt(captions=2), bench.errors(np.ones((1, 2, 2))))
    assert isinstance(failed, Failure)
    assert "no terms 'log_p'" in failed.reason


def vectors(*of: Any) -> list[Embedding]:
    return [Embedding(np.array(v, np.float32)) for v in of]


def test_a_clip_picks_the_nearest_caption(bench: Any) -> None:
    metric = bench.metric(SelfEvalClip, SelfEvalClipOptions)
    found = vectors([1, 0], [5, 5], [0.1, 0.01])  # the second caption is longer, the third nearer
    rows = bench.measured(metric, bench.prompt(answer=1, captions=2), *found, need="embeddings")
    assert values(rows)["accuracy"] == 1
    (failed,) = bench.measured(
        metric, bench.prompt(captions=2), *vectors([1, 0], [0, 0], [1, 1]), need="embeddings"
    )
    assert isinstance(failed, Failure)
    long = [*vectors([1, 0], [1, 1]), Embedding(np.ones(2, np.float32), cut_to=77)]
    assert "truncated" in note(bench.measured(metric, bench.prompt(captions=2), *long, need="embeddings"))


@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ([[2, 1], [0, 3]], (True, True, True)),
        ([[2, 1], [5, 6]], (True, False, False)),  # the second image is likelier under any caption
        ([[2, 3], [1, 4]], (False, True, False)),
        ([[2, 2], [1, 2]], (False, False, False)),  # equals are not right
        ([[1, 1], [1, 1]], (False, False, False)),
        ([[0, 1], [1, 0]], (False, False, False)),
    ],
)
def test_winogrounds_scores(scores: Any, right: tuple[bool, bool, bool]) -> None:
    assert tuple(score_pair(np.array(scores, float)).values()) == right


def test_random_scores_have_winogrounds_chances() -> None:
    rng = np.random.default_rng(0)
    found = [score_pair(rng.normal(size=(2, 2))) for _ in range(20_000)]
    shares = {name: np.mean([one[name] for one in found]) for name in ("text", "image", "group")}
    assert shares == pytest.approx({"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}, abs=0.012)


def test_the_empty_captions_likelihood_can_be_subtracted(bench: Any) -> None:
    sample = pair("p", ("a.png", "b.png"), ("a mug on grass", "grass in a mug"), "test")
    # the second image is likelier under anything
    answers = [bench.terms(np.array([[[2.0, 1.0, 0.0]]])), bench.terms(np.array([[[5.0, 6.0, 4.5]]]))]
    plain = bench.metric(Winoground, WinogroundOptions, trials=1, steps=2)
    less = bench.metric(Winoground, WinogroundOptions, trials=1, steps=2, minus_empty=True)
    both = [bench.terms(a.terms["log_p"][..., :2]) for a in answers]
    assert values(bench.measured(plain, sample, *both)) == {"text": 1, "image": 0, "group": 0, "calls": 0}
    assert values(bench.measured(less, sample, *answers)) == {"text": 1, "image": 1, "group": 1, "calls": 0}


def test_pairs_are_decided_with_fewer_trials_and_steps_and_by_each_estimator(bench: Any) -> None:
    sample = pair("p", ("a.png", "b.png"), ("one", "two"), "test")
    # (trials, steps, captions): the second trial errs about the first image, the first step about the second
    first = bench.terms([[[2.0, 0.0], [2.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    second = bench.terms([[[1.0, 0.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 3.0]]])
    metric = bench.metric(Winoground, WinogroundOptions, trials=2, steps=2)
    rows = {row.measure: row for row in bench.measured(metric, sample, first, second) if isinstance(row, Row)}
    assert values(rows.values())["text"] == 1
    assert read_values(rows["text"].facets["by_trials"]) == {"1": 0.5, "2": 1}
    assert read_values(rows["text"].facets["by_steps"]) == {"1/2": 1, "2/2": 1}
    by_error = bench.metric(Winoground, WinogroundOptions, trials=1, steps=2, by="error")
    errors = [bench.errors([[[0.1, 0.2], [0.1, 0.2]]]), bench.errors([[[0.2, 0.3], [0.3, 0.1]]])]
    text, image, _ = (r for r in bench.measured(by_error, sample, *errors) if isinstance(r, Row) and r.facets)
    assert (text.value, image.value) == (1, 0)
    assert "by_estimator" not in text.facets


def test_estimators_steps_and_the_empty_caption_change_the_decisions_about_pairs(bench: Any) -> None:
    sample = pair("p", ("a.png", "b.png"), ("one", "two"), "test")
    # (trials, steps, captions), the last caption is the empty one
    log_p = np.array([[[2, 2, 2], [-2, 1, -3]], [[2, -4, 2], [-2, -1, -3]]], float)
    log_q = np.array([[[1, 3, -3], [1, 3, -3]], [[4, 0, -3], [4, 0, -3]]], float)
    other = np.array([[[0, 5, 1], [0, 5, 1]]] * 2, float)

    def measure(minus_empty: bool) -> dict[str, Row]:
        n = 3 if minus_empty else 2
        first = bench.terms(log_p[..., :n], log_q=log_q[..., :n])
        metric = bench.metric(Winoground, WinogroundOptions, trials=2, steps=2, minus_empty=minus_empty)
        rows = bench.measured(metric, sample, first, bench.terms(other[..., :n]))
        return {row.measure: row for row in rows if isinstance(row, Row)}

    def read(row: Row) -> list[list[float]]:
        return [list(read_values(row.facets[by]).values()) for by in ("by_trials", "by_steps", "by_estimator")]

    plain, less = measure(False), measure(True)
    # The first image by its captions, over trials: sums of steps 0, 0 and 3, -5, so means 0 and -1, log-mean-exp 0
    # and 2.3; less log q -2, -8 and -3, -5, so means -5 and -4, log-mean-exp -2.7 and -3.6. The second step alone
    # has the means -2 and 0.
    text = [[0.5, 1], [0, 1], [1, 0, 0, 1]]
    assert read(plain["text"]) == read(less["text"]) == text
    # The second image has 0 and 10, so the first caption does not prefer its own image.
    assert read(plain["image"]) == [[0, 0], [0, 0], [0, 0, 0, 0]]
    # The empty caption has -1 (less log q: 5) for the first image, 2 for the second; in the second step -3 and 1.
    assert read(less["image"]) == [[1, 1], [1, 1], [1, 1, 0, 0]]
    assert read(less["group"]) == [[0.5, 1], [0, 1], [1, 0, 0, 0]]


def test_each_repeat_has_its_own_noise(selfeval: Any, on_disk: Any) -> None:
    again = replace(on_disk[0], facets={**on_disk[0].facets, "repeat": 2})
    seeds = [queries(selfeval(), sample, seed=3)[0].params["seed"] for sample in (on_disk[0], again)]
    assert seeds[0] == 3
    assert seeds[1] > 1000
    with pytest.raises(BadPrompts, match="`repeat` must be a whole number from 1"):
        selfeval().check([replace(again, facets={**again.facets, "repeat": "two"})])


def test_the_picked_caption_is_kept(bench: Any, selfeval: Any) -> None:
    log_p = np.ones((1, 2, 3)) * [1.0, 4.0, 4.0]
    rows = bench.measured(selfeval(), bench.prompt(captions=3), bench.terms(log_p))
    (accuracy,) = (row for row in rows if isinstance(row, Row) and row.measure == "accuracy")
    assert accuracy.because == "picked: a blue ball | a green ball (right: a red ball)"


def test_an_images_own_prior_counts_between_images(bench: Any) -> None:
    sample = pair("p", ("a.png", "b.png"), ("one", "two"), "test")
    own = [bench.terms(np.array([[[1.0, 0.0]]])), bench.terms(np.array([[[0.0, 1.0]]]))]
    far = bench.terms(np.array([[[0.0, 1.0]]]), log_prior=np.full((1, 2), 9.0))
    metric = bench.metric(Winoground, WinogroundOptions, trials=1, steps=2)
    rows = bench.measured(metric, sample, *own)
    assert values(rows)["group"] == 1
    assert "log p(x | caption), 1 trial x 2 steps, forward conditioning" in note(rows)
    assert values(bench.measured(metric, sample, own[0], far))["image"] == 0


def test_prompts_without_samples_are_refused(bench: Any, selfeval: Any) -> None:
    good = bench.prompt()
    two = pair("p", ("a.png", "b.png"), ("one", "two"), "test")
    winoground = bench.metric(Winoground, WinogroundOptions)
    selfeval().check([good])
    winoground.check([two])
    for metric, prompt, said in (
        (selfeval(), two, r"one image \(got 2\)"),
        (winoground, good, r"two images \(got 1\)"),
        (selfeval(), bench.prompt(captions=1), r"at least two captions \(got 1\)"),
        (selfeval(), bench.prompt(task=""), "the facet `task` is missing"),
        (selfeval(), type(good)("x", "x"), r"one image \(got 0\)"),
        (selfeval(), type(good)("x", "x", images=("a.png",), texts=("a", "a"), answer=0), "distinct captions"),
        (selfeval(), type(good)("x", "x", images=("a.png",), texts=("a", "b")), r"0 to 1 \(got None\)"),
        (selfeval(), replace(good, text=good.texts[1]), r"the right caption, texts\[0\]"),
        (selfeval(), replace(good, answer=4), r"`answer` must be the index .* \(got 4\)"),
        (winoground, replace(two, text="two"), r"caption of the first image, texts\[0\]"),
    ):
        with pytest.raises(BadPrompts, match=said) as caught:
            metric.check([prompt])
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        (SelfEvalOptions, {"guidance_scale": 3}, "guided mean"),
        (WinogroundOptions, {"guidance": 3}, "guided mean"),
        (SelfEvalOptions, {"estimator": "q-mean", "noise": "trial"}, "needs noise=step"),
        (ElboOptions, {"stages": ((5, 1),), "exact": True}, "stages cannot be combined with exact"),
        (ElboOptions, {"stages": ((50, 2), (10, 1))}, "ascending"),
        (ElboOptions, {"stages": ((50, 2),), "trials": 1, "steps": 3}, r"at most 3, .* \(got 50\)"),
        (SelfEvalOptions, {"steps": 1}, "at least 2"),
        (SelfEvalOptions, {"also_steps": (1,)}, "at least 2"),
        (WinogroundOptions, {"steps": 1}, "at least 2"),
        (SelfEvalOptions, {"trials": 0}, "greater than or equal to 1"),
        (WinogroundOptions, {"by": "clip", "minus_empty": True}, "minus_empty cannot be combined with by=clip"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        options(**given)


def test_captions_are_shuffled_by_seed_and_answers_are_everywhere() -> None:
    places = [choice(f"s{n}", "a.png", "right", ["b", "c", "d"], "colour", "test").answer for n in range(400)]
    assert choice("s1", "a.png", "right", ["b", "c"], "colour", "test") == choice(
        "s1", "a.png", "right", ["b", "c"], "colour", "test"
    )
    assert np.bincount(np.array(places), minlength=4) == pytest.approx(100, abs=40)
    other = [
        choice(f"s{n}", "a.png", "right", ["b", "c", "d"], "colour", "test", seed=1).answer for n in range(400)
    ]
    assert places != other


def test_the_papers_chances_are_those_of_its_tasks() -> None:
    assert tuple(PAPER_CHANCE) == TASKS
