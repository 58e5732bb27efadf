from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from t2i_cli.request import make_request
from t2i_core.api.errors import BadRecipe
from t2i_core.engine.recipe import load_recipe
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.request_field import list_fields
from t2i_core.io.yaml_file import MAX_VALUES
from t2i_registry import Registry

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "recipe.schema.json").read_text())


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


def test_everything_can_be_said(tmp_path):
    text = """
        metrics: [a, b]
        models:
          - one:arg
          - {spec: two, label: Two, settings: {x.y: 1}}
        prompts: p
        judges: segment=s
        seeds: 0-2
        limit: 5
        options: {a: {k: 1}}
        out: here
        fresh: true
        device: cpu
        batch_size: 4
        shard: 1/2
        interval: seeds
        noise: per-prompt
        max_failed: 0.1
        offline: true
    """
    assert load_recipe(written(tmp_path, text)).values == {
        "metrics": ("a", "b"),
        "models": (ModelRequest("one:arg"), ModelRequest("two", "Two", {"x.y": 1})),
        "prompts": ("p",),
        "judges": ("segment=s",),
        "seeds": (0, 1, 2),
        "limit": 5,
        "options": {"a": {"k": 1}},
        "out": Path("here"),
        "fresh": True,
        "device": "cpu",
        "batch_size": 4,
        "shard": (1, 2),
        "interval": "seeds",
        "noise": "per-prompt",
        "max_failed": 0.1,
        "offline": True,
    }


@pytest.mark.parametrize(
    ("said", "seeds"), [("3", (0, 1, 2)), ("[7]", (7,)), ("[0, 7]", (0, 7)), ("0,7", (0, 7)), ("1-2", (1, 2))]
)
def test_seeds_as_on_the_command_line(tmp_path, said, seeds):
    assert load_recipe(written(tmp_path, f"seeds: {said}")).values["seeds"] == seeds


def test_only_what_is_said_counts(tmp_path):
    assert load_recipe(written(tmp_path, "metrics: a")).values == {"metrics": ("a",)}


