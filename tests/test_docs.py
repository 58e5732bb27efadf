"""What the documents say is so: code blocks are files or run, names are documented, links lead somewhere."""

from __future__ import annotations

import doctest
import json
import re
import runpy
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pages as site_pages
import pytest
import typer
from t2i_cli.app import app
from t2i_core.api import Features, errors, evidence, hookspecs, metric_input, metric_output, plugin_info, study
from t2i_core.api import __all__ as public
from t2i_core.api.adapter import list_adapters
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.api.image import Image, Instance, Truth
from t2i_core.api.judge import Query
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need
from t2i_core.api.metric_output import Measure, Row
from t2i_core.api.observation import Observation, Pixels, QueryShape, find_capability, list_capabilities
from t2i_core.api.observation_codec import decode, encode
from t2i_core.api.prompt import ObjectClass, Prompt, Relation, Scene, SceneObject
from t2i_core.api.prompt_question import PromptQuestion
from t2i_core.api.study import Study
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.request_field import list_keys
from t2i_core.results.manifest import Manifest, RequestRecord
from t2i_core.results.run import Run
from t2i_core.testing import StaticResolver
from t2i_core.testing.figures import check_figure
from t2i_registry.discovery import CAPABILITY_PREFIX, DISABLE_VARIABLE, KIND_OF_GROUP

ROOT = Path(__file__).parent.parent
ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.T2IError)]
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
HOOKS = [name for name in vars(hookspecs) if name.startswith("t2i_")]
CAPABILITIES = [
    each
    for each in (*map(find_capability, list_capabilities()), Pixels)
    if each.__module__.startswith("t2i_core.")
]
CONTRACTS = [
    plugin_info.Setup, plugin_info.Defaults, plugin_info.Domain, plugin_info.About, plugin_info.Loading,
    plugin_info.Price,
    plugin_info.GeneratorInfo, plugin_info.ExistingImagesInfo, plugin_info.SelfJudgingInfo, plugin_info.JudgeInfo,
    plugin_info.MetricInfo, plugin_info.PromptSourceInfo, plugin_info.SinkInfo, plugin_info.Preset,
    metric_output.Measure, metric_input.Need,
    metric_input.Derive, metric_input.Unit, metric_input.Observed, metric_input.Sample, metric_output.Row,
    metric_output.Rows, study.Analysis,
    evidence.Evidence,
    Prompt, PromptQuestion, Scene, SceneObject, ObjectClass, Relation, ImageRequest, Generated, Failure, Image,
    Truth, Instance, Query, QueryShape, *CAPABILITIES,
]  # fmt: skip


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    _, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert found, f"there is no heading {heading!r}"
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def undocumented(names: Iterable[str], text: str) -> list[str]:
    """The names that stand nowhere as code, alone or at its beginning (`name`, `--name VALUE`, `name=...`)."""
    return [name for name in names if not re.search(rf"`{re.escape(name)}(?![\w-])", text)]


# code ---------------------------------------------------------------------------------------------------------

