"""A dry run needs no network, weights and writable disk, writes nothing, and refuses what the run would refuse."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from PIL import Image as PILImage
from t2i_core.api import (
    Defaults,
    ExistingImagesInfo,
    GeneratorInfo,
    Loading,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Options,
    Prompt,
    PromptSourceInfo,
    Query,
    Row,
    Setup,
)
from t2i_core.api.errors import BadFolder, BadModel, BadOption, BadPrompts, NotHere, T2IError
from t2i_core.api.image import load_image
from t2i_core.api.progress import Silent
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.files.write_check import find_write_obstacle
from t2i_core.storage.store import Store
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

needs_setpriv = pytest.mark.skipif(sys.platform != "linux", reason="root is refused nothing elsewhere")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("T2I_CACHE_LIMIT", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("reward", unit.one().one("reward").value)


BRIGHTNESS = MetricInfo(
    name="brightness",
    summary="Brightness.",
    create=Brightness,
    measures=(Measure("reward", "Mean."),),
    defaults=Defaults(prompts="test-prompts", seeds=2),
)
RESOLVER = StaticResolver(TEST_JUDGE, TEST_PROMPTS)


def forecast(
    model: GeneratorInfo | str = TEST_MODEL, metric: MetricInfo = BRIGHTNESS, resolver: Any = RESOLVER, **more: Any
) -> dict[str, Any]:
    request = Request((metric,), (ModelRequest(model),), **more)
    return forecast_request(request, resolver, Silent())


def list_files(folder: Path) -> dict[str, bytes | None]:
    """Return everything in a folder, except the files that SQLite needs for reading."""
    found = {str(f.relative_to(folder)): f.read_bytes() if f.is_file() else None for f in folder.rglob("*")}
    return {name: data for name, data in found.items() if not name.endswith(("-shm", "-wal"))}


def test_nothing_is_written(tmp_path: Path) -> None:
    plan = forecast()
    assert (plan["images"]["to_make"], plan["images"]["kept"]) == (4, 0)
    assert not list(tmp_path.iterdir()), "also no cache folder"


def test_cached_images_are_counted_and_unchanged(tmp_path: Path, cache: Path) -> None:
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    os.utime(next((cache / "images").rglob("*.png")), (1, 1))  # it is read and compared, and not recorded
    before = list_files(tmp_path)
    plan = forecast(seeds=(0, 1, 2))
    assert (plan["images"]["to_make"], plan["images"]["kept"]) == (2, 4)
    assert (plan["observations"]["to_make"], plan["observations"]["kept"]) == (2, 4)
    assert plan["images"]["unknown"] == plan["observations"]["unknown"] == 0
    assert list_files(tmp_path) == before


def test_a_dry_run_does_not_clean_the_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    monkeypatch.setenv("T2I_CACHE_LIMIT", "0")
    assert forecast()["images"]["kept"] == 4
    monkeypatch.setenv("T2I_CACHE_LIMIT", "much")
    with pytest.raises(BadOption):
        forecast()


READ_ONLY = """
import sys
from t2i_core.api.progress import Silent
from t2i_core.engine.dry_run import forecast_request
from t2i_core.engine.request import Request
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

