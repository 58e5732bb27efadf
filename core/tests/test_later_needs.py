"""Needs whose queries depend on the answers to another need: parts of images, asked in stages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Defaults,
    Detections,
    Domain,
    Embedding,
    Failure,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    NoJudge,
    Options,
    PairMetric,
    QuestionAnswer,
    Row,
    Segments,
    Setup,
    Unit,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.judge import Query
from t2i_core.api.progress import Silent
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.files.image_file import DamagedImage
from t2i_core.results.asked_people import list_asked_needs
from t2i_core.results.stored_samples import list_samples
from t2i_core.testing.parts import CLASSES, TEST_MODEL, TEST_PROMPTS, StaticResolver

BOXES = np.array([[0, 0, 8, 32], [8, 4, 20, 30], [20.4, 0, 31.6, 9]], np.float32)


def note(name: str, image: Any, text: str = "") -> None:
    """Note a query in the environment, because globals that judges change would count as their code."""
    region = image.region.identity if image and image.region else ""
    os.environ["ASKED"] += f"{name},{image.path.name if image else text},{region}\n"


def list_asked(name: str | None = None) -> list[list[str]]:
    """Return each query: the judge, the image's file or the text, and the region."""
    every = [line.split(",") for line in os.environ["ASKED"].splitlines()]
    return [each for each in every if name in (None, each[0])]


def list_created() -> list[str]:
    return os.environ["CREATED"].split()


class Finder:
    """Finds one to three boxes in an image, by its content; fails as the environment says."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            (image,) = query.images
            note("finder", image)
            count = 1 + int(image.pixels.sum()) % 3
            found = Detections(
                size=image.pil().size,
                boxes=BOXES[:count],
                scores=np.linspace(0.9, 0.5, count, dtype=np.float32),
                classes=np.zeros(count, np.int16),
                labels=CLASSES,
            )
            fails = os.environ.get("FAIL") == str(len(list_asked()))
            yield query, Failure("it sees nothing") if fails else found


class Shader:
    """Embeds an image by its mean colour, and texts by their length."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            if os.environ.get("STOP") == str(len(list_asked())):
                raise KeyboardInterrupt
            image = query.images[0] if query.images else None
            note("shader", image, *query.texts)
            mean = image.pixels.mean(axis=(0, 1)) if image else np.full(3, len(query.texts[0]))
            yield query, Embedding(np.float32(mean))


def judge(name: str, kind: Any, **more: Any) -> JudgeInfo:
    def create(_: Any) -> Any:
        os.environ["CREATED"] += f" {name}"
        return kind()

    capability = "detect" if kind is Finder else "embed"
    more.setdefault("capabilities", {capability: frozenset()})
    return JudgeInfo(name=name, summary="", create=create, labels=lambda argument, options: CLASSES, **more)


FINDER, SHADER = judge("finder", Finder), judge("shader", Shader)


def ask_about_boxes(samples: Sequence[Any]) -> list[Query]:
    (answer,) = samples[0].answers
    return [Query((sample.image.crop(box),)) for sample in samples for box in answer.observation.boxes[1:]]


class Shades(Metric):
    """The mean of red in the boxes but the first, and their number."""

    needs: Any = (
        Need("objects", "detect", confidence=0.5, spares={"colour": frozenset({"texts", "shades"})}),
        Need("texts", "embed", images="prompt", per="run", queries=lambda samples: [Query(texts=("red",))]),
        Need("shades", "embed", after="objects", queries=ask_about_boxes),
    )

    def measure(self, unit: Unit) -> Iterator[Row]:
        observed = unit.one()
        shades = [shade.values[0] for shade in observed.all("shades")] if "shades" in observed.answers else []
        yield Row("shade", float(np.mean(shades)) if shades else 0.0)
        yield Row("boxes", float(len(shades)))


def metric(kind: Any = Shades, name: str = "shades", **more: Any) -> MetricInfo:
    return MetricInfo(
        name=name, summary="", create=kind, measures=(Measure("shade", ""), Measure("boxes", "")), **more
    )