FILE_BLOCK = re.compile(r"<!-- file: (\S+) -->\n+```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUN_BLOCK = re.compile(r"<!-- run -->\n+```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_hooks_examples_run() -> None:
    found = doctest.testmod(hookspecs)
    assert found.attempted > len(HOOKS)
    assert found.failed == 0


def test_the_worked_example_is_the_examples_files() -> None:
    blocks = dict(FILE_BLOCK.findall(read("docs/write-a-plugin.md")))
    for name, block in blocks.items():
        assert block == read(name), name
    example = ROOT / "examples" / "t2i-sharpness"
    shown = {ROOT / name for name in blocks}
    # what must be written is shown; the package's __init__ is one line
    assert {p for p in example.rglob("*") if p.suffix in (".py", ".toml")} - shown == {
        example / "t2i_sharpness" / "__init__.py"
    }


class MeanReward(Metric):
    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value, {"kind": unit.prompt.facets["kind"]})


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the runnable blocks of docs/write-a-plugin.md define."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    names: dict[str, Any] = {"__name__": "contributed"}
    for block in RUN_BLOCK.findall(read("docs/write-a-plugin.md")):
        exec(compile(block, "write-a-plugin.md", "exec"), names)
    return names


def test_the_analysis_that_is_shown_can_be_made_and_drawn(contributed: Run) -> None:
    _, block = RUN_BLOCK.findall(read("docs/plugins.md"))
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(block, "docs/plugins.md", "exec"), names)
    study = Study(contributed.measurements().drop(columns="metric"), contributed.samples(), contributed.folder)
    (analysis,) = names["WithPrompts"].analyses(None, study)
    assert analysis.table["value"].is_monotonic_increasing
    assert len(analysis.table) == study.table["prompt"].nunique() > 1
    svg = check_figure(analysis)
    assert all(f">{prompt}</text>" in svg for prompt in analysis.table["prompt"])


def test_the_capability_that_is_shown_is_checked_and_kept() -> None:
    block, _ = RUN_BLOCK.findall(read("docs/plugins.md"))
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(block, "docs/plugins.md", "exec", dont_inherit=True), names)
    answer = names["Sharpness"](0.5)
    assert decode(encode(answer, "sharpness", None, Query()), "sharpness", None) == answer
    with pytest.raises(ValueError, match="must be 0 or more"):
        encode(names["Sharpness"](-0.5), "sharpness", None, Query())
    (adapter,) = list_adapters("sharpness")
    assert adapter.combine(Features(np.array([0.25], np.float32))) == names["Sharpness"](0.25)


@pytest.fixture
def contributed(shown: dict[str, Any], tmp_path: Path) -> Run:
    """The run of a metric on the generator, judge and prompts of docs/write-a-plugin.md."""
    (generator,), (judge,), (prompts,) = (
        shown[hook]() for hook in ("t2i_generators", "t2i_judges", "t2i_prompt_sources")
    )
    measure = Measure("reward", "Mean reward.", facets=("kind",))
    metric = plugin_info.MetricInfo(name="mean", summary="Mean.", create=MeanReward, measures=(measure,))
    models = [ModelRequest(generator, "dark", {"level": 50}), ModelRequest(generator, "bright", {"level": 200})]
    resolver = StaticResolver(judge, prompts)
    return evaluate(metric, models, prompts=prompts.name, seeds=2, out=tmp_path / "run", resolver=resolver)


def test_the_other_kinds_code_runs_too(contributed: Run) -> None:
    assert contributed.failed is None
    scores = {r.label: r.score for r in contributed.results}
    assert scores["dark"] < scores["bright"]


def test_a_metric_of_pixels_brings_its_prompts(shown: dict[str, Any], tmp_path: Path) -> None:
    (generator,), (metric,), (prompts,) = (
        shown[hook]() for hook in ("t2i_generators", "t2i_metrics", "t2i_prompt_sources")
    )
    run = evaluate(metric, generator, out=tmp_path / "run", resolver=StaticResolver(prompts))
    (result,) = run.results
    assert (result.prompts, result.n_ok, result.judge.name) == (prompts.name, 2 * 8, "pixels")
    spread = (40**2 - 1) / 12  # of noise, whole numbers from -20 to 19 alike
    assert result.score == pytest.approx(spread**0.5 / 255, rel=0.05)


# names --------------------------------------------------------------------------------------------------------


def test_files_of_a_run_are_documented(contributed: Run) -> None:
    text = read("docs/architecture.md")
    written = section(text, "## The run folder")
    printed = section(text, "## What `--json` prints")
    assert undocumented(Manifest.model_fields, written) == []
    assert undocumented(RequestRecord.model_fields, written) == []
    for table, heading in (
        (contributed.samples(), "### samples.csv"),
        (contributed.measurements().drop(columns="kind"), "### measurements.csv"),
        (contributed.failures(), "### failures.csv"),
    ):
        assert undocumented(table.columns, section(text, heading)) == []
    every = contributed.to_json()
    (first, _), (comparison,) = every["results"], every["comparisons"]
    assert first["facets"]
    assert undocumented([*every, *first, *comparison], printed) == []


def test_every_exit_code_is_documented() -> None:
    table = section(read("docs/architecture.md"), "## Exit codes")
    for error in ERRORS:
        assert re.search(rf"^\| {error.exit_code} \|.*`{error.__name__}`", table, re.MULTILINE), error
    assert re.search(rf"^\| {errors.INTERRUPTED} \|", table, re.MULTILINE)
    for error in ERRORS:
        assert re.search(rf"^\| {error.exit_code} \|", read("cli/README.md"), re.MULTILINE), error


def test_every_command_and_option_is_documented() -> None:
    text = read("docs/command-line.md")
    for name, command in COMMANDS.items():
        own = section(text, f"## t2i {name}")
        assert "```console\n$ t2i " in own, f"{name} is shown without what it prints"
        for each in (command, *getattr(command, "commands", {}).values()):
            assert undocumented(words_of(each), own) == [], name
    everywhere = section(text, "## Common options and behaviour")
    assert undocumented(words_of(typer.main.get_command(app)), everywhere) == []


def words_of(command: Any) -> list[str]:
    """Every way to write an option of a command."""
    params = (*getattr(command, "options", ()), *command.params)
    return [word for p in params if p.param_type_name == "option" for word in (*p.opts, *p.secondary_opts)]


def test_every_key_of_a_recipe_is_documented() -> None:
    text = read("docs/command-line.md")
    assert undocumented(list_keys(Request), section(text, "## t2i eval")) == []
    assert undocumented(list_keys(ModelRequest), section(text, "## Recipes")) == []


@pytest.mark.parametrize("script", ["option_table.py", "recipe_schema.py", "benchmark_schema.py"])
def test_files_made_from_the_request_are_up_to_date(script: str) -> None:
    made = runpy.run_path(str(ROOT / "docs" / script))
    assert made["FILE"].read_text(encoding="utf-8") == made["text"](), f"run `python docs/{script}`"


def test_every_variable_is_documented() -> None:
    text = read("docs/command-line.md")
    sources = "\n".join(p.read_text(encoding="utf-8") for part in ("core", "registry", "cli") for p in code(part))
    variables = {*re.findall(r"\"(T2I_[A-Z_]+)\"", sources), DISABLE_VARIABLE}
    assert len(variables) > 2
    assert undocumented(variables, text) == []


def code(part: str) -> Iterator[Path]:
    return (ROOT / part / f"t2i_{part}").rglob("*.py")


def test_every_hook_group_and_capability_is_documented() -> None:
    text = read("docs/plugins.md")
    assert len(HOOKS) == len(plugin_info.KINDS)
    assert undocumented([*HOOKS, *KIND_OF_GROUP, f"{CAPABILITY_PREFIX}CAPABILITY"], text) == []


def test_the_tables_of_capabilities_are_what_their_classes_say() -> None:
    text = read("docs/plugins.md")
    rows = section(text, "## Capabilities").partition("\n\n### ")[0]
    assert sorted(re.findall(r"^\| `.*", rows, re.MULTILINE)) == sorted(map(row_of, CAPABILITIES))
    adapters = [a for each in CAPABILITIES for a in list_adapters(each.capability)]
    found = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section(text, "## Adapters"), re.MULTILINE)
    assert sorted(found) == sorted((a.wanted, a.offered) for a in adapters)


