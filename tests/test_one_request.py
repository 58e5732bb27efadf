"""An option is declared once: a field of the request is an option of commands, a key of recipes, an argument."""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from t2i_cli.app import app
from t2i_cli.request_command import make_options
from t2i_core.api.errors import BadRecipe
from t2i_core.engine import evaluation, request
from t2i_core.engine.recipe import parse_recipe
from t2i_core.engine.request import Request
from t2i_core.engine.request_field import CommandOption, find_option, list_fields, validated
from t2i_core.results.manifest import Manifest, RequestRecord
from typer.testing import CliRunner

ROOT = Path(__file__).parents[1]


@validated
class Longer(Request):
    """A request with one more field, which is all that a new option needs."""

    patience: Annotated[
        int,
        Field(ge=1, description="Failures in a row after which a plugin is given up."),
        CommandOption("COUNT", commands=("eval",)),
    ] = 3


class _Planned(Exception):
    """Ends an evaluation at its plan."""


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Longer]:
    """What plans are asked to be made of, once core's request is the longer one."""
    monkeypatch.setattr(request, "Request", Longer)
    for module in ("t2i_core.engine.evaluation", "t2i_core.engine.recipe", "t2i_cli.request"):
        monkeypatch.setattr(f"{module}.Request", Longer)
    found: list[Longer] = []

    def make_plan(made: Longer, *_: Any, **__: Any) -> None:
        found.append(made)
        raise _Planned

    for module in ("t2i_core.engine.evaluation", "t2i_cli.evaluation"):
        monkeypatch.setattr(f"{module}.make_plan", make_plan)
    return found


def test_a_new_field_is_an_option_a_key_and_an_argument(planned: list[Longer], tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["eval", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    (line,) = (line for line in shown.splitlines() if "--patience" in line)
    assert "COUNT" in line
    assert "Failures in a row after which a plugin is given up. Default: 3." in line
    assert "--patience" not in CliRunner().invoke(app, ["generate", "--help"], env={"COLUMNS": "200"}).stdout

    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("metrics: tiam\nmodels: simulator\npatience: 5\n")
    for words in ([], ["--patience", "7"]):
        CliRunner().invoke(app, ["eval", "--recipe", str(recipe), *words])
    with pytest.raises(_Planned):
        evaluation.evaluate("tiam", "simulator", patience=9)
    assert [made.patience for made in planned] == [5, 7, 9]

    with pytest.raises(BadRecipe, match=r"line 1, patience: must be at least 1 \(got 0\)"):
        parse_recipe("patience: 0", "r")
    own = inspect.signature(lambda metric, **options: None)
    assert evaluation.name_options(own, Longer).parameters["patience"].default == 3
    for script in ("recipe_schema.py", "option_table.py"):
        made = runpy.run_path(str(ROOT / "docs" / script))["text"]()
        assert "Failures in a row after which a plugin is given up." in made


def test_every_option_of_eval_comes_from_the_request() -> None:
    fields = list_fields(Request)
    options = {option.name: option for option in make_options("eval")}
    assert list(options) == list(fields)
    assert all(find_option(field) for field in fields.values())
    names = set(inspect.signature(evaluation.evaluate).parameters)
    assert set(fields) - {"metrics", "models", "judges"} < names
    assert {"metric", "model", "judge"} < names


RECORDED_ELSEWHERE = {
    "models": "models",
    **dict.fromkeys(("device", "batch_size", "executor", "address", "workers", "gpus_per_worker"), "device"),
}
"""Fields of the request that run.json has under another name."""


def test_run_json_records_every_field_of_the_request() -> None:
    """A folder is where run.json is; a shard writes none."""
    left = list_fields(Request).keys() - RequestRecord.model_fields.keys() - {"out", "shard"}
    assert left == RECORDED_ELSEWHERE.keys()
    assert set(RECORDED_ELSEWHERE.values()) <= Manifest.model_fields.keys()