SHADES = metric()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASKED", "")
    monkeypatch.setenv("CREATED", "")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def run(
    *metrics: MetricInfo, judges: Sequence[JudgeInfo] = (FINDER, SHADER), out: str = "run", **more: Any
) -> Any:
    return evaluate(
        metrics or SHADES,
        more.pop("models", ModelRequest(TEST_MODEL, "a")),
        prompts=TEST_PROMPTS.name,
        seeds=more.pop("seeds", 6),
        max_failed=1.0,
        out=Path(out),
        resolver=StaticResolver(*judges, TEST_PROMPTS),
        **more,
    )


def count(name: str) -> int:
    return len(list_asked(name))


def expected(found: Any) -> dict[tuple[str, int], tuple[float, int]]:
    """Return shade and number of boxes by prompt and seed, computed from the run's own images."""
    values = {}
    for sample in list_samples(found):
        assert sample.image is not None
        try:
            pixels = sample.image.pixels
        except DamagedImage:  # nothing was asked about it, so that nothing noticed
            continue
        boxes = BOXES[1 : 1 + int(pixels.sum()) % 3].round().astype(int)
        shades = [pixels[y0:y1, x0:x1, 0].mean() for x0, y0, x1, y1 in boxes]
        values[sample.prompt.id, sample.seed] = (float(np.mean(shades)) if shades else 0.0, len(shades))
    return values


def measured(found: Any) -> dict[tuple[str, int], tuple[float, float]]:
    wide = found.measurements().pivot(index=["prompt", "seed"], columns="measure", values="value")
    return {key: (row.shade, row.boxes) for key, row in zip(wide.index, wide.itertuples(), strict=True)}


def assert_right(found: Any) -> None:
    (result,) = found.results
    assert (result.n_ok, result.n_failed) == (12, 0)
    values = expected(found)
    rows = measured(found)
    assert {boxes for _, boxes in rows.values()} == {0, 1, 2}  # some items have no later queries
    assert {key for key, row in rows.items() if row[1]} <= values.keys()
    assert {key: rows[key] for key in values} == {
        key: pytest.approx(value, rel=1e-6) for key, value in values.items()
    }


def test_parts_are_asked_about_after_the_answers_that_name_them() -> None:
    found = run()
    assert_right(found)
    assert [who for who, *_ in list_asked()[:12]] == ["finder"] * 12
    text, *parts = list_asked("shader")
    assert text == ["shader", "red", ""]
    assert all(region for _, _, region in parts)
    assert len(parts) == sum(number for _, number in expected(found).values())
    assert list_created() == [
        "finder",
        "shader",
    ]  # texts wait for parts: the judge is created once


def test_a_repeated_run_asks_nothing_and_opens_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run()
    asked = list_asked()
    monkeypatch.setattr("t2i_core.api.image.decode", lambda *_: pytest.fail("an image was opened"))
    again = run(out="again")
    assert list_asked() == asked
    assert again.results == first.results