def row_of(capability: type[Observation]) -> str:
    """The row of a capability in the table of all."""
    shapes = capability.queries
    images = ", or ".join(shape.describe_images() for shape in shapes)
    texts = ", or ".join(shape.describe_texts() for shape in shapes)
    extras = ", ".join(f"`{extra}`" for extra in capability.extras)
    name = f"| `{capability.capability}` | {images} | {texts} | `{capability.__name__}` | {extras}"
    return f"{name.rstrip()} |"


def test_every_public_name_is_documented() -> None:
    text = read("docs/plugins.md")
    headings = re.findall(r"^### (\w+)$", text, re.MULTILINE)
    assert undocumented(set(public) - set(headings), text) == []


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_every_field_of_a_contract_is_documented(contract: Any) -> None:
    text = read("docs/plugins.md")
    own = section(text, f"### {contract.__name__}")
    if issubclass(contract, plugin_info._Info):
        own += section(text, "### Every descriptor")
    if issubclass(contract, plugin_info.GeneratorInfo):
        own += section(text, "### GeneratorInfo")
    assert undocumented([f.name for f in fields(contract)], own) == []


# links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", list(site_pages.documents()), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    links = site_pages.links(path.read_text(encoding="utf-8"))
    assert [link for link in links if not leads_somewhere(link, path)] == []


