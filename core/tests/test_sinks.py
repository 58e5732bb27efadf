"""A finished run goes to each sink, and no sink can harm it."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Failure,
    Generated,
    GeneratorInfo,
    ImageRequest,
    Loading,
    Options,
    Progress,
    SinkInfo,
    Truth,
)
from t2i_core.api.errors import BadFolder, BadModel, BadOption, BrokenPlugin, NoJudge, UnknownName
from t2i_core.api.progress import Silent
from t2i_core.api.redaction import RedactingFile
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.engine.run import run_plan
from t2i_core.results.export_file import remove_other_exports, write_export
from t2i_core.results.run import Run, load_run
from t2i_core.storage.run_removal import remove_run
from t2i_core.testing import TEST_MODEL, TEST_PROMPTS, SinkContract, StaticResolver

Write = Callable[[Run, Progress], None]


class Level(Options):
    level: int = 1


def sink(write: Write, name: str = "sink", **more: Any) -> SinkInfo:
    class Sink:
        def write(self, run: Run, progress: Progress) -> None:
            write(run, progress)

    return SinkInfo(name=name, summary="S.", create=lambda setup: Sink(), **more)


class Heard(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


pytestmark = pytest.mark.usefixtures("own_cache")


def generate(*sinks: Any, installed: tuple[Any, ...] = (), **more: Any) -> Run:
    request = Request(
        **{"models": TEST_MODEL, "prompts": TEST_PROMPTS.name, "seeds": 2, "out": "run", "sinks": sinks} | more
    )
    return run_plan(make_plan(request, StaticResolver(TEST_PROMPTS, *installed)), Heard())


def raise_it(error: BaseException) -> Write:
    def write(run: Run, progress: Progress) -> None:
        raise error

    return write


def test_a_sink_gets_the_finished_run() -> None:
    got: list[Run] = []

    def write(run: Run, progress: Progress) -> None:
        assert json.loads(Path("run/run.json").read_text())["status"] == "done"
        assert len(run.samples()) == len(run.images()) == 4
        got.append(run)

    run = generate(sink(write))
    assert run.sink_failures == ()
    assert got[0].manifest == run.manifest
    assert got[0].folder == run.folder


def test_sinks_are_called_in_order_each_once_and_not_for_a_shard() -> None:
    calls: list[str] = []
    first = sink(lambda run, progress: calls.append("first"), "first")
    second = sink(lambda run, progress: calls.append("second"), "second")
    generate(first, second, shard="1/2")
    assert calls == []
    generate(first, second, first)
    assert calls == ["first", "second"]


def test_sinks_do_not_change_the_identity_of_a_run() -> None:
    info = sink(raise_it(ValueError()), options=Level, argument="PROJECT")

    def plan(*sinks: str, **options: Any) -> Any:
        request = Request(models=TEST_MODEL, prompts=TEST_PROMPTS.name, sinks=sinks, options=options)
        return make_plan(request, StaticResolver(TEST_PROMPTS, info))

    bare, written = plan(), plan("sink:mine", sink={"level": 2})
    assert (bare.digest, bare.folder) == (written.digest, written.folder)
    assert [(each.argument, each.options) for each in written.sinks] == [("mine", Level(level=2))]


def test_run_json_and_the_plan_name_the_sinks_with_their_options() -> None:
    write = raise_it(RuntimeError("oh"))
    info = sink(write, "good", options=Level, argument="PROJECT")
    asked = Request(
        models=TEST_MODEL,
        prompts=TEST_PROMPTS.name,
        out="run",
        sinks=["good:mine", "own"],
        options={"good": {"level": 2}},
    )
    plan = make_plan(asked, StaticResolver(TEST_PROMPTS, info, sink(write, "own")))
    assert forecast_plan(plan)["sinks"] == ["good:mine", "own"]
    run_plan(plan)
    manifest = load_run("run").manifest
    assert manifest.request.sinks == ["good:mine", "own"]
    recorded = [part for part in manifest.components if part.kind == "sink"]
    assert [(part.name, part.argument, part.options, part.fingerprint) for part in recorded] == [
        ("good:mine", "mine", {"level": 2}, ""),
        ("own", None, {}, ""),
    ]


def test_a_shard_says_that_sinks_wait_for_the_whole_run() -> None:
    good = sink(lambda run, progress: None)
    assert (generate(good, shard="1/2").partial or "").endswith(
        "run the same command without --shard for the data set, which also writes to the sinks"
    )
    assert (generate(shard="1/2").partial or "").endswith("for the data set")


def test_a_plan_without_sinks_does_not_check_them() -> None:
    def check(setup: Any) -> None:
        raise BadModel("no such project")

    info = sink(raise_it(ValueError()), "good", options=Level, loading=Loading(check=check))
    request = Request(models=TEST_MODEL, prompts=TEST_PROMPTS.name, sinks="good", options={"good": {"level": 2}})
    assert make_plan(request, StaticResolver(TEST_PROMPTS, info), with_sinks=False).sinks == ()


@pytest.mark.parametrize(
    ("error", "exit_code", "says"),
    [
        (
            RuntimeError("no\nserver"),
            BrokenPlugin.exit_code,
            "sink 'bad' failed to write the run: RuntimeError: no",
        ),
        (SystemExit(0), BrokenPlugin.exit_code, "sink 'bad' failed to write the run: SystemExit"),
        (BadFolder("out: is full"), BadFolder.exit_code, "sink 'bad': out: is full"),
    ],
)
def test_a_sink_that_fails_harms_neither_the_run_nor_the_next_sink(
    error: BaseException, exit_code: int, says: str
) -> None:
    called: list[Run] = []
    run = generate(sink(raise_it(error), "bad"), sink(lambda run, progress: called.append(run), "good"))
    (failure,) = run.sink_failures
    assert (failure.sink, failure.exit_code) == ("bad", exit_code)
    assert failure.reason.startswith(says)
    assert run.failed is None
    assert load_run("run").status == "done"
    assert len(called) == 1


def test_a_failure_names_the_sink_once_without_secrets_and_with_every_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "h7Kq2vXz9LmP4sWd")

    class Sink:
        def write(self, run: Run, progress: Progress) -> None:
            raise RuntimeError("h7Kq2vXz9LmP4sWd is not valid")

        def close(self) -> None:
            raise RuntimeError("cannot log out as h7Kq2vXz9LmP4sWd")

    info = SinkInfo(name="tracker", summary="S.", create=lambda setup: Sink(), argument="ACCOUNT")
    run = generate("tracker:h7Kq2vXz9LmP4sWd", installed=(info,))
    (failure,) = run.sink_failures
    assert failure.sink == "tracker:***"
    assert failure.reason == (
        "sink 'tracker:***' failed to write the run: RuntimeError: *** is not valid; "
        "sink 'tracker:***' failed to let go: RuntimeError: cannot log out as ***"
    )


def test_a_factory_that_fails_is_a_sink_that_fails() -> None:
    def create(setup: Any) -> Any:
        raise RuntimeError("no licence")

    run = generate(SinkInfo(name="bad", summary="S.", create=create))
    (failure,) = run.sink_failures
    assert "no licence" in failure.reason
    assert load_run("run").status == "done"


def test_an_interrupt_in_a_sink_interrupts_and_the_run_stays_done() -> None:
    with pytest.raises(KeyboardInterrupt):
        generate(sink(raise_it(KeyboardInterrupt())))
    assert load_run("run").status == "done"


def test_a_run_with_too_many_failed_samples_is_written_too() -> None:
    class Broken:
        def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Any]:
            return ((request, Failure("blank")) for request in requests)

    got: list[str | None] = []
    model = GeneratorInfo(name="broken", summary="B.", create=lambda setup: Broken())
    run = generate(sink(lambda run, progress: got.append(run.failed)), models=model)
    assert run.failed is not None
    assert got == [run.failed]


def test_faults_of_sinks_are_refused_before_anything_runs() -> None:
    def check(setup: Any) -> None:
        raise BadModel("no such project")

    info = sink(raise_it(ValueError()), "good", options=Level)
    with pytest.raises(UnknownName, match=r"unknown sink 'goood': did you mean 'good'\?"):
        generate("goood", installed=(info,))
    with pytest.raises(ValueError, match="level"):
        generate("good", installed=(info,), options={"good": {"level": "high"}})
    with pytest.raises(BadModel, match="no such project"):
        generate(sink(raise_it(ValueError()), loading=Loading(check=check)))
    with pytest.raises(BadOption, match="--sink must be a name or a list of names"):
        generate(3)
    with pytest.raises(UnknownName, match="no part of this run"):  # options of a sink that is not asked for
        generate(installed=(info,), options={"good": {"level": 2}})
    with pytest.raises(
        UnknownName, match=rf"no part of this run has this name: did you mean '{TEST_MODEL.name}'\?"
    ):
        generate(options={f"generator:{TEST_MODEL.name}-mini": {"level": 2}})
    with pytest.raises(NoJudge):  # a sink does not make a judge needed
        generate(info, judges="some")
    assert not Path("run").exists()


def test_a_sinks_options_and_argument_arrive() -> None:
    got: list[Any] = []

    def create(setup: Any) -> Any:
        got.append((setup.argument, setup.options.level))
        return type("Sink", (), {"write": lambda self, run, progress: None})()

    info = SinkInfo(name="good", summary="S.", create=create, options=Level, argument="PROJECT")
    generate("good:mine", installed=(info,), options={"good": {"level": 2}})
    assert got == [("mine", 2)]


def test_in_python_a_failure_is_a_note_and_a_field() -> None:
    from t2i_core.testing.sinks import _REWARD, TEST_JUDGE

    heard = Heard()
    run = evaluate(
        _REWARD,
        TEST_MODEL,
        prompts=TEST_PROMPTS.name,
        out=Path("run"),
        sinks=sink(raise_it(OSError("gone"))),
        progress=heard,
        resolver=StaticResolver(TEST_JUDGE, TEST_PROMPTS),
    )
    assert run.results[0].score is not None
    assert [failure.reason for failure in run.sink_failures] == heard.notes[-1:]
    assert "OSError: gone" in heard.notes[-1]


# what sinks read and write with ---------------------------------------------------------------------------------


def test_truths_are_read_by_digest() -> None:
    class Model:
        def generate(self, requests: Iterable[ImageRequest]) -> Iterator[Any]:
            for request in requests:
                truth = Truth((8, 6), (), request.prompt.scene)
                pixels = np.full((6, 8, 3), 1 + request.seed, np.uint8)
                yield request, Generated(pixels, truth=truth if request.seed else None)

    run = generate(models=GeneratorInfo(name="m", summary="M.", create=lambda setup: Model()), seeds=3)
    table = run.samples()
    found = list(run.truths(table["digest"]))
    assert [truth is None for truth in found] == [seed == 0 for seed in table["seed"]]
    assert {truth.size for truth in found if truth} == {(8, 6)}


def test_without_a_cache_no_truth_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = generate()
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "none"))
    assert list(run.truths(run.samples()["digest"])) == [None] * 4
    assert not (tmp_path / "none").exists()


def test_samples_come_in_blocks_that_make_the_table() -> None:
    import pandas as pd

    run = generate(seeds=5)
    blocks = list(run.iterate_samples(rows=3))
    assert [len(block) for block in blocks] == [3, 3, 3, 1]
    pd.testing.assert_frame_equal(pd.concat(blocks), run.samples())
    assert {str(run.samples()[column].dtype) for column in ("seed", "width", "height")} == {"Int64"}
    with Path("run/samples.csv").open("a") as file:
        file.write("more")
    with pytest.raises(BadFolder, match="is not as the run wrote it"):
        next(run.iterate_samples())


OWN_NAMES = (
    *("run.json", "RUN.JSON", ".run.json.7.part", "run.json/mine"),
    *("samples.csv", "failures.csv", "measurements.csv", "Evidence.jsonl", ".plan", ".lock", ".lock-1-of-2"),
    *("images", "images/mine.txt", "Images/test-model/metadata.jsonl", "images/test-model/00001-0.png"),
)
OTHER_PATHS = (
    *("", ".", "..", "./run.json", "mine/./a", "mine/../run.json", "../other/run.json", "mine//a", "mine/"),
    *(
        "/tmp/a",
        "//tmp/a",
        "mine\\..\\run.json",
        "C:run.json",
        "run.json::$DATA",
        "run.json.",
        "run.json ",
        "a\0b",
    ),
)


@pytest.mark.parametrize(
    ("names", "says"),
    [(OWN_NAMES, "is one of the run's own files"), (OTHER_PATHS, "not a path within the run's folder")],
)
def test_a_sink_cannot_name_the_runs_own_files_nor_files_elsewhere(names: tuple[str, ...], says: str) -> None:
    run = generate()
    before = list_files()
    for name in names:
        with pytest.raises(BadFolder, match=says), write_export(run, name):
            pass
        with pytest.raises(BadFolder, match=says):
            remove_other_exports(run, name, set(), "")
    assert list_files() == before


def list_files() -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path.cwd().rglob("*") if p.is_file()}


@pytest.mark.skipif(os.name == "nt", reason="only administrators can make links on Windows")
def test_a_sink_writes_through_no_link(tmp_path: Path) -> None:
    run = generate()
    (tmp_path / "elsewhere").mkdir()
    (run.folder / "mine").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadFolder, match="is a link"), write_export(run, "mine/a.txt") as file:
        file.write("a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_only_errors_of_the_file_itself_say_that_it_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    run = generate()
    with pytest.raises(ConnectionError, match="no server"), write_export(run, "a.txt"):
        raise ConnectionError("no server")
    (run.folder / "folder").mkdir()
    with pytest.raises(BadFolder, match="run/folder: cannot be written"), write_export(run, "folder"):
        pass
    with pytest.raises(BadFolder, match=r"cannot be written .No such file"), write_export(run, "mine/a.txt"):
        shutil.rmtree(run.folder / "mine")  # so that the finished file cannot be put in its place

    def refuse(self: Any, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RedactingFile, "write", refuse)
    with pytest.raises(BadFolder, match=r"cannot be written .No space left"), write_export(run, "a.txt") as file:
        file.writelines(["a"])
    assert not (run.folder / "a.txt").exists()


def test_a_file_of_a_sink_is_whole_or_absent() -> None:
    run = generate()
    with pytest.raises(TypeError), write_export(run, "mine/a.txt") as file:
        file.writelines(["half", None])  # type: ignore[list-item]
    assert list(Path("run/mine").iterdir()) == []
    for name in ("a.txt", "b.txt", "c.md"):
        with write_export(run, f"mine/{name}") as file:
            file.write(name)
    remove_other_exports(run, "mine", {"a.txt"}, ".txt")
    assert {p.name for p in Path("run/mine").iterdir()} == {"a.txt", "c.md"}
    remove_other_exports(run, "mine", set(), "")
    assert not Path("run/mine").exists()
    remove_other_exports(run, "mine", set(), "")  # nothing to remove


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on Windows")
def test_a_kill_within_an_export_leaves_nothing_that_stays() -> None:
    def write_half(run: Run, progress: Progress) -> None:
        with write_export(run, "mine/a.txt") as file:
            file.write("half")
            file.flush()
            os._exit(9)

    def write_all(run: Run, progress: Progress) -> None:
        with write_export(run, "mine/a.txt") as file:
            file.write("all")

    child = os.fork()
    if child == 0:
        try:
            generate(sink(write_half))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert [p.suffix for p in Path("run/mine").iterdir()] == [".part"]
    shutil.copytree("run", "copy")
    generate(sink(write_all))
    assert [(p.name, p.read_text()) for p in Path("run/mine").iterdir()] == [("a.txt", "all")]
    for folder in ("run", "copy"):
        assert remove_run(Path(folder)) == []
        assert not Path(folder).exists()


# the suite ------------------------------------------------------------------------------------------------------


class _Counter:
    """A sink that adds to its file in place of replacing it."""

    def write(self, run: Run, progress: Progress) -> None:
        with (run.folder / "count.txt").open("a") as file:
            file.write("once more\n")


class _Vandal:
    """A sink that writes into the run's own files."""

    def write(self, run: Run, progress: Progress) -> None:
        (run.folder / "samples.csv").write_text("mine")


class _Careless:
    """A sink that takes every score for a number."""

    def write(self, run: Run, progress: Progress) -> None:
        (run.folder / "scores.txt").write_text("\n".join(f"{result.score:.3f}" for result in run.results))


@pytest.mark.parametrize(
    ("made", "check", "error", "says"),
    [
        (_Vandal, "test_leaves_the_runs_own_files_as_they_were", AssertionError, "samples.csv"),
        (_Counter, "test_writes_twice_to_the_same_result", AssertionError, "count.txt"),
        (
            _Careless,
            "test_writes_runs_without_scores",
            BrokenPlugin,
            "sink 'bad' failed to write the run: TypeError: unsupported format string passed to NoneType",
        ),
    ],
)
def test_the_suite_finds_sinks_that_break_the_contract(
    made: type, check: str, error: type[Exception], says: str, tmp_path: Path
) -> None:
    from t2i_core.engine.component import settle_component

    suite = SinkContract()
    component = settle_component(SinkInfo(name="bad", summary="S.", create=lambda setup: made()))
    with pytest.raises(error, match=says):
        getattr(suite, check)(component, tmp_path)
