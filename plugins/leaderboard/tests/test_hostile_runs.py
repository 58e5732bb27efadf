"""Runs of other people: nothing outside is read, nothing runs, and altered results are told."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_runs import forge_scores, name_image, rewrite_table, write_manifest, write_table
from t2i_core.api import Measure, Metric, MetricInfo, Row
from t2i_core.api.errors import BadOption
from t2i_core.api.options import Options
from t2i_core.api.plugin_info import Defaults, Domain
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import load_run
from t2i_core.results.signature_line import describe_prompts
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_leaderboard.interval_plot import plot_intervals
from t2i_leaderboard.option_safety import select_options

from plugins.leaderboard.tests.conftest import (
    BRIGHT,
    DARK,
    PAINT,
    PARTS,
    PROMPTS,
    RESOLVER,
    SCRIPT,
    Write,
    paint_run,
)


class TableOptions(Options):
    table: Path | None = None
    over: float = 0.5


pytestmark = pytest.mark.long  # each test writes a site


@pytest.fixture
def run(eight: list[Path], tmp_path: Path) -> Path:
    """A copy of a run, to be altered."""
    shutil.copytree(eight[3], tmp_path / "theirs")
    return tmp_path / "theirs"


def change_manifest(run: Path, **fields: Any) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    write_manifest(run, {**content, **fields})


def change_result(run: Path, place: int = 0, **fields: Any) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    content["results"][place] |= fields
    write_manifest(run, content)


def test_a_score_that_its_rows_do_not_give_is_left_out(run: Path, eight: list[Path], write: Write) -> None:
    change_result(run, score=0.99)
    site = write(eight[0], run)
    (left_out,) = site.data["left_out"]
    assert (left_out["run"], left_out["metric"], left_out["model"]) == ("theirs", "bright", "model 3")
    assert left_out["reason"].startswith("the run records the score 0.99, but its measured values give ")


def test_verification_tells_run_sample_and_both_values(run: Path, eight: list[Path], write: Write) -> None:
    own = write(run, "--verify", "100")
    assert own.code == 0, own.said
    (row,) = own.board("dark")["rows"]
    assert row["verification"] == "24 images judged anew: no difference"

    def raise_all(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        value, metric = header.index("value"), header.index("metric")
        for row in others:
            row[value] = "1.0" if row[metric] == "bright" else row[value]
        return [header, *others]

    rewrite_table(run, "measurements.csv", raise_all)
    forge_scores(run, RESOLVER)
    assert write(run).data["left_out"] == []
    told = write(run, "--verify", "100", out="refused")
    assert told.code == 11
    assert "theirs: model 3, prompt 'p" in told.said
    assert "bright bright: 1 in the run, 0 when judged anew" in told.said
    assert not told.folder.exists()


def test_values_without_an_image_are_told(run: Path, write: Write) -> None:
    def lose_images(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        lost = {"status": "failed", "reason": "lost", "image": "", "digest": "", "width": "", "height": ""}
        for row in others[:9]:
            row[:] = [lost.get(name, cell) for name, cell in zip(header, row, strict=True)]
        return [header, *others]

    rewrite_table(run, "samples.csv", lose_images)
    told = write(run, "--verify", "1", out="refused")
    assert told.code == 11
    assert told.said.count("in the run, a value without an image") == 2 * 9  # of each metric
    assert not told.folder.exists()


def test_invented_samples_are_left_out(run: Path, write: Write, eight: list[Path]) -> None:
    def invent(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        own = next(row for row in others if row[header.index("metric")] == "bright")
        changes = {"prompt": "x", "cluster": "x", "value": "1.0"}
        return [*rows, [changes.get(name, cell) for name, cell in zip(header, own, strict=True)]]

    rewrite_table(run, "measurements.csv", invent)
    forge_scores(run, RESOLVER)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert left_out["metric"] == "bright"
    assert left_out["reason"].startswith(
        "the run records n_prompts_ok 8, but its tables and signature line give 9"
    )
    change_result(run, n_prompts_ok=9)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert left_out["reason"].startswith("the measured and the failed samples are not those of the signature line")


def test_repeated_values_are_left_out(run: Path, write: Write, eight: list[Path]) -> None:
    def repeat(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        best = next(row for row in others if row[header.index("value")] == "1.0")
        return [*rows, best, best]

    rewrite_table(run, "measurements.csv", repeat)
    forge_scores(run, RESOLVER)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert left_out["metric"] == "bright"
    assert (
        "2 rows repeat prompt, seed, measure and facets of another row, the first of them prompt p"
        in left_out["reason"]
    )


def test_values_outside_of_the_range_of_a_measure_are_left_out(run: Path, write: Write, eight: list[Path]) -> None:
    def raise_one(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        metric, value = header.index("metric"), header.index("value")
        next(row for row in others if row[metric] == "dark")[value] = "-0.5"
        return rows

    rewrite_table(run, "measurements.csv", raise_one)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert left_out["metric"] == "dark"
    assert left_out["reason"].endswith("a value of dark is -0.5, outside of its range")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_prompts", 800),
        ("n_seeds", 300),
        ("n_ok", 2400),
        ("n_prompts_ok", 800),
        ("n_failed", 3),
        ("n_missing", 3),
        ("n_excluded", 3),
        ("scores", {"bright": {"value": 0.9, "ci": [0.8, 1.0]}}),
    ],
)
def test_counts_and_further_scores_that_the_tables_do_not_give_are_left_out(
    run: Path, eight: list[Path], write: Write, field: str, value: Any
) -> None:
    change_result(run, **{field: value})
    site = write(run, eight[0])
    (left_out,) = site.data["left_out"]
    assert (left_out["run"], left_out["metric"]) == ("theirs", "bright")
    assert site.names("bright") == ["model 0"]


def test_samples_that_are_hidden_are_left_out(run: Path, write: Write, eight: list[Path]) -> None:
    def hide_worst(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        metric, value = header.index("metric"), header.index("value")
        return [header, *(row for row in others if row[metric] != "bright" or row[value] == "1.0")]

    rewrite_table(run, "measurements.csv", hide_worst)
    forge_scores(run, RESOLVER)
    ok, prompts = load_run(run).measurements(), load_run(run).results[0].n_prompts
    own = ok[ok["metric"] == "bright"]
    change_result(run, n_ok=len(own), n_prompts_ok=own["prompt"].nunique(), n_missing=3 * prompts - len(own))
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert left_out["reason"].startswith("the run records n_missing ")


@pytest.mark.parametrize(("key", "value"), [("interval", "seeds"), ("noise", "per-prompt")])
def test_a_run_that_changes_what_its_interval_rests_on_is_left_out(
    run: Path, write: Write, eight: list[Path], key: str, value: str
) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    content["request"][key] = value
    write_manifest(run, content)
    site = write(run, eight[0])
    assert {each["run"] for each in site.data["left_out"]} == {"theirs"}
    assert all(f"but the run records {value}" in each["reason"] for each in site.data["left_out"])


@pytest.fixture
def duels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a metric of pairs."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    models = [
        ModelRequest("paint", label, {"level": level}) for label, level in (("a", 90), ("b", 110), ("c", 150))
    ]
    evaluate("duel", models, prompts="words", seeds=3, resolver=RESOLVER, progress=False, out=tmp_path / "duels")
    return tmp_path / "duels"


def test_scores_of_pairs_are_computed_again(duels: Path, write: Write) -> None:
    stored = load_run(duels)
    site = write(duels, "--verify", "1")
    assert {row["model"]: row["score"] for row in site.board("duel")["rows"]} == {
        result.label: result.score for result in stored.results
    }
    assert {row["verification"][:12] for row in site.board("duel")["rows"]} == {"not verified"}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("score", 0.99, "the run records the score 0.99, but its measured values give "),
        ("n_failed", 7, "the run records n_failed 7, but its tables and signature line give 0"),
    ],
)
def test_altered_numbers_of_pairs_are_left_out(
    duels: Path, write: Write, eight: list[Path], field: str, value: Any, reason: str
) -> None:
    change_result(duels, **{field: value})
    left_out = write(duels, eight[0]).data["left_out"]
    assert [each["model"] for each in left_out] == ["a", "b", "c"]
    assert all(each["reason"].startswith(reason) for each in left_out)


def test_intervals_and_differences_are_those_of_the_rows_not_those_recorded(
    duels: Path, run: Path, write: Write
) -> None:
    own = write(duels, run)
    assert own.code == 0, own.said
    content = json.loads((duels / "run.json").read_text(encoding="utf-8"))
    lost, *others = content["comparisons"]
    content["comparisons"] = [
        {**each, "diff": 0.9, "ci": [0.8, 1.0], "p_unadjusted": 0.001, "n": 99999} for each in others
    ]
    write_manifest(duels, content)
    for each in (duels, run):
        change_result(each, ci=[0.1, 0.11])
    assert write(duels, run).data == own.data
    shown = {(each["a"], each["b"]): each["p_unadjusted"] for each in own.board("duel")["comparisons"]}
    assert len(shown) == 3
    assert lost["p_unadjusted"] in shown.values()


@pytest.mark.parametrize("way", ["cluster", "facet"])
def test_clusters_and_facets_that_prompts_do_not_state_are_left_out(
    tmp_path: Path, write: Write, eight: list[Path], way: str
) -> None:
    prompts = [replace(each, facets={"kind": n % 2}) for n, each in enumerate(load_run(eight[0]).prompts())]
    run = paint_run(tmp_path / "theirs", "theirs", 100, ["dark"], prompts=prompts)
    assert write(run, "--verify", "100").board("dark")["rows"][0]["verification"].endswith(": no difference")

    def alter(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        for n, row in enumerate(others):
            row[header.index("kind" if way == "facet" else "cluster")] = str(n)
        return rows

    rewrite_table(run, "measurements.csv", alter)
    forge_scores(run, RESOLVER)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert "which prompts.jsonl contradicts" in left_out["reason"]


def test_invented_facets_are_told(run: Path, write: Write) -> None:
    def invent(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        return [[*header, "colour"], *([*row, "red"] for row in others)]

    rewrite_table(run, "measurements.csv", invent)
    told = write(run, "--verify", "100")
    assert told.code == 11
    assert ", colour red, dark dark: 0." in told.said


def alter_prompts(run: Path) -> None:
    """Have the first prompt ask for one square less."""
    first, *others = (run / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    altered = json.loads(first) | {"scene": {"objects": [{"cls": {"name": "square"}, "count": 1}]}}
    write_table(run, "prompts.jsonl", "\n".join([json.dumps(altered), *others]))


def test_prompts_that_are_not_those_of_the_signature_line_are_told(
    run: Path, write: Write, eight: list[Path]
) -> None:
    alter_prompts(run)
    site = write(run, eight[0], "--verify", "1")
    assert site.names("bright") == ["model 0"]
    assert all(
        "the run's prompts differ from those in its signature line" in e["reason"] for e in site.data["left_out"]
    )
    assert len(site.data["left_out"]) == 2


def test_prompts_that_were_altered_with_their_digest_are_marked(
    run: Path, write: Write, eight: list[Path]
) -> None:
    alter_prompts(run)
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    described = describe_prompts(load_run(run).prompts())
    for result in content["results"]:
        result["signature"] = re.sub(r"\(8\)#\w+", described, result["signature"])
    write_manifest(run, content)
    site = write(run, eight[0], eight[1])
    row = next(row for row in site.board("dark")["rows"] if row["run"] == "theirs")
    assert row["marks"][0].startswith(f"measured with prompts words{described}, others with words(8)#")
    assert row["marks"][0] in html.unescape((site.folder / "index.html").read_text(encoding="utf-8"))
    pairs = {each["n"] for each in site.board("dark")["comparisons"] if "model 3" in (each["a"], each["b"])}
    assert pairs == {7 * 3}


def test_a_run_without_its_prompts_is_marked_and_not_verified(run: Path, write: Write, eight: list[Path]) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    del content["files"]["prompts.jsonl"]
    write_manifest(run, content)
    site = write(run, eight[0], "--verify", "1")
    (row,) = (row for row in site.board("dark")["rows"] if row["run"] == "theirs")
    assert row["marks"][0].startswith("prompts are not checked: ")
    assert row["verification"].startswith("not verified: prompts are not checked: ")


def test_an_altered_image_is_told(run: Path, write: Write) -> None:
    image = sorted((run / "images").rglob("*.png"))[0]
    image.unlink()  # the cache has links to the same file
    shutil.copy(sorted((run / "images").rglob("*.png"))[-1], image)
    told = write(run, "--verify", "100")
    assert told.code == 11
    assert f"{image.name}: the file has changed since it was stored" in told.said


@pytest.mark.parametrize("way", ["path", "link"])
def test_no_image_outside_of_a_run_is_read(run: Path, write: Write, tmp_path: Path, way: str) -> None:
    secret = tmp_path / "secret.png"
    shutil.copy(next((run / "images").rglob("*.png")), secret)
    if way == "path":
        name_image(run, str(secret), "0" * 64)
    else:
        first = sorted((run / "images").rglob("*.png"))[0]
        first.unlink()
        first.symlink_to(secret)
    before = secret.stat().st_atime_ns
    told = write(run, "--verify", "100")
    assert told.code == 0
    assert "outside of the run's folder" in told.said or "leads out of the folder" in told.said
    assert all(row["verification"].startswith("not verified: ") for row in told.board("dark")["rows"])
    assert secret.stat().st_atime_ns == before


@pytest.mark.parametrize("name", ["run.json", "measurements.csv"])
def test_a_table_or_manifest_that_is_a_link_is_left_out(
    run: Path, eight: list[Path], write: Write, name: str
) -> None:
    (run / name).unlink()
    (run / name).symlink_to(eight[3] / name)
    site = write(eight[0], run)
    assert site.names("bright") == ["model 0"]
    assert "leads out of the folder" in site.said


def test_a_judge_of_a_local_folder_is_not_loaded(run: Path, write: Write) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for result in content["results"]:
        for judge in result["judges"]:
            judge["name"] = f"{judge['name']}:{run}"
    write_manifest(run, content)
    told = write(run, "--verify", "2")
    assert "is a local file or folder" in told.said
    assert told.board("dark")["rows"][0]["verification"].startswith("not verified: ")


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("judge:NAME", {"trust_remote_code": False}),
        ("t2i-theirs/NAME", {"checkpoint": "/etc/hostname"}),
        ("NAME", {"base_url": "https://example.org/v1"}),
        ("judge:t2i-theirs/NAME", {"server": {"image_url": "https://example.org"}}),
        ("NAME", {"api_key_env": "SECRET"}),
        ("NAME", {"models": ["a", "theirs"]}),
        ("NAME", {"models": "[a, ~/model]"}),
    ],
)
def test_a_judge_whose_options_reach_out_is_not_asked(
    run: Path, write: Write, address: str, options: dict[str, Any]
) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    component = address.replace("NAME", TEST_JUDGE.name)
    content["request"]["options"] = {component: options}
    write_manifest(run, content)
    told = write(run, "--verify", "2")
    assert told.code == 0, told.said
    (row,) = told.board("bright")["rows"]
    assert row["verification"].startswith(f"not verified: the option {component}.")


def test_plain_options_of_a_judge_are_used() -> None:
    given = {"judge:a": {"x": 1}, "d/b": {"y": ".5"}, "c": {"z": 0}}
    assert select_options(given, ["e/a:argument", "b"]) == {"judge:a": {"x": 1}, "d/b": {"y": ".5"}}


def change_metric(run: Path, options: dict[str, Any], line: str = "") -> None:
    """Write other options of the metric, and the text that its signature lines then have of them."""
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (metric,) = (each for each in content["components"] if each["name"] == "bright")
    metric["options"] |= options
    result = content["results"][0]
    result["signature"] = result["signature"].replace("|prompts:", f"{line}|prompts:")
    write_manifest(run, content)


def test_a_metric_whose_options_reach_out_is_not_made_again(run: Path, write: Write) -> None:
    change_metric(run, {"table": "theirs/run.json"}, "|table:run.json")
    resolver = StaticResolver(replace(BRIGHT, options=TableOptions), DARK, *PARTS)
    (row,) = write(run, "--verify", "2", resolver=resolver).board("bright")["rows"]
    assert row["verification"].startswith("not verified: the option metric:bright.table names a local file")


@pytest.mark.parametrize(("options", "line"), [({"over": 0.1}, ""), ({}, "|over:0.1")])
def test_options_that_the_signature_line_does_not_have_are_left_out(
    run: Path, eight: list[Path], write: Write, options: dict[str, Any], line: str
) -> None:
    change_metric(run, options, line)
    (left_out,) = write(run, eight[0]).data["left_out"]
    assert (left_out["run"], left_out["metric"]) == ("theirs", "bright")
    said, recorded = left_out["reason"].split(", but the run records ")
    assert ("over:0.1" in said, "over:0.1" in recorded) == (bool(line), bool(options))


def test_other_options_with_their_signature_line_are_told_by_the_values(run: Path, write: Write) -> None:
    change_metric(run, {"over": 0.1}, "|over:0.1")
    told = write(run, "--verify", "100")
    assert told.code == 11
    assert "0 in the run, 1 when judged anew" in told.said


def test_options_that_come_from_a_domain_are_verified(tmp_path: Path, write: Write) -> None:
    domain = Domain("toy", "Toy.", metrics={"bright": Defaults(options={"over": 0.3})})
    resolver = StaticResolver(BRIGHT, replace(PAINT, domain=domain), PROMPTS, TEST_JUDGE)
    run = paint_run(tmp_path / "run", "grey", 90, ["bright"], resolver=resolver)
    site = write(run, "--verify", "100", resolver=resolver)
    assert site.code == 0, site.said
    (row,) = site.board("bright")["rows"]
    assert "|over:0.3|" in row["signature"]
    assert row["verification"] == "24 images judged anew: no difference"


def test_a_metric_without_images_is_not_verified(tmp_path: Path, write: Write) -> None:
    class Length(Metric):
        def measure(self, unit: Any) -> Iterator[Row]:
            yield Row("length", len(unit.prompt.text))

    length = MetricInfo(name="length", summary="Length.", create=Length, measures=(Measure("length", "Length."),))
    resolver = StaticResolver(length, *PARTS)
    run = paint_run(tmp_path / "run", metrics=["length"], resolver=resolver)
    site = write(run, "--verify", "100", resolver=resolver)
    assert site.code == 0, site.said
    (row,) = site.board("length")["rows"]
    assert row["verification"] == "not verified: the metric measures no generated images"


def test_another_version_of_a_metric_is_not_verified(tmp_path: Path, write: Write) -> None:
    earlier = StaticResolver(replace(BRIGHT, version=2), *PARTS)
    site = write(paint_run(tmp_path / "run", metrics=["bright"], resolver=earlier), "--verify", "1")
    assert site.code == 0, site.said
    (row,) = site.board("bright")["rows"]
    assert row["verification"] == "not verified: version 2 of the metric is not installed here, but 1"


def test_nothing_of_a_file_that_a_metric_names_is_shown(
    run: Path, eight: list[Path], write: Write, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("password: hunter2")

    def read(setup: Any) -> Any:
        raise BadOption(f"{setup.options.table}: {setup.options.table.read_text()}")

    resolver = StaticResolver(replace(BRIGHT, options=TableOptions, create=read), DARK, *PARTS)
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (metric,) = (each for each in content["components"] if each["name"] == "bright")
    metric["options"] = {"table": str(secret)}
    write_manifest(run, content)
    site = write(run, eight[0], resolver=resolver)
    reasons = {each["run"]: each["reason"] for each in site.data["left_out"]}
    assert reasons["theirs"] == "the metric bright cannot be made from the files that it names"


def test_a_reason_is_short_however_long_the_texts_of_its_run_are(
    run: Path, eight: list[Path], write: Write
) -> None:
    change_result(run, scores={"z" * 3_000_000: {"value": 1.0, "ci": [0.0, 1.0]}})
    site = write(run, eight[0])
    (left_out,) = site.data["left_out"]
    assert left_out["reason"].startswith("the run records the scores zzz")
    assert len(left_out["reason"]) == 500
    assert len(site.said) < 5000


@pytest.mark.parametrize("better", [False, None])
def test_a_run_does_not_turn_a_board_upside_down(
    run: Path, eight: list[Path], write: Write, better: bool | None
) -> None:
    change_result(run, higher_is_better=better)
    site = write(run, eight[0], eight[7])
    assert site.names("bright") == ["model 7", "model 0"]
    (left_out,) = site.data["left_out"]
    assert (left_out["run"], left_out["metric"]) == ("theirs", "bright")
    assert "for this metric higher is better" in left_out["reason"]


@pytest.mark.parametrize("column", ["cluster", "prompt", "model"])
def test_a_run_whose_table_lacks_a_column_is_left_out(
    run: Path, eight: list[Path], write: Write, column: str
) -> None:
    def drop(rows: list[list[str]]) -> list[list[str]]:
        place = rows[0].index(column)
        return [[cell for n, cell in enumerate(row) if n != place] for row in rows]

    rewrite_table(run, "measurements.csv", drop)
    site = write(run, eight[0], "--verify", "1")
    assert site.code == 0, site.said
    assert site.names("bright") == ["model 0"]
    assert {(each["run"], each["metric"]) for each in site.data["left_out"]} == {
        ("theirs", "bright"),
        ("theirs", "dark"),
    }


def test_a_run_whose_cells_do_not_fit_does_not_end_the_command(run: Path, eight: list[Path], write: Write) -> None:
    def lose_one(rows: list[list[str]]) -> list[list[str]]:
        header, *others = rows
        lost = next(row for row in others if row[header.index("metric")] == "dark")
        return [header, *(row for row in others if row is not lost)]

    def add_without_seed(rows: list[list[str]]) -> list[list[str]]:
        cells = {"metric": "dark", "model": "model 3", "prompt": "p0", "kind": "failed", "reason": "x"}
        return [*rows, [cells.get(name, "") for name in rows[0]]]

    rewrite_table(run, "measurements.csv", lose_one)
    rewrite_table(run, "failures.csv", add_without_seed)
    forge_scores(run, RESOLVER)
    change_result(run, n_failed=1, n_ok=23, place=1)
    change_result(run, by="theirs")
    site = write(run, eight[0], "--verify", "1")
    assert site.code == 0, site.said
    reasons = {each["metric"]: each["reason"] for each in site.data["left_out"]}
    assert reasons.keys() == {"bright by theirs", "dark"}
    assert "do not fit each other (KeyError: 'by')" in reasons["bright by theirs"]
    assert "do not fit each other (TypeError: " in reasons["dark"]


def test_a_score_of_any_size_is_plotted(run: Path) -> None:
    result = load_run(run).results[0]
    for score in (0.0, -1e17, 1e300):
        plot = plot_intervals([result.model_copy(update={"score": score, "ci": None})])
        assert plot is not None
        assert plot.start < score < plot.end


def test_no_command_that_reaches_out_or_hides_a_part_is_shown(
    run: Path, eight: list[Path], write: Write, tmp_path: Path
) -> None:
    other = paint_run(tmp_path / "other", "other", 130, ["bright"], options={"bright": {"over": 0.6}})

    def read_command(options: dict[str, Any]) -> str | None:
        content = json.loads((run / "run.json").read_text(encoding="utf-8"))
        content["request"]["options"] = options
        content["results"] = content["results"][:1]
        write_manifest(run, {**content, "started": "2999-01-01T00:00:00+00:00"})
        (left_out,) = write(run, other).board("bright")["left_out"]
        command: str | None = left_out["command"]
        return command

    long = "x" * 1500
    command = read_command({"prompt_source:words": {"kind": long}, "judge:unused": {"a_url": "x"}})
    assert command is not None
    assert f"-o prompt_source:words.kind={long}" in command
    assert command in html.unescape((tmp_path / "site" / "metric-bright.html").read_text(encoding="utf-8"))
    assert read_command({TEST_JUDGE.name: {"base_url": "https://example.org"}}) is None
    assert read_command({f"t2i-x/{TEST_JUDGE.name}": {"remote_code": True}}) is None
    assert read_command({"prompt_source:words": {"kind": "a\u202eb"}}) is None
    assert read_command({"prompt_source:words": {"kind": "x" * 5000}}) is None


def test_texts_of_runs_stay_texts_of_bounded_size(tmp_path: Path, write: Write, eight: list[Path]) -> None:
    run = paint_run(tmp_path / "theirs", f"{SCRIPT}{{{{ 7 * 7 }}}}", 130)
    content = (run / "run.json").read_text(encoding="utf-8")
    huge = json.loads(content)
    huge["results"][0]["notes"] = ["x" * 1_000_000, SCRIPT]
    huge["results"][0]["signature"] += f"|{SCRIPT}:{SCRIPT}"
    write_manifest(run, huge)
    site = write(run, eight[0])
    assert site.code == 0, site.said
    for page in site.folder.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert text.count("<script>") == 1
        assert "<img" not in text
        assert ">49" not in text
        assert len(text) < 100_000
        assert page.parent == site.folder
    table = (site.folder / "leaderboard.csv").read_text(encoding="utf-8")
    assert "model 0" in table


@pytest.mark.parametrize("label", ["../../out", "=HYPERLINK(1)", "a\x1b[2Jb", "CON", ""])
def test_names_of_models_lead_to_no_other_folder(tmp_path: Path, write: Write, label: str, run: Path) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8").replace('"model 3"', json.dumps(label)))
    write_manifest(run, content)
    rewrite_table(
        run, "measurements.csv", lambda rows: [[label if c == "model 3" else c for c in r] for r in rows]
    )
    rewrite_table(run, "samples.csv", lambda rows: [[label if c == "model 3" else c for c in r] for r in rows])
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    site = write(run)
    new = {path for path in tmp_path.rglob("*") if "cache" not in path.parts} - before - {site.folder}
    assert {path.parent for path in new} <= {site.folder}
    assert "\x1b" not in site.said
    if site.code == 0:
        assert "\n=HYPERLINK" not in (site.folder / "leaderboard.csv").read_text(encoding="utf-8")