def leads_somewhere(link: str, document: Path) -> bool:
    """Whether a relative link leads to a file of the repository, and to a heading of it where it names one."""
    place, _, anchor = link.partition("#")
    target = (document.parent / place).resolve() if place else document
    if not target.is_relative_to(ROOT) or not target.exists():
        return False
    return not anchor or anchor in site_pages.anchors(target.read_text(encoding="utf-8"))


def test_the_site_has_every_page_in_its_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_pages, "OUT", tmp_path)
    site_pages.write()
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    listed = re.findall(r"\"([\w/-]+\.md)\"", section_of(read("zensical.toml"), "nav"))
    assert len(listed) == len(set(listed))
    assert set(listed) == made
    metric = (tmp_path / "tutorials" / "metric.md").read_text(encoding="utf-8")
    assert metric.startswith("# Tutorial: a metric\n")
    assert "](../plugins/tiam.md)" in metric
    assert "](../files/core/t2i_core/api/hookspecs.py)" in (tmp_path / "tutorials" / "least.md").read_text("utf-8")
    assert "| `simulator.drop` | `float`, >= 0, <= 1 |" in (tmp_path / "plugins" / "miniworld.md").read_text(
        "utf-8"
    )


def section_of(text: str, key: str) -> str:
    """A list of a TOML file, as it is written."""
    return text.partition(f"\n{key} = [")[2].partition("\n]")[0]


@pytest.mark.parametrize(
    "link", ["gone.md", "statistics.md#gone", "../pyproject.tml", "../../elsewhere.md", "#gone"]
)
def test_a_link_that_leads_nowhere_stops_the_site(link: str) -> None:
    document = ROOT / "docs" / "statistics.md"
    page = site_pages.Page("statistics.md", f"# A\n\nSee [`this`]({link}).\n", document)
    with pytest.raises(site_pages.BrokenLink, match=re.escape(link)):
        site_pages.linked(page, {document: [page]})


def test_links_in_code_are_left_alone() -> None:
    text = "# A\n\n`[a](gone.md)` [b](https://example.org)\n\n```\n[c](gone.md)\n```\n"
    page = site_pages.Page("statistics.md", text, ROOT / "docs" / "statistics.md")
    assert site_pages.linked(page, {}) == page


def test_the_page_of_models_is_what_descriptors_say() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "models.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"](), "run `python docs/models.py`"


def test_the_tables_and_the_schema_of_results_are_what_their_classes_say() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "results_reference.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["make_page"](), (
        "run `python docs/results_reference.py`"
    )
    assert script["SCHEMA"].read_text(encoding="utf-8") == script["make_schema"]()


def test_a_run_fits_the_schema(contributed: Run) -> None:
    schema = json.loads((ROOT / "docs" / "run.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((contributed.folder / "run.json").read_text(encoding="utf-8")), schema)


def test_names_with_headings_in_the_contracts_are_imported_from_core() -> None:
    named = re.findall(r"^### ([A-Z]\w+)$", read("docs/plugins.md"), re.MULTILINE)
    assert {"Need", "Pixels", "Unit"} <= set(named)
    assert [name for name in named if name not in public] == []