request = Request((), (TEST_MODEL,), ("test-prompts",), seeds=2)
plan = forecast_request(request, StaticResolver(TEST_JUDGE, TEST_PROMPTS), Silent())
print(plan["images"]["kept"])
print(*plan["notes"], sep="\\n")
"""


@pytest.mark.long
@needs_setpriv
def test_a_read_only_cache_and_working_directory_are_enough(tmp_path: Path, cache: Path) -> None:
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    for leftover in cache.glob("*.sqlite-*"):
        leftover.unlink()
    folders = [tmp_path, *(folder for folder in tmp_path.rglob("*") if folder.is_dir())]
    before = list_files(tmp_path)
    for folder in folders:
        folder.chmod(0o555)
    try:
        unprivileged = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
        words = [*unprivileged, sys.executable, "-c", READ_ONLY]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    kept, note = done.stdout.splitlines()
    assert kept == "4"
    assert "a run would be refused here" in note
    assert "t2i-runs" in note
    assert list_files(tmp_path) == before


def test_an_unwritable_cache_is_a_note(cache: Path) -> None:
    cache.write_text("a file")
    plan = forecast()
    assert any("a run would be refused here" in note and str(cache) in note for note in plan["notes"])


@pytest.mark.parametrize(("place", "code"), [("file", errno.ENOTDIR), ("file/in/it", errno.ENOTDIR)])
def test_obstacles_of_writing_are_found(tmp_path: Path, place: str, code: int) -> None:
    (tmp_path / "file").write_text("a file")
    found = find_write_obstacle(tmp_path / place)
    assert found is not None
    assert found.errno == code
    assert find_write_obstacle(tmp_path / "new" / "folder") is None
    assert not (tmp_path / "new").exists()


# ---- weights that are not here


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


class Weights(Options):
    """Options with a revision."""

    revision: str | None = None


def fetch(setup: Setup[Any]) -> None:
    if setup.offline:
        raise NotHere("org/model", "hub:org/model")
    socket.create_connection(("example.org", 443))


def make_hub_model(place: Path, pinned: bool) -> GeneratorInfo:
    """Return a model whose weights are a file, and whose revision is resolved on the hub unless it is pinned."""

    def resolve(setup: Setup[Weights]) -> Weights:
        if not pinned and not place.exists():
            fetch(setup)
        return setup.options.model_copy(update={"revision": "abc"})

    def check(setup: Setup[Weights]) -> None:
        if not place.exists():
            fetch(setup)

    return replace(
        TEST_MODEL,
        name="hub",
        options=Weights,
        loading=Loading(
            weights=lambda argument, options: ["org/model@abc"] if pinned else [place],
            check=check,
            resolve=resolve,
        ),
    )


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("pinned", [False, True])
def test_weights_that_are_not_here_are_noted(tmp_path: Path, pinned: bool) -> None:
    """The key of an image whose model has a pinned revision needs no weights."""
    weights = tmp_path / "weights"
    weights.write_text("weights")
    model = make_hub_model(weights, pinned)
    evaluate(BRIGHTNESS, model, out=tmp_path / "run", resolver=RESOLVER)
    assert forecast(model)["images"]["kept"] == 4
    named = forecast(model)["folder"]
    weights.unlink()
    plan = forecast(model)
    (note,) = plan["notes"]
    assert note == "hub: org/model is not on this machine; the run downloads it first"
    expected = (0, 4, 0) if pinned else (0, 0, 4)
    for work in ("images", "observations"):
        assert tuple(plan[work][key] for key in ("to_make", "kept", "unknown")) == expected
    assert plan["folder"] == (named if pinned else None), "its name depends on the revision"


@pytest.mark.usefixtures("no_network")
def test_weights_that_may_not_be_downloaded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotHere):
        forecast(make_hub_model(tmp_path / "weights", pinned=True), offline=True)


@pytest.mark.usefixtures("no_network")
def test_options_are_checked_without_weights(tmp_path: Path) -> None:
    model = make_hub_model(tmp_path / "weights", pinned=False)

    def check(setup: Setup[Any]) -> None:
        raise BadModel("this one has no such part")

    with pytest.raises(BadModel, match="no such part"):
        forecast(replace(model, loading=replace(model.loading, check=check)))


@pytest.mark.usefixtures("no_network")
def test_a_judge_whose_classes_are_not_here(tmp_path: Path) -> None:
    """A list of prompts that follows them cannot be planned; all others can."""

    def labels(argument: str | None, options: Any) -> Any:
        raise NotHere("org/judge", "judge")

    loading = make_hub_model(tmp_path / "weights", pinned=False).loading
    judge = replace(TEST_JUDGE, name="hub-judge", options=Weights, labels=labels, loading=loading)
    following = replace(TEST_PROMPTS, name="following", reads_labels=True)
    resolver = StaticResolver(judge, TEST_PROMPTS, following)
    plan = forecast(resolver=resolver)
    assert (plan["images"]["to_make"], plan["observations"]["unknown"]) == (4, 4)
    with pytest.raises(BadPrompts, match="t2i prefetch hub-judge"):
        forecast(resolver=resolver, prompts=("following",))


@pytest.mark.usefixtures("no_network")
def test_prompts_follow_the_classes_of_their_own_judge(tmp_path: Path) -> None:
    """They are accepted although the judge of another metric is not on this machine."""

    def labels(argument: str | None, options: Any) -> Any:
        raise NotHere("org/judge", "judge")

    loading = make_hub_model(tmp_path / "weights", pinned=False).loading
    absent = replace(TEST_JUDGE, name="hub-judge", options=Weights, labels=labels, loading=loading)
    absent = replace(absent, capabilities={"features": frozenset()})
    following = replace(TEST_PROMPTS, name="following", reads_labels=True)
    resolver = StaticResolver(absent, replace(TEST_JUDGE, labels=None), TEST_PROMPTS, following)

    class Other(Metric):
        needs = (Need("features", "features"),)

        def measure(self, unit: Any) -> Any:
            yield Row("reward", 0.0)

    other = replace(BRIGHTNESS, name="other", create=Other)
    own = replace(BRIGHTNESS, defaults=Defaults(prompts="following", seeds=2))

    def plan(*metrics: MetricInfo) -> dict[str, Any]:
        return forecast_request(Request(metrics, (ModelRequest(TEST_MODEL),)), resolver, Silent())

    assert [job["n_prompts"] for job in plan(other, own)["jobs"]] == [2, 2]
    following_too = replace(other, defaults=own.defaults)
    for metrics in ((following_too, own), (own, following_too)):
        with pytest.raises(BadPrompts, match="t2i prefetch hub-judge"):
            plan(*metrics)


@pytest.mark.usefixtures("no_network")
def test_weights_that_cannot_be_read_are_refused_as_the_run_refuses_them(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()  # the same as a file that may not be read
    with pytest.raises(BadModel, match="cannot be read"):
        forecast(make_hub_model(weights, pinned=False))


# ---- what the run would refuse


def out_in_a_file(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "file").write_text("a file")
    return {"out": tmp_path / "file" / "run"}


def out_of_something_else(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    return {"out": tmp_path / "full"}


def out_of_another_run(tmp_path: Path) -> dict[str, Any]:
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", seeds=5, resolver=RESOLVER)
    return {"out": tmp_path / "run"}


def out_with_a_damaged_manifest(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{")
    return {"out": tmp_path / "run"}


def out_with_a_link(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "images").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run" / ".plan").write_text(_find_digest(tmp_path / "run"))
    return {"out": tmp_path / "run"}


def _find_digest(out: Path) -> str:
    from t2i_core.engine.plan import make_plan

    return make_plan(Request((BRIGHTNESS,), (ModelRequest(TEST_MODEL),), out=out), RESOLVER).digest


def image_of_a_file(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "a dog", "images": ["gone.png"]}\n')
    return {"prompts": (str(tmp_path / "prompts.jsonl"),)}


def two_models_of_one_label(tmp_path: Path) -> dict[str, Any]:
    return {"models": (ModelRequest(TEST_MODEL), ModelRequest(TEST_MODEL))}


def unused_options(tmp_path: Path) -> dict[str, Any]:
    return {"options": {"nobody": {"x": 1}}}


def unneeded_judge(tmp_path: Path) -> dict[str, Any]:
    mute = replace(TEST_JUDGE, name="mute", capabilities={"caption": frozenset()})
    return {"judges": ("mute",), "resolver": StaticResolver(TEST_JUDGE, TEST_PROMPTS, mute)}


def no_prompts(tmp_path: Path) -> dict[str, Any]:
    return {"prompts": "unknown"}


@pytest.mark.parametrize(
    "make",
    [
        out_in_a_file,
        out_of_something_else,
        out_of_another_run,
        out_with_a_damaged_manifest,
        out_with_a_link,
        image_of_a_file,
        two_models_of_one_label,
        unused_options,
        unneeded_judge,
        no_prompts,
    ],
)
def test_a_dry_run_refuses_the_same_requests_as_a_run(tmp_path: Path, make: Any) -> None:
    values = {"models": (ModelRequest(TEST_MODEL),), "resolver": RESOLVER, **make(tmp_path)}
    resolver = values.pop("resolver")
    with pytest.raises(T2IError) as dry:
        forecast_request(Request((BRIGHTNESS,), **values), resolver, Silent())
    models = values.pop("models")
    with pytest.raises(T2IError) as real:
        evaluate(BRIGHTNESS, models, resolver=resolver, **values)
    assert type(dry.value) is type(real.value)
    assert str(dry.value) == str(real.value)


@pytest.mark.parametrize("shard", [None, (1, 2)])
def test_a_folder_that_another_process_holds_is_refused(tmp_path: Path, shard: tuple[int, int] | None) -> None:
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / (".lock-1-of-2" if shard else ".lock")):
        with pytest.raises(BadFolder, match="another process works on"):
            forecast(out=tmp_path / "run", shard=shard)
        forecast(out=tmp_path / "run", shard=(2, 2))


def test_reference_images_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "reference.png"
    PILImage.new("RGB", (8, 8)).save(file)
    file.write_bytes(file.read_bytes()[:45])

    class Reference(Metric):
        needs = (
            Need("reward", "reward"),
            Need(
                "real",
                "reward",
                images="prompt",
                per="run",
                queries=lambda _: [Query((load_image(file),), ("x",))],
            ),
        )

        def measure(self, unit: Any) -> Any:
            yield Row("reward", 0.0)

    with pytest.raises(BadFolder, match="reference image"):
        forecast(metric=replace(BRIGHTNESS, create=Reference))


def test_a_resumed_run_of_the_same_plan_is_not_refused(tmp_path: Path) -> None:
    evaluate(BRIGHTNESS, TEST_MODEL, out=tmp_path / "run", resolver=RESOLVER)
    assert forecast(out=tmp_path / "run")["images"]["kept"] == 4


def test_lists_of_prompts_that_are_not_here_are_downloaded(tmp_path: Path) -> None:
    """A plan needs them."""
    asked = []

    def prompts(setup: Setup[Any]) -> Iterator[Prompt]:
        asked.append(setup.offline)
        if setup.offline:
            raise NotHere("the list", "list")
        yield Prompt("a", "a dog")

    resolver = StaticResolver(TEST_JUDGE, PromptSourceInfo(name="list", summary="s", prompts=prompts))
    assert forecast(resolver=resolver, prompts=("list",))["jobs"][0]["n_prompts"] == 1
    assert asked == [True, False]
    with pytest.raises(NotHere):
        forecast(resolver=resolver, prompts=("list",), offline=True)


def test_existing_images_are_looked_up_and_not_recorded(tmp_path: Path, cache: Path) -> None:
    folder = ExistingImagesInfo(
        name="holder",
        summary="s",
        create=lambda setup: None,
        holds=lambda setup: lambda prompt, seed: seed == 0,
    )
    assert "holder: 2 of 4 images are missing" in forecast(folder)["notes"]
    assert not cache.exists()


def test_a_database_without_tables_counts_as_empty(cache: Path) -> None:
    """A process was killed while it made them."""
    cache.mkdir()
    (cache / "store-6.sqlite").touch()
    with Store(read_only=True) as store:
        assert store.image("ab" * 32) is None
    assert (cache / "store-6.sqlite").stat().st_size == 0