@pytest.mark.parametrize("at", [12, 14, 18])
def test_an_interrupted_run_goes_on_where_it_stopped(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(out="whole")
    total = len(list_asked())
    monkeypatch.setenv("T2I_CACHE_DIR", "other-cache")
    monkeypatch.setenv("ASKED", "")
    monkeypatch.setenv("STOP", str(at))
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.delenv("STOP")
    assert len(list_asked()) == at
    resumed = run()
    assert resumed.results == whole.results
    assert count("finder") == 12
    assert total <= len(list_asked()) <= total + 1  # the answer that was on its way


def test_without_the_first_answer_a_sample_is_lost_for_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIL", "5")
    found = run()
    (result,) = found.results
    assert (result.n_ok, result.n_failed) == (11, 1)
    (row,) = (found.path / "failures.csv").read_text().splitlines()[1:]
    assert "it sees nothing" in row
    failed = list_asked()[4][1]
    assert failed not in {name for _, name, _ in list_asked("shader")}


def damage(folder: Path) -> None:
    for file in (folder / "images").rglob("*.png"):
        before = file.stat()
        file.chmod(0o644)
        file.write_bytes(bytes(before.st_size))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


class First(Metric):
    """The number of boxes alone."""

    needs = (Need("objects", "detect", confidence=0.5),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        yield Row("shade", float(len(unit.one().one("objects").boxes)))


class Drawn(Metric):
    """Whether there is an image."""

    needs = (Need("shades", "embed"),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        yield Row("shade", 1.0)


@pytest.mark.parametrize("before", [First, Drawn])
def test_damaged_images_are_made_again_in_either_stage(before: Any, cache: Path) -> None:
    run(metric(before, "before"), out="before")
    damage(cache)
    assert_right(run())


def test_a_judge_whose_answers_decide_what_it_is_asked_is_asked_twice() -> None:
    class Twice(Metric):
        needs = (
            Need("whole", "embed"),
            Need("parts", "embed", after="whole", queries=lambda s: [Query((s[0].image.crop(BOXES[1]),))]),
        )

        def measure(self, unit: Unit) -> Iterator[Row]:
            yield Row("shade", float(unit.one().one("parts").values[0] - unit.one().one("whole").values[0]))

    found = run(metric(Twice), judges=(SHADER,))
    assert found.results[0].n_ok == 12
    assert list_created() == ["shader", "shader"]
    assert [bool(region) for *_, region in list_asked()] == [False] * 12 + [True] * 12


def test_needs_may_follow_each_other() -> None:
    seen: list[int] = []

    def ask_again(samples: Sequence[Any]) -> list[Query]:
        seen.append(len(samples[0].answers))
        return [Query((samples[0].image.crop(BOXES[2]),))]

    class Chain(Shades):
        needs: ClassVar = (*Shades.needs, Need("last", "embed", after="shades", queries=ask_again))

        def measure(self, unit: Unit) -> Iterator[Row]:
            yield Row("shade", float(unit.one().one("last").values[0]))

    found = run(metric(Chain))
    assert found.results[0].n_ok == 12
    assert set(seen) == {0, 1, 2}
    assert list_created() == ["finder", "shader", "shader"]


def test_pairs_get_the_answers_about_both_images() -> None:
    def ask_first(samples: Sequence[Any]) -> list[Query]:
        return [Query((sample.image,)) for sample in samples]

    def ask_then(samples: Sequence[Any]) -> list[Query]:
        (first, second), answers = samples, samples[0].answers
        assert samples[1].answers == answers
        brighter = first if answers[0].observation.values.sum() > answers[1].observation.values.sum() else second
        return [Query((brighter.image.crop(BOXES[1]),))]

    class Brighter(PairMetric):
        needs = (
            Need("both", "embed", queries=ask_first),
            Need("part", "embed", after="both", queries=ask_then),
        )

        def measure(self, unit: Unit) -> Iterator[Row]:
            yield Row("shade", float(unit.one().one("part").values[0]))

        def aggregate(self, table: Any, weights: Any) -> dict[str, float]:
            return dict.fromkeys(("a", "b"), float(np.average(table["value"], weights=weights)))

    other = GeneratorInfo(name="other", summary="", create=TEST_MODEL.create)
    found = run(metric(Brighter), models=(ModelRequest(TEST_MODEL, "a"), ModelRequest(other, "b")), seeds=2)
    assert [result.n_ok for result in found.results] == [4, 4]


def test_a_judge_that_gives_the_field_spares_the_later_needs() -> None:
    both = judge("both", Finder, capabilities={"detect": frozenset({"colour"})})
    found = run(judges=(both,))
    assert found.results[0].n_ok == 12
    assert list_created() == ["both"]
    with pytest.raises(NoJudge):
        run(judges=(FINDER,), out="without")


def request(info: MetricInfo, model: GeneratorInfo = TEST_MODEL) -> Request:
    return Request((info,), (ModelRequest(model, "a"),), prompts=(TEST_PROMPTS.name,), seeds=tuple(range(6)))


def plan_for(kind: Any, *judges: JudgeInfo) -> Any:
    return make_plan(request(metric(kind)), StaticResolver(*judges, TEST_PROMPTS))


@pytest.mark.parametrize(
    "first",
    [
        (),
        (Need("another", "detect"),),
        (Need("objects", "embed", images="prompt", per="run", queries=lambda samples: []),),
        (Need("objects", "embed", images="prompt", queries=lambda samples: []),),
    ],
)
def test_a_need_must_follow_one_that_is_asked_before_it(first: Any) -> None:
    class Wrong(Shades):
        needs: ClassVar = (*first, Need("shades", "embed", after="objects", queries=ask_about_boxes))

    with pytest.raises(BrokenPlugin, match="'shades' after 'objects'"):
        plan_for(Wrong, FINDER, SHADER)


@pytest.mark.parametrize("more", [{"per": "run", "images": "prompt"}, {"queries": Need("x", "embed").queries}])
def test_a_later_need_is_about_items_and_says_what_to_ask(more: Any) -> None:
    with pytest.raises(ValueError, match="need 'later'"):
        Need("later", "embed", after="first", **{"queries": ask_about_boxes, **more})


def test_people_are_not_asked_what_depends_on_their_answers() -> None:
    class Asking(Metric):
        needs = (
            Need("seen", "answer", queries=lambda s: [VisualQuestion("Is it new?", YES_NO).about(s[0].image)]),
            Need("more", "answer", after="seen", queries=lambda s: []),
        )

        def measure(self, unit: Unit) -> Iterator[Row]:
            assert isinstance(unit.one().one("seen"), QuestionAnswer)
            yield Row("shade", 1.0)

    with pytest.raises(NoJudge, match="depends on its answers about seen"):
        list_asked_needs("asking", Asking(Setup(None, Options())), ("answer",))


def test_a_dry_run_counts_what_is_known() -> None:
    resolver = StaticResolver(FINDER, SHADER, TEST_PROMPTS)

    def forecast() -> dict[str, int]:
        found = forecast_request(request(SHADES), resolver, Silent())["observations"]
        return {name: found[name] for name in ("to_make", "kept", "waiting")}

    assert forecast() == {"to_make": 13, "kept": 0, "waiting": 12}
    run(metric(First, "first"), out="first")
    parts = sum(len(shade) for shade in _list_parts())
    assert forecast() == {"to_make": 1 + parts, "kept": 12, "waiting": 0}
    run()
    assert forecast() == {"to_make": 0, "kept": 13 + parts, "waiting": 0}


def _list_parts() -> list[Any]:
    """Return the boxes but the first of each image in the cache."""
    from t2i_core.api.image import load_image

    files = (Path(os.environ["T2I_CACHE_DIR"]) / "images").rglob("*.png")
    return [BOXES[1 : 1 + int(load_image(file).pixels.sum()) % 3] for file in files]


def test_a_domain_chooses_between_alternatives_for_one_metric() -> None:
    class Either(Metric):
        needs = (
            Need("objects", "segment", confidence=0.5, alternatives=(Need("objects", "detect", confidence=0.5),)),
        )

        def measure(self, unit: Unit) -> Iterator[Row]:
            seen = unit.one().one("objects")
            yield Row("shade", float(isinstance(seen, Segments)))

    masks = judge("masks", Finder, capabilities={"segment": frozenset()})
    world = Domain("world", "", judges={"segment": "masks", "detect": "finder"})
    own = Domain("own", "", world.judges, {"shades": Defaults(judges={"detect": "finder"})})
    for domain, capability in ((world, "segment"), (own, "detect")):
        model = GeneratorInfo(name="model", summary="", create=TEST_MODEL.create, domain=domain)
        (job,) = make_plan(request(metric(Either), model), StaticResolver(masks, FINDER, TEST_PROMPTS)).jobs
        assert [served.need.capability for served in job.needs] == [capability]
