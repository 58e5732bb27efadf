"""The golden cases, each under its number. tiam-04, rasterising polygons, is for judges that give polygons.

Their values were computed by running the authors' published code; `how_computed` says which. The file holds inputs
and numbers, no code.
"""

import numpy as np
import pandas as pd
import pytest
from t2i_core.statistics import mean_interval
from t2i_tiam.colours import nearest, srgb_to_lab
from t2i_tiam.options import TiamOptions
from t2i_tiam.references import REFERENCES
from t2i_tiam.sources import TEMPLATES
from t2i_tiam.table import load_table

NAMES = list(REFERENCES)


def test_01_references_in_tie_order(golden):
    expected = golden("tiam-01")["expected"]["comparator"]
    assert list(expected) == NAMES
    assert {name: list(lab) for name, lab in REFERENCES.items()} == expected


def test_02_conversion_and_nearest_reference(golden):
    table = load_table(tuple(REFERENCES.values()))
    for name, case in golden("tiam-02")["expected"].items():
        lab = srgb_to_lab(case["rgb"])
        np.testing.assert_allclose(lab, case["lab"], atol=1e-6, err_msg=name)
        distances = np.linalg.norm(lab - np.array(list(REFERENCES.values())), axis=1)
        first, second = np.argsort(distances)[:2]
        assert (NAMES[first], NAMES[second]) == (case["nearest"], case["second"]), name
        assert distances[first] == pytest.approx(case["distance"], abs=1e-6)
        r, g, b = case["rgb"]
        assert table[r << 16 | g << 8 | b] == nearest(case["rgb"], list(REFERENCES.values())) == first, name


CASES_06 = {
    "both right": [("car", {"red": 100}), ("elephant", {"blue": 100})],
    "swapped colours": [("car", {"blue": 100}), ("elephant", {"red": 100})],
    "second car carries the colour (any instance suffices)": [
        ("car", {"green": 100}),
        ("car", {"red": 100}),
        ("elephant", {"blue": 100}),
    ],
    "elephant missing": [("car", {"red": 100})],
    "blue 0.39 only": [("car", {"red": 100}), ("elephant", {"blue": 39, "black": 61})],
}


@pytest.mark.parametrize("name", CASES_06)
def test_06_attribute_binding(golden, world, name):
    expected = golden("tiam-06")["expected"][name]
    image = world.strip(*((label, 0.9, colours) for label, colours in CASES_06[name]))
    rows = world.rows(world.prompt("red car", "blue elephant"), *image)
    values = {r.measure: r.value for r in rows}
    bound = {r.facets["position"]: r.value for r in rows if r.measure == "binding_pooled"}
    assert values["objects"] == expected["TIAM_objects"]
    assert values["tiam"] == expected["TIAM_objects+colours"]
    per_position = expected["per_position_binding(1 ok,0 wrong colour,None not detected)"]
    assert [bound.get(1), bound.get(2)] == per_position


def test_06_covers_every_case(golden):
    assert set(CASES_06) == set(golden("tiam-06")["expected"])


def test_07_prompt_counts(golden):
    expected = golden("tiam-07")["expected"]
    count = {name: len(list(template.prompts())) for name, (_, template) in TEMPLATES.items()}
    assert count["tiam-24-1"] == 24
    assert count["tiam-24-2"] == expected["pairs24"]
    assert count["tiam-28"] == expected["pairs28"]
    assert [count[f"tiam-5-{k}"] for k in (1, 2, 3, 4)] == expected["perm5"]
    assert count["tiam-5-3-comma"] == expected["perm5"][2]
    assert count["tiam-color-1"] == expected["colored_1"]
    assert count["tiam-color-2"] == expected["colored_2"]


def test_08_aggregation(golden):
    case = golden("tiam-08")
    matrix = np.array(case["inputs"]["f[prompt][seed]"], float)
    prompts, seeds = np.indices(matrix.shape)
    table = pd.DataFrame(
        {"measure": "tiam", "value": matrix.ravel(), "prompt": prompts.ravel().astype(str), "seed": seeds.ravel()}
    )
    assert _mean(table) == case["expected"]["TIAM"]
    assert [_mean(part) for _, part in table.groupby("prompt")] == case["expected"]["per_prompt"]
    by_seed = [_mean(part) for _, part in table.groupby("seed")]
    np.testing.assert_allclose(by_seed, case["expected"]["per_seed"], atol=1e-6)


def _mean(table):
    """The score as core computes it from a measure's rows."""
    return mean_interval(table["value"], table["prompt"], table["seed"], low=0, high=1).value


def test_the_papers_thresholds_are_the_defaults():
    options = TiamOptions()
    assert (options.confidence, options.overlap, options.colour_share) == (0.25, 0.95, 0.40)
