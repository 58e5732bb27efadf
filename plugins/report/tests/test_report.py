"""Reports as files: what stands in them, and what may run."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage
from t2i_core.api import Need
from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.io.yaml_file import load_yaml
from t2i_core.results.analysis import list_metrics
from t2i_core.results.number_format import format_p_value
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_report.citation import cite_run
from t2i_report.commands.report import report_app
from t2i_report.judges import read_judges
from t2i_report.pictures.gallery import gallery
from t2i_report.report import write_report
from t2i_report.reported_run import group_run
from typer.testing import CliRunner

from .conftest import BRIGHT, LISTED, PAINT, BrightOptions, MakeRun


def page(target: Path, resolver: Any, *runs: Run) -> tuple[str, list[str]]:
    """Write a report; its text and the warnings."""
    warnings: list[str] = []
    write_report(runs, target, resolver, 160, warnings.append)
    return target.read_text(encoding="utf-8"), warnings


def data_of(text: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def lines_of(text: str) -> list[str]:
    """The pictures of a page, by place."""
    parts = re.findall(r'<script type="text/plain" id="pictures-\d+">(.*?)</script>', text, re.DOTALL)
    return [line for part in parts for line in part.split("\n")]


@pytest.fixture(scope="module")
def shown(
    shared_run: Run, resolver: StaticResolver, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[str]]:
    return page(tmp_path_factory.mktemp("page") / "report.html", resolver, shared_run)


def test_scores_intervals_and_comparisons_are_the_runs(shown: Any, shared_run: Run) -> None:
    text, _ = shown
    for result in shared_run.results:
        low, high = result.ci
        row = f'<th scope="row">{result.label}</th><td class="n">{result.score:.3f}</td>'
        assert f'{row}<td class="n">[{low:.3f}, {high:.3f}]</td>' in text
    (comparison, _) = shared_run.comparisons
    assert f'<td class="n">{comparison.diff:.3f}</td>' in text
    assert f'<td class="n">{format_p_value(comparison.p_adjusted)}</td>' in text
    assert "lower is better" in text  # of the second metric


def test_a_page_names_the_command_that_labels_only_if_people_can_be_asked(
    shared_run: Run, resolver: StaticResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_commands() -> list[str]:
        return [judge.label_command for judge in read_judges(shared_run, resolver)]

    assert list_commands() == [""]  # people give no rewards
    metric = resolver.component("metric", "bright", {}).info.create
    monkeypatch.setattr(metric, "needs", (Need("asked", "answer"),))
    assert list_commands() == [f"t2i label {shared_run.path}"]


def test_one_broken_metric_is_told_and_the_other_ones_analyses_are_there(shown: Any) -> None:
    text, warnings = shown
    assert [w for w in warnings if "no analyses of broken" in w]
    assert "KeyError: &#39;oops&#39;" in text
    assert "<h3>bright: prompts</h3>" in text
    assert "Means of &lt;prompts&gt;." in text
    analysis = text[text.index("<h3>bright: prompts</h3>") :]
    figure = re.search(r'<svg class="figure".*?</svg>', analysis, re.DOTALL)[0]
    assert "<title>prompt: " in figure
    assert 'fill="var(--figure-text,' in figure  # it follows the theme of the page


def test_settings_of_a_sweep_have_one_name_everywhere(
    make_run: MakeRun, resolver: StaticResolver, tmp_path: Path
) -> None:
    settings = {f"paint level={level}": {"level": level} for level in (60, 110, 200)}
    text, _ = page(tmp_path / "sweep.html", resolver, make_run(models=settings))
    assert data_of(text)["models"] == list(settings)
    assert [label for label in settings if f'<th scope="row">{label}</th>' not in text] == []
    assert re.findall(r"(?<!paint )level=(?:60|110|200)", text) == []


def test_a_bound_that_an_option_has_counts_as_a_bound(shared_run: Run, tmp_path: Path) -> None:
    class Bounded(BrightOptions):
        top: float = 1.0

    named = replace(
        BRIGHT, options=Bounded, measures=(replace(BRIGHT.measures[0], high="top"), *BRIGHT.measures[1:])
    )
    sections = []
    for name, info in (("number", BRIGHT), ("option", named)):
        text, _ = page(tmp_path / f"{name}.html", StaticResolver(info, PAINT, LISTED, TEST_JUDGE), shared_run)
        sections.append(re.search(r'<section id="mistakes".*?</section>', text, re.DOTALL)[0])
    assert sections[0] == sections[1]


def test_failures_stand_with_their_reasons(shown: Any) -> None:
    text, _ = shown
    assert "the filter &lt;b&gt;blanked&lt;/b&gt; it" in text
    assert "2 samples without a value, by reason" in text  # one of each metric
    data = data_of(text)
    (place,) = data["why"]
    assert data["why"][place] == "failed: the filter <b>blanked</b> it"
    assert lines_of(text)[int(place)] == ""
    assert all(measure["values"][int(place)] is None for measure in data["measures"])


def test_the_gallery_has_each_picture_with_its_own_values(shown: Any, shared_run: Run) -> None:
    data, lines = data_of(shown[0]), lines_of(shown[0])
    samples, table = shared_run.samples(), shared_run.measurements()
    assert len(samples) == len(lines) == len(data["model"]) == 32
    titles = [measure["title"] for measure in data["measures"]]
    assert titles == ["bright", "bright shade", "broken bright", "broken shade"]
    assert [measure["right"] for measure in data["measures"]] == [True, False, True, False]
    own = table[(table["metric"] == "bright") & (table["measure"] == "bright")]
    for place, row in enumerate(samples.itertuples()):
        assert data["models"][data["model"][place]] == row.model
        assert data["prompts"][data["prompt"][place]][0] == row.prompt
        value = own[(own["model"] == row.model) & (own["prompt"] == row.prompt) & (own["seed"] == row.seed)][
            "value"
        ]
        assert data["measures"][0]["values"][place] == (None if value.empty else value.item())
        if row.status == "ok":
            small = PILImage.open(io.BytesIO(base64.b64decode(lines[place]))).convert("RGB")
            kept = PILImage.open(shared_run.folder / row.image).convert("RGB")
            assert small.size == kept.size
            assert abs(small.getpixel((12, 23))[1] - kept.getpixel((12, 23))[1]) < 12


def test_facets_with_several_levels_in_one_image_are_not_filters(shown: Any) -> None:
    (facet,) = data_of(shown[0])["facets"]
    assert (facet["name"], facet["levels"]) == ("kind", ["hostile", "plain"])


def test_nothing_but_the_pages_own_script_and_style_may_run(shown: Any) -> None:
    text, _ = shown
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    own = {"style": re.findall(r"<style>(.*?)</style>", text, re.DOTALL)}
    own["script"] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for kind, (source,) in own.items():
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "style=" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert "document.title = 'stolen'</script>" not in text
    assert "\u202e" not in text


@pytest.mark.long
def test_folders_are_told_from_where_the_reader_is(
    make_run: Any, resolver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [make_run(f"{place}/run", metrics=["bright", "broken"]) for place in ("a", "b")]
    monkeypatch.chdir(tmp_path / "a")
    text, warnings = page(tmp_path / "r.html", resolver, *runs)
    assert [warning.partition(":")[0] for warning in warnings] == ["run", str(tmp_path / "b" / "run")]
    assert '<h3 class="run">run</h3>' in text
    monkeypatch.chdir(tmp_path)
    text, warnings = page(
        tmp_path / "r.html", resolver, *(load_finished_run(f"{place}/run") for place in ("a", "b"))
    )
    assert [warning.partition(":")[0] for warning in warnings] == ["a/run", "b/run"]
    assert '<h3 class="run">a/run</h3>' in text


def test_a_run_that_goes_on_or_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFolder, match="holds no run"):
        load_finished_run(tmp_path)


def test_the_command_writes_the_page_though_no_plugin_is_there_any_more(shared_run: Run, tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    done = CliRunner().invoke(report_app, [str(shared_run.folder), "--out", str(target), "--side", "16"])
    assert done.exit_code == 0, done.output
    assert "no analyses of bright: unknown metric" in done.stderr
    text = target.read_text()
    assert len(data_of(text)["model"]) == 32
    small = PILImage.open(io.BytesIO(base64.b64decode(lines_of(text)[0])))
    assert max(small.size) == 16


@pytest.fixture
def failed_run(make_run: Any) -> Run:
    """A run of which too many samples failed."""
    models = {"dark": {"level": 60}, "light": {"level": 110, "fails": True}}
    run: Run = make_run(models=models, max_failed=0.01)
    assert run.failed is not None
    return run


@pytest.mark.parametrize("how", ["latex", "markdown", "typst"])
def test_the_table_of_a_failed_run_says_so_below_it_and_on_standard_error(failed_run: Run, how: str) -> None:
    done = CliRunner().invoke(report_app, [str(failed_run.folder), "--format", how])
    assert done.exit_code == 0, done.output
    warning = done.stderr.splitlines()[0]
    assert warning.startswith("warning: ")
    assert warning.endswith(f"run: the run failed: {failed_run.failed}")
    assert "the run failed: " in done.stdout
    assert "failures.csv" not in done.stdout


@pytest.mark.long
def test_a_table_that_does_not_fit_on_the_page_is_warned_of(make_run: Any) -> None:
    models = {f"a model with a long name {number}": {"level": number} for number in range(9)}
    run = make_run(models=models, metrics=["bright", "broken", "own"], seeds=1)
    words = [str(run.folder), "--format", "latex", "--columns"]
    wide = ",".join(("bright", "bright.shade", "bright.kind", "broken", "broken.shade", "own") * 2)
    done = CliRunner().invoke(report_app, [*words, wide])
    assert done.exit_code == 0, done.output
    assert "name fewer columns with --columns" in done.stderr
    assert "points wide" not in CliRunner().invoke(report_app, [*words, "bright"]).stderr


def test_models_without_a_weakness_are_named_up_to_a_number(make_run: Any, resolver: Any, tmp_path: Path) -> None:
    models = {f"m{number}": {"level": 0} for number in range(6)}
    text, _ = page(tmp_path / "r.html", resolver, make_run(models=models, seeds=1))
    assert '<span class="soft">m0, m1, m2, m3 and 2 more</span> no weakness found' in text


def test_a_page_that_cannot_be_written_leaves_nothing(shared_run: Run, resolver: Any, tmp_path: Path) -> None:
    with pytest.raises(BadFolder, match="cannot be written"):
        page(tmp_path / "absent" / "report.html", resolver, shared_run)
    assert list(tmp_path.iterdir()) == []


def test_an_image_that_was_altered_is_not_shown(make_run: Any, resolver: Any, tmp_path: Path) -> None:
    run = make_run(seeds=1)
    image = run.folder / run.samples()["image"][0]
    pixels = image.read_bytes()
    image.unlink()
    image.write_bytes(pixels[:-1])
    text, warnings = page(tmp_path / "report.html", resolver, run)
    assert data_of(text)["why"]["0"].endswith("the file has changed since it was stored")
    assert warnings[-1].startswith("1 images cannot be read")
    assert lines_of(text)[0] == ""
    assert lines_of(text)[1] != ""


def test_runs_of_one_model_share_their_pictures_and_others_are_told_apart(make_run: Any, resolver: Any) -> None:
    one = make_run("one", models={"m": {"level": 60}}, seeds=2)
    more = make_run("more", models={"m": {"level": 60}}, seeds=3, metrics="broken")
    other = make_run("other", models={"m": {"level": 200}}, seeds=1)
    both = gallery([one, more], {})
    assert len(both.images) == 12
    values = {column.title: [v is not None for v in column.values] for column in both.columns}
    assert sum(values["bright"]) == 8
    assert sum(values["broken shade"]) == 12
    apart = gallery([one, other], {})
    assert {image.model for image in apart.images} == {"m (one)", "m (other)"}
    assert len(apart.images) == 12


def test_a_model_that_drew_other_images_elsewhere_is_told_apart(make_run: Any, on_another_machine: Any) -> None:
    first = make_run("here", models={"m": {"level": 60}})
    on_another_machine()
    second = make_run("there", models={"m": {"level": 60}}, noise="per-prompt")
    shown = gallery([first, second], {})
    assert {image.model for image in shown.images} == {"m (here)", "m (there)"}
    for image in shown.images:
        assert image.picture is not None
        own = first if image.model == "m (here)" else second
        assert image.picture.digest in set(own.samples()["digest"])


def test_one_run_named_twice_is_one(shared_run: Run, tmp_path: Path) -> None:
    said = CliRunner().invoke(report_app, [str(shared_run.folder)] * 2 + ["--format", "json"])
    once = CliRunner().invoke(report_app, [str(shared_run.folder), "--format", "json"])
    assert json.loads(said.stdout) == json.loads(once.stdout)


def test_a_table_of_a_page_is_refused(shared_run: Run) -> None:
    done = CliRunner().invoke(report_app, [str(shared_run.folder), "--table", "rows"])
    assert isinstance(done.exception, BadOption)
    assert "--table has no effect with --format html" in str(done.exception)


def test_a_run_of_images_alone_has_a_gallery(make_run: Any, resolver: Any, tmp_path: Path) -> None:
    run = make_run(metrics=(), seeds=1)
    text, warnings = page(tmp_path / "report.html", resolver, run)
    data = data_of(text)
    assert (len(data["model"]), data["measures"], data["facets"]) == (8, [], [])
    assert "<p>No scores.</p>" in text
    assert warnings == []


def test_the_request_is_a_recipe(shown: Any, shared_run: Run, resolver: StaticResolver) -> None:
    groups = group_run(shared_run, list_metrics(shared_run, resolver))
    recipe = load_yaml(cite_run(shared_run, groups).recipe)
    assert [(each["model"], each["label"]) for each in recipe["models"]] == [("paint", "dark"), ("paint", "light")]
    assert recipe["models"][0]["settings"]["level"] == 60
    assert recipe["seeds"] == shared_run.manifest.request.seeds
    assert "Its models and settings as a recipe" in shown[0]


def test_a_picture_that_is_gone_is_named_within_its_run(make_run: Any, tmp_path: Path, resolver: Any) -> None:
    run = make_run(metrics="bright")
    for image in (run.folder / "images").rglob("*.*"):
        image.unlink()
    text, warnings = page(tmp_path / "page.html", resolver, run)
    assert str(run.folder) in warnings[0]
    assert str(run.folder) not in json.dumps(data_of(text)["why"])
    assert all(why.startswith("images") for why in data_of(text)["why"].values() if "cannot be read" in why)


def test_a_page_is_not_a_run_folder(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("")
    with pytest.raises(BadFolder, match=r"page\.html: not a run folder but a file"):
        load_finished_run(tmp_path / "page.html")