TEN = [", ".join([f"*a{n}"] * 10) for n in range(10)]
BOMB = "\n".join(["metrics: &a0 [tiam]", *(f"a{n + 1}: &a{n + 1} [{ten}]" for n, ten in enumerate(TEN))])
"""Each line stands for ten of the one above."""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("metric: a", [": line 1, metric: unknown key 'metric': did you mean 'metrics'"]),
        ("zzz: a", ["unknown key 'zzz'; known are metrics, models"]),
        (
            "models: [{modle: a}]",
            [
                "line 1, models.0.model: is required",
                "line 1, models.0.modle: unknown key 'modle': did you mean 'model'",
            ],
        ),
        (
            "metric: a\nlimit: 0",
            [
                "line 2, limit: must be at least 1",
                "; line 1, metric: unknown key 'metric': did you mean 'metrics'?",
            ],
        ),
        (
            "metric: a\nmodle: 0",
            ["did you mean 'metrics'? Line 2, modle: unknown key 'modle': did you mean 'models'?"],
        ),
        ("models: [3]", ["models.0: must be a generator", "(got 3)"]),
        (
            "seeds: x\nshard: 3/2\nbatch_size: 0\nlimit: 0",
            [
                "line 1, seeds: must be a number of seeds",
                "line 2, shard: must be I/N",
                "line 3, batch_size: must be a whole number",
                "line 4, limit: must be at least 1 (got 0)",
            ],
        ),
        (
            "models:\n- a\n- {model: b, matrix: {k: []}}",
            ["line 3, models.1.matrix.k: must have an item", "(got [])"],
        ),
        (
            "models: {model: b, settings: {k: 1}, matrix: {k: [2]}}",
            ["models.0: must not have k in settings and in matrix"],
        ),
        ("limit: many", ["limit: must be a whole number", "(got 'many')"]),
        (
            "limit: 0\nfresh: maybe",
            ["limit: must be at least 1", "fresh: must be true or false", "(got 'maybe')"],
        ),
        ("seeds: x", ["seeds: must be", "(got 'x')"]),
        ("batch_size: 0", ["batch_size: must be", "(got 0)"]),
        ("device: fast", ["line 1, device: must be auto, cpu, cuda", "(got 'fast')"]),
        ("- a", ["must have keys such as metrics and models (got list)"]),
        ("", ["must have keys such as metrics and models (got an empty file)"]),
        ("a: [", ["not YAML"]),
        ("limit: 2020-13-45", ["not YAML"]),
        (BOMB, [f"more than {MAX_VALUES} values"]),
        ("models: {model: b, matrix: {" + ", ".join(f"k{n}: [1, 2]" for n in range(40)) + "}}", ["1099511627776"]),
        ("limit: 1\nlimit: 2", [", line 2: duplicate key 'limit'"]),
        ("options: {a: 1}", ["options.a: must be a mapping (got 1)"]),
    ],
)
def test_errors_are_one_line(tmp_path, text, parts):
    with pytest.raises(BadRecipe) as caught:
        load_recipe(written(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"recipe {tmp_path / 'recipe.yaml'}")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_a_matrix_stands_for_every_combination(tmp_path):
    text = """
        models:
          - {model: [a, b], settings: {s: 0}, matrix: {x: [1, 2], y: [3]}}
          - {model: c, label: C, matrix: {x: [1, 2]}}
          - {model: [d, e], label: D}
          - {model: f, label: F, matrix: {x: [1]}}
    """
    assert tuple(m for entry in load_recipe(written(tmp_path, text)).values["models"] for m in entry.expand()) == (
        ModelRequest("a", None, {"s": 0, "x": 1, "y": 3}),
        ModelRequest("a", None, {"s": 0, "x": 2, "y": 3}),
        ModelRequest("b", None, {"s": 0, "x": 1, "y": 3}),
        ModelRequest("b", None, {"s": 0, "x": 2, "y": 3}),
        ModelRequest("c", "C x=1", {"x": 1}),
        ModelRequest("c", "C x=2", {"x": 2}),
        ModelRequest("d", "D d", {}),
        ModelRequest("e", "D e", {}),
        ModelRequest("f", "F", {"x": 1}),
    )


def test_all_that_is_not_there_is_said_at_once(toy, t2i, tmp_path):
    recipe = written(
        tmp_path,
        "metrics: [brightness, sharpness]\nmodels:\n- grey\n- {model: grey, settings: {level: 999}}\n"
        "judges: reward=metre\nprompts: [four, gone.txt]\noptions:\n  gray: {level: 3}\n",
    )
    refused = t2i("eval", "--recipe", recipe)
    assert refused.exit_code == 13
    assert refused.stderr.count("\n") == 1
    for part in (
        f"error: recipe {recipe}: ",
        "line 8, options.gray: unknown component 'gray': did you mean 'grey'?",
        "ine 1, metrics.1: unknown metric 'sharpness'",
        "ine 4, models.1: option 'level' of generator 'grey' must be at most 255 (got 999)",
        "line 5, judges.0: unknown judge 'metre'",
    ):
        assert part in refused.stderr
    assert "grey'; line" not in refused.stderr  # what is right is not spoken of
    assert not (tmp_path / "cache").exists()  # nothing was begun
    # what the command line says instead is not read in the recipe
    one = t2i("eval", "--recipe", recipe, "--judge", "meter", "--metric", "brightness", "--model", "grey")
    assert one.exit_code == 3
    assert f"recipe {recipe}: line 8, options.gray: unknown component" in one.stderr


def test_the_command_line_adds_missing_keys_of_a_recipe(toy, t2i, tmp_path):
    recipe = written(tmp_path, "metrics: brightness\nmodels: grey\nprompts: four\noptions: {grey: {level: 999}}")
    assert t2i("eval", "--recipe", recipe, "--dry-run").exit_code == 6
    assert t2i("eval", "--recipe", recipe, "-o", "grey.level=9", "--dry-run").exit_code == 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_the_published_schema_takes_the_examples(path):
    data = yaml.safe_load(path.read_text())
    if "template" not in data:  # one of TIAM's
        jsonschema.validate(data, SCHEMA)


@pytest.mark.parametrize(
    ("said", "valid"),
    [
        ({"metrics": "a", "models": "m", "seeds": 3, "batch_size": "auto"}, True),
        ({"models": ["m", {"spec": "n", "matrix": {"x": [1]}}], "seeds": [0, 7]}, True),
        ({"models": {"model": ["m", "n"]}, "options": {"a": {"k": 1}}, "seeds": "0-3"}, True),
        ({"metric": "a"}, False),
        ({"models": [{"label": "x"}]}, False),
        ({"models": [{"model": "m", "setting": {}}]}, False),
        ({"limit": 0}, False),
        ({"interval": "old"}, False),
    ],
)
def test_the_published_schema_and_the_reader_are_of_one_mind(tmp_path, said, valid):
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(said) is valid
    path = written(tmp_path, json.dumps(said))
    if valid:
        load_recipe(path)
    else:
        with pytest.raises(BadRecipe):
            load_recipe(path)


def test_the_command_line_overrides_a_recipe(tmp_path, monkeypatch):
    recipe = written(
        tmp_path, "metrics: [a]\nmodels: [m]\nseeds: 3\nfresh: true\noptions: {a: {k: 1, n: {x: 1}}, b: {k: 1}}"
    )
    given = {
        "models": ["n"],
        "prompts": [],
        "seeds": "2",
        "limit": None,
        "fresh": False,
        "options": ["a.k=2", "a.n.y=3"],
        "batch_size": "auto",
    }
    monkeypatch.setattr("t2i_cli.request.check_components", lambda *_, **__: None)  # none of these is installed
    made = make_request(given, recipe, Registry())
    assert made.metrics == ("a",)
    assert made.models == (ModelRequest("n"),)
    assert made.seeds == (0, 1)
    assert made.fresh is False
    assert made.options == {"a": {"k": "2", "n": {"x": 1, "y": "3"}}, "b": {"k": 1}}
    assert made.batch_size is None


def test_every_key_is_described():
    for cls in (Request, ModelRequest):
        assert all(field.description for field in list_fields(cls).values())
