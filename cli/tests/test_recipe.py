from __future__ import annotations

from pathlib import Path

import pytest
from t2i_cli.asking import Asked, request
from t2i_cli.recipe import Recipe, RecipeModel, read_recipe
from t2i_core.errors import BadRecipe
from t2i_core.evaluation import ModelRequest
from t2i_registry import Registry


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
    assert read_recipe(written(tmp_path, text)) == {
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
    assert read_recipe(written(tmp_path, f"seeds: {said}"))["seeds"] == seeds


def test_only_what_is_said_counts(tmp_path):
    assert read_recipe(written(tmp_path, "metrics: a")) == {"metrics": ("a",)}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("metric: a", ["unknown key 'metric': did you mean 'metrics'"]),
        ("zzz: a", ["unknown key 'zzz'; known are metrics, models"]),
        (
            "models: [{modle: a}]",
            ["models.0.model: is required", "unknown key 'models.0.modle': did you mean 'model'"],
        ),
        ("metric: a\nlimit: 0", ["limit: 0 is not valid", "; unknown key 'metric': did you mean 'metrics'?"]),
        ("metric: a\nmodle: 0", ["did you mean 'metrics'? Unknown key 'modle': did you mean 'models'?"]),
        ("models: [3]", ["models.0: 3 is not valid"]),
        ("limit: many", ["limit: 'many' is not valid: input should be a valid integer"]),
        ("limit: 0\nfresh: maybe", ["limit: 0 is not valid", "fresh: 'maybe' is not valid"]),
        ("seeds: x", ["--seeds 'x'"]),
        ("batch_size: 0", ["--batch-size '0'"]),
        ("- a", ["want keys such as metrics and models, and it is a list"]),
        ("", ["want keys such as metrics and models, and it is empty"]),
        ("a: [", ["is no YAML"]),
        ("limit: 1\nlimit: 2", [", line 2: key 'limit' stands twice"]),
        ("options: {a: 1}", ["options.a: 1 is not valid"]),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, text, parts):
    with pytest.raises(BadRecipe) as caught:
        read_recipe(written(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"recipe {tmp_path / 'recipe.yaml'}")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_the_command_line_overrides_a_recipe(tmp_path):
    recipe = written(
        tmp_path, "metrics: [a]\nmodels: [m]\nseeds: 3\nfresh: true\noptions: {a: {k: 1, n: {x: 1}}, b: {k: 1}}"
    )
    asked = Asked(models=["n"], seeds="2", fresh=False, options=["a.k=2", "a.n.y=3"], batch_size="auto")
    made = request(asked, recipe, Registry())
    assert made.metrics == ("a",)
    assert made.models == (ModelRequest("n"),)
    assert made.seeds == (0, 1)
    assert made.fresh is False
    assert made.options == {"a": {"k": "2", "n": {"x": 1, "y": "3"}}, "b": {"k": 1}}
    assert made.batch_size is None


def test_every_key_is_described():
    for model in (Recipe, RecipeModel):
        assert all(field.description for field in model.model_fields.values())


def test_the_readme_describes_every_key():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in (*Recipe.model_fields, *RecipeModel.model_fields))
